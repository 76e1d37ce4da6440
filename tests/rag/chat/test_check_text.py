import pytest

from rag.chat import check_text
from rag.chat.check_text import CheckedText, SourceWords, TextChecker, blocks
from rag.chat.pipeline import RagPipeline
from rag.errors import Cancelled
from rag.passage import Passage
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


def test_a_check_stops_when_it_is_cancelled():
    with pytest.raises(Cancelled):
        list(TextChecker(RagPipeline(Shelf())).check("draft.md", b"The dog barked loudly.", lambda: True))


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
        ("Allowed are:\n\n- Up to six hens\n- One hive", "- Up to six hens", "Up to six hens"),
        ("| Total | | | 9,995 |", "Total | | | 9,995 |", "Total | 9,995"),
        ("The dog barked.", "The dog barked.", "The dog barked."),
    ],
)
def test_the_words_of_a_source_are_told_on_one_line(text: str, quote: str, line: str):
    passage = Passage("c", "d", "rules.md", "", None, "", 40, 40 + len(text), text)
    start = 40 + text.index(quote)
    assert SourceWords(passage, start, start + len(quote)).line == line
