"""Libraries report nothing to anyone: tried in processes of their own, where they are first loaded."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rag.telemetry import SILENT, TRACING, disable_telemetry, disable_tracing

ROOT = Path(__file__).parents[2]


class Collector(BaseHTTPRequestHandler):
    """A tracing service that takes everything."""

    taken: list[str]

    def do_POST(self) -> None:
        self.taken.append(self.path)
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        self.do_POST()

    def do_PATCH(self) -> None:
        self.do_POST()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def service() -> Iterator[tuple[str, list[str]]]:
    taken: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Taking", (Collector,), {"taken": taken})) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", taken
        server.shutdown()


def run(*command: str, home: Path, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in {*SILENT, *TRACING}}
    ended = subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env={**clean, "HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="Linux shows by a file that ONNX Runtime reports")
def test_onnx_runtime_neither_names_this_machine_nor_keeps_reports(tmp_path: Path):
    run("-c", "import rag, onnxruntime", home=tmp_path, ORT_DISABLE_TELEMETRY="0")
    assert not list(tmp_path.iterdir())  # without `disable_telemetry` there is a device id


def test_questions_and_documents_go_to_no_tracing_service_of_another_program(
    service: tuple[str, list[str]], tmp_path: Path
):
    url, taken = service
    file = tmp_path / "castle.txt"
    file.write_text("The castle of Aldenburg was built in 1432.")
    traced = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": url, "LANGSMITH_API_KEY": "key"}
    search = (
        "from langchain_core.runnables import RunnableLambda;"
        "RunnableLambda(str).invoke(1);"
        "from langchain_core.tracers.langchain import wait_for_all_tracers; wait_for_all_tracers()"
    )
    run("-c", search, home=tmp_path, **traced)
    assert taken, "what is traced does not reach the service at all"
    taken.clear()
    commands = (
        "import sys; from rag.cli import main; data = ['--data', sys.argv[1]];"
        "main([*data, 'ingest', sys.argv[2]]);"
        "main([*data, 'ask', 'When was the castle of Aldenburg built?'])"
    )
    words = {"FOOTNOTE_RETRIEVER": "bm25", **traced}
    said = run("-c", commands, str(tmp_path / "data"), str(file), home=Path.home(), **words)
    assert "1432" in said and taken == []


def test_what_a_library_was_told_before_is_overruled_and_nothing_else_is_touched():
    environment = {"ORT_DISABLE_TELEMETRY": "0", "LANGCHAIN_TRACING_V2": "true", "LANG": "ko_KR.UTF-8"}
    disable_telemetry(environment)
    disable_tracing(environment)
    assert environment == {**SILENT, "LANG": "ko_KR.UTF-8"}
