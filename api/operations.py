"""Routes for whoever runs the server, `/healthz`, `/readyz` and `/metrics`; malloc tuning.

A server that is told to stop says so for a while, and serves as before meanwhile.
"""

import asyncio
import ctypes
import hmac
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rag import metrics
from rag.index.external import BUILT_IN
from rag.local_server import PROXY_HEADERS, is_loopback
from rag.models.llm import server_answers
from rag.models.local.server import LocalModel
from rag.services import Services
from storage.accounts import documents_by_state
from storage.errors import FootnoteError, StorageError


@contextmanager
def draining(begin: Callable[[], float]) -> Iterator[None]:
    """Call `begin` at SIGTERM, and let the server stop after as many seconds as it returns.

    A second SIGTERM stops it at once, as Ctrl-C does. Where the main thread does not serve, or nothing of the
    server's handles the signal, it is left as it is.
    """
    stop = signal.getsignal(signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread() or not callable(stop):
        yield
        return
    loop = asyncio.get_running_loop()

    def drain(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, stop)
        loop.call_soon_threadsafe(stop_later, number, frame)

    def stop_later(number: int, frame: FrameType | None) -> None:
        loop.call_later(begin(), stop, number, frame)

    signal.signal(signal.SIGTERM, drain)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, stop)


MIN_FREE = 200_000_000  # bytes: room for a few uploads and their indexes


@dataclass(frozen=True)
class CheckResult:
    """Result of one check: `usable`, and in a few words why or why not."""

    usable: bool
    state: str


Check = Callable[[], CheckResult]


def run_checks(checks: Mapping[str, Check]) -> dict[str, CheckResult]:
    """Run the checks; one that raises FootnoteError is not usable, with the error's name as its state."""
    results = {}
    for name, check in checks.items():
        try:
            results[name] = check()
        except FootnoteError as error:
            results[name] = CheckResult(False, type(error).__name__)
    return results


def check_disk(directory: Path) -> CheckResult:
    """Check the free space on the disk of `directory`."""
    free = free_bytes(directory)
    if free is None:
        return CheckResult(False, "cannot be looked at")
    return CheckResult(free >= MIN_FREE, f"{free // 1_000_000} MB free")


def free_bytes(directory: Path) -> int | None:
    """Return the free bytes on a directory's disk; None if unknown."""
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None


def check_server(url: str) -> CheckResult:
    """Check that a model server accepts connections. No request and no key is sent."""
    there = server_answers(url)
    return CheckResult(there, "its server answers" if there else "its server does not answer")


Opened = Callable[[], Services]


def operation_routes(services: Opened) -> list[Route]:
    """Return the routes over the services of the process, which may raise FootnoteError."""
    return [
        Route("/healthz", _healthz),
        Route("/readyz", lambda _: readyz(services)),
        Route("/metrics", lambda request: metrics_text(services, request)),
    ]


async def _healthz(_: Request) -> PlainTextResponse:
    return PlainTextResponse("ok\n")


def readyz(services: Opened) -> JSONResponse:
    """Answer with the readiness checks; status 503 if one fails."""
    checks = readiness(services)
    ready = all(one.usable for one in checks.values())
    told = {"ready": ready, "checks": {name: asdict(one) for name, one in checks.items()}}
    return JSONResponse(told, 200 if ready else 503)


def metrics_text(services: Opened, request: Request) -> Response:
    """Answer with the metrics, to clients that `may_see_metrics`."""
    try:
        server = services()
    except FootnoteError:
        return PlainTextResponse("The data directory is not open.\n", 503)
    if not _admits(server, request):
        return PlainTextResponse("Only the server's administrator can see these metrics.\n", 403)
    documents: dict[str, int] = {}
    with suppress(StorageError):  # the other metrics are still useful, and /readyz reports the error
        documents = documents_by_state(server.database)
    free = free_bytes(server.database.directory)
    text = server.metrics.text(queue=server.jobs.standing(), documents=documents, free=free)
    return Response(text, media_type=metrics.FORM)


