"""A chat in each form: numbered quotes with file, page and hash, and nothing in it that acts."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from markdown_it import MarkdownIt

from rag.chat.export import (
    FORMS,
    STYLE,
    ExportedChat,
    FeedbackCase,
    cases,
    export,
    file_name,
    pieces,
    to_html,
    to_json,
    to_jsonl,
    to_markdown,
    unhelpful_to_jsonl,
)
from rag.i18n import in_language
from storage.records import CitationRecord, ConversationRecord, Message, PassageRecord

WHEN = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
TEXT = "The castle was built in 1432. Its moat is nine metres deep."
BUILT, MOAT = "The castle was built in 1432.", "Its moat is nine metres deep."
ANSWER = "It was built in 1432 [1]. The moat is nine metres deep [1]. It was sold in 1999. Later too [2]."
HOSTILE = (
    "![x](http://evil.test/x.png) <img src=x onerror=a()> [r][1] <script>a()</script> & </title></style> "
    "www.evil.test \u202e `c` $x$\n[1]: http://evil.test\n# Head\n- <b>item</b>\n\n    <i>code</i>\n---"
)


def passage(
    number: int, text: str = TEXT, *, document: str = "castle.pdf", heading: str = "Guide"
) -> PassageRecord:
    return PassageRecord(
        number, f"d-{number}", "d", document, f"{number}" * 64, 3, heading, 100, 100 + len(text), text, 1.0
    )


def cited(marker: int, statement: str, quote: str, status: str, content: str = ANSWER) -> CitationRecord:
    start = content.index(statement)
    at = 100 + TEXT.find(quote) if quote else 0
    return CitationRecord(marker, start, start + len(statement), status, at, at + len(quote), quote)


CITATIONS = (
    cited(1, "It was built in 1432 [1].", BUILT, "verified"),
    cited(1, "The moat is nine metres deep [1].", MOAT, "verified"),
    cited(0, "It was sold in 1999.", "", "unsupported"),
    cited(2, "Later too [2].", "", "unsupported"),
)


def question(text: str = "When was it built?", number: int = 1) -> Message:
    return Message(f"q{number}", "user", text, "complete", None, None, None, None, {}, WHEN)


def answer(number: int = 1, content: str = ANSWER, **fields: object) -> Message:
    told = {"passages": (passage(1), passage(2)), "citations": CITATIONS, **fields}
    return Message(
        id=f"a{number}",
        role="assistant",
        content=content,
        state=told.pop("state", "complete"),
        question_id=f"q{number}",
        standalone_question=told.pop("standalone_question", None),
        model="fake",
        error=None,
        timings_ms={},
        created=WHEN,
        **told,
    )


def chat(*messages: Message, title: str = "The castle") -> ExportedChat:
    return export(ConversationRecord("c1", title, WHEN, WHEN), messages or (question(), answer()), WHEN)


def test_quotes_are_numbered_through_the_chat_and_know_their_file_page_and_hash():
    both = chat(question(), answer(), question("Again?", 2), answer(2))
    assert [[quote.number for quote in turn.quotes] for turn in both.turns] == [[1, 2, 3], [4, 5, 6]]
    first = both.turns[0].quotes[0]
    assert (first.text, first.statement, first.status) == (BUILT, "It was built in 1432.", "verified")
    assert (first.document, first.page, first.heading, first.sha256) == ("castle.pdf", 3, "Guide", "1" * 64)
    assert TEXT[first.start - 100 : first.end - 100] == BUILT
    assert [quote.marker for quote in both.turns[1].quotes] == [1, 1, 2]


def test_an_answers_pieces_are_its_text_with_numbers_and_remarks_between():
    (turn,) = chat().turns
    assert "".join(piece.text or f"<{piece.quote or piece.remark}>" for piece in turn.pieces) == (
        "It was built in 1432 <1>. The moat is nine metres deep <2>. It was sold in 1999. Later too <3>."
    )
    assert "".join(piece.text for piece in pieces(answer(citations=()), {})) == ANSWER


def test_a_marker_of_no_passage_is_text_and_one_without_a_verdict_quotes_nothing():
    (turn,) = chat(question(), answer(content="So [1]. And [9].", citations=(), state="stopped")).turns
    assert [piece.text or piece.quote for piece in turn.pieces] == ["So ", 1, ". And [9]."]
    assert [(quote.text, quote.status, quote.start, quote.end) for quote in turn.quotes] == [
        ("", "unsupported", 100, 100)
    ]


def test_an_answer_on_its_way_is_left_out():
    assert chat(question(), answer(state="pending")).turns == ()


def test_json_tells_all_that_is_needed_to_check_a_quote_again():
    told = json.loads(to_json(chat()))
    assert (told["form"], told["version"], told["id"]) == ("footnote-chat", 1, "c1")
    (turn,) = told["turns"]
    assert turn["answer"] == ANSWER and turn["backed"] == "2 of 4 statements verified"
    assert set(turn["quotes"][0]) >= {
        "number",
        "text",
        "document",
        "page",
        "sha256",
        "start",
        "end",
        "status",
    }


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_question_the_answer_and_each_quotes_origin(form):
    text = FORMS[form](chat(question("언제 지었나요?"), answer(standalone_question="성은 언제 지었나요?")))
    for words in (
        "언제 지었나요?",
        "성은 언제 지었나요?",
        BUILT,
        MOAT,
        "1" * 64,
        "2" * 64,
        "castle.pdf",
        "2 of 4",
    ):
        assert words in text
    if form != "json":
        assert "page 3" in text


def test_what_a_source_says_instead_is_told_in_every_form():
    differing = (*CITATIONS[:2], replace(CITATIONS[2], status="differs", marker=1, note="2001"), CITATIONS[3])
    for form in (to_html, to_markdown):
        assert "Source says: 2001" in form(chat(question(), answer(citations=differing)))


def test_quotes_have_the_marks_of_the_language_of_the_page():
    with in_language("ja"):
        told = to_markdown(chat(question(), answer()))
    assert "「The castle was built in 1432" in told and "“The castle" not in told


def test_what_an_answer_was_searched_in_is_told_in_every_form():
    told = chat(question(), answer(searched_in="HR (collection), a.md"), question("Again?", 2), answer(2))
    assert [turn.searched_in for turn in told.turns] == ["HR (collection), a.md", ""]
    assert [turn["searched_in"] for turn in json.loads(to_json(told))["turns"]] == [
        "HR (collection), a.md",
        None,
    ]
    for form in (to_html, to_markdown):
        assert form(told).count("Searched in: HR (collection), a.md") == 1


def hostile_chat() -> ExportedChat:
    quoted = CitationRecord(1, 0, 10, "verified", 100, 100 + len(HOSTILE), HOSTILE)
    named = passage(1, HOSTILE, document=HOSTILE, heading=HOSTILE)
    told = answer(
        content=HOSTILE,
        passages=(named,),
        citations=(quoted,),
        standalone_question="?" + HOSTILE,
        searched_in=HOSTILE,
    )
    return chat(question(HOSTILE), told, title=HOSTILE)


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_html_holds_no_tag_of_a_document_and_forbids_all_but_its_own_style():
    page = to_html(hostile_chat())
    tags = Tags()
    tags.feed(page)
    known = "html head meta title style body h1 h2 h3 p section div ol li a q br code span"
    assert {tag for tag, _ in tags.seen} <= set(known.split())
    assert all(attrs["href"].startswith("#quote-") for tag, attrs in tags.seen if tag == "a")
    assert not any(name in attrs for _, attrs in tags.seen for name in ("src", "onerror", "onload", "style"))
    (policy,) = (attrs["content"] for _, attrs in tags.seen if "http-equiv" in attrs)
    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert re.search("<style>(.*?)</style>", page, re.DOTALL)[1] == STYLE
    assert "\u202e" not in page


def test_markdown_of_a_hostile_chat_is_text_in_every_reader():
    reader = MarkdownIt("commonmark", {"html": True, "linkify": False}).enable(["table"])
    tokens = [
        t for token in reader.parse(to_markdown(hostile_chat())) for t in (token, *(token.children or ()))
    ]
    kinds = {token.type for token in tokens}
    assert not kinds & {"html_block", "html_inline", "image", "link_open", "fence", "code_inline"}
    headings = [token.tag for token in tokens if token.type == "heading_open"]
    assert headings == ["h1", "h2"]
    assert "\\<script\\>" in to_markdown(hostile_chat())


LIVE = re.compile(r"(?<!\\):(?=//)|\bwww\.", re.IGNORECASE)


def test_a_bare_address_in_an_exported_markdown_file_is_no_link():
    """Readers such as GitHub's make links of addresses without any marks."""
    addresses = "https://evil.test, ftp://evil.test/x, HTTP://evil.test, www.evil.test or WWW.evil.test."
    quoted = CitationRecord(1, 0, 10, "verified", 100, 100 + len(addresses), addresses)
    told = answer(content=f"{addresses} [1]", passages=(passage(1, addresses),), citations=(quoted,))
    text = to_markdown(chat(question(addresses), told, title=addresses))
    assert text.count("evil") == 20 and not LIVE.search(text)
    assert LIVE.search(addresses)


