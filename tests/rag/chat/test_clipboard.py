"""An answer for the clipboard."""

from dataclasses import replace
from datetime import UTC, datetime

from rag.chat.clipboard import footnoted_answer, plain_answer, tables_as_csv
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


def test_a_plain_copy_is_words_to_read():
    table = "| line | 2023 |\n|---|---|\n| iPhone ® | \\$65,775 [1] |\n| a \\| b | |"
    copied = plain_answer(answer(f"## Sales\n\n**Up** to \\$5 [1].\n\n- one\n- `2 * 3`\n\n{table}"))
    assert copied == "Sales\n\nUp to $5.\n\n- one\n- 2 * 3\n\nline\t2023\niPhone ®\t$65,775\na | b"


def test_code_is_copied_as_it_is():
    assert plain_answer(answer("So:\n```\na = b ** c ** d  # sum\n```\nOr 2**3.")) == (
        "So:\na = b ** c ** d  # sum\nOr 2**3."
    )


def test_a_row_in_a_footnote_has_commas_between_its_cells():
    row = "| iPhone ® (1) | 39,669 |"
    told = answer("Sales fell [1].")
    cited = replace(told, citations=(replace(told.citations[0], quote=row),))
    assert footnoted_answer(cited).endswith("“iPhone ® (1), 39,669”")


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
