"""A ledger that breaks while it is served: whoever is at a page is told in a sentence, and the log once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Server, serving
from tests.faults.damaging import SAID, damage
from tests.faults.tab import Tab
from tests.rag.fake_embeddings import MODEL, FakeEmbeddings
from tests.rag.fake_llm import FakeLLM


@pytest.fixture
def served(tmp_path: Path, fake: FakeLLM, embeddings: FakeEmbeddings) -> Iterator[Server]:
    """A server of its own: nothing it holds is sound in the end."""
    models = {
        "FOOTNOTE_LLM_BASE_URL": fake.url,
        "FOOTNOTE_LLM_MODEL": "fake",
        "FOOTNOTE_EMBEDDING_BASE_URL": embeddings.url,
        "FOOTNOTE_EMBEDDING_MODEL": MODEL,
    }
    with serving(tmp_path, **models) as server:
        yield server


@pytest.mark.timeout(600)
def test_a_ledger_that_breaks_while_it_is_served_is_named_on_the_page_and_once_in_the_log(served: Server):
    tab = Tab.open(served.url)
    tab.ask("How many containers were handled?", ("harbour.md", b"It handled 4.1 million containers."))
    tab.until(lambda: "Written by" in tab.text)
    damage(served.data)
    tab.until(lambda: SAID in tab.text, look=True)
    for _ in range(3):
        tab.look()
    tab.press("new-chat", then=lambda: SAID in tab.text and "Written by" not in tab.text)
    tab.close()
    log = served.log.read_text()
    assert log.count("A page could not be shown") == 1
    assert "Traceback" not in log
