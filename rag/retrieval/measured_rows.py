"""Rows of tables that a question picks out by a number: the largest, the smallest, those above a bound.

A question names the column of the number by words of its header; where it names none, a column of totals is
meant, or the only one with numbers. The first column names the rows. Every other word must be of another
column's header, of a cell, which then picks out rows, or of the table's caption, heading or document. So a
table by month is not read for a region.
"""

import operator
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Literal

from rag.passage import Passage
from rag.retrieval.items import NamedItem
from rag.retrieval.row_filter import NamedTable, has_values, named_values, plain, tables_of
from rag.retrieval.sentences import Pick
from rag.retrieval.table_rows import TOTAL
from rag.text.dates import find_periods
from rag.text.facts import nouns, numbers, without_numbers
from rag.text.markdown import TableRow, cell_span
from rag.text.tokenize import tokens

Extreme = Literal["largest", "smallest", "latest", "earliest"]
Comparison = Callable[[float, float], bool]
_BETWEEN_KO, _BETWEEN_JA = r"(?P<ko>[가-힣]{1,8}[이가]\s)?", r"(?P<ja>[^\s、。？?]{1,12}が)?"
"""Words that may stand within a sign: "가장 매출이 큰 달", 「一番売上が大きい月」."""
_WORDS: tuple[tuple[Extreme, str, str, str, str], ...] = (
    (
        "largest",
        r"highest|largest|biggest|greatest|maximum|longest|(?<!at )most(?! of)(?! recent)(?: expensive)?",
        "높|많|크|큰|컸|비싸|비싼|비쌌|길|긴",
        "高|多|大き|長",
        "최대|최고|최다|最大|最高|最多",
    ),
    (
        "smallest",
        r"lowest|smallest|cheapest|minimum|shortest|fewest|(?<!at )least(?: expensive)?",
        "낮|적|작|싸|싼|쌌|저렴|짧",
        "低|少な|小さ|安|短",
        "최소|최저|最小|最低|最少",
    ),
    ("latest", "latest|newest|most recent", "늦|나중|최근|최신", "遅|新し|最近", "最新"),
    ("earliest", "earliest|oldest|soonest", "이르|이른|빠르|빠른|오래|먼저", "早|古", "最古"),
)
"""Words for the ends of a column: in English, after 가장, after 最も, and by themselves."""
_SIGNS: dict[Extreme, re.Pattern[str]] = {
    which: re.compile(
        rf"\b(?:{english})\b"
        rf"|(?:가장|제일)\s?{_BETWEEN_KO}(?:{korean})[가-힣]*"
        rf"|(?:最も|もっとも|一番|いちばん){_BETWEEN_JA}(?:{japanese})(?:い|かった|な|く|の)?|{others}",
        re.IGNORECASE,
    )
    for which, english, korean, japanese, others in _WORDS
}
_FIGURE = (
    r"(?<![\d,.])(?:[$€£¥₩]\s?|\b[A-Z]{3}\s)?\d[\d,.]{0,30}(?![\d,])"
    r"(?:\s?[천千백百만万萬억億조兆])*(?:\s(?:thousand|million|billion)\b)?"
    r"\s?(?:%|[원円명人개個건件일日대台]|달러|ドル|유로|ユーロ)?"
)
_BOUNDS: tuple[tuple[Comparison, re.Pattern[str]], ...] = tuple(
    (test, re.compile(pattern.replace("N", f"(?P<figure>{_FIGURE})", 1), re.IGNORECASE))
    for test, pattern in (
        (operator.ge, r"\b(?:at least|no(?:t)? less than)\sN"),
        (operator.le, r"\b(?:at most|no(?:t)? more than|up to)\sN"),
        (
            operator.gt,
            r"\b(?:above|over|(?<!no )(?<!not )(?:more|greater|higher|larger) than|exceed(?:s|ed|ing)?)\sN",
        ),
        (operator.lt, r"\b(?:below|under|(?<!no )(?<!not )(?:less|fewer|lower|smaller|cheaper) than)\sN"),
        (operator.ge, r"N\s?(?:이상|以上)"),
        (operator.le, r"N\s?(?:이하|以下)"),
        (
            operator.gt,
            r"N\s?(?:초과|(?:을|를)?\s?넘[는은게]|보다\s?(?:많|높|큰|비싼)[가-힣]*|超(?!え)|を超え(?:る|た)?|より(?:多|高|大き)い?)",
        ),
        (
            operator.lt,
            r"N\s?(?:미만|보다\s?(?:적|낮|작|싼)[가-힣]*|未満|を下回(?:る|った)?|より(?:少な|低|小さ|安)い?)",
        ),
    )
)
_BETWEEN = re.compile(rf"\bbetween\s(?P<low>{_FIGURE})\s?and\s(?P<high>{_FIGURE})", re.IGNORECASE)
_BRACKETS = re.compile(r"[(（\[][^)）\]]*[)）\]]")
_MEASURED = re.compile(r"[(+\-−–△▲~]{0,3}\s?(?:[A-Z]{3}\s)?[$€£¥₩]?\s?\d")
"""Beginning of a cell whose number measures; words before it make a name: "B12", "INV-204", "Gate 3"."""
_PLAIN_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,15})?")
_NEGATIVE = re.compile(r"\A\s*(?:[-−–△▲]|\(.*\)\s*\Z)")
LEAST_ROWS = 2  # with a number, of which one is the largest
LONGEST_CELL = 40  # characters of a cell with a number
LONGEST_UNIT = 8  # letters around a number in a cell
_YEARS = range(1900, 2100)
_GRAINS = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(cell, re.IGNORECASE))
    for asked, cell in (
        (
            r"\bmonths?\b|(?<![가-힣])[달월](?![가-힣]{2})|月",
            r"\d{1,2}\s?[월月]|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?"
            r"|(?:19|20)\d\d\s?[-./년年]\s?\d{1,2}\s?[월月]?",
        ),
        (r"\bquarters?\b|분기|四半期", r"Q[1-4]|[1-4]\s?분기|第?[1-4一二三四]四半期"),
        (
            r"\byears?\b|연도|년도|(?<![가-힣])해(?![가-힣]{2})|年",
            r"(?:FY\s?)?(?:19|20)\d\d\s?(?:년도?|年度?)?",
        ),
    )
)
"""Words that ask for a month, a quarter or a year, and a cell that is one, whatever its column is called."""
_ASKING = frozenset(tokens("how many list show find give name", "en")) | {"목록", "나열", "전부", "一覧"}
"""Words that ask for rows, and say nothing of them."""
_DATE = frozenset(tokens("date day", "en")) | {"날짜", "일자", "日付"}
"""Words for a day, which its column need not be called by."""
_SUM = re.compile(r"(?:sum|계|소계|[小総合]?計)?")
"""Label of a row of totals, besides `TOTAL`: it may have none."""


