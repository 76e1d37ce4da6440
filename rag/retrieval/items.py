"""Items of a kind that whole documents name by a heading, a list, a table or a pattern: "List all suppliers".

| where | item |
|---|---|
| a list, numbered lines or a table's rows under a heading or a line that names the kind | each entry |
| a heading that begins with the kind: "Risk 3: flooding", "Step 2" | the heading |
| a line or cell that is labelled with the kind: "Supplier: Acme" | its value |
| the kind with a number of its own: "invoice INV-204" | the number |
| addresses, links, telephone numbers, dates, amounts | each |
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from rag.passage import Passage
from rag.text.dates import find_periods
from rag.text.language import STOP_WORDS, words_of
from rag.text.markdown import TableBlock, TableRow, read_tables
from rag.text.sentences import sentences
from rag.text.tokenize import tokens

LONGEST = 160  # characters of an item's name
_BULLET = re.compile(
    r"^[ \t]*(?:[-*+•·‣◦○●▪■□※]|\(?\d{1,3}[.)]|\(?[a-z가-하ア-ン][.)]|[①-⑳])[ \t]+(?P<item>\S.*)$"
)
_LABEL = re.compile(r"^[ \t>*_#-]*(?P<label>[^:：\n|]{1,60}?)[*_ ]*[:：][*_ ]*(?P<value>[^\n]{1,200})$")
_NUMBER = r"(?:[A-Za-z]{0,6}[-/#]?\d[A-Za-z0-9_./-]*)"
_COUNTERS = "명|개|가지|건|곳|대(?![가-힣])|편|권|인|人|名|個|件|台|社|冊|本|枚|点|か所|箇所|種類"
"""What follows a number that counts things in Korean and Japanese, where it stands behind their name."""
_TYPED: tuple[tuple[frozenset[str], re.Pattern[str]], ...] = tuple(
    (frozenset(tokens(words, "en")) | frozenset(tokens(others)), re.compile(pattern))
    for words, others, pattern in (
        (
            "email emails e-mail e-mails mail address addresses",
            "이메일 메일 주소 메일주소 이메일주소 メール アドレス メールアドレス",
            r"[a-zA-Z0-9_.+-]+@[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)+",
        ),
        ("link links url urls website websites", "링크 주소 リンク", r"https?://[^\s)>\]|]+"),
        (
            "phone phones telephone number numbers",
            "전화 번호 전화번호 電話 番号 電話番号",
            r"(?<![A-Za-z0-9-])\+?\d[\d() -]{6,}\d(?![\d-])",
        ),
        (
            "amount amounts price prices sum sums",
            "금액 가격 金額 価格",
            r"[$€£¥₩]\s?\d[\d,.]*\d(?:\s(?:million|billion))?|\d[\d,]*\s?(?:원|円|달러|ドル)",
        ),
    )
)
_DATES = frozenset(tokens("date dates deadline deadlines day days", "en")) | frozenset(
    tokens("날짜 일자 마감일 기한 日付 日程 期日 期限 締切")
)


@dataclass(frozen=True)
class NamedItem:
    """Item named by ``passages[number - 1].text[start:end]``, numbers counting from 1."""

    number: int
    start: int
    end: int
    name: str


def find_items(subject: str, passages: Sequence[Passage]) -> list[NamedItem]:
    r"""Return the items of a kind in passages, in order, none twice; all passages are looked at.

    >>> text = "Suppliers:\n\n- Acme\n- Brunn"
    >>> [item.name for item in find_items("suppliers", [Passage("c", "d", "a", "", None, "", 0, 30, text)])]
    ['Acme', 'Brunn']
    """
    kind = frozenset(tokens(subject))
    if not kind:
        return []
    found: dict[str, NamedItem] = {}
    for item in _all(kind, subject, passages):
        key = " ".join(tokens(item.name)) or item.name.casefold()
        found.setdefault(key, item)
    return _without_parts(list(found.values()))


def _without_parts(items: Sequence[NamedItem]) -> list[NamedItem]:
    """Return the items, without those that lie within another: of "Risk 1" and "Risk 1: fire" the longer."""
    of: dict[int, list[NamedItem]] = {}
    for one in items:
        of.setdefault(one.number, []).append(one)
    return [one for one in items if not any(_is_part(one, other) for other in of[one.number])]


def _is_part(one: NamedItem, other: NamedItem) -> bool:
    if other.name != one.name and other.name.startswith(one.name):
        return one.start < other.end and other.start < one.end
    within = other.start <= one.start and one.end <= other.end
    same = (other.start, other.end) == (one.start, one.end)
    return within and not same and not one.name.startswith(other.name)


def _all(kind: frozenset[str], subject: str, passages: Sequence[Passage]) -> Iterator[NamedItem]:
    headings: set[tuple[str, str]] = set()
    going_on: tuple[str, int | None] = ("", None)  # document whose list may go on in the next passage
    for number, passage in enumerate(passages, 1):
        yield from _heading_items(kind, number, passage, headings)
        yield from _inner_heading_items(kind, number, passage)
        of_kind = _names_kind(kind, passage.heading.rpartition(" > ")[2])
        reader = _ListReader(kind, of_kind, going_on[1] if going_on[0] == passage.document_id else None)
        yield from reader.items(number, passage, _repeated(passages, number))
        going_on = passage.document_id, reader.level
        yield from _table_items(kind, number, passage, of_kind=of_kind)
        yield from _labelled_items(kind, number, passage)
        yield from _numbered_items(subject, number, passage)
        yield from _typed_items(kind, subject, number, passage)


def _names_kind(kind: frozenset[str], text: str) -> bool:
    """Return True for a heading or a line that names the kind and little else."""
    words = frozenset(word for word in tokens(text) if not word.isdigit())
    return kind <= words and len(words) <= 2 * len(kind) + 4


def _heading_items(
    kind: frozenset[str], number: int, passage: Passage, seen: set[tuple[str, str]]
) -> Iterator[NamedItem]:
    """Yield headings that begin with the kind, or that stand right under one that names it."""
    parts = passage.heading.split(" > ")
    for depth, part in enumerate(parts):
        path = (passage.document_id, " > ".join(parts[: depth + 1]))
        if path in seen:
            continue
        first = tokens(part)[: len(kind)]
        begins = frozenset(first) == kind and len(tokens(part)) > len(kind)
        under = depth > 0 and _names_kind(kind, parts[depth - 1]) and not _names_kind(kind, part)
        if (begins or under) and part.strip():
            seen.add(path)
            start = max(0, passage.text.find(part))
            end = start + len(part) if part in passage.text else _first_line(passage.text)
            yield NamedItem(number, start, end, part.strip()[:LONGEST])


_HEADING = re.compile(r"(?P<level>#+)\s+(?P<title>.*?)(?:\s*\{[^}]*\})?[\s#]*")


def _inner_heading_items(kind: frozenset[str], number: int, passage: Passage) -> Iterator[NamedItem]:
    """Yield the headings in a passage's text that stand under one that names the kind."""
    above = deeper = 0  # levels of the heading that names the kind, and of those right under it
    for at, line in _lines(passage.text):
        heading = _HEADING.fullmatch(line)
        if heading is None:
            continue
        level, title = len(heading["level"]), heading["title"]
        if level <= above:
            above = deeper = 0
        if above and level == (deeper := deeper or level):
            yield NamedItem(number, at + heading.start("title"), at + heading.end("title"), _short(title))
        elif not above and _names_kind(kind, title):
            above = level


