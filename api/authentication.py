"""Authentication of a request into an owner and what they allow: a personal key, or the local token."""

import hmac
from dataclasses import dataclass

from starlette.requests import HTTPConnection

from rag.admission import admits
from rag.errors import KeyRefused, ScopeRefused
from rag.local_server import PROXY_HEADERS, is_loopback
from rag.services import Services
from rag.settings import LOCAL_OWNER
from storage.keys import SCOPES, find_key
from storage.records import KeyScope

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
