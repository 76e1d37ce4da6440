"""For whoever runs the server: whether it can work, and what it has counted. app.py has the routes."""

import ctypes
import hmac
import ipaddress
import shutil
import socket
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from rag import metrics
from rag.errors import FootnoteError as ReadinessFootnoteError
from rag.index.external import CHROMA
from rag.models.local.server import LocalModel
from storage.accounts import documents_by_state
from storage.errors import FootnoteError, StorageError
from ui.auth.identity import Alone
from ui.server.services import PageServices, services

# Readiness checks: each looks anew at something the server needs, and tells no name or path.
PATIENCE = 2.0  # seconds in which a model's server must let us in
LEAST_FREE = 200_000_000  # bytes: a few uploads and what is made of them
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class CheckResult:
    """Result of one check: `usable`, and in a few words why or why not."""

    usable: bool
    state: str


Look = Callable[[], CheckResult]


def look_at(things: Mapping[str, Look]) -> dict[str, CheckResult]:
    """Return how each thing stands; one that fails in a way we know is not usable, by the error's name."""
    return {name: _looked(look) for name, look in things.items()}


def _looked(look: Look) -> CheckResult:
    try:
        return look()
    except ReadinessFootnoteError as error:
        return CheckResult(False, type(error).__name__)


def disk(directory: Path) -> CheckResult:
    """Look at the disk that holds `directory`."""
    free = free_bytes(directory)
    if free is None:
        return CheckResult(False, "cannot be looked at")
    return CheckResult(free >= LEAST_FREE, f"{free // 1_000_000} MB free")


def free_bytes(directory: Path) -> int | None:
    """Return what is free on a directory's disk; None where it cannot be told."""
    try:
        return shutil.disk_usage(directory).free
    except OSError:
        return None


def server(url: str) -> CheckResult:
    """Look whether anyone lets us in at a model's address. Nothing is asked, and no key is sent."""
    try:
        parts = urlsplit(url)
        address = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 443)
        with socket.create_connection(address, timeout=PATIENCE):
            return CheckResult(True, "its server answers")
    except (OSError, ValueError):
        return CheckResult(False, "its server does not answer")


FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")


def readyz(_: Request) -> JSONResponse:
    """Say how each thing stands that an answer needs; 503 where one cannot be used."""
    standings = standing()
    ready = all(one.usable for one in standings.values())
    told = {"ready": ready, "checks": {name: asdict(one) for name, one in standings.items()}}
    return JSONResponse(told, 200 if ready else 503)


def counted(request: Request) -> Response:
    """Tell what was counted, to those who may know: see `may_see`."""
    here = _opened()
    if not isinstance(here, PageServices):
        return PlainTextResponse("The data directory is not open.\n", 503)
    token = here.settings.metrics_token.get_secret_value()
    client = request.client.host if request.client else ""
    if not may_see(request.headers, client, token, alone=isinstance(here.entrance, Alone)):
        return PlainTextResponse("Only the server's administrator can see these metrics.\n", 403)
    text = here.metrics.text(
        queue=here.jobs.standing(),
        documents=_documents(here),
        free=free_bytes(here.database.directory),
    )
    return Response(text, media_type=metrics.FORM)


def may_see(headers: Mapping[str, str], client: str, token: str, *, alone: bool) -> bool:
    """Tell whether the numbers are shown: to who has the token.

    Without one, to this machine, but not to a proxy on it; and to nobody where people sign in, so that
    nobody learns how much others do.

    >>> may_see({}, "127.0.0.1", "", alone=True), may_see({"via": "a"}, "127.0.0.1", "", alone=True)
    (True, False)
    >>> may_see({"authorization": "Bearer t"}, "10.1.1.1", "t", alone=False)
    True
    """
    if token:
        given = headers.get("authorization", "").encode()
        return hmac.compare_digest(given, f"Bearer {token}".encode())
    return alone and _is_loopback(client) and not any(name in headers for name in FORWARDED)


def standing() -> dict[str, CheckResult]:
    """Return how database, index, embedding, model and disk stand."""
    here = _opened()
    if not isinstance(here, PageServices):
        return {"database": CheckResult(False, type(here).__name__)}
    return look_at(
        {
            "database": lambda: _database(here),
            "index": lambda: _index(here),
            "embedding": lambda: _embedding(here),
            "model": lambda: _model(here),
            "disk": lambda: disk(here.database.directory),
        }
    )


def _opened() -> PageServices | FootnoteError:
    try:
        return services()
    except FootnoteError as error:
        return error


def _database(here: PageServices) -> CheckResult:
    here.database.confirm()
    return CheckResult(True, "open")


def _index(here: PageServices) -> CheckResult:
    """Search each library that is open, by words, and by meaning where that asks nobody else."""
    if not here.warm:
        return CheckResult(False, "being brought in step with the ledger")
    outside = here.settings.embedding_base_url or here.settings.vector_store != CHROMA
    with here.looking:
        for library in here.libraries():
            for name in ("bm25",) if outside else ("bm25", "similarity"):
                library.retriever(name, 1).invoke("ready")
    return CheckResult(True, "searched")


def _embedding(here: PageServices) -> CheckResult:
    """Look at what makes vectors; the index has tried it where it is here."""
    if here.settings.embedding_base_url:
        return server(here.settings.embedding_base_url)
    if not here.warm:
        return CheckResult(False, "being opened")
    with here.looking:
        for library in here.libraries():
            library.indexes.embedder.embed_query("ready")
    return CheckResult(True, "open")


def _model(here: PageServices) -> CheckResult:
    """Look at what writes the answers; without a model they are made of the documents' own sentences."""
    if here.llm is None:
        return CheckResult(True, "none: answers are quotes")
    if isinstance(here.llm, LocalModel):
        return CheckResult(True, "ready" if here.llm.ready else "started by the next question")
    return server(here.settings.llm_base_url)


def _documents(here: PageServices) -> dict[str, int]:
    try:
        return documents_by_state(here.database)
    except StorageError:  # what was counted is told even then, and /readyz tells of the rest
        return {}


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


# How the server asks for memory: from few pools, so that what is given back is used again.
_M_ARENA_MAX = -8  # glibc's number for: so many pools at most
POOLS = 2


def share_pools() -> None:
    """Have all threads share glibc's pools of memory; where there is no glibc, nothing.

    Each run of a page is a thread of its own, and up to eight threads a core get a pool of their own, which
    keeps what they gave back. One person's use grew the server from 695 to 848 MB in 21 minutes; with two
    pools from 684 to 710.
    """
    if sys.platform != "linux":
        return
    try:
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, POOLS)
    except AttributeError:  # musl's and others' have no such choice
        return
