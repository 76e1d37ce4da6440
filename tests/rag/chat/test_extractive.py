import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chat.extractive import DOUBTFUL, NOT_FOUND, write
from rag.passage import Passage
from rag.retrieval.sentences import Pick, extract

TEXT = "The bridge opened in 1932. Its keeper lived in Brunn. The river froze that year."
PASSAGE = Passage("c", "d", "bridge.md", "", None, "", 100, 100 + len(TEXT), TEXT)
OPENED, KEEPER, FROZE = Pick(1, 0, 26, 9.0), Pick(1, 27, 53, 8.5), Pick(1, 54, 80, 6.0)
ASKED = {"en": "When did it open?", "ko": "언제 열렸나요?", "ja": "いつ開きましたか?"}


def written(picks: list[Pick], *, doubtful: bool = False, question: str = ASKED["en"]) -> str:
    return "".join(piece.text for piece in write(question, [PASSAGE], picks, doubtful=doubtful))


def test_the_best_sentence_is_in_bold_and_its_neighbour_is_not():
    lead = Pick(1, 0, 53, 9.0, 0, 26)
    assert written([lead, FROZE]).split("\n\n") == [
        "**The bridge opened in 1932.** Its keeper lived in Brunn. [1]",
        "The river froze that year. [1]",
    ]


def test_labelled_lines_keep_their_line_ends_in_an_answer():
    text = "Date: 12 May\nPresent: Ann Lee,\nTom Roe\nMinutes: Mia Kim"
    passage = Passage("c", "d", "minutes.md", "", None, "", 0, len(text), text)
    told = "".join(
        one.text for one in write("Who met?", [passage], [Pick(1, 0, len(text), 9.0)], doubtful=False)
    )
    assert told == "Date: 12 May  \nPresent: Ann Lee, Tom Roe  \nMinutes: Mia Kim [1]"


def test_a_row_of_a_table_is_not_set_in_bold():
    assert "**" not in asked("What did Mac sell?", SALES)[0]


def test_a_doubtful_answer_says_so_first_and_does_not_order_its_words():
    first, *rest = written([OPENED, FROZE], doubtful=True).split("\n\n")
    assert first == DOUBTFUL["en"]
    assert rest == ["The bridge opened in 1932. [1]", "The river froze that year. [1]"]


@pytest.mark.parametrize("code", ASKED)
def test_without_any_words_it_is_said_that_none_were_found(code):
    assert written([], question=ASKED[code]) == NOT_FOUND[code]


def test_doubt_is_told_in_japanese_where_a_short_question_has_no_kana():
    text = "部長の日当は三千円とする。"
    passage = Passage("c", "d", "旅費規程.pdf", "", None, "", 0, len(text), text)
    pick = Pick(1, 0, len(text), 5.0)
    for question, worded in (("部長 場合", "部長の場合は？"), ("部長？", "部長？")):
        told = "".join(one.text for one in write(question, [passage], [pick], doubtful=True, worded=worded))
        assert told.startswith(DOUBTFUL["ja"])


@given(
    st.lists(st.tuples(st.integers(0, 80), st.integers(0, 80), st.floats(-9, 9)), max_size=3), st.booleans()
)
def test_each_citation_is_where_its_words_are(spans, doubtful):
    picks = [Pick(1, min(a, b), max(a, b), score) for a, b, score in spans]
    pieces = list(write(ASKED["en"], [PASSAGE], picks, doubtful=doubtful))
    text = "".join(piece.text for piece in pieces)
    cited = [piece.citation for piece in pieces if piece.citation]
    assert len(cited) == len(picks)
    for citation, pick in zip(cited, picks, strict=True):
        assert text[citation.answer_start : citation.answer_end].endswith(" [1]")
        assert TEXT[pick.start : pick.end] == citation.quote
        assert (citation.quote_start, citation.quote_end) == (100 + pick.start, 100 + pick.end)


SALES = """\
Net sales by category (in millions):

| | Three Months Ended July 1, 2023 | June 25, 2022 |
|---|---|---|
| Mac | 6,840 | 7,382 |
| Services | [21,213](http://evil.test) | 19,604 |
"""


