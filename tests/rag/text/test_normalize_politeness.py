"""A polite sentence states what a plain one does, and nothing else."""

import pytest

from rag.citations.checker import Checker
from rag.passage import Passage
from rag.text.normalize import without_politeness


def status(document: str, said: str) -> str:
    passage = Passage("c", "d", "a.md", "", None, "", 0, len(document), document)
    return Checker([passage]).check(said).status


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("임대차는 2027년 5월 31일에 끝난다.", "임대차는 2027년 5월 31일에 끝납니다."),
        ("회사는 1998년에 서울에서 설립되었다.", "회사는 1998년에 서울에서 설립되었습니다."),
        ("매출은 12% 증가한 3조 원이다.", "매출은 12% 증가한 3조 원입니다."),
        ("이 도시는 매우 크다.", "이 도시는 매우 큽니다."),
        ("고베 항구는 컨테이너 4137개를 처리했다.", "고베 항구는 컨테이너 4137개를 처리했어요."),
        ("会社は1998年に東京で設立された。", "会社は1998年に東京で設立されました。"),
        ("賃貸契約は2027年5月31日に終わる。", "賃貸契約は2027年5月31日に終わります。"),
        ("料金は500円である。", "料金は500円です。"),
        ("議会は計画を承認した。", "議会は計画を承認しました。"),
        ("彼は東京に行った。", "彼は東京に行きました。"),
    ],
)
def test_a_plain_sentence_backs_the_polite_one_and_the_other_way_round(document: str, said: str):
    assert status(document, said) == "verified"
    assert status(said, document) == "verified"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("회의는 취소되지 않았다.", "회의는 취소되었습니다."),
        ("회의는 취소되었다.", "회의는 취소되지 않았습니다."),
        ("회사는 1998년에 부산에서 설립되었다.", "회사는 1998년에 서울에서 설립되었습니다."),
        ("매출은 12% 감소했다.", "매출은 12% 증가했습니다."),
        ("大会は中止されなかった。", "大会は中止されました。"),
        ("大会は東京で開かれた。", "大会は大阪で開かれました。"),
    ],
)
def test_politeness_hides_no_difference(document: str, said: str):
    assert status(document, said) != "verified"


@pytest.mark.parametrize("text", ["", "Seoul is big.", "바나나다", "다", "アマチュア", "인천이다 (a) b"])
def test_other_text_stays_as_it_is(text: str):
    assert without_politeness(text) == text
