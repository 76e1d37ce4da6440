import re

import pytest
from hypothesis import given

from tests.ui.components.test_markdown import HOSTILE
from tests.ui.inert import is_inert, tokens, words
from ui.components.document_text import form_of, running_words, show_text

REPORT = """# Annual report

## Traffic

In 2025 the harbour handled 4.1 million
containers, most of them **from Kobe**. See [the
table](figures.md) and `x_y`.

- tar
- timber, of which
  most is oak

| Cargo | 2025 |
|---|---|
| **Tar** | 80 |
"""


def highlighted(shown: str) -> str:
    return "".join(re.findall(r":yellow-background\[(.*?(?<!\\))\]", shown)).replace("\\", "")


def show(quote: str, text: str = REPORT, name: str = "report.md") -> str:
    return show_text(text, form_of(name), text.index(quote), text.index(quote) + len(quote))


def test_markdown_is_shown_without_its_marks_and_line_breaks():
    shown = show("4.1 million\ncontainers, most of them **from Kobe**")
    kinds = [token.type for token in tokens(shown)]
    assert kinds.count("heading_open") == 2 and kinds.count("list_item_open") == 2
    assert "table_open" in kinds and "softbreak" not in kinds and "hardbreak" not in kinds
    assert highlighted(shown) == "4.1 million containers, most of them **from Kobe**"
    assert not re.search(r"#|\*|`", words(shown).replace("**", ""))
    assert "timber, of which most is oak" in shown and "| Tar | 80 |" in shown


@pytest.mark.parametrize(
    ("quote", "marked"),
    [
        ("Traffic", "Traffic"),
        ("million\ncont", "million cont"),
        ("them **from Ko", "them from Ko"),
        ("tar\n- timber", "tartimber"),
        ("| **Tar** | 80 |", "Tar80"),
    ],
)
def test_the_cited_words_and_no_others_are_highlighted(quote: str, marked: str):
    assert highlighted(show(quote)) == marked


def test_other_files_keep_what_only_looks_like_markdown():
    text = "# of ships\n80\n\n**a** and\nb"
    assert show("80", text, "a.txt") == "\\# of ships\\\n:yellow-background[80]\n\n\\*\\*a\\*\\* and\\\nb"
    assert show("80", text, "a.pdf") == "\\# of ships :yellow-background[80]\n\n\\*\\*a\\*\\* and b"


@pytest.mark.parametrize("name", ["a.md", "a.pdf"])
def test_labelled_lines_keep_their_line_ends(name: str):
    text = "Date: 12 May\nPresent: Ann Lee,\nTom Roe\nMinutes: Mia Kim"
    assert running_words(text, form_of(name)) == "Date: 12 May\nPresent: Ann Lee, Tom Roe\nMinutes: Mia Kim"
    breaks = [token.type for token in tokens(show("Mia", text, name))].count("hardbreak")
    assert breaks == 2


def test_a_line_end_within_the_cited_words_is_not_highlighted():
    shown = show("tar\nand oak", "We sell tar\nand oak.", "a.txt")
    assert shown == "We sell :yellow-background[tar]\\\n:yellow-background[and oak]\u2060."


def test_japanese_lines_are_joined_without_a_space():
    assert (
        show("した", "港は二〇二五年に\n増加した。", "a.md")
        == "港は二〇二五年に増加\u2060:yellow-background[した]\u2060。"
    )


def test_code_keeps_its_lines_and_its_signs():
    text = "```\na = b\n# no heading\n```\nand so on"
    assert words(show("no heading", text)).replace("\u2060", "") == (
        "a=b#:yellow-background[noheading]andsoon"
    )


def test_a_quote_stands_between_its_neighbours():
    shown = show("The *quote*.", "Before. The *quote*.\nAfter.", "a.txt")
    assert shown == "Before. :yellow-background[The \\*quote\\*.]\\\nAfter."


def test_a_row_is_highlighted_in_its_table():
    text = "Ships:\n\n| ship | tonnes |\n|---|---|\n| _Ada_ | 80 |\n| Bob | 65 |\n\nEnd."
    shown = show("| Bob | 65 |", text)
    assert "table_open" in {t.type for t in tokens(shown)}
    assert "| :yellow-background[Bob] | :yellow-background[65] |" in shown
    assert "| \\_Ada\\_ | 80 |" in shown and shown.endswith("End.")


@given(HOSTILE, HOSTILE, HOSTILE)
def test_nothing_in_a_document_acts(before: str, quote: str, after: str):
    text, span = before + quote + after, (len(before), len(before + quote))
    for name in ("a.md", "a.pdf", "a.txt"):
        is_inert(show_text(text, form_of(name), *span).replace(":yellow-background", ""))


@given(HOSTILE)
def test_every_word_of_a_plain_text_is_shown(text: str):
    dropped = r"[\s\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff\u2060]"
    if "|" not in text:
        assert words(show_text(text, "lines")) == re.sub(dropped, "", text)


def test_running_words_of_a_quote_keep_its_rows_items_headings_and_code():
    rows = "# Staff\n{said}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- one\n- two,{gap}wrapped\n\n```\nx\ny\n```"
    told = rows.format(said="It employed\n1,204 people.", gap="\n  ")
    assert running_words(told, "markdown") == rows.format(said="It employed 1,204 people.", gap=" ")
    assert running_words("東京は\n日本の", "wrapped") == "東京は日本の"
    assert running_words("a poem\nof lines", "lines") == "a poem\nof lines"
