"""A service's REST API: signed in, asked again where that may help, what it refuses told as a sentence."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ValidationError

from rag.connectors.http import Fetched, Fetcher, wait
from rag.connectors.ssrf import target
from rag.errors import ConnectionLost, ItemFailed, RequestRejected, SourceError
from rag.jobs import Cancel, never

M = TypeVar("M", bound=BaseModel)
Parameters = Mapping[str, str | int | Sequence[str]]

TRIES = 4
FIRST_WAIT = 1.0  # seconds; doubled before each further try
_PASSING = frozenset({500, 502, 504})  # 429 and 503 are the HTTP client's
_LONGEST_ERROR = 100_000  # bytes of an answer that says why something was refused


class Rest(ABC):
    """What every such API has in common, below the address `base`. `asked` counts the answered requests.

    Raises SourceError where nothing more can be had of the service, ItemFailed for what concerns one thing.
    """

    def __init__(self, fetcher: Fetcher, base: str, *, first_wait: float = FIRST_WAIT):
        self.asked = 0
        self._base, self._host = base, urlsplit(base).netloc
        self._fetcher, self._first_wait = fetcher, first_wait

    def get(self, record: type[M], url: str, parameters: Parameters, cancelled: Cancel = never) -> M:
        """Return what JSON says at `url`; ItemFailed where there is no such thing, or not for us."""
        answer = self._got(_with(url, parameters), cancelled)
        if not 200 <= answer.status < 300:
            raise self._refused(answer)
        return understood(record, answer)

    def download(self, url: str, parameters: Parameters, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield a file in pieces; ItemFailed where it cannot be had, or breaks off."""
        whole, begun, attempt = _with(url, parameters), False, 1
        while True:
            headers = self._headers(cancelled)
            try:
                for piece in self._fetcher.stream(whole, headers=headers, cancelled=cancelled):
                    begun = True
                    yield piece
                self.asked += 1
                return
            except SourceError as error:
                if begun:
                    raise ItemFailed(f"It came only in part. {error}") from error
                self._look_at(error, whole, attempt, cancelled)
            self._wait(attempt, cancelled)
            attempt += 1

    @abstractmethod
    def _headers(self, cancelled: Cancel) -> Mapping[str, str]:
        """Return what tells the service who asks."""

    @abstractmethod
    def _refused(self, answer: Fetched) -> SourceError:
        """Return what an answer without success means, as a sentence."""

    def _tries(self, answer: Fetched) -> int:
        """Return how often a request is worth making that is answered so."""
        return TRIES if answer.status in _PASSING else 1

    def _got(self, url: str, cancelled: Cancel) -> Fetched:
        def ask(headers: Mapping[str, str]) -> Fetched:
            return self._fetcher.get(url, headers=headers, cancelled=cancelled)

        return self._answered(ask, lambda: self._headers(cancelled), cancelled)

    def _answered(
        self,
        ask: Callable[[Mapping[str, str]], Fetched],
        headers: Callable[[], Mapping[str, str]],
        cancelled: Cancel,
    ) -> Fetched:
        """Ask, and ask again what may be answered a moment later."""
        attempt = 1
        while True:
            given = headers()
            try:
                answer = ask(given)
                self.asked += 1
                if attempt >= self._tries(answer):
                    return answer
            except ConnectionLost:
                if attempt >= TRIES:
                    raise
            self._wait(attempt, cancelled)
            attempt += 1

    def _look_at(self, error: SourceError, url: str, attempt: int, cancelled: Cancel) -> None:
        """Raise what ends a download that has not begun; return where it may be tried again."""
        if isinstance(error, ConnectionLost) and attempt < TRIES:
            return
        if not isinstance(error, RequestRejected) or error.status in (429, 503):
            raise error
        headers = self._headers(cancelled)  # the reason stands in the body, which a stream leaves out
        answer = self._fetcher.get(url, headers=headers, max_bytes=_LONGEST_ERROR, cancelled=cancelled)
        if not 200 <= answer.status < 300 and attempt >= self._tries(answer):
            raise self._refused(answer) from error

    def _wait(self, attempt: int, cancelled: Cancel) -> None:
        wait(self._first_wait * 2 ** (attempt - 1), self._host, cancelled)


def understood(record: type[M], answer: Fetched) -> M:
    """Return what an answer says; SourceError where it is not what its kind of answer is."""
    try:
        return record.model_validate(answer.json())
    except ValidationError as error:
        host = target(answer.url).authority
        raise SourceError(
            f"{host} answered in a form that Footnote does not know. Check the address."
        ) from error


def too_large(size: int, most: int) -> str:
    """Say that a file of `size` bytes is not taken where `most` are.

    >>> too_large(81_000_000, 50_000_000)
    'It has 81 MB, and at most 50 are taken. Raise FOOTNOTE_MAX_UPLOAD_MB to take it.'
    """
    return (
        f"It has {size / 1e6:,.0f} MB, and at most {most / 1e6:,.0f} are taken. "
        "Raise FOOTNOTE_MAX_UPLOAD_MB to take it."
    )


def _with(url: str, parameters: Parameters) -> str:
    query = urlencode({name: value for name, value in parameters.items() if value != ""}, doseq=True)
    return f"{url}?{query}" if query else url
