# ruff: noqa: E501
import pytest

from rag.citations.checker import Checker
from rag.citations.rates import rates
from rag.passage import Passage

TOLD = {
    "en": "The offices are cleaned every week. Rent is £450 a month, and late rent bears interest of 12% a year.\n\n"
    "Windows are cleaned every quarter. Waste is collected once a month for £35.",
    "ko": "관리비는 매월 25일까지 납부한다. 납부가 늦은 경우 연 12%의 연체료를 가산한다. 근로자는 1주일에 2일 근무한다. "
    "주차비는 월 40,000원으로 한다.",
    "ja": "職員の勤務は1週につき3日とし、駐車場の使用料は月額8,000円とする。清掃は毎週2回行う。点検は1か月に1回行う。",
}


def status(language: str, claim: str) -> str:
    text = TOLD[language]
    return Checker([Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)]).check(claim).status


@pytest.mark.parametrize(
    ("language", "claim"),
    [
        ("en", "The monthly rent is £450."),
        ("en", "Rent is £450 per month."),
        ("en", "The offices are cleaned weekly."),
        ("en", "Windows are cleaned quarterly."),
        ("ko", "주차비는 매월 40,000원입니다."),
        ("ko", "주차비는 한 달에 40,000원입니다."),
        ("ko", "근로자는 매주 2일 근무합니다."),
        ("ko", "납부가 늦은 경우 매년 12%의 연체료를 가산합니다."),
        ("ja", "職員の勤務は週3日です。"),
        ("ja", "駐車場の使用料は毎月8,000円です。"),
        ("ja", "清掃は週2回行います。"),
        ("ja", "点検は毎月1回行います。"),
    ],
)
def test_one_rate_in_other_words_is_verified(language: str, claim: str):
    assert status(language, claim) == "verified"


@pytest.mark.parametrize(
    ("language", "claim"),
    [
        ("en", "The yearly rent is £450."),
        ("en", "Rent is £450 per week."),
        ("en", "The offices are cleaned monthly."),
        ("en", "Windows are cleaned monthly."),  # which is told of the waste
        ("ko", "주차비는 매년 40,000원입니다."),
        ("ko", "주차비는 일주일에 40,000원입니다."),
        ("ko", "근로자는 매월 2일 근무합니다."),
        ("ko", "납부가 늦은 경우 월 12%의 연체료를 가산합니다."),  # of which the month is the payment's
        ("ja", "職員の勤務は月3日です。"),
        ("ja", "駐車場の使用料は年額8,000円です。"),
        ("ja", "清掃は月2回行います。"),
        ("ja", "点検は毎週1回行います。"),
    ],
)
def test_another_rate_is_not_verified(language: str, claim: str):
    assert status(language, claim) != "verified"


def test_a_span_of_time_that_nothing_is_counted_by_is_no_rate():
    for text in ("up from £4 a year earlier", "within a month", "2025년 3월 5일", "5月1日に2回", "3年間"):
        assert not rates(text)
