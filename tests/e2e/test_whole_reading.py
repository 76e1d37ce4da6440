"""A question about a whole document: the offer to read all of it, its progress, a stop, and the coverage."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server, serving
from tests.e2e.visitor import Visitor, press
from tests.rag.fake_llm import FakeLLM, Reply

Visit = Callable[..., Visitor]
pytestmark = pytest.mark.slow(reason="walks in a browser through what tests/rag runs without one")


@pytest.fixture
def frugal(tmp_path: Path, fake: FakeLLM, read: Path) -> Iterator[Server]:
    """The application with a model whose context is too small for the report, which begins no reading."""
    shutil.copytree(read, tmp_path / "data")
    model = {"LLM_BASE_URL": fake.url, "LLM_MODEL": "fake", "LLM_CONTEXT_TOKENS": "512"}
    chosen = {f"FOOTNOTE_{name}": value for name, value in (model | {"READING_REQUESTS": "0"}).items()}
    with serving(tmp_path, **chosen) as running:
        yield running


def test_reading_all_is_offered_shown_stopped_and_told(frugal: Server, visit: Visit, fake: FakeLLM):
    visitor = visit(frugal.url)
    page = visitor.page
    visitor.ask("Summarise my documents")
    visitor.finished(1)
    offer = page.get_by_role("button", name=re.compile(r"Read all \d passages \(\d requests, about"))
    fake.reply(Reply("The harbour handled 4.1 million containers [1].", hold_after=2))
    press(offer, then=page.get_by_text(re.compile(r"Reading whole documents: 0 of \d requests")).first)
    press(page.get_by_role("button", name="Stop"), then=page.get_by_text("Stopped.").first)

    fake.released.set()
    press(page.get_by_role("button", name="Retry"), then=offer)
    press(offer, then=page.get_by_text(re.compile(r"Read (\d) of \1 passages in 1 document")).first)
    expect(offer).to_have_count(0)
    assert visitor.strangers() == [] and visitor.errors == []