def asked(question: str, text: str, heading: str = "") -> tuple[str, str]:
    """Return the first thing that is answered, and the words it cites."""
    passage = Passage("c", "d", "sales.pdf", "", 3, heading, 0, len(text), text)
    written = list(write(question, [passage], extract(question, [passage]), doubtful=False))
    assert written[0].citation
    return written[0].text, written[0].citation.quote


def test_a_row_of_a_table_is_quoted_under_its_caption_and_header():
    assert asked("What were the net sales of Mac in the quarter that ended on June 25, 2022?", SALES) == (
        "Net sales by category (in millions):\n\n"
        "|  | Three Months Ended July 1, 2023 | June 25, 2022 |\n|---|---|---|\n| Mac | 6,840 | 7,382 [1] |",
        "| Mac | 6,840 | 7,382 |",
    )


def test_a_lead_in_stands_in_bold_above_the_table_that_it_announces():
    text = "The following fees are due.\n\n| Key | Fee |\n|---|---|\n| Gate | 5 |\n| Shed | 10 |"
    assert asked("Which fees are due?", text) == (
        "**The following fees are due.**\n\n| Key | Fee |\n|---|---|\n| Gate | 5 |\n| Shed | 10 [1] |",
        text,
    )


def test_a_passage_that_begins_within_a_table_has_its_header_in_its_heading():
    rows = SALES[SALES.index("| Mac") :]
    heading = "Sales > Three Months Ended July 1, 2023 | June 25, 2022"
    answer, _ = asked("And the Mac in June 2022?", rows, heading)
    assert answer.splitlines()[0] == "|  | Three Months Ended July 1, 2023 | June 25, 2022 |"
    assert answer.endswith("| Mac | 6,840 | 7,382 [1] |")


def test_the_marker_of_a_row_stands_in_the_column_asked_for_else_at_its_end():
    report = "| Cargo | 2025 | 2024 |\n|---|---|---|\n| Grain a\\|b | 880 | 915 |\n"
    answer, _ = asked("How much grain was handled in 2025?", report)
    assert answer.endswith("| Grain a\\|b | 880 [1] | 915 |")
    answer, _ = asked("How much grain was handled?", report)
    assert answer.endswith("| Grain a\\|b | 880 | 915 [1] |")
    answer, _ = asked("2024年的 grain?", report.replace("2024", "2024年").replace("2025", "2025年"))
    assert answer.endswith("| 915 [1] |")
    expenses = "| 日付 | 費目 | 金額(円) |\n|---|---|---|\n| 2025-10-15 | 交通費 | 12650 |\n"
    answer, _ = asked("交通費はいくらですか?", expenses)
    assert answer.endswith("| 2025-10-15 | 交通費 | 12650 [1] |")


def test_the_column_is_that_of_the_follow_up_and_not_of_the_question_before_it():
    sales = "| 월 | 서울 | 부산 | 합계 |\n|---|---|---|---|\n| 12월 | 3805 | 2210 | 6015 |\n"
    passage = Passage("c", "d", "매출.xlsx", "", None, "", 0, len(sales), sales)
    pick = Pick(1, sales.index("| 12월"), len(sales) - 1, 9.0)
    completed = "월별 12월 서울 매출 합계가 가장 큰 달은 언제인가요?"
    for typed, row in (
        ("12월 서울 매출은?", "| 12월 | 3805 [1] | 2210 | 6015 |"),
        ("그럼 12월은?", "| 12월 | 3805 | 2210 | 6015 [1] |"),
    ):
        told = "".join(one.text for one in write(completed, [passage], [pick], doubtful=False, spoken=typed))
        assert told.endswith(row)


def test_a_cell_is_as_inert_as_a_sentence():
    answer, quote = asked("What did Services sell?", SALES)
    assert "](http" not in answer and "](http" in quote


def test_bold_ends_before_the_full_stop_where_no_space_follows():
    text = "入社から6か月で10日の年次有給休暇を与える。休暇は3日前までに申請する。"
    passage = Passage("c", "d", "rules.md", "", None, "", 0, len(text), text)
    (part,) = write("年次有給休暇は何日?", [passage], [Pick(1, 0, len(text), 9.0, 0, 22)], doubtful=False)
    assert part.text.startswith("**入社から6か月で10日の年次有給休暇を与える**。休暇は")


