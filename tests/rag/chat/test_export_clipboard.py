"""An answer for the clipboard."""

from datetime import UTC, datetime

from rag.chat.export import footnoted_answer, plain_answer, tables_as_csv
from storage.records import CitationRecord, Message, PassageRecord

TEXT = "iPhone sales fell to 39,669. Mac sales were 6,840."


def answer(content: str) -> Message:
    passage = PassageRecord(1, "c", "d", "q3 [x].pdf", "0" * 64, 19, "", 0, len(TEXT), TEXT, 1.0)
    quoted = CitationRecord(1, 0, len(content), "verified", 0, 28, TEXT[:28])
    return Message(
        "a",
        "assistant",
        content,
        "complete",
        None,
        "model",
        None,
        None,
        {},
        datetime.now(UTC),
        passages=(passage,),
        citations=(quoted,),
    )


def test_a_plain_copy_has_no_markers_and_no_spaces_in_their_place():
    assert plain_answer(answer("Sales fell [1][1]. So it is [1].")) == "Sales fell. So it is."


def test_a_copy_with_footnotes_names_the_document_the_page_and_the_words():
    copied = footnoted_answer(answer("Sales fell [1]. ![x](http://evil.test/a)"))
    body, note = copied.split("\n\n")
    assert body.startswith("Sales fell [^1].") and "![" not in body
    assert note == r"[^1]: q3 \[x\].pdf, page 19: “iPhone sales fell to 39,669.”"


def test_a_table_is_copied_as_csv_in_which_no_cell_is_a_formula():
    table = "| line | 2023 |\n|---|---|\n| =HYPERLINK(1) | 39,669 [1] |\n| Mac | (7)% |"
    assert tables_as_csv(answer(table)) == ['line,2023\n\'=HYPERLINK(1),"39,669"\nMac,(7)%\n']


def test_an_answer_without_sources_is_copied_as_it_is():
    assert footnoted_answer(answer("Hello.")) == plain_answer(answer("Hello.")) == "Hello."
