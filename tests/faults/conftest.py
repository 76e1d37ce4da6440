"""The application with models of ours, one server for each module that asks, and tabs without a browser."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from rag.index import chroma_probe
from rag.ingest.library import Library
from rag.models.embeddings import Embedder, open_embedder
from rag.settings import LOCAL_OWNER
from storage.database import Database
from tests.e2e.conftest import Server, serving
from tests.e2e.forked import UNDO_SECONDS
from tests.faults.auditing import audit
from tests.faults.forks import probe_in_a_fork
from tests.faults.tab import Tab
from tests.rag.fake_embeddings import MODEL, FakeEmbeddings
from tests.rag.fake_llm import FakeLLM

Open = Callable[..., Tab]


@pytest.fixture(autouse=True)
def probes_are_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save the imports of the child that tries an index after each crash; test_chroma_probe.py has them."""
    monkeypatch.setattr(chroma_probe, "_run_child", probe_in_a_fork)


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeLLM]:
    with FakeLLM(keeps_questions=True) as server:
        yield server


@pytest.fixture(scope="module")
def embeddings() -> Iterator[FakeEmbeddings]:
    with FakeEmbeddings() as server:
        yield server


@pytest.fixture(scope="module")
def server(
    tmp_path_factory: pytest.TempPathFactory, fake: FakeLLM, embeddings: FakeEmbeddings
) -> Iterator[Server]:
    settings = {
        "FOOTNOTE_LLM_BASE_URL": fake.url,
        "FOOTNOTE_LLM_MODEL": "fake",
        "FOOTNOTE_LLM_IDLE_TIMEOUT": "600",  # answers are held for as long as a test takes
        "FOOTNOTE_EMBEDDING_BASE_URL": embeddings.url,
        "FOOTNOTE_EMBEDDING_MODEL": MODEL,
        UNDO_SECONDS: "8",
    }
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, **settings) as running:
        yield running
    _audit(running, lambda: open_embedder(MODEL, cache=folder, base_url=embeddings.url))


def _audit(server: Server, embedder: Callable[[], Embedder]) -> None:
    """What the server leaves is sound, and it has said nothing of an error of its own."""
    log = server.log.read_text()
    assert "Traceback" not in log and '"level": "error"' not in log
    with closing(Database.open(server.data)) as database:
        library = Library(database, LOCAL_OWNER, embedder)
        audit(library, database)
        library.close()


@pytest.fixture
def open_tab(server: Server) -> Iterator[Open]:
    """Open tabs of one person, by the query and the page of their address; they are closed in the end."""
    opened = []

    def tab(query: str = "", page: str = "") -> Tab:
        opened.append(Tab.open(server.url, query, page))
        return opened[-1]

    yield tab
    for one in opened:
        one.close()