def test_a_quote_that_only_touches_on_the_statement_says_so_in_every_file_for_readers():
    related = (replace(CITATIONS[0], status="related"), *CITATIONS[1:])
    for form in (to_html, to_markdown):
        assert "it does not say quite that: " in form(chat(question(), answer(citations=related)))
        assert "it does not say quite that" not in form(chat())


def test_lists_tables_and_emphasis_of_an_answer_stay_markdown():
    content = "**So**:\n\n- one [1]\n- two\n\n| a | b |\n|---|---|\n| c | d |"
    text = to_markdown(chat(question(), answer(content=content, citations=())))
    assert "**So**:\n\n- one \\[1\\]\n- two\n\n| a | b |\n|---|---|" in text


def test_a_table_of_an_answer_is_a_table_in_html():
    content = "Sales:\n\n| ship | tonnes |\n|---|---|\n| <b>Ada</b> | 80 [1] |\n\nSo it is."
    page = to_html(chat(question(), answer(content=content, citations=())))
    assert "<thead><tr><th>ship</th><th>tonnes</th></tr></thead>" in page
    assert '<tr><td>&lt;b&gt;Ada&lt;/b&gt;</td><td>80 <a href="#quote-1">[1]</a></td></tr>' in page


def test_quoted_rows_and_bold_words_are_tables_and_bold_in_html():
    row = "| <b>Ada</b> | $80 |"
    whole = f"| ship | price |\n|---|---|\n{row}"
    told = (replace(CITATIONS[0], quote=row), replace(CITATIONS[1], quote=whole))
    page = to_html(chat(question(), answer(content="**It was [1] <b>.** So [1].", citations=told)))
    assert "<tr><td>&lt;b&gt;Ada&lt;/b&gt;</td><td>$80</td></tr>" in page and "|" not in page
    assert '<strong>It was <a href="#quote-1">[1]</a> &lt;b&gt;.</strong> So' in page


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("연차: 언제까지?", "연차-언제까지.md"),
        ("../../x", "x.md"),
        ("???", "chat.md"),
        ("a" * 99, "a" * 60 + ".md"),
    ],
)
def test_a_file_is_named_after_its_chat(title: str, name: str):
    assert file_name(title, "md") == name


def test_answers_that_are_not_helpful_are_told_with_their_question_and_why():
    down = answer(rating="down", rating_reason="other", rating_note="성이 아니다")
    (line,) = unhelpful_to_jsonl([answer(rating="up"), down], lambda _: "When?").splitlines()
    assert json.loads(line) == {
        "question": "When?",
        "answer": down.content,
        "reason": "other",
        "note": "성이 아니다",
    }


def test_feedback_becomes_cases_and_the_readers_word_goes_before_the_checkers():
    wrong = CitationRecord(**{**vars(CITATIONS[1]), "feedback": "wrong"})
    judged = answer(citations=(CITATIONS[0], wrong, *CITATIONS[2:]), rating="up")
    assert list(cases([judged])) == [
        FeedbackCase("It was built in 1432.", (TEXT,), True),
        FeedbackCase("The moat is nine metres deep.", (TEXT,), False),
    ]
    assert list(cases([answer(rating="down"), answer()])) == []
    lines = [json.loads(line) for line in to_jsonl(list(cases([judged]))).splitlines()]
    assert lines[1] == {"claim": "The moat is nine metres deep.", "passages": [TEXT], "supported": False}
