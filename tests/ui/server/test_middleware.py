"""The middleware over a real application, asked as a browser, a monitor and another site would."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from api.operations import admits_to_metrics
from api.security import SecurityMiddleware
from rag.workspace import Workspace
from ui.server import services
from ui.server.headers import security_headers, server_error

PATHS = ["/", "/healthz", "/readyz", "/metrics", "/_stcore/metrics", "/_stcore/health", "/nowhere", "/fails"]
HERE, ELSEWHERE = ("127.0.0.1", 50000), ("192.0.2.7", 50000)


def fine(_: Request) -> PlainTextResponse:
    return PlainTextResponse("fine")


def fails(_: Request) -> PlainTextResponse:
    raise ValueError


async def listened(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.close()


def client(
    address: tuple[str, int] = HERE,
    *,
    host: str = "localhost",
    may_see: Callable[[Request], bool] = lambda _: True,
) -> TestClient:
    guard = Middleware(
        SecurityMiddleware,
        headers=security_headers,
        is_known=lambda name: name == "localhost",
        may_see_metrics=may_see,
    )
    routes = [Route(path, fails if path == "/fails" else fine) for path in PATHS if path != "/nowhere"]
    application = Starlette(
        routes=[*routes, WebSocketRoute("/_stcore/stream", listened)],
        middleware=[guard],
        exception_handlers={Exception: server_error},
    )
    return TestClient(application, f"http://{host}", client=address, raise_server_exceptions=False)


@pytest.mark.parametrize("host", ["localhost", "evil.example"])
@pytest.mark.parametrize("path", PATHS)
def test_every_response_forbids_frames_and_guessed_types(path: str, host: str):
    headers = client(host=host).get(path).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff" and headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"


def test_no_inline_script_may_run_but_streamlits_own():
    policy = client().get("/").headers["content-security-policy"]
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert re.fullmatch(r"script-src 'self' blob:( 'sha256-[\w+/=]{44}')+", scripts)


@pytest.mark.parametrize("path", PATHS)
def test_a_name_of_another_site_that_points_here_reads_no_route(path: str):
    answer = client(host="evil.example").get(path)
    assert answer.status_code == 421 and "server.allowedHosts" in answer.text


def test_a_websocket_under_another_name_is_refused():
    with pytest.raises(WebSocketDisconnect), client().websocket_connect("ws://evil.example/_stcore/stream"):
        pass
    with client().websocket_connect("ws://localhost/_stcore/stream"):
        pass


def test_two_host_headers_are_refused():
    sent = [("host", "localhost"), ("host", "evil.example")]
    assert client().get("/", headers=sent).status_code == 421


def test_streamlits_metrics_follow_the_rule_of_ours(here: Workspace):
    def status(address: tuple[str, int], path: str) -> int:
        return client(address, may_see=partial(admits_to_metrics, services.services)).get(path).status_code

    assert status(HERE, "/_stcore/metrics") == 200
    assert status(ELSEWHERE, "/_stcore/metrics") == 403
    assert status(ELSEWHERE, "/base/_stcore/metrics/") == 403
    assert status(ELSEWHERE, "/_stcore/health") == 200


def test_metrics_are_refused_while_nothing_says_who_may_see_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOOTNOTE_K", "many")
    assert (
        client(may_see=partial(admits_to_metrics, services.services)).get("/_stcore/metrics").status_code
        == 403
    )