def _first_line(text: str) -> int:
    spans = sentences(text)
    return spans[0][1] if spans else len(text)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    at = 0
    for line in text.split("\n"):
        yield at, line
        at += len(line) + 1


def _repeated(passages: Sequence[Passage], number: int) -> int:
    """Return how many characters of a passage the one before it ends with."""
    if number < 2:
        return 0
    before, one = passages[number - 2 : number]
    overlap = before.document_id == one.document_id and before.start < one.start < before.end
    return before.end - one.start if overlap else 0


_ANY_LEVEL = 1000  # indentation of a list whose entries are still to come


class _ListReader:
    """Reads the entries of lists under a line or heading of the kind, those of their first level.

    `level` is the indentation of the list that is read; None outside of one. In a section of the kind every
    line that ends with a colon begins one.
    """

    def __init__(self, kind: frozenset[str], in_section: bool, level: int | None) -> None:
        self._kind = kind
        self._in_section = in_section
        self.level = _ANY_LEVEL if in_section and level is None else level

    def items(self, number: int, passage: Passage, repeated: int) -> Iterator[NamedItem]:
        """Yield the entries in a passage, of which the first `repeated` characters were read before."""
        for at, line in _lines(passage.text):
            bullet = _BULLET.match(line)
            if bullet is None:
                if at >= repeated:
                    self._take(line)
                continue
            indent = len(line) - len(line.lstrip())
            if self.level is not None and indent <= self.level:
                self.level = indent
                start = at + bullet.start("item")
                yield NamedItem(number, start, at + len(line.rstrip()), _short(bullet["item"]))

    def _take(self, line: str) -> None:
        """Note what a line between entries begins or ends."""
        if not line.strip():
            return
        begun = self.level is not None and self.level != _ANY_LEVEL
        if begun and not line[0].isspace():
            self.level = None
        names = _introduces(self._kind, line)
        if line.startswith("#"):
            inside = self._in_section = names or (self._in_section and line.startswith("####"))
            self.level = _ANY_LEVEL if inside else None
        elif line.rstrip().endswith((":", "：")) and not line[0].isspace():
            self.level = _ANY_LEVEL if names or self._in_section else None
        elif self.level is None and names:
            self.level = _ANY_LEVEL