_Part = tuple[int, int, NamedTable]
"""Part of a table within one passage, with the passage's number from 1 and its start in the document."""


def asks_extreme(question: str) -> Extreme | None:
    """Return which end a question asks for; None where it asks for none, or for both.

    >>> [asks_extreme(one) for one in ("Which month had the highest sales?", "가장 싼 방은?", "At most two?")]
    ['largest', 'smallest', None]
    """
    asked: list[Extreme] = [which for which, sign in _SIGNS.items() if sign.search(question)]
    return asked[0] if len(asked) == 1 else None


def extreme_rows(question: str, passages: Sequence[Passage]) -> list[NamedItem]:
    r"""Return the rows that hold what a question asks for, of the tables that it names best.

    >>> text = "| Month | Sales |\n|---|---|\n| May | 30 |\n| June | 70 |\n| July | 60 |\n| Total | 160 |"
    >>> given = [Passage("c", "d", "a.xlsx", "", None, "", 0, len(text), text)]
    >>> [row.name for row in extreme_rows("Which month had the highest sales?", given)]
    ['June']
    """
    which = asks_extreme(question)
    if which is None:
        return []
    pick = max if which in ("largest", "latest") else min
    read = _days if which in ("latest", "earliest") else _numbers
    found: list[NamedItem] = []
    for column in _columns(plain(_SIGNS[which].sub(_said_between, question)), passages, read):
        found += column.rows(partial(operator.eq, pick(value for value, _, _ in column.values)))
    return found