DECISIONS = "# Decisions\n\n- The office move is postponed to May.\n- Tom orders 14 new chairs from Halden.\n"


def test_the_items_of_a_list_are_quoted_on_lines_of_their_own():
    passage = Passage("c", "d", "minutes.md", "", None, "", 0, len(DECISIONS), DECISIONS)
    first, second = DECISIONS.index("- The"), DECISIONS.index("- Tom")
    end = len(DECISIONS) - 1
    picks = [Pick(1, first, end, 9.0, second, end), Pick(1, first, second - 1, 8.0, first, second - 1)]
    best, other = write("What does Tom order?", [passage], picks, doubtful=False)
    assert best.text.split("\n") == [
        "- The office move is postponed to May.",
        "- **Tom orders 14 new chairs from Halden.** [1]",
    ]
    assert other.text == "\n\nThe office move is postponed to May. [1]"


def test_a_heading_is_quoted_only_where_there_is_nothing_else():
    agenda = "# 안건 2. 홍대점 리모델링\n\n예산을 8,500만 원으로 승인하였다.\n"
    for text, question in ((DECISIONS, "What are the decisions?"), (agenda, "안건 2는 무엇인가요?")):
        passage = Passage("c", "d", "minutes.md", "", None, "", 0, len(text), text)
        found = [text[pick.start : pick.end] for pick in extract(question, [passage])]
        assert found and not any(words in text.split("\n")[0] for words in found)
    hours = "## Opening hours: 9 to 17\n\nThe office is in Brunn.\n"
    passage = Passage("c", "d", "office.md", "", None, "", 0, len(hours), hours)
    assert extract("What are the opening hours?", [passage])[0].start == 0
    alone = Passage("c", "d", "minutes.md", "", None, "", 0, 11, "# Decisions")
    assert extract("What are the decisions?", [alone])


def test_what_stands_below_a_heading_is_quoted_for_it():
    text = "The shop opens at nine.\n\n## Refunds\n\nBring back what you bought within 30 days.\n\nAsk Ann.\n"
    passage = Passage("c", "d", "shop.md", "", None, "", 0, len(text), text)
    first = extract("What about refunds?", [passage])[0]
    assert text[first.start : first.end].startswith("Bring back what you bought")
    titled = "# Refunds\n\nAsk Ann.\n\n## Terms\n\nRefunds are paid within 30 days.\n"
    passage = Passage("c", "d", "shop.md", "", None, "", 0, len(titled), titled)
    first = extract("What about refunds?", [passage])[0]
    assert titled[first.start : first.end] == "Refunds are paid within 30 days."


def test_words_of_a_header_alone_choose_no_row():
    passage = Passage("c", "d", "sales.pdf", "", 3, "", 0, len(SALES), SALES)
    picks = extract("What were the net sales of Services in the quarter ended July 1, 2023?", [passage])
    assert [SALES[pick.start : pick.end].split(" | ")[0] for pick in picks] == ["| Services"]


@pytest.mark.parametrize(
    ("language", "lead"),
    [
        ("en", "Read from a picture by a model:"),
        ("ko", "모델이 그림에서 읽음:"),
        ("ja", "モデルが図から読み取った内容:"),
    ],
)
def test_a_description_of_a_figure_is_shown_once_and_is_no_quote(language, lead):
    seen = "A chart of visitors. 1932 has the most. [9]"
    picture = Passage("d.figure-1", "d", "bridge.pdf", "", 3, "Figure 2. Visitors", 40, 58, seen)
    picks = [Pick(1, 0, 20, 9.0), Pick(2, 0, 26, 8.5), Pick(1, 21, 39, 8.0)]
    parts = list(write(ASKED[language], [picture, PASSAGE], picks, doubtful=False))
    text = "".join(part.text for part in parts)
    assert text.split("\n\n") == [
        "Figure 2. Visitors",
        f"*{lead}* A chart of visitors. 1932 has the most. [1]",
        "The bridge opened in 1932. [2]",
    ]
    cited = [part.citation for part in parts if part.citation is not None]
    assert [(one.marker, one.status, one.quote) for one in cited] == [
        (1, "related", ""),
        (2, "verified", "The bridge opened in 1932."),
    ]
