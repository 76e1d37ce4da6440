"""REST client of a service: authorization, retries, and refusals as sentences."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, ValidationError

from rag.connectors.http import Fetcher, Response, wait
from rag.connectors.ssrf import parse_url
from rag.errors import ConnectionLost, ItemFailed, SourceError
from rag.i18n import N_
from rag.jobs import Cancel, never

M = TypeVar("M", bound=BaseModel)
Parameters = Mapping[str, str | int | Sequence[str]]

TRIES = 4
FIRST_WAIT = 1.0  # seconds; doubled before each further try
_RETRIED = frozenset({500, 502, 504})  # the HTTP client retries 429 and 503


class RestClient(ABC):
    """REST API below `base`; SourceError if it fails as a whole, ItemFailed for one item."""

    def __init__(self, fetcher: Fetcher, base: str, *, first_wait: float = FIRST_WAIT):
        self.requests = 0
        self.cancelled: Cancel = never
        self._base, self._host = base, urlsplit(base).netloc
        self._fetcher, self._first_wait = fetcher, first_wait

    def get(self, record: type[M], path: str, parameters: Parameters) -> M:
        """Return the JSON record at a path; raise ItemFailed where it is missing or forbidden."""
        whole = _with_query(self._base + path, parameters)
        answer = self._with_retries(
            lambda headers: self._fetcher.get(whole, headers=headers, cancelled=self.cancelled), self._headers
        )
        if not 200 <= answer.status < 300:
            raise self._refusal(answer)
        return parse_answer(record, answer)

    def download(self, path: str, parameters: Parameters) -> Iterator[bytes]:
        """Yield a file in pieces; raise ItemFailed where it is refused or breaks off."""
        whole, attempt = _with_query(self._base + path, parameters), 1
        while True:
            headers = self._headers()
            try:
                with self._fetcher.open(whole, headers=headers, cancelled=self.cancelled) as response:
                    if 200 <= response.status < 300:
                        yield from _without_gaps(response.pieces())
                        self.requests += 1
                        return
                    answer = response.read()
                if attempt >= self._tries(answer):
                    raise self._refusal(answer)
            except ConnectionLost:
                if attempt >= TRIES:
                    raise
            self._wait(attempt)
            attempt += 1

    @abstractmethod
    def _headers(self) -> Mapping[str, str]:
        """Return the headers that authorize a request."""

    @abstractmethod
    def _refusal(self, answer: Response) -> SourceError:
        """Return the error for a response without success, as a sentence."""

    def _tries(self, answer: Response) -> int:
        """Return the number of attempts for a request with this response."""
        return TRIES if answer.status in _RETRIED else 1

    def _with_retries(
        self, send: Callable[[Mapping[str, str]], Response], headers: Callable[[], Mapping[str, str]]
    ) -> Response:
        attempt = 1
        while True:
            given = headers()
            try:
                answer = send(given)
                self.requests += 1
                if attempt >= self._tries(answer):
                    return answer
            except ConnectionLost:
                if attempt >= TRIES:
                    raise
            self._wait(attempt)
            attempt += 1

    def _wait(self, attempt: int) -> None:
        wait(self._first_wait * 2 ** (attempt - 1), self._host, self.cancelled)


def _without_gaps(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces; raise ItemFailed where they break off, since a retry would repeat the first ones."""
    begun = False
    try:
        for piece in pieces:
            begun = True
            yield piece
    except SourceError as error:
        if begun:
            raise ItemFailed(N_("It came only in part. {reason}", reason=error)) from error
        raise


def parse_answer(record: type[M], answer: Response) -> M:
    """Parse a response as a record; raise SourceError where it has another form."""
    try:
        return record.model_validate(answer.json())
    except ValidationError as error:
        host = parse_url(answer.url).authority
        raise SourceError(
            N_("{host} answered in a form that Footnote does not know. Check the address.", host=host)
        ) from error


def too_large(size: int, limit: int) -> str:
    """Return the reason why a file of `size` bytes is not taken where `limit` bytes are.

    >>> too_large(81_000_000, 50_000_000)
    'It has 81 MB, and at most 50 are taken. Raise FOOTNOTE_MAX_UPLOAD_MB to take it.'
    """
    return (
        f"It has {size / 1e6:,.0f} MB, and at most {limit / 1e6:,.0f} are taken. "
        "Raise FOOTNOTE_MAX_UPLOAD_MB to take it."
    )


def _with_query(url: str, parameters: Parameters) -> str:
    query = urlencode({name: value for name, value in parameters.items() if value != ""}, doseq=True)
    return f"{url}?{query}" if query else url