def _said_between(sign: re.Match[str]) -> str:
    """Return the words within a sign, which are none of it.

    >>> _SIGNS["largest"].sub(_said_between, "一番売上が大きい月はいつ")
    ' 売上が 月はいつ'
    """
    return f" {sign['ko'] or sign['ja'] or ''} "


def bounds_in(question: str) -> tuple[list[tuple[Comparison, float]], str]:
    """Return the bounds that a question sets, and the question without them.

    >>> [(bound[0].__name__, bound[1]) for bound in bounds_in("Which months had sales over 5,000?")[0]]
    [('gt', 5000.0)]
    >>> bounds_in("When is it?")
    ([], 'When is it?')
    """
    bounds = list[tuple[Comparison, float]]()
    question = _BETWEEN.sub(r"at least \g<low> at most \g<high>", question)
    for test, pattern in _BOUNDS:
        for found in pattern.finditer(question):
            if len(told := numbers(found["figure"])) == 1:
                bounds.append((test, float(told[0])))
        question = pattern.sub(" ", question)
    return bounds, question


def bounded_rows(question: str, passages: Sequence[Passage]) -> list[NamedItem]:
    r"""Return the rows whose number lies within the bounds that a question sets.

    >>> text = "| Month | Sales |\n|---|---|\n| May | 30 |\n| June | 70 |\n| July | 60 |\n| Total | 160 |"
    >>> given = [Passage("c", "d", "a.xlsx", "", None, "", 0, len(text), text)]
    >>> [row.name for row in bounded_rows("Which months had sales of at least 60?", given)]
    ['June', 'July']
    """
    bounds, left = bounds_in(unicodedata.normalize("NFKC", question))
    if not bounds:
        return []
    return [
        item
        for column in _columns(plain(left), passages, _numbers)
        for item in column.rows(lambda value: all(test(value, bound) for test, bound in bounds))
    ]


_Values = list[tuple[float, TableRow, int]]
"""Values of a column, each with its row and the number of its passage."""
_Reader = Callable[[Sequence[tuple[TableRow, int]], int], _Values]


def _columns(asked: str, passages: Sequence[Passage], read: _Reader) -> list["_Column"]:
    """Return the columns that a question speaks of, of the tables that it names best."""
    found = [one for parts in _whole_tables(passages) if (one := _read(asked, parts, read)) is not None]
    most = max((one.named for one in found), default=0)
    return [one for one in found if one.named == most]


@dataclass(frozen=True)
class _Cell:
    """Cell of a row with the number of its passage."""

    number: int
    row: TableRow
    column: int


def _extreme_cell(question: str, which: Extreme, passages: Sequence[Passage]) -> _Cell | None:
    r"""Return the cell at the end that is asked for of the columns of a kind: "branch" of Leeds and York.

    The kind is in their headers, or heads a column of another table that has them. They are compared in the
    row that a question names, else in that of totals. All else in the question must name the table.

    >>> text = "| Month | East wing | West wing |\n|---|---|---|\n| May | 3 | 7 |\n| Total | 8 | 9 |"
    >>> given = [Passage("c", "d", "visits.xlsx", "", None, "Visits", 0, len(text), text)]
    >>> _extreme_cell("Which wing had the most visits?", "largest", given).column
    2
    """
    asked = plain(_SIGNS[which].sub(_said_between, question))
    tables = list(_whole_tables(passages))
    for parts in tables:
        rows = _all_rows(parts)
        chosen, left = named_values(asked, [row for row, _ in rows])
        meant = [one for one in rows if (has_values(one[0], chosen) if chosen else _is_total(one[0]))]
        if len(meant) != 1:
            continue
        row, number = meant[0]
        for kind in nouns(left):
            columns = _of_kind(kind, parts[0][2].header, tables)
            values = {at: value for at in columns if (value := _value_at(row, at)) is not None}
            others = frozenset(tokens(" ".join(nouns(left)))) - frozenset(tokens(kind)) - _ASKING
            if len(values) >= LEAST_ROWS and all(_is_said(word, parts[0][2].naming) for word in others):
                at = (max if which == "largest" else min)(values, key=values.__getitem__)
                return _Cell(number, row, at)
    return None


def _value_at(row: TableRow, at: int) -> float | None:
    return _number(row.cells[at]) if at < len(row.cells) else None