def admits_to_metrics(services: Opened, request: Request) -> bool:
    """Return True if a request may read the metrics; nobody may while the services cannot be opened."""
    try:
        return _admits(services(), request)
    except FootnoteError:
        return False


def _admits(server: Services, request: Request) -> bool:
    token = server.settings.metrics_token.get_secret_value()
    client = request.client.host if request.client else ""
    return may_see_metrics(request.headers, client, token, local=server.local)


def may_see_metrics(headers: Mapping[str, str], client: str, token: str, *, local: bool) -> bool:
    """Return True if a client may read the metrics.

    With a token set, the client needs it. Without one, only this computer may read them, not through a
    proxy, and only in local mode, so that people learn nothing about the activity of others.

    >>> may_see_metrics({}, "127.0.0.1", "", local=True)
    True
    >>> may_see_metrics({"via": "a"}, "127.0.0.1", "", local=True)
    False
    >>> may_see_metrics({"authorization": "Bearer t"}, "10.1.1.1", "t", local=False)
    True
    """
    if token:
        given = headers.get("authorization", "").encode()
        return hmac.compare_digest(given, f"Bearer {token}".encode())
    return local and is_loopback(client) and not any(name in headers for name in PROXY_HEADERS)


def readiness(services: Opened) -> dict[str, CheckResult]:
    """Return the checks of database, index, embedding, model, originals and disk.

    A process that was told to stop is not ready, whatever else is.
    """
    try:
        server = services()
    except FootnoteError as error:
        return {"database": CheckResult(False, type(error).__name__)}
    if server.stopping:
        return {"process": CheckResult(False, "told to stop")}
    return run_checks(
        {
            "database": lambda: _database(server),
            "index": lambda: _index(server),
            "embedding": lambda: _embedding(server),
            "model": lambda: _model(server),
            "originals": lambda: _originals(server),
            "disk": lambda: check_disk(server.database.directory),
        }
    )


def _database(server: Services) -> CheckResult:
    server.database.confirm()
    return CheckResult(True, "open")


def _originals(server: Services) -> CheckResult:
    server.originals.reach()
    return CheckResult(True, "their store answers" if server.settings.objects else "in the data directory")


def _index(server: Services) -> CheckResult:
    """Search each open library, by meaning only if that needs no other server."""
    if not server.warm:
        return CheckResult(False, "being brought in step with the ledger")
    outside = server.settings.embedding_base_url or server.settings.vector_store not in BUILT_IN
    with server.looking:
        for library in server.libraries():
            for name in ("bm25",) if outside else ("bm25", "similarity"):
                library.retriever(name, 1).invoke("ready")
    return CheckResult(True, "searched")


def _embedding(server: Services) -> CheckResult:
    if server.settings.embedding_base_url:
        return check_server(server.settings.embedding_base_url)
    if not server.warm:
        return CheckResult(False, "being opened")
    with server.looking:
        for library in server.libraries():
            library.indexes.embedder.embed_query("ready")
    return CheckResult(True, "open")


def _model(server: Services) -> CheckResult:
    if server.llm is None:
        return CheckResult(True, "none: answers are quotes")
    if isinstance(server.llm, LocalModel):
        return CheckResult(True, "ready" if server.llm.ready else "started by the next question")
    return check_server(server.settings.llm_base_url)


_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # glibc's mallopt parameters
LARGE = 1 << 20  # bytes
MAX_ARENAS = 2


def limit_malloc_arenas() -> None:
    """Limit glibc's malloc arenas, so that threads reuse freed memory: each page run is a thread.

    What is large goes back to the system when it is freed, however large something else was before.
    """
    if sys.platform != "linux":
        return
    with suppress(AttributeError):  # musl has no such setting
        malloc = ctypes.CDLL(None)
        malloc.mallopt(_M_ARENA_MAX, MAX_ARENAS)
        malloc.mallopt(_M_MMAP_THRESHOLD, LARGE)
