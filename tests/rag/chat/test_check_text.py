import pytest

from rag.chat import check_text
from rag.chat.check_text import CheckedText, SourceWords, TextChecker, blocks
from rag.chat.pipeline import RagPipeline
from rag.citations.reader import StatementReader
from rag.errors import Cancelled
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.passage import Passage
from tests.rag.fake_llm import FakeLLM, Reply, careful, stated
from tests.rag.shelf import Shelf


def checked(text: str, name: str = "draft.md") -> CheckedText:
    *_, last = TextChecker(RagPipeline(Shelf())).check(name, text.encode())
    assert isinstance(last, CheckedText)
    return last


def test_fenced_code_is_one_block_however_many_lines_are_blank():
    text = "One.\n\n```\na\n\nb\n```\n\nTwo."
    assert [text[start:end] for start, end in blocks(text)] == ["One.", "```\na\n\nb\n```", "Two."]


def test_statements_behind_the_limit_are_counted_and_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(check_text, "MAX_STATEMENTS", 2)
    found = checked("The dog barked loudly. " * 5)
    assert len(found.statements) == 2
    assert found.notes == ("Only the first 2 of 5 statements were checked. Check the rest on its own.",)


def test_a_text_without_full_stops_is_not_checked_as_one_statement():
    (one,) = checked("words without an end " * 5_000).statements
    assert one.status == "not found" and "was not checked" in one.note


def test_a_ruled_line_in_plain_text_makes_no_heading():
    found = checked("The dog barked loudly.\n---\nThe cat slept.\n", "mail.txt")
    assert [one.text for one in found.statements] == ["The dog barked loudly.", "The cat slept."]


@pytest.mark.parametrize(
    ("letter", "stated"),
    [
        (
            "Dear Ms Vogel,\n\nThe dog barked loudly.\n\nKind regards\nHelen Marsh\n",
            ["The dog barked loudly."],
        ),
        (
            "안녕하세요, 김 팀장님.\n\n개가 크게 짖었습니다.\n\n감사합니다.\n김하늘 드림\n",
            ["개가 크게 짖었습니다."],
        ),
        (
            "森田様\n\nいつもお世話になっております。犬が大きく吠えました。\n\nよろしくお願いいたします。\n",
            ["犬が大きく吠えました。"],
        ),
    ],
)
def test_greetings_and_closings_are_no_statements(letter: str, stated: list[str]):
    assert [one.text for one in checked(letter, "mail.txt").statements] == stated


def test_a_check_stops_when_it_is_cancelled():
    with pytest.raises(Cancelled):
        list(TextChecker(RagPipeline(Shelf())).check("draft.md", b"The dog barked loudly.", lambda: True))


PARAPHRASED = "Its water reaches nine metres down. Somebody keeps forty dogs."


def read_by(server: FakeLLM, text: str) -> CheckedText:
    with LLM(LLMSettings(server.url, "m", "k", timeout=30, idle_timeout=30)) as llm:
        *_, last = TextChecker(RagPipeline(Shelf()), StatementReader(llm, 30.0)).check("a.md", text.encode())
    assert isinstance(last, CheckedText)
    return last


def test_a_connected_model_reads_for_what_is_said_in_other_words():
    assert [one.status for one in checked(PARAPHRASED).statements] == ["not found", "not found"]
    with FakeLLM() as server:
        server.read(careful({"Its water": "Its moat is nine metres deep."}))
        found = read_by(server, f"The castle of Aldenburg was built in 1432. {PARAPHRASED}")
        (asked,) = server.readings
    assert [one.status for one in found.statements] == ["verified", "verified", "not found"]
    assert found.statements[1].sources[0].quote == "Its moat is nine metres deep."
    assert "built in 1432. Its water" not in asked.prompt and found.notes == ()


def test_a_model_that_tells_nothing_apart_is_asked_twice_for_a_text_and_that_is_said():
    with FakeLLM() as server:
        server.read(
            Reply(lambda asked: "\n".join(f"{n} | supports | 1 | {said}" for n, said in stated(asked)))
        )
        found = read_by(server, "\n\n".join(f"{PARAPHRASED} Dog {n} barks." for n in range(4)))
        assert len(server.readings) == check_text.MOST_UNREAD
    assert not any(one.status == "verified" for one in found.statements)
    assert [note.partition(",")[0] for note in found.notes] == [
        "The connected model could not settle the open statements"
    ]


HOSTILE = ["[" * 300_000, "<b>" * 100_000, "> " * 100_000 + "It is so.", "|" * 300_000]


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda text: text[:3])
def test_hostile_text_is_checked_in_linear_time(hostile: str):
    checked(hostile + " The dog barked loudly.")  # hours, where time grows with the square


@pytest.mark.parametrize(
    ("text", "quote", "line"),
    [
        (
            "| Item | Note | Cost |\n|---|---|---|\n| Total | | 9,995 |",
            "| Total | | 9,995 |",
            "Total, Cost: 9,995",
        ),
        (
            "| 項目 | 数量 | 金額 |\n|---|---|---|\n| 教材費 | 15冊 | 30,000 |\n| 合計 | | 180,000 |",
            "| 教材費 | 15冊 | 30,000 |\n| 合計 | | 180,000 |",
            "教材費, 数量: 15冊, 金額: 30,000; 合計, 金額: 180,000",
        ),
        ("Allowed are:\n\n- Up to six hens\n- One hive", "- Up to six hens", "Up to six hens"),
        ("| Total | | | 9,995 |", "Total | | | 9,995 |", "Total | 9,995"),
        ("The dog barked.", "The dog barked.", "The dog barked."),
    ],
)
def test_the_words_of_a_source_are_told_on_one_line(text: str, quote: str, line: str):
    passage = Passage("c", "d", "rules.md", "", None, "", 40, 40 + len(text), text)
    start = 40 + text.index(quote)
    assert SourceWords(passage, start, start + len(quote)).line == line