def _introduces(kind: frozenset[str], line: str) -> bool:
    """Return True for a heading of the kind, or a line with a colon whose last words name it."""
    bare = line.strip("#*_ \t")
    if line.startswith("#") or len(tokens(bare)) <= 2 * len(kind) + 4:
        return _names_kind(kind, bare)
    return bare.endswith((":", "：")) and kind <= frozenset(tokens(bare[-120:]))


def _short(text: str) -> str:
    bare = re.sub(r"[*_`]+", "", text).strip()
    for mark in (" — ", " – ", " - ", ": ", "："):
        head, cut, _ = bare.partition(mark)
        if cut and 2 <= len(head) <= 80:
            return head.strip()
    return bare[:LONGEST].rstrip(".;:：,。 ")


def _table_items(
    kind: frozenset[str], number: int, passage: Passage, *, of_kind: bool
) -> Iterator[NamedItem]:
    """Yield cells of a column of the kind; the first cells of a table that is captioned with it."""
    for table in read_tables(passage.text):
        caption = passage.text[table.caption : table.start]
        columns = [at for at, cell in enumerate(table.header) if cell and _names_kind(kind, cell)]
        captioned = of_kind or (bool(caption.strip()) and _names_kind(kind, caption))
        column = columns[0] if columns else 0 if captioned else None
        if column is None:
            continue
        for row in table.rows:
            cell = row.cells[column].strip() if column < len(row.cells) else ""
            if any(map(str.isalnum, cell)):
                yield NamedItem(number, row.start, row.end, cell[:LONGEST])


def _labelled_items(kind: frozenset[str], number: int, passage: Passage) -> Iterator[NamedItem]:
    for at, line in _lines(passage.text):
        label = None if line.startswith("|") else _LABEL.match(line)
        if label and _is_label(kind, label["label"]):
            yield NamedItem(
                number, at + len(line) - len(line.lstrip()), at + len(line.rstrip()), _value(label)
            )


