from io import BytesIO

import pytest

from rag.chat.answer import Done
from rag.chat.introduction import (
    Introduction,
    candidates,
    introduce,
    is_answered,
    sheet_size,
    spread,
    summarise,
)
from rag.chat.scope import Scope
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from rag.sample import SAMPLES, sample_in
from rag.settings import Settings
from storage.database import Database


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder):
    database = Database.open(tmp_path_factory.mktemp("introduced") / "data")
    library = Library(database, "ann", lambda: embedder)
    yield library
    library.close()
    database.close()


def added(library: Library, name: str, content: bytes):
    record, _ = library.add(name, content)
    list(library.index(record.id))
    pipeline = make_pipeline(Settings(), library, None, scope=Scope(frozenset({record.id}), name))
    return library.documents.chunks(record.id), pipeline


@pytest.fixture(scope="module")
def sample(library: Library):
    return added(library, "sample.md", sample_in("en").content)


def test_an_introduction_grows_from_a_summary_to_three_answered_questions(sample):
    chunks, pipeline = sample
    steps = list(introduce(chunks, pipeline))
    assert steps[0].questions == () and steps[0].summary
    assert [len(step.questions) for step in steps] == [0, 1, 2, 3]
    assert steps[-1].questions == (
        "How many containers did the harbour handle in 2025?",
        "When was the second quay opened?",
        "How much does a ship under 100 metres pay?",
    )


@pytest.mark.parametrize("code", SAMPLES)
def test_each_sample_document_is_introduced_with_its_question_and_answers_it(library: Library, code: str):
    one = sample_in(code)
    chunks, pipeline = added(library, one.name, one.content)
    *_, last = introduce(chunks, pipeline)
    assert one.question in last.questions and len(last.questions) == 3
    *_, done = (event for event in pipeline.ask(one.question, (), never) if isinstance(event, Done))
    assert "| 4,100 [1] |" in done.text  # the year that was asked for


def test_the_summary_is_of_the_documents_own_sentences(sample):
    chunks, _ = sample
    text = " ".join(" ".join(chunk.text for chunk in chunks).split())
    summary = summarise(chunks)
    assert 40 < len(summary) < 700
    for sentence in summary.split("\n\n"):
        assert " ".join(sentence.split())[:40] in text


def test_a_question_that_the_search_does_not_answer_from_that_passage_is_not_kept(sample):
    chunks, pipeline = sample
    fees = next(chunk for chunk in chunks if "240 euros" in chunk.text)
    traffic = next(chunk for chunk in chunks if "4.1 million" in chunk.text)
    assert is_answered("How much does a ship under 100 metres pay?", fees, pipeline)
    assert not is_answered("Who won the world cup in Qatar?", fees, pipeline)
    if fees != traffic:
        assert not is_answered("How much does a ship under 100 metres pay?", traffic, pipeline)


def test_what_is_attached_to_a_document_does_not_introduce_it(library: Library):
    body = "\n\n".join(
        f"The ferry to isle {n} was built in 19{n} by the yard of Holm." for n in range(20, 60)
    )
    award = "\n\n".join(f"The share plan {n} was adopted in 19{n} by the board." for n in range(20, 90))
    signed = "# SIGNATURE\n\nAnn Lee, harbour master of Holm"
    text = f"# Ferries\n\n{body}\n\n{signed}\n\n# Share plans\n\n{award}"
    chunks, pipeline = added(library, "ferries.md", text.encode())
    *_, last = introduce(chunks, pipeline)
    assert "ferry" in last.summary and "share plan" not in last.summary
    assert last.questions and all("ferry" in question for question in last.questions)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "# 출장 지침\n\n시행일: 2026년 1월 1일\n\n"
            "제1조(목적) 이 지침은 직원의 국내 출장에 필요한 사항을 정한다."
            "\n\n제2조(일비) 출장자의 일비는 하루에 3만 원으로 한다.\n\n"
            "제3조(정산) 출장자는 7일 이내에 여비를 정산한다.",
            "이 지침은 직원의 국내 출장에 필요한 사항을 정한다.",
        ),
        (
            "# 利用統計\n\n令和8年5月20日\n1 概況\n"
            "令和7年度の図書館の入館者数は412,680人で、前年度より増加した。"
            "\n\n2 資料費\n令和7年度の図書館の資料費は3,860万円であり、前年度より70万円増加した。",
            "令和7年度の図書館の入館者数は412,680人で、前年度より増加した。",
        ),
        (
            "# Garden rules\n\n- This paper sets the rules for the plots and sheds of the garden.\n"
            "- Sheds on the plots are no higher than three metres in the garden.\n"
            "- Plots of the garden are watered in the evening only, by hand.\n\n"
            "Signed: Ann Lee, Garden Master, Holm, 4 May 2025.",
            "This paper sets the rules for the plots and sheds of the garden.",
        ),
    ],
)
def test_a_summary_begins_with_what_the_document_says_of_itself(library: Library, text: str, said: str):
    chunks, _ = added(library, f"{text[:9]}.md", text.encode())
    first, *rest = summarise(chunks).split("\n")
    assert first == said and "Signed" not in "".join(rest)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("Bike,Price (EUR)\nB-1,890\nB-2,2350\n", "A table with the columns Bike, Price (EUR)."),
        ("품목,단가(원)\n철거,4500\n설치,6000\n", "품목, 단가(원) 열이 있는 표입니다."),
        ("フィルター,単価(円)\n交換用,2400\n集じん,3800\n", "フィルター、単価(円)の列がある表です。"),
        ("品名,単価\n交換,2400\n設置,3800\n", "品名、単価"),
    ],
)
def test_tables_alone_are_introduced_by_their_columns(library: Library, text: str, summary: str):
    chunks, pipeline = added(library, "fleet.csv", text.encode())
    *_, last = introduce(chunks, pipeline)
    assert last.summary == summary


