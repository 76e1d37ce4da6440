"""A reranker chosen on the settings page, and what a reader sees of it: meanwhile, after, where it fails."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server, serving
from tests.e2e.visitor import Visitor, close, press
from tests.rag.fake_llm import FakeLLM, Reply, Request

Visit = Callable[..., Visitor]
pytestmark = pytest.mark.slow(reason="walks in a browser through a page that tests/ui runs without one")


@pytest.fixture
def patient(tmp_path: Path, fake: FakeLLM, read: Path) -> Iterator[Server]:
    """The application with a model connected, the report in its library, and time for a reranker."""
    shutil.copytree(read, tmp_path / "data")
    connected = {"FOOTNOTE_LLM_BASE_URL": fake.url, "FOOTNOTE_LLM_MODEL": "fake"}
    with serving(tmp_path, FOOTNOTE_RERANK_SECONDS="600", **connected) as running:
        yield running


def test_a_reranker_is_chosen_used_and_told_of(patient: Server, visit: Visit, fake: FakeLLM):
    seen = Event()

    def likes_kobe(request: Request) -> dict[str, float]:
        seen.wait(500)
        yes = 0.9 if "Kobe" in request.prompt.split("<passage ")[-1] else 0.2
        return {"Yes": yes, "No": 1 - yes}

    visitor = visit(patient.url)
    page = visitor.page
    visitor.open_advanced()
    visitor.choose("Reranker", "Language model, yes or no")
    save = page.locator(".st-key-save-reranking").get_by_role("button")
    press(save, then=page.get_by_text("Saved."))

    fake.reply(Reply("The second crane was built in Kobe [1].", odds=likes_kobe))
    visitor.go("Chat")
    visitor.ask("Where were the cranes built?")
    # The first: as the page takes over from the turn that was drawn alone, both are there for a moment.
    expect(page.get_by_text(re.compile("Reranking .* passages…")).first).to_be_visible()
    seen.set()
    visitor.finished(1)
    panel = page.get_by_role("dialog")
    press(page.get_by_role("button", name="How was this answered?"), then=panel)
    expect(panel).to_contain_text("Reranker: pointwise-logprob")
    expect(panel.get_by_role("columnheader", name="Reranker")).to_be_visible()
    expect(panel).to_contain_text("rank 1, score 0.9")
    expect(panel.get_by_text("Request to rerank passages").first).to_be_visible()
    close(panel)

    fake.reply(Reply(status=401))
    visitor.ask("How many apprentices are there?")
    expect(page.get_by_text("The passages are in the order of the search").first).to_be_visible()
    assert visitor.strangers() == [] and visitor.errors == []
