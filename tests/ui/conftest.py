"""The pages over a data directory of their own, with stored conversations where a test needs them."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from storage.answers import Trace
from storage.records import CitationRecord, LeftOutRecord, PassageRecord, TurnRecord
from ui.server import services

MAIN = Path(__file__).parents[2] / "ui" / "main.py"
TEXT = "The harbour handled 4.1 million containers in 2024. It employed 1,204 people."

# Streamlit completes page objects only inside a page run, so they are made in one before a test imports them.
AppTest.from_string("import ui.pages").run()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    yield services.workspace()
    services.close()


@pytest.fixture
def page(here: Workspace) -> Callable[..., AppTest]:
    del here

    def open_page(name: str = "chat", **parameters: str) -> AppTest:
        script = f"from ui.{name}.page import show\nshow()"  # pages other than the first cannot be gone to
        at = AppTest.from_file(MAIN) if name == "chat" else AppTest.from_string(script)
        at.default_timeout = 100
        for key, value in parameters.items():
            at.query_params[key] = value
        return at.run()

    return open_page


def passage(
    number: int = 1, text: str = TEXT, *, document: str = "report.pdf", page: int | None = 3
) -> PassageRecord:
    return PassageRecord(
        number=number,
        chunk_id=f"gone-{number:05d}",
        document_id="gone",
        document=document,
        sha256="0" * 64,
        page=page,
        heading="Figures",
        start=100,
        end=100 + len(text),
        text=text,
        score=1.0,
    )


def citation(marker: int, answer: str, quote: str, text: str = TEXT) -> CitationRecord:
    """A verified citation of `quote` by the sentence of `answer` that ends with the marker."""
    start = 100 + text.index(quote)
    end = answer.index(f"[{marker}]") + 3
    return CitationRecord(marker, 0, end, "verified", start, start + len(quote), quote)


def tell(
    here: Workspace,
    question: str,
    answer: str,
    *,
    passages: Sequence[PassageRecord] = (),
    citations: Sequence[CitationRecord] = (),
    state: str = "complete",
    error: str | None = None,
    standalone: str | None = None,
    chat: str | None = None,
    left_out: Sequence[LeftOutRecord] = (),
    trace: Trace | None = None,
    timings_ms: Mapping[str, float] | None = None,
    model: str | None = None,
) -> TurnRecord:
    """Store a question and its finished answer."""
    chat = chat or here.conversations.create("About the harbour").id
    turn = here.conversations.begin_turn(chat, question)
    here.conversations.checkpoint(
        turn.answer_id, answer, standalone_question=standalone, passages=passages, left_out=left_out
    )
    here.conversations.finish(
        turn.answer_id,
        state,
        answer,
        citations=citations,
        error=error,
        trace=trace,
        timings_ms=timings_ms,
        model=model,
    )
    return turn


def table(at: AppTest) -> list[dict[str, Any]]:
    """The rows of the table of documents, as its component is given them."""
    shown = [one.proto for one in at.get("bidi_component") if "documents-table" in one.proto.id]
    return json.loads(shown[-1].json)["rows"] if shown else []


def words(at: AppTest) -> str:
    """All text on the page, with what escapes are for taken out."""
    shown = [
        e.value
        for kind in (at.title, at.header, at.markdown, at.caption, at.warning, at.info, at.error)
        for e in kind
    ]
    return "\n".join(map(str, shown)).replace("\\", "")