def _of_kind(kind: str, header: Sequence[str], tables: Iterable[Sequence[_Part]]) -> list[int]:
    """Return the columns whose header has the kind, or stands in a column of another table called so."""
    words = frozenset(tokens(kind))
    members = {
        plain(row.cells[at]).strip()
        for parts in tables
        for at, head in enumerate(parts[0][2].header)
        if words and words == frozenset(tokens(head))
        for row, _ in _rows(parts)
        if at < len(row.cells)
    }
    return [
        at
        for at, head in enumerate(header)
        if at and not _is_sum(head) and (words < frozenset(tokens(head)) or plain(head).strip() in members)
    ]


def with_extreme_rows(
    question: str, passages: Sequence[Passage], documents: Iterable[Passage]
) -> tuple[list[Passage], list[Pick]] | None:
    """Return passages, and the rows that hold what is asked for as picks; None where there are none.

    They are looked for in all passages of the documents.
    """
    whole = list(documents)
    passages, picks = list(passages), list[Pick]()
    places = {passage.id: number for number, passage in enumerate(passages, 1)}
    for number, span, best in _extreme_spans(question, whole):
        passage = whole[number - 1]
        if passage.id not in places:
            passages.append(passage)
            places[passage.id] = len(passages)
        picks.append(Pick(places[passage.id], *span, 1.0, *best))
    return (passages, picks) if picks else None


_Span = tuple[int, int]


def _extreme_spans(question: str, passages: Sequence[Passage]) -> Iterator[tuple[int, _Span, _Span]]:
    """Yield each row asked for: the number of its passage, its span, and that of what answers in it."""
    which = asks_extreme(question)
    cell = _extreme_cell(question, which, passages) if which in ("largest", "smallest") else None
    if cell is not None:
        span = (cell.row.start, cell.row.end)
        yield cell.number, span, cell_span(passages[cell.number - 1].text, cell.row, cell.column)
        return
    for item in extreme_rows(question, passages):
        yield item.number, (item.start, item.end), (item.start, item.end)


@dataclass(frozen=True)
class _Column:
    """Numbers of one column, each with its row and the number of its passage; the question's words for it."""

    values: tuple[tuple[float, TableRow, int], ...]
    named: int

    def rows(self, wanted: Callable[[float], bool]) -> Iterator[NamedItem]:
        """Yield the rows whose number is wanted."""
        for value, row, number in self.values:
            if wanted(value):
                yield NamedItem(number, row.start, row.end, row.cells[0])


def _whole_tables(passages: Sequence[Passage]) -> Iterator[list[_Part]]:
    """Yield each table with all its parts: one that is longer than a passage goes on in the next."""
    parts = [
        (passage.document_id, number, passage.start, table)
        for number, passage in enumerate(passages, 1)
        for table in tables_of(passage)
    ]
    for _, group in groupby(parts, lambda part: (part[0], part[3].header)):
        yield [part[1:] for part in group]


def _rows(parts: Sequence[_Part]) -> list[tuple[TableRow, int]]:
    """Return the rows of a table without totals, each once, with the number of its passage."""
    return [(row, number) for row, number in _all_rows(parts) if not _is_total(row)]


def _all_rows(parts: Sequence[_Part]) -> list[tuple[TableRow, int]]:
    at = {start + row.start: (row, number) for number, start, table in parts for row in table.rows}
    return list(at.values())


def _read(asked: str, parts: Sequence[_Part], read: _Reader) -> _Column | None:
    """Return the column of values of a table that a question speaks of; None where it speaks of none."""
    header, naming, rows = parts[0][2].header, parts[0][2].naming, _rows(parts)
    chosen, left = named_values(asked, [row for row, _ in rows])
    without = _without_grain(left, rows)
    words = frozenset(tokens(" ".join(nouns(without)))) - (_ASKING | _DATE if read is _days else _ASKING)
    named = {at: _named_by(cell, words, left) for at, cell in enumerate(header)}
    columns = {at: values for at in range(1, len(header)) if (values := read(rows, at))}
    at = _measured(header, named, columns)
    if at is None:
        return None
    keys = without != left or any(named[other] for other in range(len(header)) if other not in columns)
    others = words - frozenset(tokens(header[at])).union(*named.values())
    if others and (not keys or not all(_is_said(word, naming) for word in others)):
        return None
    values = [one for one in columns[at] if has_values(one[1], chosen)]
    if len(values) < LEAST_ROWS:
        return None
    return _Column(tuple(values), len(words) - len(others) + len(chosen))


