from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from storage.records import CitationRecord, Message
from ui.chat.citations import QuotePart, in_bold, quote_parts
from ui.components.markdown import JOINER, safe_answer


def message(*parts: tuple[str, int | None]) -> Message:
    """An answer of parts, each with the number of the passage that it quotes, if any."""
    text, citations = "", []
    for words, marker in parts:
        start, text = len(text), text + words
        if marker is not None:
            citations.append(CitationRecord(marker, start, len(text), "verified", 0, 5, "words"))
    empty = Message("m", "assistant", text, "complete", "q", None, None, None, {}, datetime.now(UTC))
    return replace(empty, citations=tuple(citations))


def told(answer: Message) -> list[tuple[str, int | None, bool]]:
    return [(answer.content[p.start : p.end].strip(), p.marker, p.best) for p in quote_parts(answer)]


def test_the_first_quote_is_the_best_and_the_others_are_cards():
    answer = message(("**A.** [1]", 1), ("\n\nB. [2]", 2), ("\n\nC. [1]", 1))
    assert told(answer) == [("**A.** [1]", 1, True), ("B. [2]", 2, False), ("C. [1]", 1, False)]


def test_of_doubtful_quotes_none_is_the_best():
    answer = message(("I found no clear answer.", None), ("\n\nB. [1]", 1))
    assert told(answer) == [("I found no clear answer.", None, False), ("B. [1]", 1, False)]


def test_a_list_stays_in_one_piece():
    answer = message(("**2 found:**\n\n", None), ("- A [1]", 1), ("\n", None), ("- B [2]", 2))
    assert quote_parts(answer) == [QuotePart(0, len(answer.content))]


def test_a_listed_table_stays_in_one_piece():
    head = ("\n\n| No. | Sum |\n|---|---|", None)
    answer = message(
        ("**2 found:**", None), head, ("\n", None), ("| A [1] | 4 |", 1), ("\n", None), ("| B [1] | 7 |", 1)
    )
    assert quote_parts(answer) == [QuotePart(0, len(answer.content))]


def test_a_quoted_row_is_a_quote_of_its_own():
    row = "| No. | Sum |\n|---|---|\n| A | 4 [1] |"
    assert told(message((row, 1), ("\n\n", None), ("B. [2]", 2))) == [(row, 1, True), ("B. [2]", 2, False)]


def test_a_quote_that_is_a_list_is_a_quote_as_any_other():
    answer = message(("**A.** [1]", 1), ("\n\n- B\n- C [2]", 2))
    assert told(answer) == [("**A.** [1]", 1, True), ("- B\n- C [2]", 2, False)]


def test_a_number_of_the_question_is_bold_only_as_a_whole():
    shown = in_bold("It fell 1% to $1.2 billion on July 1, 2023.", "What came on July 1, 2023?")
    assert shown == "It fell 1% to $1.2 billion on **July** **1**, **2023**."


def test_a_question_word_is_not_bold_in_what_only_begins_like_it():
    assert in_bold("누구나 담당자에게 신청한다.", "담당자는 누구인가요?") == "누구나 **담당자**에게 신청한다."


def test_of_words_without_spaces_only_what_was_asked_is_bold():
    shown = in_bold("契約の期間は三年である。契約期間中は解約できない。", "契約期間は何年ですか？")
    assert shown == "**契約**の**期間**は三年である。**契約期間**中は解約できない。"


PIECES = st.sampled_from(
    [
        *"2第の。“」(+°는 *_`$-\u3000\u0301",
        *(
            "분기",
            "四半期",
            "売上高",
            "mill",
            "sales",
            "1.5%",
            "नी",
            "[1]",
            "https://a.com/mill",
            "mill@a.com",
        ),
    ]
)
TEXTS = st.lists(PIECES, min_size=1, max_size=12).map("".join).filter(lambda text: "**" not in text)


def seen(markdown: str) -> str:
    """What a reader sees of a text in Markdown."""
    tokens = MarkdownIt().parse(markdown)
    inline = (one for token in tokens for one in token.children or ())
    return "".join(one.content or " " * (one.type in ("softbreak", "hardbreak")) for one in inline)


@given(TEXTS, TEXTS)
@example("2025年度第1四半期の売上高", "第1四半期の通販事業の売上高はいくらですか？")
@example("김해 물류센터 증축에 2분기 중 23억 원", "2분기 사업")
@example("See `mill 2`.", "mill 2")
def test_no_mark_of_a_bold_word_is_seen(text: str, question: str):
    assert "**" not in seen(safe_answer(in_bold(text, question))).replace(JOINER, "")


def test_a_number_and_the_word_beside_it_are_one_bold_run():
    assert in_bold("증축에 2분기 중", "2분기에?") == "증축에 **2분기** 중"
    assert in_bold("第1四半期の", "1四半期") == "第**1四半期**の"
