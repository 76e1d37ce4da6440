from collections.abc import Iterator
from dataclasses import replace

import pytest

from rag.chat.answer import answer
from rag.chat.extractive import CLOSEST, DOUBTFUL, NOT_FOUND, Decision, decide, is_clear
from rag.errors import EmbeddingError
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder, Floats
from rag.passage import Found, Passage
from rag.retrieval.sentences import extract
from rag.settings import Settings
from storage.database import Database
from tests.rag.chat.test_pipeline import put, said
from tests.rag.word_vectors import WordVectors

TEXT = "The castle of Aldenburg was built in 1432 by masons from Brunn. Its moat is nine metres deep."
KOREAN = "알덴부르크 성은 1432년에 석공들이 지었다. 해자의 깊이는 9미터이다."
JAPANESE = "アルデンブルク城は1432年に石工たちが建てた。堀の深さは9メートルである。"

FEES = "A ship under 100 metres pays 240 euros a night. Dogs must be kept on a leash on the quay."


OFFICE = """# Office rules

The office opens at 8 am and closes at 7 pm. Dogs are allowed in the office on Fridays. Visitors sign in.

## Kitchen

The kitchen is cleaned every evening. Food in the fridge is thrown away on Fridays.
"""
KOREAN_LEASE = """# 임대차 계약서

제2조 보증금은 금 50,000,000원으로 한다.

제3조 월 차임은 800,000원이며 매월 말일에 지급한다.

제4조 계약 기간은 2024년 3월 1일부터 2년으로 한다.
"""
JAPANESE_LEASE = """# 賃貸借契約書

第2条 賃料は月額80,000円とし、毎月末日までに支払う。

第3条 敷金は賃料の2か月分とする。
"""
JAPANESE_EXPENSES = """# 経費一覧

| 日付 | 担当 | 内容 | 分類 | 金額（円） |
|---|---|---|---|---|
| 2025-06-04 | 中村 | 新幹線 東京-名古屋 | 出張費 | 22600 |
| 2025-06-18 | 山本 | 会食 | 交際費 | 38500 |
"""
MINUTES = """# Minutes of the sales meeting

- Present: Ann Lee, Tom Berg, Ida Roth
- Absent: Karl Stein

Ann Lee hands in the plan by 21 November.
"""
KOREAN_MINUTES = """# 주간 영업회의 회의록

- 일시: 2025년 11월 6일(목) 오전 10시
- 참석자: 김민수 팀장, 이지은 과장, 박준호 대리
- 불참: 최유진

이지은 과장이 11월 21일까지 개선안을 제출한다.
"""
JAPANESE_MINUTES = """# 営業会議 議事録

- 出席者: 佐藤部長、田中課長、鈴木(関西支店)、高橋(経理)
- 欠席者: 山本

高橋が11月14日までに案内文を作成する。
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Library]:
    database = Database.open(tmp_path_factory.mktemp("answerable"))
    opened = Library(database, "ann", lambda: embedder)
    for name, text in (
        ("office.md", OFFICE),
        ("임대차.md", KOREAN_LEASE),
        ("賃貸借.md", JAPANESE_LEASE),
        ("経費.md", JAPANESE_EXPENSES),
    ):
        put(opened, text, name)
    yield opened
    opened.close()
    database.close()


def passage(text: str, **found: Found) -> Passage:
    return replace(Passage("c", "d", "made.txt", "", None, "", 0, len(text), text), found_by=found)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("When was the castle of Aldenburg built?", TEXT),
        ("알덴부르크 성은 언제 지었나요?", KOREAN),
        ("アルデンブルク城はいつ建てられましたか。", JAPANESE),
    ],
)
def test_what_a_sentence_speaks_of_seems_answered(question: str, text: str):
    assert decide(question, [passage("Cats sleep." if text == TEXT else text), passage(text)]).answered


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which team won the football cup in Norway last year?", TEXT),
        ("작년에 노르웨이 축구컵에서 어느 팀이 우승했나요?", KOREAN),
        ("昨年ノルウェーのサッカー杯で優勝したチームはどこですか。", JAPANESE),
    ],
)
def test_what_no_sentence_speaks_of_does_not(question: str, text: str):
    assert not decide(question, [passage(text)]).answered


def test_rare_words_count_most():
    question = "Who owns the castle Grauwald?"
    rare = decide(question, [passage(TEXT)], lambda word: 9.0 if word == "grauwald" else 1.0)
    common = decide(question, [passage(TEXT)], lambda _: 1.0)
    assert rare.score < common.score


def test_meaning_counts_where_its_middle_is_known():
    near = passage(TEXT, similarity=Found(1, 0.95, 1.0))
    question = "When was the castle constructed?"
    assert decide(question, [near], middle=0.85).score == pytest.approx(decide(question, [near]).score + 0.1)


def test_across_languages_meaning_decides():
    question = "성은 언제 지었나요?"
    near, remote = (passage(TEXT, similarity=Found(1, cosine, 1.0)) for cosine in (0.82, 0.76))
    assert decide(question, [near], middle=0.85).answered
    assert not decide(question, [remote], middle=0.85).answered
    assert not decide(question, [passage(TEXT)]).answered  # searched by words alone


@pytest.mark.parametrize(
    "question",
    [
        "Wann wurde die Burg Aldenburg erbaut?",
        "Quand le château d'Aldenburg a-t-il été construit ?",
        "¿Cuándo se construyó el castillo de Aldenburg?",
    ],
)
def test_a_sentence_in_another_language_answers_without_a_doubt_where_its_meaning_is_close(
    embedder: Embedder, question: str
):
    found = [passage(f"# Fees\n\n{FEES}\n\n# Castle\n\n{TEXT}", similarity=Found(1, 0.83, 1.0))]
    *_, done = answer(question, found, llm=None, embedder=embedder)
    assert "**The castle of Aldenburg was built in 1432 by masons from Brunn.**" in done.text


@pytest.mark.parametrize(
    "question",
    [
        "Wie hoch ist die Miete?",
        "Quel est le loyer de la maison ?",
        "¿Cuánto cuesta el alquiler de la casa?",
        "월세는 얼마인가요?",
    ],
)
@pytest.mark.parametrize("with_model", [True, False])
def test_a_sentence_in_another_language_about_something_else_is_doubted(
    embedder: Embedder, question: str, with_model: bool
):
    found = [passage(FEES, similarity=Found(1, 0.82, 1.0))]
    *_, done = answer(question, found, llm=None, embedder=embedder if with_model else None)
    assert done.text.startswith((DOUBTFUL["en"], DOUBTFUL["ko"]))


def test_words_answer_in_another_language_where_they_are_the_same():
    assert decide("What is AutoGen?", [passage(f"{KOREAN} AutoGen")]).answered


def test_a_passage_in_another_language_excuses_only_when_it_is_the_nearest():
    question = "Which team won the football cup in Norway last year?"
    own, other = passage(TEXT, similarity=Found(1, 0.84, 1.0)), passage(KOREAN, similarity=Found(2, 0.8, 0.9))
    assert not decide(question, [own, other]).answered
    nearest = passage(KOREAN, similarity=Found(1, 0.9, 1.0))
    assert decide(question, [own, nearest], middle=0.85).answered
    assert not decide(question, [passage(TEXT), passage(KOREAN)]).answered  # searched by words alone


def test_no_passage_answers_nothing():
    assert not decide("When was it built?", []).answered


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Can I keep a dog in the office?", "**Dogs are allowed"),
        ("보증금은 얼마인가요?", "**제2조 보증금은 금 50,000,000원"),
        ("월 차임은 얼마를 내야 하나요?", "**제3조 월 차임은 800,000원"),
        ("계약 기간은 언제까지인가요?", "**제4조 계약 기간은"),
        ("敷金はいくらですか", "**第3条 敷金は賃料の2か月分"),
    ],
)
def test_no_doubt_is_stated_before_a_sentence_near_to_the_question(
    library: Library, question: str, words: str
):
    told = said(list(make_pipeline(Settings(), library, None).ask(question, [], never)))
    assert words in told and not told.startswith(tuple(DOUBTFUL.values()))


@pytest.mark.parametrize(
    ("text", "question", "line"),
    [
        (MINUTES, "Who was absent from the meeting?", "Absent: Karl Stein"),
        (KOREAN_MINUTES, "회의에 불참한 사람은 누구인가요?", "불참: 최유진"),
        (JAPANESE_MINUTES, "欠席したのは誰ですか?", "欠席者: 山本"),
    ],
)
def test_a_line_with_the_label_asked_for_answers_without_a_doubt(
    embedder: Embedder, text: str, question: str, line: str
):
    found = [Passage("c", "d", "a.md", "", None, text.split("\n")[0][2:], 0, len(text), text)]
    decision = decide(question, found, middle=0.87)
    picks = extract(question, found, embedder=embedder)
    assert text[picks[0].best_start : picks[0].best_end] == f"- {line}"
    assert is_clear(question, found, picks, decision, embedder)


def test_a_label_that_says_only_part_of_what_is_asked_for_answers_nothing(embedder: Embedder):
    question = "불참 신고서의 양식 번호는 무엇인가요?"
    found = [Passage("c", "d", "a.md", "", None, "회의록", 0, len(KOREAN_MINUTES), KOREAN_MINUTES)]
    decision, picks = decide(question, found, middle=0.87), extract(question, found, embedder=embedder)
    assert not is_clear(question, found, picks, decision, embedder)


@pytest.mark.parametrize(
    ("text", "asked", "beside"),
    [
        ("Income in 2024 was 41,300 euros.", "What was the income in 2024?", "What was the income in 2019?"),
        (
            "| 항목 | 2025년 9월 | 2024년 9월 |\n|---|---|---|\n| 청소비 | 1,120 | 1,090 |",
            "2024년 9월 청소비는 얼마인가요?",
            "2023년 9월 청소비는 얼마인가요?",
        ),
        (
            "2024年度の清掃費は9,000円。",
            "2024年度の清掃費はいくらですか。",
            "2019年度の清掃費はいくらですか。",
        ),
        ("물청소는 11월 8일에 실시합니다.", "물청소는 언제 실시하나요?", "물청소 비용은 얼마인가요?"),
    ],
)
def test_doubt_is_stated_before_another_period_and_where_no_amount_is_told(
    embedder: Embedder, text: str, asked: str, beside: str
):
    told = [Passage("c", "d", "a.md", "", None, "", 0, len(text), text)]

    def is_answered(question: str) -> bool:
        picks = extract(question, told, embedder=embedder)
        return is_clear(question, told, picks, decide(question, told, middle=0.87), embedder)

    assert is_answered(asked)
    assert not is_answered(beside)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("The joining fee is fifteen pounds.", "How much is the joining fee?"),
        ("The guided tour is free of charge.", "How much does the guided tour cost?"),
        ("회비는 삼만 원이다.", "회비는 얼마인가요?"),
        ("会費は三百円とする。", "会費はいくらですか。"),
        ("入場料は無料です。", "入場料はいくらですか。"),
    ],
)
def test_an_amount_in_words_and_nothing_to_pay_are_told_without_a_doubt(
    embedder: Embedder, text: str, question: str
):
    told = [Passage("c", "d", "a.md", "", None, "", 0, len(text), text)]
    picks = extract(question, told, embedder=embedder)
    assert is_clear(question, told, picks, decide(question, told, middle=0.87), embedder)


ARTICLES = (
    "第5条(賃金)賃金は毎月末日に締め切り、翌月20日に支払う。第6条(退職)退職する者は書面で届け出る。\n"
    "第7条(定年)定年は満65歳とし、その月の末日をもって退職とする。第8条(懲戒)無断欠勤は懲戒とする。"
)
KOREAN_ARTICLES = (
    "제8조(총회) 정기총회는 매년 3월에 개최한다. 의결은 출석한 입주자 과반수의 찬성으로 한다.\n\n"
    "부칙\n\n이 규약은 2024년 7월 1일부터 시행한다. 종전의 규약은 폐지한다."
)


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        (ARTICLES, "定年は何歳ですか", True),
        (ARTICLES, "定年は何人ですか", False),
        (ARTICLES, "懲戒は何日ですか", False),
        ("附則\n\nこの規則は2023年4月1日から施行する。", "施行日はいつですか", True),
        (KOREAN_ARTICLES, "시행일은 언제인가요?", True),
        ('이 규정에서 "원장"이란 서지훈을 말한다.', "원장은 누구인가요?", True),
        ("この規則において「館長」とは、藤本恵子をいう。", "館長は誰ですか", True),
        (KOREAN_ARTICLES, "시행일의 공고 번호는 몇 번인가요?", False),
        ("| 구분 | 수당 | 월액 |\n|---|---|---|\n| B2 | 당직 | 80,000원 |", "B2는 얼마인가요?", True),
        ("| Code | Work | Pay |\n|---|---|---|\n| N2 | Sunday | £22 |", "How much is N2?", True),
        ("| Code | Work | Pay |\n|---|---|---|\n| N2 | Sunday | £22 |", "How much is the N2 fine?", False),
    ],
)
def test_a_value_of_the_kind_asked_for_is_told_without_a_doubt_where_every_noun_stands_beside_it(
    embedder: Embedder, text: str, question: str, told: bool
):
    found = [Passage("c", "d", "a.md", "", None, "", 0, len(text), text)]
    picks = extract(question, found, embedder=embedder)
    assert is_clear(question, found, picks, decide(question, found, middle=0.87), embedder) is told


def test_doubt_is_stated_before_a_sentence_about_something_else(library: Library):
    question = "Which company cleans the windows?"
    told = said(list(make_pipeline(Settings(), library, None).ask(question, [], never)))
    assert told.startswith(DOUBTFUL["en"]) and "The kitchen is cleaned" in told


@pytest.mark.parametrize(
    "question", ["有給休暇は何日ですか？", "退職金の計算方法を教えてください", "健康保険の窓口はどこですか？"]
)
def test_a_table_without_kana_does_not_answer_every_question_in_japanese(library: Library, question: str):
    told = said(list(make_pipeline(Settings(), library, None).ask(question, [], never)))
    assert told.startswith((DOUBTFUL["ja"], NOT_FOUND["ja"]))


@pytest.mark.parametrize(("cosine", "start"), [(0.86, DOUBTFUL["en"]), (0.8, NOT_FOUND["en"])])
def test_of_passages_that_are_only_near_in_meaning_two_quotes_are_shown(
    embedder: Embedder, cosine: float, start: str
):
    text = f"{TEXT} We pay nothing while the home was unoccupied for more than 45 days."
    near = passage(text, similarity=Found(1, cosine, 1.0))
    *_, done = answer("May my house stand empty for months?", [near], llm=None, embedder=embedder)
    assert done.text.startswith(start)
    assert ("unoccupied" in done.text) is (start == DOUBTFUL["en"]) and len(done.citations) <= CLOSEST


@pytest.mark.parametrize(("cosine", "start"), [(0.95, DOUBTFUL["ko"]), (0.83, NOT_FOUND["ko"])])
def test_near_passages_are_shown_where_no_sentence_has_enough_of_the_words(
    embedder: Embedder, cosine: float, start: str
):
    table = "| 구분 | 휴식일수 |\n|---|---|\n| 본인 이사 | 2일 |\n| 자녀 입학 | 1일 |"
    near = passage(table, similarity=Found(1, cosine, 1.0))
    *_, done = answer("입학하면 며칠 쉬게 해 주나요?", [near], llm=None, embedder=embedder)
    assert done.text.startswith(start)
    assert ("자녀 입학" in done.text) is (start == DOUBTFUL["ko"])


def test_a_passage_with_few_of_the_words_does_not_answer_however_near(embedder: Embedder):
    asked = "Which masons built the castle of Aldenburg?"
    picks = extract(asked, [passage(TEXT)])
    few, many = (Decision(True, 1.0, shares=(share,)) for share in (0.2, 0.4))
    assert not is_clear(asked, [passage(TEXT)], picks, few, embedder)
    assert is_clear(asked, [passage(TEXT)], picks, many, embedder)


def test_words_alone_decide_where_the_embedding_model_fails(caplog: pytest.LogCaptureFixture):
    class Failing(WordVectors):
        def _vectors(self, texts: object, role: str) -> Floats:
            raise EmbeddingError("The server did not answer.")

    question = "Which river is the castle of Aldenburg built on?"
    *_, done = answer(question, [passage(TEXT)], llm=None, embedder=Failing("multilingual-e5-small"))
    assert done.text.startswith("**The castle of Aldenburg")
    assert "judged by its words alone" in caplog.text


LABELLED = {
    "ko": "임대인: 김영수\n\n계약기간: 2025년 3월 1일부터 2027년 2월 28일까지\n\n보증금: 금 50,000,000원\n\n"
    "차임: 월 800,000원, 매월 5일 지급\n",
    "ja": "貸主:田中一郎\n\n契約期間:2025年3月1日から2027年2月28日まで\n\n賃料:月額80,000円\n\n"
    "敷金:賃料の2か月分\n",
}


@pytest.mark.parametrize(
    ("code", "question", "cosine"),
    [
        ("ko", "계약은 언제 끝나나요?", 0.84),
        ("ko", "계약이 언제 끝나요?", 0.84),
        ("ko", "계약은 언제 시작되나요?", 0.84),
        ("ja", "契約はいつ終わりますか", 0.84),
        ("ja", "契約の満了日はいつですか", 0.84),
    ],
)
def test_the_endings_of_a_question_are_not_missed_in_its_answer(
    embedder: Embedder, code: str, question: str, cosine: float
):
    found = [passage(LABELLED[code], similarity=Found(1, cosine, 1.0))]
    *_, done = answer(question, found, llm=None, embedder=embedder)
    assert "2027" in done.text and done.text.strip() != NOT_FOUND[code]


@pytest.mark.parametrize(
    ("code", "question"),
    [("ko", "올해 월드컵은 어디서 열리나요?"), ("ja", "今年のワールドカップはどこで開かれますか")],
)
def test_a_question_with_nothing_but_endings_in_common_is_refused(
    embedder: Embedder, code: str, question: str
):
    found = [passage(LABELLED[code], similarity=Found(1, 0.78, 1.0))]
    *_, done = answer(question, found, llm=None, embedder=embedder)
    assert done.text == NOT_FOUND[code]
