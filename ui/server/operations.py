"""For whoever runs the server: whether it can work, and what it has counted. app.py has the routes."""

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import asdict

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from rag import metrics
from rag.index.spec import CHROMA
from rag.models.local.model import OwnModel
from storage.errors import FootnoteError, StorageError
from storage.totals import documents_by_state
from ui.auth.identity import Alone
from ui.server import readiness
from ui.server.readiness import CheckResult
from ui.server.services import PageServices, services

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
        return PlainTextResponse("These numbers are for whoever runs the server.\n", 403)
    text = here.metrics.text(
        queue=here.jobs.standing(),
        documents=_documents(here),
        free=readiness.free_bytes(here.database.directory),
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
    return readiness.look_at(
        {
            "database": lambda: _database(here),
            "index": lambda: _index(here),
            "embedding": lambda: _embedding(here),
            "model": lambda: _model(here),
            "disk": lambda: readiness.disk(here.database.directory),
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
        return readiness.server(here.settings.embedding_base_url)
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
    if isinstance(here.llm, OwnModel):
        return CheckResult(True, "ready" if here.llm.ready else "started by the next question")
    return readiness.server(here.settings.llm_base_url)


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
