"""A question with a subject of its own is not searched with terms of the chat; a follow-up is."""

from collections.abc import Iterator, Sequence

import pytest

from rag.chat.answer import Condensed, Done
from rag.chat.extractive import is_astray
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from rag.passage import Passage
from rag.retrieval.sentences import Pick
from rag.settings import Settings
from storage.database import Database
from tests.rag.chat.test_pipeline import put

DOCUMENTS = {
    "hill.md": "# Lease of Hill Street 4\n\nThe rent is 900 euros a month. The deposit is 1,800 euros.\n",
    "lake.md": "# Lease of Lake Road 2\n\nThe rent is 700 euros a month. The deposit is 1,400 euros.\n",
    "handbook.md": "# Staff handbook\n\nEvery employee has 25 days of vacation a year.\n\n"
    "| Day | On duty |\n|---|---|\n| Monday | Ann Lee |\n| Tuesday | Tom Berg |\n",
    "안내.md": "# 직원 안내서\n\n연차 휴가는 1년에 15일이다. 남은 연차는 다음 해 3월 31일에 없어진다.\n",
    "임대차.md": "# 임대차 계약서\n\n월세는 2025년에 80만 원이다. 보증금은 5천만 원이다.\n",
    "offices.md": "# Offices\n\nThe manager of the Berlin office is Ida Roth. "
    "The rent of the Hamburg office is 1,100 euros. The manager of the Hamburg office is Karl Stein.\n",
    "지점.md": "# 지점\n\n서울 지점장은 김영수이다. 부산 지점은 1998년에 문을 열었다. "
    "부산 지점장은 박민수이다.\n",
    "支店.md": "# 支店\n\n山田の給与は31万円である。高橋は月曜日の当番である。高橋の給与は34万円である。\n",
    "quarters.md": "# Quarters\n\nIn Q1, staff costs were 6 million euros. "
    "In Q3, staff costs were 7 million euros. Harbour revenue was 27 million euros in Q3.\n",
    "手引.md": "# 社員の手引き\n\n有給休暇は年に20日である。残った休暇は翌年3月31日に消える。\n",
    "賃貸借.md": "# 賃貸借契約書\n\n家賃は2025年に月8万円である。敷金は16万円である。"
    "契約が終了したときは、終了日までに明け渡す。遅延損害金の利率は年14.6パーセントである。\n",
    "임대차2.md": "# 사무실 임대차\n\n임대차 기간은 2027년 4월 30일까지이다. "
    "계약이 종료되면 원상으로 회복한다.\n",
    "관리규약.md": "# 관리규약\n\n관리비는 매월 25일까지 낸다. 반려동물은 세대당 2마리까지 기를 수 있다. "
    "이 규약은 2024년 7월 1일부터 시행한다.\n",
    "경비.csv": "부서,항목,금액\n영업팀,교통비,184200\n개발팀,도서비,126500\n",
    "経費.csv": "部署,費目,金額\n営業部,交通費,18420\n開発部,書籍費,12650\n",
}
RENT = [
    ("user", "What is the rent of Hill Street 4?"),
    ("assistant", "**The rent is 900 euros a month.** [1]"),
]
KOREAN_RENT = [("user", "월세는 얼마인가요?"), ("assistant", "**월세는 2025년에 80만 원이다.** [1]")]
KOREAN_LEAVE = [("user", "연차 휴가는 며칠인가요?"), ("assistant", "**연차 휴가는 1년에 15일이다.** [1]")]
JAPANESE_LEAVE = [("user", "有給休暇は何日ですか"), ("assistant", "**有給休暇は年に20日である。** [1]")]

