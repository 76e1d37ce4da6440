"""One data directory and one opened server for many hostile inputs, so that many take seconds."""

from collections.abc import Iterator

import pytest

from rag.workspace import Workspace
from tests.rag.fake_llm import FakeLLM
from ui.server import services

GOOD = "How much is the deposit?"
NOTE = "# Lease\n\nThe deposit is three months' rent. The lease ends on 31 May 2027. The keys are with Ann.\n"


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeLLM]:
    with FakeLLM() as server:
        yield server


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A library of one note, without a language model."""
    folder = tmp_path_factory.mktemp("hostile")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FOOTNOTE_DATA", str(folder / "data"))
        opened = services.workspace()
        list(opened.library.index(opened.library.add("lease.md", NOTE.encode())[0].id))
        yield opened
        services.close()


def answer(here: Workspace, question: str, chat: str = "") -> str:
    """Ask, wait, and return what was stored as the answer, which must be whole."""
    turn = here.ask(chat or here.conversations.create().id, question)
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(60)
    stored = here.conversations.message(turn.answer_id)
    assert (stored.state, stored.error) == ("complete", None)
    return stored.content