def test_a_document_is_not_asked_what_it_says_about_its_own_title(library: Library):
    text = (
        "# Contract for Coaches\n\nDone in Brunn.\n\n## 1. Punctuality\n\nNo delay.\n\n## 2. Vehicles\n\nNew."
    )
    chunks, _ = added(library, "coaches.md", text.encode())
    assert [question for question, _ in candidates(chunks)] == [
        "What does the document say about punctuality?",
        "What does the document say about vehicles?",
    ]


def test_figures_alone_have_no_introduction(library: Library):
    chunks, pipeline = added(library, "figures.csv", b"1,2,3\n4,5,6\n")
    assert list(introduce(chunks, pipeline)) == [Introduction()]


def test_a_cancelled_introduction_ends(sample):
    chunks, pipeline = sample
    assert len(list(introduce(chunks, pipeline, lambda: True))) == 1


def test_each_question_is_tried_once(sample):
    chunks, _ = sample
    asked = [question for question, _ in candidates([*chunks, *chunks])]
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("most", [1, 2, 80])
def test_a_long_document_is_looked_at_from_its_beginning_to_its_end(sample, most: int):
    chunks, _ = sample
    shown = spread([*chunks] * 100, most)
    assert len(shown) == most and shown[0] == chunks[0]
    assert spread(chunks, 1000) == list(chunks) and spread([], 3) == []


ENGLISH = "Model", "Name", "large mixer"
KOREAN = "모델", "품명", "대형 믹서"
JAPANESE = "型番", "品名", "ミキサー大"


@pytest.mark.parametrize(
    ("words", "sheets", "said"),
    [
        (ENGLISH, [300, 2, 1], "3 sheets, 306 rows"),
        (ENGLISH, [0], "1 sheet, 1 row"),
        (KOREAN, [300, 2], "시트 2개, 304행"),
        (JAPANESE, [300, 2], "シート2枚、304行"),
    ],
    ids=["several", "one", "ko", "ja"],
)
def test_the_summary_of_a_spreadsheet_has_its_sheets_and_rows(
    library: Library, words: tuple[str, str, str], sheets: list[int], said: str
):
    from openpyxl import Workbook

    book, content = Workbook(), BytesIO()
    for number, rows in enumerate(sheets):
        sheet = book.active if number == 0 else book.create_sheet()
        sheet.append(words[:2])
        for row in range(rows):
            sheet.append([f"MK-{row}", f"{words[2]} {row}"])
    book.save(content)
    record, _ = library.add(f"{words[0]}-{len(sheets)}.xlsx", content.getvalue())
    list(library.read(record.id))
    chunks = library.documents.chunks(record.id)
    pipeline = make_pipeline(Settings(), library, None, scope=Scope(frozenset({record.id}), record.name))
    assert sheet_size(chunks) == said
    assert next(introduce(chunks, pipeline)).summary.endswith(said)


def test_a_document_that_is_no_spreadsheet_has_no_rows_in_its_summary(sample):
    assert sheet_size(sample[0]) == ""
