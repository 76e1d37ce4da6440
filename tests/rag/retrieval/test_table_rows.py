"""Rows of tables are compared with a question one by one."""

import pytest

from rag.chat.extractive import asked_column
from rag.passage import Passage
from rag.retrieval.sentences import extract
from rag.retrieval.table_rows import labelled_rows, score_rows

SALES = """Net sales by region (in millions):

| | 2023 | 2022 |
| --- | --- | --- |
| Europe: | | |
| Paper | 12 | 34 |
| Ink | 5 | 6 |
| Japan: | | |
| Paper | 7 | 8 |
"""
COSTS = "Costs\n\n| | 2023 | 2022 |\n| --- | --- | --- |\n| Paper | 3 | 4 |\n| Total costs | 3 | 4 |"
TALK = "Net sales of paper in Japan are discussed here, and net sales of paper in Japan matter a lot."


def passage(text, heading="", number=1):
    return Passage(str(number), "d", "a.pdf", "", 1, heading, 0, len(text), text)


def best_row(question, *texts):
    passages = [passage(text) for text in texts]
    (number, start), _ = max(score_rows(question, passages).items(), key=lambda pair: pair[1])
    return texts[number - 1][start:].partition("\n")[0]


def test_rows_know_their_section_and_what_stands_above_their_table():
    paper, ink, japan = labelled_rows(passage(SALES))
    assert [paper.label, paper.section, japan.section] == [{"paper"}, {"europ"}, {"japan"}]
    assert {"sale", "region"} <= ink.above


def test_rows_of_a_table_that_begins_before_the_passage_are_read_with_their_headings():
    (row,) = labelled_rows(passage("| Paper | 7 | 8 |\n\nIt rained.", "Net sales > 2023 | 2022"))
    assert row.label == {"paper"}
    assert {"sale", "2023"} <= row.above


def test_section_and_caption_decide_between_rows_of_one_label():
    assert best_row("What were net sales of paper in Japan?", COSTS, SALES) == "| Paper | 7 | 8 |"
    assert best_row("What were net sales of paper in Europe?", COSTS, SALES) == "| Paper | 12 | 34 |"
    assert best_row("What were the costs of paper?", SALES, COSTS) == "| Paper | 3 | 4 |"


def test_the_row_of_a_total_comes_before_those_of_parts_that_were_not_asked_for():
    parts = SALES.replace("Paper", "Net sales")
    total = "Net sales by kind\n\n| | 2023 | 2022 |\n| --- | --- | --- |\n| Total net sales | 19 | 42 |"
    assert best_row("How did net sales change?", parts, total) == "| Total net sales | 19 | 42 |"
    assert best_row("How did net sales in Japan change?", parts, total) == "| Net sales | 7 | 8 |"


def test_the_row_is_quoted_before_the_text_about_it():
    passages = [passage(TALK), passage(SALES, number=2)]
    picks = extract("What were net sales of paper in Japan?", passages)
    quoted = [passages[pick.number - 1].text[pick.start : pick.end] for pick in picks]
    assert quoted[0] == "| Paper | 7 | 8 |"
    assert TALK in quoted


QUARTERS = {
    "en": ("Quarter", ["First quarter", "Second quarter", "Third quarter", "Fourth quarter"], "Revenue"),
    "ko": ("분기", ["1분기", "2분기", "3분기", "4분기"], "매출"),
    "ja": ("四半期", ["第1四半期", "第2四半期", "第3四半期", "第4四半期"], "売上高"),
}
ASKED = [
    ("en", "What was the revenue in the first quarter?", 1),
    ("en", "What was revenue in Q3?", 3),
    ("ko", "1분기 매출은 얼마인가요?", 1),
    ("ko", "제3분기 매출은?", 3),
    ("ja", "第1四半期の売上高はいくらですか", 1),
    ("ja", "第三四半期の売上高は?", 3),
]


@pytest.mark.parametrize(("code", "question", "quarter"), ASKED)
def test_a_quarter_without_a_year_is_told_by_its_row(code: str, question: str, quarter: int):
    corner, names, measure = QUARTERS[code]
    rows = "".join(f"| {name} | 1{at}00 |\n" for at, name in reversed(list(enumerate(names, 1))))
    text = f"| {corner} | {measure} |\n|---|---|\n{rows}"
    pick, *_ = extract(question, [passage(text)])
    assert f"1{quarter}00" in text[pick.start : pick.end]


@pytest.mark.parametrize(("code", "question", "quarter"), ASKED)
def test_a_quarter_without_a_year_is_told_by_its_column(code: str, question: str, quarter: int):
    corner, names, _ = QUARTERS[code]
    assert asked_column(question, [corner, *names], ["", "1", "2", "3", "4"]) == quarter


@pytest.mark.parametrize(("code", "question", "quarter"), ASKED)
def test_a_quarter_without_a_year_is_told_by_its_sentence(code: str, question: str, quarter: int):
    _, names, measure = QUARTERS[code]
    form = {
        "en": "{} {} was 1{}00 million. ",
        "ko": "{} {}은 1{}00백만 원이었다. ",
        "ja": "{}の{}は1{}00百万円だった。",
    }
    text = "".join(form[code].format(names[at - 1], measure.lower(), at) for at in (4, 2, 3, 1))
    pick, *_ = extract(question, [passage(text)])
    assert f"1{quarter}00" in text[pick.best_start : pick.best_end]
