from dataclasses import replace
from datetime import UTC, datetime

from storage.records import CitationRecord, Message
from ui.chat.quotes import QuotePart, in_bold, quote_parts


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
