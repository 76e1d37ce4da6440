"""Many people at once, each with a word of their own: it comes up nowhere but with its owner."""

import io
import json
import logging
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from api.operations import operation_routes
from rag.logs import write_lines
from rag.services import Services
from tests.rag.fake_llm import FakeLLM
from ui.server import services

PEOPLE = 6
CANARY = re.compile(r"canary\d+x")
TOKEN = "for-metrics-only"


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    with FakeLLM() as server:
        yield server


@pytest.fixture
def crowded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeLLM) -> Iterator[Services]:
    """A server that knows people by a proxy's header, with a model connected."""
    monkeypatch.chdir(tmp_path)
    settings = {
        "DATA": str(tmp_path / "data"),
        "TRUSTED_HEADER": "X-Person",
        "TRUSTED_PROXIES": "127.0.0.1",
        "METRICS_TOKEN": TOKEN,
        "LLM_BASE_URL": fake.url,
        "LLM_MODEL": "fake",
    }
    for name, value in settings.items():
        monkeypatch.setenv(f"FOOTNOTE_{name}", value)
    yield services.services()
    services.close()


@pytest.fixture
def log(crowded: Services) -> Iterator[io.StringIO]:
    """What the server logs meanwhile, as it writes it."""
    del crowded
    before, level = list(logging.root.handlers), logging.root.level
    written = io.StringIO()
    write_lines(written)
    yield written
    logging.root.handlers, logging.root.level = before, level


def live(server: Services, number: int) -> str:
    """Add a document, ask about it twice, search, and return everything that this person is shown of it."""
    here, own = server.workspace(f"person{number}"), f"canary{number}x"
    text = f"The mooring fee is {number} euros, as {own} wrote. The harbour of {own} opens at six."
    record, _ = here.add(f"{own}.md", text.encode())
    chat = here.conversations.create(f"With {own}").id
    for question in ("What is the mooring fee?", f"And when does the harbour open, {own}?"):
        turn = here.ask(chat, question, after=[record.id])
        job = here.answering(turn.answer_id)
        assert job is None or job.wait(120)
    found = [here.library.retriever(name, 9).invoke("mooring fee") for name in ("bm25", "ensemble-cc")]
    shown = [
        *map(asdict, here.conversations.messages(chat)),
        *map(asdict, here.conversations.list()),
        *map(asdict, here.library.documents.list()),
        here.exported(chat, "json"),
        [[hit.model_dump() for hit in hits] for hits in found],
    ]
    return json.dumps(shown, default=str)


@pytest.mark.timeout(300)
def test_each_word_comes_up_with_its_owner_only(crowded: Services, log: io.StringIO, fake: FakeLLM):
    with ThreadPoolExecutor(PEOPLE) as pool:
        shown = list(pool.map(lambda number: live(crowded, number), range(PEOPLE)))
    for number, everything in enumerate(shown):
        assert set(CANARY.findall(everything)) == {f"canary{number}x"}
        assert '"state": "complete"' in everything and "euros" in everything
    prompts = [CANARY.findall(json.dumps(request.body)) for request in fake.requests]
    assert all(len(set(words)) <= 1 for words in prompts) and sum(map(bool, prompts)) >= 2 * PEOPLE
    app = Starlette(routes=operation_routes(services.services))
    told = [
        TestClient(app).get(path, headers={"Authorization": f"Bearer {TOKEN}"}).text
        for path in ("/readyz", "/metrics")
    ]
    assert "footnote_turns_total" in told[1]
    for text in (log.getvalue(), *told):
        assert text and not CANARY.search(text) and "person" not in text
