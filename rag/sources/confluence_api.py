"""Confluence's REST API: signed in, page after page of its listings, its refusals as sentences."""

import base64
from collections.abc import Iterator, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.jobs import Cancel
from rag.sources.confluence_records import Person, Record, Results
from rag.sources.confluence_settings import GATEWAY, ConfluenceSettings
from rag.sources.credentials import Credentials
from rag.sources.http import Fetched, Fetcher
from rag.sources.rest import FIRST_WAIT, Parameters, Rest

R = TypeVar("R", bound=Record)

PAGE = 250
"""Things in one answer: the most that version 2 gives; where version 1 gives fewer, it says how to go on."""
_ONWARD = ("cursor", "start")


class ConfluenceApi(Rest):
    """One wiki, asked in somebody's name. `web` is its address for people."""

    def __init__(
        self,
        settings: ConfluenceSettings,
        credentials: Credentials,
        fetcher: Fetcher,
        *,
        first_wait: float = FIRST_WAIT,
    ):
        super().__init__(fetcher, settings.url, first_wait=first_wait)
        self.web, self._secret = settings.url, settings.credential
        token = credentials.get(settings.credential).get_secret_value().strip()
        if settings.cloud:
            pair = base64.b64encode(f"{settings.email}:{token}".encode()).decode("ascii")
            self._authorization = f"Basic {pair}"
        else:
            self._authorization = f"Bearer {token}"

    def read(self, record: type[R], path: str, parameters: Parameters, cancelled: Cancel) -> R:
        """Return what the wiki says at a path below its address."""
        return self.get(record, self._base + path, parameters, cancelled)

    def listed(
        self, results: type[Results[R]], path: str, parameters: Parameters, cancelled: Cancel
    ) -> Iterator[R]:
        """Yield all of a listing. A link to its next page gives the place to go on from, and never a host."""
        onward: Mapping[str, str] = {}
        seen: set[tuple[tuple[str, str], ...]] = set()
        while True:
            asked = {"limit": PAGE, **parameters, **onward}
            answer = self.read(results, path, asked, cancelled)
            self._learn(answer.links.base)
            yield from answer.results
            if not answer.links.next:
                return
            onward = {k: v for k, v in parse_qsl(urlsplit(answer.links.next).query) if k in _ONWARD}
            place = tuple(sorted(onward.items()))
            if not place or place in seen:
                raise SourceError(f"{self._host} lists the same again and again, so its list has no end.")
            seen.add(place)

    def signed_in(self, cancelled: Cancel) -> str:
        """Return the name of who asks, or nothing where it is not told; SourceError for nobody.

        A wiki that anyone may read answers an expired token as if nobody had asked, with the few pages that
        are public: all the others would seem to be gone.
        """
        try:
            person = self.read(Person, "/rest/api/user/current", {}, cancelled)
        except ItemFailed:  # a token that may read pages need not be one that may read accounts
            return ""
        if person.kind == "anonymous":
            raise self._signed_out()
        return person.display_name or person.public_name

    def file(self, path: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield a file at a path below the wiki's address; ItemFailed where that is no such path."""
        context = urlsplit(self._base).path
        below = path.removeprefix(context) if path.startswith(f"{context}/") else path
        if not below.startswith("/") or below.startswith("//"):
            raise ItemFailed(f"{self._host} does not say where the file is. Try again later.")
        yield from self.download(self._base + below, {}, cancelled)

    def _headers(self, cancelled: Cancel) -> Mapping[str, str]:
        del cancelled
        return {"Authorization": self._authorization}

    def _refused(self, answer: Fetched) -> SourceError:
        if answer.status == 401:
            return self._signed_out()
        reasons = {
            400: "did not understand what was asked of it",
            403: "does not let this account read it",
            404: "has it no longer, or does not show it to this account",
            410: "has it no longer",
        }
        if answer.status in reasons:
            return ItemRefused(f"{self._host} {reasons[answer.status]} (status {answer.status}).")
        return ItemFailed(f"{self._host} could not answer just now (status {answer.status}).")

    def _signed_out(self) -> SourceError:
        return SourceError(
            f"{self._host} does not accept the token. It may have expired, been revoked, or lack a "
            f"scope: make a new one and put it into the secret {self._secret!r}."
        )

    def _learn(self, base: str) -> None:
        """Learn the wiki's own address, which whoever goes by way of the gateway does not know."""
        if urlsplit(self._base).hostname == GATEWAY and base.startswith("https://"):
            self.web = base.rstrip("/")