def _is_total(row: TableRow) -> bool:
    return _is_sum(row.cells[0] if row.cells else "")


def _is_sum(label: str) -> bool:
    """Return True for the label of a row or a column of totals."""
    name = plain(label)
    if _SUM.fullmatch(name.strip()):
        return True
    return any(word in name for word in TOTAL) and not TOTAL.isdisjoint(tokens(name))


def _named_by(header: str, words: frozenset[str], asked: str) -> frozenset[str]:
    """Return the words of a question that a header has: a Korean or Japanese one may be part of a word."""
    core = _BRACKETS.sub("", plain(header)).strip()
    if core and not core.isascii():
        return frozenset(word for word in words if word in core or core in word) or frozenset(
            {core} if core in asked else ()
        )
    return words & frozenset(tokens(core))


def _is_said(word: str, naming: str) -> bool:
    return word in tokens(naming) or (not word.isascii() and word in plain(naming))


def _measured(
    header: Sequence[str],
    named: dict[int, frozenset[str]],
    columns: dict[int, _Values],
) -> int | None:
    """Return the column with numbers that is named best; else that of totals, or the only one."""
    most = max((len(named[at]) for at in columns), default=0)
    best = [at for at in columns if len(named[at]) == most]
    if not most and len(best) > 1:
        best = [at for at in best if not TOTAL.isdisjoint(tokens(header[at]))]
    return best[0] if len(best) == 1 else None


def _without_grain(asked: str, rows: Sequence[tuple[TableRow, int]]) -> str:
    """Return a question without the word that asks for a month, quarter or year, where each row is one."""
    for sign, cell in _GRAINS:
        if all(cell.fullmatch(row.cells[0].strip()) for row, _ in rows):
            asked = sign.sub(" ", asked)
    return asked


def _days(rows: Sequence[tuple[TableRow, int]], at: int) -> _Values:
    """Return the days of a column that has nothing else, as numbers."""
    filled = [
        (row.cells[at].strip(), row, number)
        for row, number in rows
        if at < len(row.cells) and row.cells[at].strip()
    ]
    days = [(day, row, number) for cell, row, number in filled if (day := _day(cell)) is not None]
    return days if LEAST_ROWS <= len(days) == len(filled) else []


def _day(cell: str) -> float | None:
    """Return the number of the day of a cell that is a date; None for another one.

    >>> _day("2025-11-21") == _day("November 21, 2025"), _day("ready by 2025-11-21")
    (True, None)
    """
    found = find_periods(cell)
    is_date = len(found) == 1 and found[0].grain == "day" and found[0].end - found[0].start == len(cell)
    return float(found[0].first.toordinal()) if is_date else None


def _numbers(rows: Sequence[tuple[TableRow, int]], at: int) -> _Values:
    """Return the numbers of a column that has little else; nothing for years, or for more than one unit."""
    filled = [
        (row.cells[at], row, number) for row, number in rows if at < len(row.cells) and row.cells[at].strip()
    ]
    found = [(value, row, number) for cell, row, number in filled if (value := _number(cell)) is not None]
    units = {_unit(row.cells[at]) for _, row, _ in found} - {""}
    years = all(value in _YEARS for value, _, _ in found)
    return found if len(found) >= max(LEAST_ROWS, len(filled) / 2) and len(units) < 2 and not years else []


def _number(cell: str) -> float | None:
    """Return the number of a cell that holds one and at most its unit."""
    if _PLAIN_NUMBER.fullmatch(cell):
        return float(cell)
    if len(cell) > LONGEST_CELL or not _MEASURED.match(cell) or len(_unit(cell)) > LONGEST_UNIT:
        return None
    found = numbers(cell)
    value = float(found[0].rstrip("s")) if len(found) == 1 else None
    return -value if value and _NEGATIVE.match(cell) else value


def _unit(cell: str) -> str:
    return re.sub(r"[\s()\-−–△▲+]", "", plain(without_numbers(cell)))
