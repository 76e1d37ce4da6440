import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag.citations.support import markers
from tests.ui.inert import is_inert, tokens, words
from ui.components.markdown import Link, escape_text, label, safe_answer

SYNTAX = st.sampled_from(
    [
        *"\\`*_[](){}<>#+-=|$~:&!.@/\"'^\n \t1aé가日",
        "![x](http://evil.test/p.png)",
        "[t](http://evil.test)",
        "[r]: http://evil.test",
        "[r][r]",
        "<img src=x onerror=alert(1)>",
        "<script>",
        "https://evil.test/a?b=c",
        "www.evil.test",
        "a@evil.test",
        "$$x$$",
        ":smile:",
        ":red[x]",
        ":material/home:",
        ":streamlit:",
        "```",
        "~~~",
        "\n\n",
        "| a | b |\n|---|---|\n",
        "    ",
        "- ",
        "1. ",
        "> ",
        "# ",
        "&lt;",
        " -> ",
        "[1]",
        "**",
        "한국어",
        "\u202e",
        "\x00",
        "\ud800",
        "\ue0000\ue001",
    ]
)
HOSTILE = st.lists(SYNTAX, max_size=30).map("".join)


@given(HOSTILE)
@example("`a``b``c` ![x](http://evil.test/p.png)")
@example("- a\n\n        ```\n![x](http://evil.test)\n```")
@example("[1](http://evil.test)[1]: http://evil.test")
@example("| `a | ![x](http://evil.test) |\n|---|---|\n| `b\\|` | c |")
def test_nothing_in_an_answer_acts(text: str):
    links = [(offset, Link(number, "m-0", text[:50])) for offset, number in markers(text)]
    is_inert(safe_answer(text, links))


@given(HOSTILE)
def test_nothing_in_a_document_acts(text: str):
    for shown in (escape_text(text), label(text)):
        is_inert(shown)
        assert not {t.type for t in tokens(shown)} & {
            "link_open",
            "strong_open",
            "heading_open",
            "table_open",
        }


@given(HOSTILE)
def test_every_word_of_a_document_is_shown(text: str):
    dropped = r"[\s\x00-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff\u2060]"
    assert words(escape_text(text)) == re.sub(dropped, "", text)


@pytest.mark.parametrize(
    "text",
    [
        "Revenue rose 12 % to $4.1 billion (2024: $3.7 billion).",
        "매출은 12 % 늘어 4조 1천억 원이 되었다. * 잠정치",
        "売上高は12%増の41億ドルとなった。 # 速報値",
        "2024. 3. 1. a -> b, x >= y -- _so_ ~~it~~ went at 12:30:45.",
    ],
)
def test_verbatim_keeps_what_was_written(text: str):
    assert words(escape_text(text)) == re.sub(r"\s", "", text)


def test_simple_markdown_of_an_answer_is_kept():
    table, code = "| a | b |\n|---|---|\n| 1 | 2 |", "```\n$x$ <b>\n```"
    shown = safe_answer(f"## Sum\n\nIt **grew** by `x|y`:\n\n- one\n  - two\n\n{table}\n\n{code}")
    kinds = [t.type for t in tokens(shown)]
    for kind in ("heading_open", "strong_open", "code_inline", "bullet_list_open", "table_open", "fence"):
        assert kind in kinds
    assert kinds.count("bullet_list_open") == 2
    assert next(t for t in tokens(shown) if t.type == "fence").content == "$x$ <b>\n"


@pytest.mark.parametrize(
    "text",
    [
        "**入社から6か月で10日を与える。**休暇は3日前までに申請する。",
        "社員は**「休暇」**を取得する。",
        "보증금은 **5,000만 원(부가세 별도)**으로 한다.",
        "**See `x`**so",
    ],
)
def test_bold_that_ends_with_a_sign_before_a_letter_is_bold(text: str):
    shown = safe_answer(text)
    assert {"strong_open", "em_open"} & {t.type for t in tokens(shown)}
    assert "*" not in words(shown)


def test_a_code_fence_that_never_closes_takes_nothing_with_it():
    assert (
        "![x]"
        in next(t for t in tokens(safe_answer("```\n![x](http://e.test)")) if t.type == "fence").content
    )


def test_a_known_marker_becomes_a_link_with_its_quote():
    text = "It grew [1]. It fell [2]."
    shown = safe_answer(text, [(8, Link(1, "m7-0", 'It "grew" — a.pdf, page 3'))])
    link = next(t for t in tokens(shown) if t.type == "link_open")
    assert link.attrs == {"href": "#cite-m7-0", "title": 'It "grew" — a.pdf, page 3'}
    assert words(shown) == "Itgrew[1].Itfell[2]."


def test_a_marker_in_code_stays_text():
    shown = safe_answer("`a[1]`", [(2, Link(1, "m-0", ""))])
    assert words(shown) == "a[1]" and "link_open" not in {t.type for t in tokens(shown)}


def test_images_and_links_are_shown_as_words():
    shown = safe_answer("See ![chart](https://e.test/a.png) and [this](https://e.test/b).")
    assert words(shown) == "Seechart(imagenotshown)andthis(https://e.test/b)."


def test_markers_are_found_where_they_stand():
    assert list(markers("So it is [2]. And[13][x].")) == [(9, 2), (17, 13)]


def test_a_label_is_one_short_line():
    assert label("a\n b" + "c" * 200, limit=10) == "a bcccccc…"


UNITS = [
    "[",
    "*",
    "`",
    "![",
    "[a](",
    "a@",
    "|",
    ":",
    "- ",
    "``a",
    "**a",
    "http://",
    "http://" + "." * 20_000 + "a",
]


@pytest.mark.timeout(10)
@pytest.mark.parametrize("unit", UNITS)
def test_long_hostile_text_takes_linear_time(unit: str):
    safe_answer(unit * (20_000 // len(unit) + 1))
    escape_text(unit * (20_000 // len(unit) + 1))


def test_a_note_stands_after_the_words_it_is_about():
    text = "It is so. But *not* here."
    shown = safe_answer(text, notes=[(9, "not found"), (len(text), "a [b] :red[c]")])
    assert shown.startswith("It is so.\u00a0:orange-badge[not found] But")
    assert shown.endswith("*not* here.\u00a0:orange-badge[a \\[b\\] \\:red\\[c\\]]")
    is_inert(shown)


def test_a_note_in_a_table_stays_in_its_cell_and_one_in_code_is_left_out():
    table = "| a | b |\n|---|---|\n| c | d |"
    shown = safe_answer(table, notes=[(len(table) - 2, "not found")])
    assert shown.splitlines()[-1] == "| c | d\u00a0:orange-badge[not found] |"
    code = "```\nx = [1]\n```"
    assert "badge" not in safe_answer(code, notes=[(9, "not found")])


def test_notes_and_markers_keep_their_places_in_any_order():
    text = "One [1]. Two [2]."
    links = [(4, Link(1, "a-0", "x")), (13, Link(2, "a-1", "y"))]
    shown = safe_answer(text, links, [(len(text), "later"), (8, "first")])
    assert re.findall(r"cite-a-\d|first|later", shown) == ["cite-a-0", "first", "cite-a-1", "later"]


def test_a_particle_after_a_mail_address_is_no_part_of_it() -> None:
    assert escape_text("문의는 a.b@saebom.example로 한다.") == "문의는 `a.b@saebom.example`로 한다."
    assert escape_text("a@b.jpまで") == "`a@b.jp`まで"
    is_inert(escape_text("a@evil.test로 www.evil.test로"))
