"""The HTTP interface on a real port, over a data directory with documents of two people and a fake model."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import uvicorn

from api.application import create_app
from rag.services import Services
from rag.settings import load
from rag.workspace import Workspace
from storage.keys import ApiKeys
from storage.records import DocumentRecord
from tests.rag.fake_llm import FakeLLM

HARBOUR = (
    "# Harbour authority\n\nThe harbour handled 4.1 million containers in 2024. It was opened in 1893.\n\n"
    "# Staff\n\nThe authority employed 1,204 people at the end of the year.\n"
)
CASTLE = "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n"
SECRET = "# Lighthouse\n\nThe harbour lamp of the lighthouse burned whale oil until 1901.\n"
QUESTION = "How many containers did the harbour handle in 2024?"


@dataclass
class ApiServer:
    """A running server, its people's keys, and clients for them."""

    url: str
    services: Services
    fake: FakeLLM
    keys: dict[str, str] = field(default_factory=dict)

    def client(self, owner: str = "ann", **options: object) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.keys.get(owner, owner)}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60, **options)

    def workspace(self, owner: str = "ann") -> Workspace:
        return self.services.workspace(owner)

    def key(self, owner: str = "ann", *scopes: str, **options: object) -> str:
        """Make another key."""
        given = scopes or ("read", "ask", "write")
        return ApiKeys(self.services.database, owner).create("Test", given, **options)[1]


def add(workspace: Workspace, name: str, text: str, collection: str | None = None) -> DocumentRecord:
    """Add a document and wait until it is ready."""
    record, _ = workspace.add(name, text.encode(), collection)
    return ready(workspace, record.id)


def ready(workspace: Workspace, document_id: str) -> DocumentRecord:
    deadline = time.monotonic() + 60
    while (record := workspace.library.documents.get(document_id)).state not in ("ready", "refused"):
        assert time.monotonic() < deadline, record
        time.sleep(0.05)
    return record


@contextmanager
def running(services: Services, fake: FakeLLM) -> Iterator[ApiServer]:
    """Serve in a thread."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        config = uvicorn.Config(create_app(services), log_config=None, access_log=False, proxy_headers=False)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 60
        while not server.started:
            assert thread.is_alive() and time.monotonic() < deadline
            time.sleep(0.01)
        yield ApiServer(f"http://127.0.0.1:{listening.getsockname()[1]}", services, fake)
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    """Serve one installation for a module's tests."""
    folder: Path = tmp_path_factory.mktemp("api")
    with FakeLLM(keeps_questions=True) as fake:
        services = Services(
            load(
                {
                    "data": folder / "data",
                    "llm_base_url": fake.url,
                    "llm_model": "fake",
                    "shutdown_seconds": 0,
                    "max_upload_mb": 1,
                }
            )
        )
        try:
            with running(services, fake) as server:
                ann, bob = server.workspace("ann"), server.workspace("bob")
                reports = ann.library.collections.create("Reports").id
                add(ann, "harbour.md", HARBOUR, reports)
                add(ann, "castle.md", CASTLE)
                add(bob, "lighthouse.md", SECRET, bob.library.collections.create("Lamps").id)
                server.keys = {owner: server.key(owner) for owner in ("ann", "bob")}
                yield server
        finally:
            services.close()


@pytest.fixture
def api(served: ApiServer) -> ApiServer:
    """The server, whose model answers from the passages again."""
    from tests.rag.fake_llm import Reply, from_passages

    served.fake.reply(Reply(from_passages))
    served.fake.hung_up.clear()
    return served
