"""A model's file from a hub: a local server that speaks the hub's protocol states its hash and gives it."""

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rag.errors import Cancelled, ModelUnavailable
from rag.factory import make_hub
from rag.models.local.catalog import HubModel
from rag.models.local.install import fetch
from rag.settings import Settings

CONTENT = b"GGUF" + bytes(range(256)) * 2000
MODEL = HubModel(
    name="tiny",
    title="Tiny-Instruct",
    good_for="tests",
    file="tiny-q4.gguf",
    bytes=len(CONTENT),
    memory=1,
    repository="Makers/Tiny-Instruct-GGUF",
    licence="Apache 2.0",
)


@dataclass
class MadeUpHub:
    """What the hub has and does; `asked` are the paths and ranges of the requests for the file."""

    content: bytes = CONTENT
    sha256: str = hashlib.sha256(CONTENT).hexdigest()
    file: str = MODEL.file
    resumes: bool = True
    breaks_after: int | None = None
    url: str = ""
    asked: list[tuple[str, str]] = field(default_factory=list)


@pytest.fixture
def hub() -> Iterator[MadeUpHub]:
    made_up = MadeUpHub()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            if self.path == "/api/models/Makers/Tiny-Instruct-GGUF?blobs=true":
                lfs = {"sha256": made_up.sha256, "size": len(made_up.content), "pointerSize": 134}
                files = [{"rfilename": "README.md"}, {"rfilename": made_up.file, "lfs": lfs}]
                self.send(200, json.dumps({"sha": "c0ffee", "siblings": files}).encode())
            elif self.path == f"/{MODEL.repository}/resolve/c0ffee/{MODEL.file}":
                self.send_response(302)
                self.send_header("location", made_up.url.replace("127.0.0.1", "localhost") + "/cdn/tiny")
                self.end_headers()
            elif self.path == "/cdn/tiny":
                self.give()
            else:
                self.send(404, b"")

        def give(self) -> None:
            wanted = self.headers.get("range", "")
            made_up.asked.append((self.path, wanted))
            start = int(wanted.removeprefix("bytes=").rstrip("-") or 0) if made_up.resumes else 0
            self.send(206 if start else 200, made_up.content[start:], made_up.breaks_after)

        def send(self, status: int, body: bytes, most: int | None = None) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:most])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made_up.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield made_up
    server.shutdown()
    server.server_close()


def got(hub: MadeUpHub, cache: Path, **options: Any) -> list[int]:
    settings = Settings(model_hub=hub.url, private_hosts=("127.0.0.1", "localhost"))
    return list(fetch(MODEL, cache, hub=make_hub(settings), **options))


def test_the_file_comes_over_a_redirect_and_is_verified(hub: MadeUpHub, tmp_path: Path):
    steps = got(hub, tmp_path)
    assert MODEL.path(tmp_path).read_bytes() == CONTENT
    assert steps == sorted(steps) and steps[-1] == len(CONTENT)
    assert got(hub, tmp_path) == [len(CONTENT)] and len(hub.asked) == 1, "it is there"


@pytest.mark.parametrize("resumes", [True, False], ids=["resumes", "begins anew"])
def test_a_download_that_broke_off_goes_on(hub: MadeUpHub, tmp_path: Path, resumes: bool):
    hub.breaks_after, hub.resumes = 100_000, resumes
    with pytest.raises(ModelUnavailable, match=r"could not be fetched from 127\.0\.0\.1"):
        got(hub, tmp_path)
    there = MODEL.path(tmp_path).with_suffix(".partial").stat().st_size
    assert 0 < there <= 100_000
    hub.breaks_after = None
    got(hub, tmp_path)
    assert MODEL.path(tmp_path).read_bytes() == CONTENT
    assert hub.asked[-1] == ("/cdn/tiny", f"bytes={there}-")


def test_a_file_with_another_hash_is_removed(hub: MadeUpHub, tmp_path: Path):
    hub.sha256 = "0" * 64
    with pytest.raises(ModelUnavailable, match=r"not 000000000000\.\.\. as 127\.0\.0\.1:\d+ states"):
        got(hub, tmp_path)
    assert list(MODEL.path(tmp_path).parent.glob("*.gguf")) == []
    assert list(MODEL.path(tmp_path).parent.glob("*.partial")) == []


def test_a_repository_without_the_file_is_named(hub: MadeUpHub, tmp_path: Path):
    hub.file = "other.gguf"
    with pytest.raises(ModelUnavailable, match=r"states no file tiny-q4\.gguf with a hash in Makers/Tiny"):
        got(hub, tmp_path)


def test_a_stop_keeps_what_has_come(hub: MadeUpHub, tmp_path: Path):
    coming = MODEL.path(tmp_path).with_suffix(".partial")
    coming.parent.mkdir(parents=True)
    coming.write_bytes(CONTENT[:1000])
    with pytest.raises(Cancelled):
        got(hub, tmp_path, cancelled=lambda: bool(hub.asked))
    assert coming.read_bytes() == CONTENT[: coming.stat().st_size] and coming.stat().st_size >= 1000


def test_a_hub_in_a_private_network_is_reached_only_where_it_is_allowed(hub: MadeUpHub, tmp_path: Path):
    with pytest.raises(ModelUnavailable, match="this computer or of a private network"):
        list(fetch(MODEL, tmp_path, hub=make_hub(Settings(model_hub=hub.url))))
    assert hub.asked == []
