"""An answer for the clipboard."""

import re
from dataclasses import replace
from datetime import UTC, datetime

from rag.chat.clipboard import (
    copied_tables,
    footnoted_answer,
    plain_answer,
    plain_html,
    sourced_answer,
    sourced_html,
)
from rag.i18n import in_language
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


def test_a_row_among_the_sources_has_commas_between_its_cells():
    row = "| iPhone ® (1) | \\$39,669 |"
    told = answer("Sales fell [1].")
    cited = replace(told, citations=(replace(told.citations[0], quote=row),))
    assert sourced_answer(cited).endswith("“iPhone ® (1), $39,669”")


def test_a_copy_as_markdown_has_footnotes_and_nothing_active():
    copied = footnoted_answer(answer("**Sales** fell ![x](http://a.b) [1]."))
    said, note = copied.split("\n\n")
    assert said.startswith("**Sales** fell !\\[x\\]") and said.endswith("[^1].")
    assert note == "[^1]: q3 \\[x\\].pdf, page 19: “iPhone sales fell to 39,669.”"


def test_the_mark_of_a_footnote_stands_behind_bold_words():
    assert footnoted_answer(answer("**Heron [1]** flies. **Mac** [1].")).startswith(
        "**Heron** [^1] flies. **Mac** [^1]."
    )


def test_copied_words_stand_in_the_quotation_marks_of_the_page():
    with in_language("ja"):
        assert sourced_answer(answer("Sales fell [1].")).endswith("「iPhone sales fell to 39,669.」")


def test_a_copy_with_sources_names_the_document_the_page_and_the_words_without_escapes():
    copied = sourced_answer(answer("**Sales** fell to \\$5 [1].\n\n| a \\| b | 1 * 2 [1] |\n|---|---|"))
    body, table, source = copied.split("\n\n")
    assert (body, table) == ("Sales fell to $5 [1].", "a | b\t1 * 2 [1]")
    assert source == "[1] q3 [x].pdf, page 19: “iPhone sales fell to 39,669.”"


def test_a_word_processor_gets_bold_words_lists_and_tables():
    table = "| a \\| b | 2023 |\n|---|---|\n| Mac | *7* |"
    written = f"# Sales\n\n**売上。**は \\$5 [1].\n\n- one\n- `2 * 3`\n\n{table}"
    html = plain_html(answer(written))
    assert "<h4>Sales</h4>" in html and "<p><strong>売上。</strong>は $5.</p>" in html
    assert "<li>one</li>" in html and "<li><code>2 * 3</code></li>" in html
    assert "<th>a | b</th>" in html and "<td><em>7</em></td>" in html
    sourced = sourced_html(answer(written))
    assert "は $5 [1].</p>" in sourced
    assert sourced.endswith("<p>[1] q3 [x].pdf, page 19: “iPhone sales fell to 39,669.”</p>\n")


HOSTILE = (
    "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n![x](http://evil.test/a)\n"
    "[x](javascript:alert(1))"
    '\n\n<http://evil.test> &lt;b&gt; [x][y]\n\n[y]: http://evil.test/b\n\n```a"><img>\n<b>\n```\n'
)


def test_no_html_image_or_link_of_an_answer_or_a_document_is_copied_as_such():
    told = answer(HOSTILE + "[1]")
    passage = replace(told.passages[0], document="<img src=x>.pdf")
    cited = replace(told, passages=(passage,), citations=(replace(told.citations[0], quote=HOSTILE),))
    for html in (plain_html(cited), sourced_html(cited)):
        assert set(re.findall(r"<(\w+)", html)) == {"p", "pre", "code"}
        assert not re.search(r"<[^>]*(?:src|href|class|on\w+)=", html)


def test_a_table_is_copied_in_columns_in_which_no_cell_is_a_formula():
    written = "|  | **2023** |\n|---|---|\n| =HYPERLINK(1) | \\$39,669 [1] |\n| a <b> | - |\n| Mac | (7)% |"
    (table,) = copied_tables(answer(written))
    assert table.words.split("\n") == ["\t2023", "'=HYPERLINK(1)\t$39,669", "a <b>\t-", "Mac\t(7)%"]
    rows = re.findall(r"<tr>(.*?)</tr>", table.html)
    assert rows[:2] == ["<td></td><td>2023</td>", "<td>&#x27;=HYPERLINK(1)</td><td>$39,669</td>"]
    assert set(re.findall(r"<(\w+)", table.html)) == {"table", "tr", "td"}


def test_an_answer_without_sources_is_copied_as_it_is():
    assert sourced_answer(answer("Hello.")) == plain_answer(answer("Hello.")) == "Hello."
