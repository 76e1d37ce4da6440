# ruff: noqa: E501 - one field's words on a line each
"""Columns that are named after a kind of value alone: a document's own date, its amount, who is responsible.

Such a name says nothing of what the value is of: "Date" with the question "When was it inspected?" asks for
the day of an inspection. The question's own words, its heads, are then what a statement must name.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from rag.grid.columns import Column, Kind
from rag.grid.templates import Fact, terms
from rag.text.language import KOREAN_PARTICLES, STOP_WORDS


@dataclass(frozen=True)
class GeneralField:
    """Kind of value: the names of its columns, and the labels and words by which documents call it.

    The words of a `predicate`, such as "responsible", say by themselves what a sentence is of.
    """

    kind: Kind
    names: tuple[str, ...]
    labels: tuple[str, ...]
    fact: Fact = ""
    predicate: bool = False


_DATE = GeneralField(
    "date",
    terms("date; dates; day; when; dated", "날짜; 일자; 일시; 작성일; 작성일자", "日付; 日時; 年月日; 日にち; 作成日"),
    terms("date; dated; date of issue; issue date; date issued; issued on; issued; meeting date; date and time; date of meeting; date of the meeting; held on; sent",
          "날짜; 일자; 일시; 일정; 기간; 작성일; 작성일자; 발행일; 발행일자; 견적일; 청구일; 개최일; 회의 일시; 행사 일시; 보낸 날짜; 발신일; 행사 기간",
          "日付; 日時; 年月日; 作成日; 発行日; 見積日; 請求日; 開催日; 開催日時; 日程; 期日; 実施日; 送信日; 送信日時; 発行年月日; 作成年月日"),
    "date",
)  # fmt: skip
_HELD = GeneralField(
    "date",
    terms("meeting date; date of meeting; date of the meeting; date held; held on", "개최일; 회의일; 회의 일시; 회의 날짜; 행사일; 행사 날짜", "開催日; 開催日時; 会議日"),
    terms("meeting date; date of meeting; date of the meeting; date held; held on; date and time", "개최일; 회의일; 회의 일시; 행사일; 행사 일시; 일시", "開催日; 開催日時; 会議日; 実施日; 日時"),
    predicate=True,
)  # fmt: skip
_AMOUNT = GeneralField(
    "money",
    terms("amount; sum; total; price; cost", "금액; 총액; 비용", "金額; 総額; 費用"),
    terms("amount; total; total amount; amount due; total due; grand total; balance due; invoice total; contract price",
          "금액; 합계; 합계 금액; 합계금액; 총액; 총 금액; 청구 금액; 청구금액; 견적 금액; 견적금액; 계약 금액; 계약금액; 참가비; 비용",
          "金額; 合計; 合計金額; 総額; ご請求金額; 請求金額; ご請求額; 見積金額; お見積金額; 御見積金額; 契約金額; 税込合計; 参加費; 費用"),
)  # fmt: skip
_RESPONSIBLE = GeneralField(
    "text",
    terms("responsible; who is responsible; person in charge; in charge; contact; responsible person", "담당자; 담당; 책임자", "担当; 担当者; 責任者"),
    terms("responsible; person in charge; in charge; contact; contact person; responsible person; person responsible; department in charge; responsible department",
          "담당자; 담당; 책임자; 주관 부서; 주관부서; 담당 부서; 담당부서; 소관 부서; 소관부서; 실무 담당", "担当; 担当者; 担当部署; 担当課; 責任者; 主管部署; 主管; 所管; 所管課; 所管部署; ご担当者"),
    predicate=True,
)  # fmt: skip
_FIELDS = (_DATE, _HELD, _AMOUNT, _RESPONSIBLE)
_CALLED = {name: field for field in _FIELDS for name in field.names}
_ANY = frozenset(
    terms("document; documents; file; files; text; paper; report; named; name; whose; whom; person; people; amount; money; total; sum; date; day; year; month; time; please; state; give; much; value; big; large; own; does; did",
          "문서; 자료; 파일; 서류; 언제; 누구; 얼마; 무엇; 몇; 어느; 어떤; 이; 그; 본; 해당; 또는; 이나; 그리고; 및; 날짜; 일자; 금액; 사람; 이름",
          "文書; 書類; 資料; 日付; 日時; 金額; 名前; 氏名; 何日; 何年; 何月; 誰; 年月日; 部署名; 本書")
)  # fmt: skip
_LATIN = re.compile(r"[A-Za-zÀ-ɏ][\w’'-]*")
_HANGUL = re.compile(r"[가-힣]{2,}")
_JAPANESE = re.compile(r"[一-鿿々]{2,}|[ァ-ヺー]{2,}")
_ASKS_KO = re.compile(
    r"\A(?:언제|누구|얼마|무엇|어느|어디|몇)|(?:인가요|입니까|[하되]나요|습니까|는가|인지|해주세요|한가요)\Z"
)
_DAY_OF = re.compile(r"(?<=[^\x00-\u024f]{2})(?:日|일)\Z")
"""End of a name of a day, which sentences call by what happened: 改定日, 개정일."""


@lru_cache(maxsize=256)
def general_field(column: Column) -> GeneralField | None:
    """Return the kind of value that a column is named after; None for another name, or of another kind.

    >>> general_field(Column("d", "日付")).kind, general_field(Column("n", "Notice period"))
    ('date', None)
    """
    field = _CALLED.get(" ".join(column.name.casefold().split()))
    return field if field is not None and column.kind in (field.kind, "text") else None


@lru_cache(maxsize=256)
def heads(column: Column) -> tuple[str, ...]:
    """Return the words of a column's question that say what its value is of.

    >>> heads(Column("d", "Date", "On which date was it adopted, inspected or held?", "date"))
    ('adopted', 'inspected', 'held')
    >>> heads(Column("d", "날짜", "행사나 회의 날짜는 언제인가요?")), heads(Column("d", "担当", "主管部署または責任者は誰ですか"))
    (('행사', '회의'), ('主管部署', '責任者'))
    >>> heads(Column("d", "日付", "この文書の日付はいつですか。"))
    ()
    """
    own = column.name.casefold()
    told = [
        *(word for word in _LATIN.findall(column.question) if _tells_en(word)),
        *(_without_particle(word) for word in _HANGUL.findall(column.question) if not _ASKS_KO.search(word)),
        *_JAPANESE.findall(column.question),
    ]
    others = (word for word in told if word.casefold() not in _ANY and word.casefold() != own)
    return tuple(dict.fromkeys(_DAY_OF.sub("", word) for word in others))


def _tells_en(word: str) -> bool:
    return len(word) > 2 and word.casefold() not in STOP_WORDS["en"]


def _without_particle(word: str) -> str:
    for particle in KOREAN_PARTICLES:
        if word.endswith(particle) and len(word) - len(particle) > 1:
            return word.removesuffix(particle)
    return word