def _is_label(kind: frozenset[str], label: str) -> bool:
    words = [word for word in tokens(label) if not word.isdigit()]
    return kind == frozenset(words) or (kind <= frozenset(words[: len(kind)]) and len(words) <= len(kind) + 1)


def _value(label: re.Match[str]) -> str:
    own = re.search(r"\d", label["label"])
    value = label["value"].strip(" *_")[:LONGEST].rstrip(".;,。")
    return f"{label['label'].strip(' *_')}: {value}" if own else value


@cache
def _numbered(subject: str) -> re.Pattern[str]:
    singular = re.sub(r"(?:ies|s)$", "", subject.split()[-1]) if subject.isascii() else subject.split()[-1]
    ends = r"(?:ies|y|s)?" if subject.isascii() else ""
    return re.compile(
        rf"(?<!\w){re.escape(singular)}{ends}\s?(?:no\.?|number|#|번호|番号)?\s?(?P<id>{_NUMBER})"
        rf"(?!\d|\s?(?:{_COUNTERS}))",
        re.IGNORECASE,
    )


def _numbered_items(subject: str, number: int, passage: Passage) -> Iterator[NamedItem]:
    for match in _numbered(subject).finditer(passage.text):
        told = match[0][: match.start("id") - match.start()].strip()
        if re.search(r"[A-Za-z][-/#]?\d|\d[-/]\d", match["id"]) or not told.casefold().endswith("s"):
            start, end = _sentence_of(passage.text, match.start())
            yield NamedItem(number, start, end, " ".join(match[0].split()).rstrip(".,"))


def _typed_items(kind: frozenset[str], subject: str, number: int, passage: Passage) -> Iterator[NamedItem]:
    spans: Iterable[tuple[int, int]] = ()
    if tokens(subject)[-1] in _DATES:
        spans = [(one.start, one.end) for one in find_periods(passage.text) if one.grain == "day"]
    for words, pattern in _TYPED:
        if kind <= words:
            spans = [match.span() for match in pattern.finditer(passage.text)]
    for start, end in spans:
        first, last = _sentence_of(passage.text, start)
        yield NamedItem(number, first, last, passage.text[start:end].rstrip(".,"))


def _sentence_of(text: str, at: int) -> tuple[int, int]:
    return next(((a, b) for a, b in sentences(text) if a <= at < b), (at, min(len(text), at + LONGEST)))


_WORD = re.compile(r"[^\s(),;:]+")
_YEAR = re.compile(r"(?:19|20)\d\d")
_WHOLE = re.compile(r"\d{1,3}(?:,\d{3})+|\d+")
_COUNTS = words_of(
    "one two three four five six seven eight nine ten eleven twelve dozen twenty thirty forty fifty hundred"
)
_BETWEEN = 3  # words from a number to what it counts: "nine newly elected trustees"
_ASKED = frozenset(tokens(" ".join(("many", *STOP_WORDS["en"])), "en"))


def count_is_stated(question: str, subject: str, passages: Iterable[Passage]) -> bool:
    """Return True where a table counts a kind, or a sentence does with all else that the question names.

    >>> text = "In May the members elected nine new trustees."
    >>> passages = [Passage("c", "d", "a", "", None, "", 0, len(text), text)]
    >>> asked = ("How many trustees were elected?", "How many trustees were paid?")
    >>> [count_is_stated(question, "trustees", passages) for question in asked]
    [True, False]
    """
    kind = tokens(subject)
    wanted = frozenset(tokens(question)) - _ASKED
    passages = list(passages)
    if any(_is_counted_in(table, frozenset(kind)) for one in passages for table in read_tables(one.text)):
        return True
    if not subject.isascii() and any(_is_counted_behind(subject, one.text) for one in passages):
        return True
    if wanted <= frozenset(kind):
        return False
    told = (passage.text[start:end] for passage in passages for start, end in sentences(passage.text))
    return any(_counts(kind[-1], text) and wanted <= frozenset(tokens(text)) for text in told)


