"""What is asked of each host on the way to an answer, and what of it another host may see."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag.sources.fetcher_bodies import ENCODINGS

_USUAL = {"User-Agent": "Mozilla/5.0 (compatible; Footnote)", "Accept": "*/*"}
_OURS = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding"})
# What another host may see of our headers. All else, Authorization before all, is for the one that was asked.
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})


@dataclass(frozen=True)
class Request:
    """A request, but for where it goes."""

    method: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(default=b"", repr=False)

    @classmethod
    def of(cls, method: str, headers: Mapping[str, str], body: bytes = b"") -> "Request":
        """Return the caller's request, with the headers that every request has."""
        given = {name: value for name, value in headers.items() if name.lower() not in _OURS}
        named = {name.lower() for name in given}
        missing = {name: value for name, value in _USUAL.items() if name.lower() not in named}
        return cls(method, {**missing, **given, "Accept-Encoding": ENCODINGS}, body)

    def for_strangers(self) -> "Request":
        """Return the request as another host than the caller's may see it."""
        return Request.of(self.method, {n: v for n, v in self.headers.items() if n.lower() in _HARMLESS})
