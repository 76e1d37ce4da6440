from tests.rag.index.test_staged_vectors import put
from tests.rag.ingest.test_queue import wait_until
from tests.ui.conftest import words
from ui.server import services
from ui.settings.page import reindex_progress


def test_the_page_says_what_a_change_takes_and_which_model_answers_when_it_fails(page, here, monkeypatch):
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_BASE_URL", "http://127.0.0.1:9/v1")  # where nobody listens
    at = page("settings")
    assert "Changing the embedding model re-indexes" not in words(at)  # nothing is embedded yet
    put(here.library, 1)
    at = page("settings")
    assert "Changing the embedding model re-indexes everything (about 1 MB)" in words(at)
    assert "Search keeps working" in words(at)

    services.services().change({"embedding_model": "openai:none"})
    assert wait_until(lambda: here.reindexing.job is None, 100)
    at = page("settings")
    assert "127" in at.error[0].value
    assert "Search uses **multilingual-e5-small**" in words(at)
    assert [button.label for button in at.button if button.key == "reindex"] == ["Try again"]
    assert here.library.retriever("similarity", 1).invoke("castle1 stone1x1")

    services.services().change({"embedding_model": "multilingual-e5-small"})
    assert wait_until(lambda: here.reindexing.job is None, 60)
    assert page("settings").error.len == 0


def test_what_is_not_known_yet_is_no_share():
    assert reindex_progress(None) == (0.0, "Opening the model")