def _is_counted_in(table: TableBlock, kind: frozenset[str]) -> bool:
    r"""Return True for a table with a column of numbers of the kind, or with a number in a row that names it.

    A number below the name of a single thing is that thing's name: "Invoice".

    >>> [table] = read_tables("| Term | Meals served |\n|---|---|\n| Spring | 9,310 |")
    >>> [_is_counted_in(table, frozenset({word})) for word in ("meal", "term", "spring")]
    [True, False, True]
    """
    headed = counts_kind(table.header, table.rows, kind)
    if headed is not None:
        return headed
    counted = _counted_columns(table.header, table.rows)
    return any(
        any(_is_count(row.cells[at]) for at in counted if at < len(row.cells))
        and any(kind <= frozenset(tokens(cell)) for cell in row.cells)
        for row in table.rows
    )


def counts_kind(header: Sequence[str], found: Sequence[TableRow], kind: frozenset[str]) -> bool | None:
    """Return True for a table whose column of the kind has numbers of it; None where none is of the kind."""
    headed = next((at for at, cell in enumerate(header) if kind <= frozenset(tokens(cell))), None)
    if headed is None:
        return None
    head = header[headed].strip().casefold()
    plural = head.endswith("s") or len(tokens(head)) > len(kind)
    return headed in _counted_columns(header, found) and plural


def _counted_columns(header: Sequence[str], found: Sequence[TableRow]) -> set[int]:
    counted = {at for row in found for at, cell in enumerate(row.cells) if _is_count(cell)}
    return {at for at in counted if at >= len(header) or _may_count(header[at])}


_NAMES = frozenset(
    tokens("year date day month number no id code sku page row chapter clause version", "en")
) | {*("연도", "날짜", "일자", "번호", "쪽", "코드", "年", "年度", "日付", "番号", "ページ", "コード")}


def _may_count(header: str) -> bool:
    """Return True for a column whose numbers may count something; those of years and numbers are names."""
    return _NAMES.isdisjoint(tokens(header)) and not any(
        name in header for name in _NAMES if not name.isascii()
    )


def _is_count(cell: str) -> bool:
    return _WHOLE.fullmatch(cell.strip()) is not None and _YEAR.fullmatch(cell.strip()) is None


def _is_counted_behind(subject: str, text: str) -> bool:
    """Return True where the number of a thing follows its name, as in Korean and Japanese.

    >>> _is_counted_behind("동별 대표자", "참석: 동별 대표자 9명 중 7명")
    True
    >>> _is_counted_behind("議長", "議長が2人を選ぶ")
    False
    """
    return re.search(rf"{re.escape(subject)}(?:은|는|は)?\s?\d[\d,]*\s?(?:{_COUNTERS})", text) is not None


def _counts(thing: str, text: str) -> bool:
    """Return True for a text with a number shortly before a word whose token is `thing`."""
    words = _WORD.findall(text)
    numbers = [at for at, word in enumerate(words) if word[0].isdigit() or word.casefold() in _COUNTS]
    return any(thing in tokens(" ".join(words[at + 1 : at + 2 + _BETWEEN])) for at in numbers)


def find_mentions(subject: str, passages: Sequence[Passage]) -> list[NamedItem]:
    """Return, for each document with all words of a subject in one passage, the sentence with most."""
    wanted = frozenset(tokens(subject))
    best: dict[str, tuple[int, NamedItem]] = {}
    for number, passage in enumerate(passages, 1):
        own = frozenset(tokens(f"{passage.text} {passage.heading} {passage.document}"))
        if not wanted or not wanted <= own:
            continue
        for start, end in sentences(passage.text):
            held = len(wanted & frozenset(tokens(passage.text[start:end])))
            if held > best.get(passage.document_id, (0, None))[0]:
                best[passage.document_id] = held, NamedItem(number, start, end, passage.document)
    return [item for _, item in best.values()]