JAPANESE_INTEREST = [
    ("user", "遅延損害金の利率は?"),
    ("assistant", "**遅延損害金の利率は年14.6パーセントである。** [1]"),
]
JAPANESE_COSTS = [("user", "営業部の交通費はいくらですか?"), ("assistant", "| 営業部 | 交通費 | 18420 [1] |")]
KOREAN_COSTS = [("user", "영업팀 교통비는 얼마인가요?"), ("assistant", "| 영업팀 | 교통비 | 184200 [1] |")]
KOREAN_FEES = [
    ("user", "관리비는 언제까지 내나요?"),
    ("assistant", "**관리비는 매월 25일까지 낸다.** [1]"),
    ("user", "반려동물은 몇 마리까지 되나요?"),
    ("assistant", "**반려동물은 세대당 2마리까지 기를 수 있다.** [1]"),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Iterator[Library]:
    database = Database.open(tmp_path_factory.mktemp("new-questions"))
    opened = Library(database, "ann", lambda: embedder)
    for name, text in DOCUMENTS.items():
        put(opened, text, name)
    yield opened
    opened.close()
    database.close()


def searched(library: Library, question: str, history: Sequence[tuple[str, str]]) -> str:
    events = make_pipeline(Settings(), library, None).ask(question, history, never)
    return next(event.question for event in events if isinstance(event, Condensed))


@pytest.mark.parametrize(
    ("history", "question"),
    [
        (RENT, "Who is on duty on Monday?"),
        (RENT, "How many days of vacation are there?"),
        (KOREAN_RENT, "연차 휴가는 며칠인가요?"),
        (KOREAN_LEAVE, "월세는 얼마인가요?"),
        (JAPANESE_LEAVE, "家賃はいくらですか"),
        (JAPANESE_LEAVE, "敷金はいくらですか"),
        (JAPANESE_INTEREST, "契約の終了日は?"),
        (JAPANESE_COSTS, "敷金の半額はいくらですか?"),
        (KOREAN_COSTS, "계약은 언제 끝나나요?"),
        (KOREAN_FEES, "시행일은 언제인가요?"),
    ],
)
def test_a_question_with_a_subject_of_its_own_gets_no_terms(
    library: Library, history: Sequence[tuple[str, str]], question: str
):
    assert searched(library, question, history) == question


@pytest.mark.parametrize(
    ("history", "question"),
    [
        (RENT, "And the year before?"),
        (RENT, "Since when?"),
        (KOREAN_RENT, "그럼 작년은?"),
        (KOREAN_RENT, "그 전 해는요?"),
        (JAPANESE_LEAVE, "なぜですか"),
        (JAPANESE_LEAVE, "その前の年は?"),
    ],
)
def test_a_follow_up_gets_terms(library: Library, history: Sequence[tuple[str, str]], question: str):
    assert searched(library, question, history) != question


@pytest.mark.parametrize(
    ("asked", "question", "answer"),
    [
        ("Who is the manager of the Berlin office?", "Hamburg?", "Karl Stein"),
        ("Who is the manager of the Berlin office?", "What about Hamburg?", "Karl Stein"),
        ("서울 지점장은 누구인가요?", "부산은?", "박민수"),
        ("山田の給与はいくらですか", "高橋は?", "34万円"),
        ("What were staff costs in Q1?", "And Q3?", "7 million"),
    ],
)
def test_a_follow_up_that_only_names_another_thing_asks_what_was_asked_before(
    library: Library, asked: str, question: str, answer: str
):
    pipeline = make_pipeline(Settings(), library, None)
    first = next(event for event in pipeline.ask(asked, (), never) if isinstance(event, Done))
    history = [("user", asked), ("assistant", first.text)]
    told = next(event for event in pipeline.ask(question, history, never) if isinstance(event, Done))
    assert answer in "".join(told.text.split("\n\n")[:2])


def test_of_two_documents_that_answer_the_one_that_was_talked_about_is_meant(library: Library):
    assert (
        searched(library, "How much is the deposit?", RENT) == "How much is the deposit? (about rent, Hill)"
    )


@pytest.mark.parametrize(
    ("name", "title", "heading", "text", "question"),
    [
        (
            *("위원회_회의록.docx", "위원회 회의록", "전자결재"),
            *("유지보수 계약은 2월 28일에 끝난다.", "다음 회의는 언제 열리나요?"),
        ),
        (
            *("board-meeting.md", "Minutes of the meeting", "Contracts"),
            *("The contract ends in May.", "When is the next meeting?"),
        ),
    ],
)
def test_a_title_that_stands_above_a_whole_document_does_not_make_a_sentence_an_answer(
    name: str, title: str, heading: str, text: str, question: str
):
    picks = [Pick(1, 0, len(text), 1.0, 0, len(text))]
    apart = Passage("c", "d", name, "", None, f"{title} > {heading}", 0, len(text), text)
    below = Passage("c", "d", name, "", None, title, 0, len(text), text)
    assert is_astray(question, [apart], picks) and not is_astray(question, [below], picks)
