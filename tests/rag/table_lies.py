"""Made statements about a made table, in English, Korean and Japanese: true, and with one thing changed."""

from collections.abc import Iterator
from itertools import permutations

from tests.rag.lies import Case

YEARS = (2021, 2022, 2023)
FIGURES = ((4120, 4655, 5310), (2874, 2391, 3068), (1645, 1733, 1592), (918, 1047, 1226), (3377, 3502, 2989))
ROWS = {
    "en": ("Lanterns", "Bicycles", "Garden tools", "Paper", "Ceramics"),
    "ko": ("조명", "자전거", "정원용품", "제지", "도자기"),
    "ja": ("照明", "自転車", "園芸用品", "製紙", "陶器"),
}
_HEADS = {
    "en": "Sales by line (in millions)",
    "ko": "품목별 매출 (단위: 백만 달러)",
    "ja": "品目別売上高(単位:百万ドル)",
}
_YEAR = {"en": "{}", "ko": "{}년", "ja": "{}年度"}
_SAID = {
    "en": "{row} had sales of ${value:,} million in {year}.",
    "ko": "{year}년 {row} 매출은 {eok}억 {man}만 달러였습니다.",
    "ja": "{year}年度の{row}の売上高は{eok}億{man}万ドルでした。",
}
_CHANGED = {
    "en": "In {year}, sales of {row} were ${value:,} million {way} than a year before.",
    "ko": "{year}년 {row} 매출은 전년보다 {value}백만 달러 {way}.",
    "ja": "{year}年度の{row}の売上高は前年より{value}百万ドル{way}。",
}
_WAYS = {"en": ("higher", "lower"), "ko": ("증가했다", "감소했다"), "ja": ("増加した", "減少した")}
_TOGETHER = {
    "en": "In {year}, {row} and {other} together had sales of ${value:,} million.",
    "ko": "{year}년 {row}, {other} 매출은 합계 {value}백만 달러였다.",
    "ja": "{year}年度の{row}と{other}の売上高は合計{value}百万ドルだった。",
}


def table(language: str) -> str:
    """Return the passage with the table."""
    years = " | ".join(_YEAR[language].format(year) for year in YEARS)
    rows = [
        f"| {row} | " + " | ".join(f"{value:,}" for value in figures) + " |"
        for row, figures in zip(ROWS[language], FIGURES, strict=True)
    ]
    return "\n".join([_HEADS[language], "", f"| | {years} |", "|---|---|---|---|", *rows])


def table_cases() -> Iterator[Case]:
    """Yield the statements about each cell, change and sum."""
    for language in ROWS:
        yield from _quoted(language)
        yield from _calculated(language)


def _quoted(language: str) -> Iterator[Case]:
    text = table(language)
    for row, figures in zip(ROWS[language], FIGURES, strict=True):
        for at, year in enumerate(YEARS):
            for kind, value in _values(figures, at):
                said = _SAID[language].format(
                    row=row, year=year, value=value, eok=value // 100, man=value % 100 * 100
                )
                yield Case(kind, language, said, text, kind == "cell")
                header = f"| | {_YEAR[language].format(year)} |\n|---|---|\n"
                yield Case(
                    f"{kind} in a row", language, f"{header}| {row} | {value:,} |", text, kind == "cell"
                )


def _values(figures: tuple[int, ...], at: int) -> Iterator[tuple[str, int]]:
    yield "cell", figures[at]
    yield from (("other column", value) for value in figures if value != figures[at])
    yield from (("other row", other[at]) for other in FIGURES if other is not figures)
    yield from (("other number", figures[at] + change) for change in (-1000, -10, 90, 300))


def _calculated(language: str) -> Iterator[Case]:
    text, (up, down) = table(language), _WAYS[language]
    for row, figures in zip(ROWS[language], FIGURES, strict=True):
        for at, year in enumerate(YEARS[1:], 1):
            change = figures[at] - figures[at - 1]
            for value, way, true in (
                (abs(change), up if change > 0 else down, True),
                (abs(change), down if change > 0 else up, False),
                (abs(change) + 100, up if change > 0 else down, False),
                (abs(change) - 20, up if change > 0 else down, False),
            ):
                said = _CHANGED[language].format(row=row, year=year, value=value, way=way)
                yield Case("change", language, said, text, true)
    for (one, first), (two, second) in permutations(list(zip(ROWS[language], FIGURES, strict=True)), 2):
        for more in (0, 37, -210):
            value = first[2] + second[2] + more
            said = _TOGETHER[language].format(row=one, other=two, year=YEARS[2], value=value)
            yield Case("sum", language, said, text, not more)
