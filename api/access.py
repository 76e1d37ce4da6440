"""Access of one request: its caller, their workspace, and the documents that the key lets them search.

A caller has a personal key, or the local token.
"""

import hmac
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends
from pydantic import Field, StringConstraints
from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from api.problems import error_response, status_of
from rag.admission import admits
from rag.chat.scope import EVERYTHING, scope_among
from rag.chat.scope import Scope as SearchScope
from rag.errors import KeyRefused, ScopeRefused
from rag.local_server import PROXY_HEADERS, is_loopback
from rag.services import Services
from rag.settings import LOCAL_OWNER
from rag.workspace import Workspace
from storage.collections import CollectionRecord
from storage.errors import FootnoteError, NotFound
from storage.keys import SCOPES, find_key
from storage.records import DocumentRecord, KeyScope

NO_KEY = (
    "This address needs a key. Make one on the Settings page, and send it as “Authorization: Bearer KEY”."
)
UNKNOWN_KEY = "This key is unknown, revoked or expired. Make a new one on the Settings page."
NOT_ADMITTED = "The owner of this key has no account here any more. Ask your administrator."
DOES = {"read": "read", "ask": "ask questions", "write": "change anything"}


@dataclass(frozen=True)
class Caller:
    """Owner of a request's key, with its scopes; `collections` are ids, None for every document.

    `local` is true for this computer's own commands.
    """

    owner: str
    scopes: frozenset[KeyScope] = frozenset(SCOPES)
    collections: frozenset[str] | None = None
    local: bool = False

    def require(self, scope: KeyScope) -> None:
        """Raise ScopeRefused where the key does not have a scope."""
        if scope not in self.scopes:
            raise ScopeRefused(f"This key may not {DOES[scope]}. Use one with the scope “{scope}”.")

    def require_local(self) -> None:
        """Raise ScopeRefused except for this computer's own commands."""
        if not self.local:
            raise ScopeRefused(
                "Keys are made and revoked on the Settings page, or by `footnote keys` on the server."
            )

    def require_everything(self) -> None:
        """Raise ScopeRefused for a key that is limited to collections."""
        if self.collections is not None:
            raise ScopeRefused(
                "This key is limited to collections, and this is about all documents. Use a key without that."
            )


def authenticate(connection: HTTPConnection, services: Services) -> Caller:
    """Return the caller of a request or WebSocket by its `Authorization: Bearer`.

    Raises KeyRefused without a usable key or token, or where its owner may no longer enter, and AccountClosed
    while they are being removed.
    """
    given = connection.headers.getlist("authorization")
    kind, _, secret = (given[0] if len(given) == 1 else "").partition(" ")
    if kind.lower() != "bearer" or not secret.strip():
        raise KeyRefused(NO_KEY)
    secret = secret.strip()
    if is_local(connection) and _same(secret, services.local_token):
        return Caller(LOCAL_OWNER, local=True)
    found = find_key(services.database, secret)
    if found is None:
        raise KeyRefused(UNKNOWN_KEY)
    account = services.account(found.owner)
    account.confirm()
    if not admits(services.settings, found.owner, account.email()):
        raise KeyRefused(NOT_ADMITTED)
    return Caller(found.owner, found.scopes, found.collections)


def is_local(connection: HTTPConnection) -> bool:
    """Return True for a request of this computer that came through no proxy."""
    host = connection.client.host if connection.client else None
    return is_loopback(host) and not any(name in connection.headers for name in PROXY_HEADERS)


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())


Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Names = Annotated[list[Name], Field(max_length=1000)]
"""Names or ids of collections or documents, in the body of a request."""


@dataclass(frozen=True)
class Access:
    """A caller with their workspace, over the services of the process."""

    caller: Caller
    services: Services
    workspace: Workspace

    def collections(self) -> list[CollectionRecord]:
        """List the collections that the key may see."""
        limited = self.caller.collections
        there = self.workspace.library.collections.list()
        return [one for one in there if limited is None or one.id in limited]

    def collection(self, named: str) -> CollectionRecord:
        """Return a collection by its id or name; raises NotFound, as for one outside of the key's."""
        there = self.collections()
        found = next((one for one in there if one.id == named), None)
        if found is None and (by_name := self.workspace.library.collections.named(named)) is not None:
            found = next((one for one in there if one.id == by_name.id), None)
        if found is None:
            raise NotFound(f"There is no collection {named!r}.")
        return found

    def may_see(self, record: DocumentRecord) -> bool:
        """Return True for a document that the key may read."""
        return self.caller.collections is None or record.collection_id in self.caller.collections

    def document(self, document_id: str) -> DocumentRecord:
        """Return a document; raises NotFound, as for one outside of the key's collections."""
        record = self.workspace.library.documents.get(document_id)
        if not self.may_see(record):
            raise NotFound(f"There is no document {document_id!r}.")
        return record

    def chosen(
        self, collections: Iterable[str], documents: Iterable[str]
    ) -> tuple[Collection[str], Collection[str]]:
        """Return the ids to search in; without any, those the key is limited to. Raises NotFound."""
        inside = [self.collection(one).id for one in collections]
        single = [self.document(one).id for one in documents]
        if not inside and not single and self.caller.collections is not None:
            return sorted(self.caller.collections), []
        return inside, single

    def scope(self, collections: Iterable[str], documents: Iterable[str]) -> SearchScope:
        """Return the search scope of these; everything, or all that the key allows, without any."""
        inside, single = self.chosen(collections, documents)
        if not inside and not single and self.caller.collections is None:
            return EVERYTHING
        chosen = self.workspace.choices.would_be(inside, single)
        return scope_among(self.workspace.library.collections, chosen)


@dataclass(frozen=True)
class KeyMiddleware:
    """ASGI middleware that admits requests with a key, before anything of their body is read."""

    app: ASGIApp
    services: Callable[[], Services]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its `Access` in `state`, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        try:
            access = await run_in_threadpool(self._admit, HTTPConnection(scope))
        except FootnoteError as error:
            await error_response(scope["path"], status_of(error), str(error))(scope, receive, send)
            return
        await self.app({**scope, "state": {**scope.get("state", {}), "access": access}}, receive, send)

    def _admit(self, connection: HTTPConnection) -> Access:
        services = self.services()
        caller = authenticate(connection, services)
        return Access(caller, services, services.workspace(caller.owner))


def _allowing(scope: KeyScope) -> Callable[[Request], Access]:
    async def allowed(request: Request) -> Access:
        access: Access = request.state.access
        access.caller.require(scope)
        return access

    return allowed  # type: ignore[return-value]


async def _local(request: Request) -> Access:
    access: Access = request.state.access
    access.caller.require_local()
    return access


Local = Annotated[Access, Depends(_local)]
Reader = Annotated[Access, Depends(_allowing("read"))]
Asker = Annotated[Access, Depends(_allowing("ask"))]
Writer = Annotated[Access, Depends(_allowing("write"))]
