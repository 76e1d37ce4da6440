"""The server without the page: known hosts, headers, and a start that goes wrong at first."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from api import application
from rag.errors import LLMError
from tests.api.conftest import ApiServer
from tests.api.serving import serving


@pytest.mark.parametrize(
    "path", ["/healthz", "/readyz", "/metrics", "/api/collections", "/v1/models", "/nowhere"]
)
def test_every_response_is_inert_and_names_no_page(served: ApiServer, path: str):
    headers = httpx.get(f"{served.url}{path}").headers
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"


def test_a_page_of_another_site_reaches_nothing_under_its_own_name(served: ApiServer):
    with served.client() as client:
        assert client.get("/api/collections", headers={"host": "evil.example"}).status_code == 421
        assert client.get("/api/collections", headers={"host": "localhost:8501"}).status_code == 200


def test_it_tells_whether_it_is_ready_and_counts_for_this_machine_alone(served: ApiServer):
    assert httpx.get(f"{served.url}/healthz").text == "ok\n"
    deadline = time.monotonic() + 60
    while (ready := httpx.get(f"{served.url}/readyz")).status_code != 200:
        assert time.monotonic() < deadline, ready.text
        time.sleep(0.1)
    assert set(ready.json()["checks"]) == {"database", "index", "embedding", "model", "originals", "disk"}
    told = httpx.get(f"{served.url}/metrics")
    assert 'footnote_documents{state="ready"}' in told.text
    assert httpx.get(f"{served.url}/metrics", headers={"via": "proxy"}).status_code == 403


def test_told_to_stop_it_is_not_ready_yet_serves_until_it_has_been_drained(tmp_path: Path):
    with serving(tmp_path, FOOTNOTE_DRAIN_SECONDS="3600") as server, server.client() as client:
        server.process.terminate()
        while (ready := client.get("/readyz")).status_code == 200:
            pass
        assert ready.json() == {
            "ready": False,
            "checks": {"process": {"usable": False, "state": "told to stop"}},
        }
        with server.client("bob") as other:  # over a new connection
            assert other.get("/api/documents").status_code == 200
        server.process.terminate()
        server.process.wait(60)


def test_a_drained_server_ends_without_being_told_again(tmp_path: Path):
    with serving(tmp_path, from_nothing=True, FOOTNOTE_DRAIN_SECONDS="0.5") as server:
        server.process.terminate()
        server.process.wait(60)
        assert "Told to stop: serving for 0.5 more seconds" in server.log.read_text()


def test_a_start_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(application, "RETRY", 0.01)
    tried: list[int] = []

    def warm_up() -> None:
        tried.append(1)
        if len(tried) < 3:
            raise LLMError("The model is away.")

    application._warm_up(SimpleNamespace(warm_up=warm_up), threading.Event())
    assert len(tried) == 3


def test_importing_brings_no_tools_for_agents():
    code = "import api.application, sys; print([name for name in sys.modules if name.split('.')[0] == 'mcp'])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"
