"""A model that lies on purpose: the page marks exactly what is false."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.rag.fake_llm import FakeLLM, Reply, Request
from tests.ui.conftest import MAIN
from ui.server import services

HARBOUR = """\
# Harbour

The harbour of Veldham handled 4.1 million containers in 2024. The first crane was built in Busan and lifts
65 tonnes. The second crane was built in Kobe and lifts 80 tonnes. The harbour may not be entered at night.
"""
TEXTS = {
    "harbour.md": HARBOUR,
    "항구.md": "# 항구\n\n벨담 항구는 1887년에 문을 열었다. 항구는 1931년에 문을 닫았다.\n",
    "港.md": "# 港\n\nベルダム港は1887年に開港した。港は1931年に閉鎖された。\n",
}
TRUE = (
    "The harbour of Veldham handled 4.1 million containers in 2024 [{harbour.md}].",
    "The second crane was built in Kobe and lifts 80 tonnes [{harbour.md}].",
    "The first crane was built in Busan.",  # without a marker: it gets one, since it is so
    "벨담 항구는 1887년에 문을 열었다 [{항구.md}].",
    "ベルダム港は1887年に開港した [{港.md}]。",
    "The first crane was built in Busan [{항구.md}].",  # not there, but in another passage
)
FALSE = (
    "The harbour of Veldham handled 4.7 million containers in 2024 [{harbour.md}].",  # another number
    "The second crane was built in Busan and lifts 80 tonnes [{harbour.md}].",  # another name
    "The harbour may be entered at night [{harbour.md}].",  # turned round
    "The harbour was sold to a bank in Oslo [{harbour.md}].",  # invented
    "Its workers went on strike for nine weeks.",  # invented, without a marker
    "벨담 항구는 1889년에 문을 열었다 [{항구.md}].",
    "항구는 1931년에 문을 닫지 않았다 [{항구.md}].",
    "ベルダム港は1889年に開港した [{港.md}]。",
)
MIXED = [
    statement for pair in zip(FALSE, (*TRUE, *[None] * 2), strict=True) for statement in pair if statement
]


@pytest.fixture
def liar() -> Iterator[FakeLLM]:
    with FakeLLM() as fake:
        yield fake


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, liar: FakeLLM) -> Iterator[Workspace]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FOOTNOTE_RETRIEVER", "bm25")
    monkeypatch.setenv("FOOTNOTE_LLM_BASE_URL", liar.url)
    monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "liar")
    yield services.workspace()
    services.close()


def answered(here: Workspace, liar: FakeLLM, *statements: str) -> str:
    """Ask a question that finds all three files; the liar says the statements, each in a line of its own."""
    for name, text in TEXTS.items():
        list(here.library.read(here.library.add(name, text.encode())[0].id))

    def lie(request: Request) -> str:
        fences = re.findall(r'<passage number="(\d+)" document="([^"]+)"', request.prompt)
        numbers = {name: number for number, name in fences}
        return re.sub(r"\{([^}]+)\}", lambda name: numbers[name[1]], "\n\n".join(statements))

    def assure(request: Request) -> str:
        """Support every statement with every sentence of the passages."""
        told = re.findall(r'<statement number="(\d+)"', request.prompt)
        fences = re.findall(r'<passage number="(\d+)"[^>]*>\n(.*?)\n</passage>', request.prompt, re.S)
        lines = [(n, line) for n, text in fences for line in re.split(r"(?<=[.。])\s*", text) if line.strip()]
        return "\n".join(
            f"{at} | supports | {n} | {' '.join(line.split())}" for at in told for n, line in lines
        )

    liar.say(lie)
    liar.read(Reply(assure))
    turn = here.ask(here.conversations.create().id, "harbour 항구 港 crane 1887")
    here.answering(turn.answer_id).wait(20)
    while here.checking():
        time.sleep(0.02)
    assert liar.readings
    return turn.conversation_id


def paragraphs(chat: str) -> list[str]:
    """The answer as the page shows it, a statement each."""
    at = AppTest.from_file(MAIN, default_timeout=100)
    at.query_params["chat"] = chat
    shown = next(m.value for m in at.run().markdown if "#cite-" in m.value)
    return [part for part in shown.split("\n\n") if part.strip()]


def test_no_false_statement_opens_as_verified_and_the_count_says_how_many_are(here: Workspace, liar: FakeLLM):
    chat = answered(here, liar, *MIXED)
    answer = here.conversations.messages(chat)[-1]
    spans = [
        answer.content[c.answer_start : c.answer_end] for c in answer.citations if c.status == "verified"
    ]
    assert len(spans) == len(TRUE)
    assert not [span for span in spans for lie in FALSE if lie.split("{")[0].strip(" [") in span]
    at = AppTest.from_file(MAIN, default_timeout=100)
    at.query_params["chat"] = chat
    said = f"{len(TRUE)} of {len(MIXED)} statements verified"
    assert any(said in caption.value for caption in at.run().caption)


def test_a_marker_stands_beside_an_unmarked_statement_only_where_it_is_so(here: Workspace, liar: FakeLLM):
    chat = answered(here, liar, TRUE[2], FALSE[4])
    so, invented = paragraphs(chat)
    assert "](#cite-" in so and "](#cite-" not in invented
