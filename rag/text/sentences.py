"""Sentences of a text as spans, for English, Korean, Japanese and what is written like them."""

import re
from collections.abc import Iterator

from rag.text.labels import begins_entry
from rag.text.language import words_of

_CJ = "\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
_HANGUL = "\uac00-\ud7a3"
_CLOSERS = r"""(?:["'”’»›)\]）」』】》〉*_]|\[\d{1,3}\])*"""

_ALONE = re.compile(r"\s*(?:\||#{1,6}\s|```)")  # a table row, a heading, a fence: a line of its own
_ITEM = re.compile(r"\s*(?:[-*+•·▪‣◦※○●■□]|\d{1,2}[.)]|\(\d{1,3}\)|[a-z]\)|[①-⑳])\s+\S")
_QUOTED = re.compile(r"「[^「」\n]{0,300}」|『[^『』\n]{0,300}』|（[^（）\n]{0,300}）|\([^()\n]{0,300}\)")
_STOP = re.compile(rf"[.!?…。！？｡．।॥؟۔‼⁇⁈⁉]+{_CLOSERS}")
_WORD_BEFORE = re.compile(r"[^\W_](?:[\w.]*[^\W_])?$")
_OPENERS = "\"'“‘«‹([（「『【《〈*_¿¡#-–—"
_NEXT_WORD = re.compile(r"[^\W_]+")

_FULL_STOPS = frozenset("。！？｡‼⁇⁈⁉")  # end a sentence without a space after them
_KOREAN_END = re.compile(r"[다요죠까]$")

# Never an end, whatever follows: titles, and Latin shorthands.
_TITLES = words_of(
    """
    mr mrs ms dr prof st mt rev gen col lt capt sgt hon gov sen rep vs cf e.g i.e viz ca approx z.b
    bzw d.h
    """
)
# Not an end before a number: "No. 5", "Fig. 2", "pp. 3-9", "Sept. 3".
_NUMBERED = words_of(
    """
    no nos nr fig figs eq sec art vol ch pp p abs tab ver jan feb mar apr jun jul aug sep sept oct
    nov dec
    """
)
# An end only before a word that opens sentences: "Apple Inc. The ...", not "Apple Inc. CEO ...".
_UNDECIDED = words_of(
    """
    inc ltd co corp llc jr sr al bros dept univ est ph.d b.c a.d u.s u.k u.n e.u d.c
    """
)
_STARTERS = words_of(
    """
    a after all although an and another as at because before both but by during each finally first
    for from he her here his how however i if in it its later many most moreover no on one other our
    she since so some such that the their then there therefore these they this those thus to today
    we what when where which while who why with you your der die das es er sie ein eine im le la les
    il elle el los en
    """
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_DATE = re.compile(r"(?:19|20)\d\d(?:\.\d{1,2}){2}")
_MONTH_AND_DAY = re.compile(r"\d{1,2}\. ?(?:\d{1,2}(?!\d)|[~\-–])")
_YEAR_BEFORE = re.compile(r"(?<!\d)(?:19|20)\d\d\. ?(?:\d{1,2}\. ?)?$")
"""Parts of a date in numbers with full stops: "2025. 4. 17."."""
_GERMAN_MONTHS = words_of(
    """
    januar februar märz april mai juni juli august september oktober november dezember jahrhundert
    """
)


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the [start, end) spans of a text's sentences, in order, without white space around them.

    Spans never overlap and leave out nothing but white space. A line break is white space unless a blank
    line, list item, heading, table row or labelled line ends the sentence. Time is linear in the length.

    >>> [text[a:b] for text in ["Dr. No left. 그는 갔다. はい。"] for a, b in sentences(text)]
    ['Dr. No left.', '그는 갔다.', 'はい。']
    """
    return [span for start, end in _blocks(text) for span in _sentences_of(text, start, end)]


def begins_item(text: str) -> bool:
    """Return True for a text that begins with the mark of a list's item.

    >>> begins_item("- Acme"), begins_item("2) Brunn"), begins_item("2.5 million")
    (True, True, False)
    """
    return _ITEM.match(text) is not None


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield spans of lines that run on: paragraphs, list items, table rows, headings."""
    start = end = 0
    first, alone = "", False
    for line in text.split("\n"):
        own = _ALONE.match(line) is not None
        ends = alone or own or not line or line.isspace() or _ITEM.match(line)
        if end > start and (ends or begins_entry(line, first)):
            yield start, end
            start = end
        first = line if start == end else first
        end, alone = end + len(line) + 1, own
    yield start, min(end, len(text))


def _sentences_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if text[start:end].lstrip().startswith("|"):  # a table row is one sentence, whatever its cells say
        yield from _trimmed(text, start, end)
        return
    quoted = [match.span() for match in _QUOTED.finditer(text, start, end)]
    inside = 0  # the quotation that ends at or after the place we look at
    begin = start
    for stop in _STOP.finditer(text, start, end):
        while inside < len(quoted) and quoted[inside][1] <= stop.start():
            inside += 1
        if inside < len(quoted) and quoted[inside][0] < stop.start() and quoted[inside][1] > stop.end():
            continue
        if _ends(text, stop, begin, end):
            yield from _trimmed(text, begin, stop.end())
            begin = stop.end()
    yield from _trimmed(text, begin, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    bare = piece.strip()
    if bare:
        begin = start + len(piece) - len(piece.lstrip())
        yield begin, begin + len(bare)


def _ends(text: str, stop: re.Match[str], begin: int, end: int) -> bool:
    mark, rest = stop[0][0], stop.end()
    spaced = rest >= end or text[rest].isspace()
    before = text[max(begin, stop.start() - 40) : stop.start()]
    if not spaced:
        return _ends_unspaced(stop[0], before, text[rest])
    if mark in _FULL_STOPS:
        return True
    following = text[rest : rest + 80].strip().lstrip(_OPENERS)
    if following[:1].islower() and not _is_cased_name(following):
        return False
    return (
        mark != "." or len(stop[0].rstrip("\"'”’»›)]*_")) > 1 or _period_ends(before, following, begin, stop)
    )


def _is_cased_name(following: str) -> bool:
    """Return True for a word such as iPhone, eBay or mRNA, which begins a sentence without a capital."""
    word = _NEXT_WORD.match(following)
    return word is not None and not word[0].islower()


def _ends_unspaced(stop: str, before: str, after: str) -> bool:
    """Decide where no space follows: fine after 。 and after a Korean 다., never inside 3.5 or a.b."""
    closed = stop[-1] not in ".!?…。！？｡．‼⁇⁈⁉"
    if stop[0] in _FULL_STOPS:
        return not ((closed and re.match("[\u3041-\u309f]", after)) or "）" in stop)  # 「はい。」と goes on
    if closed:
        return False
    if stop[0] in ".!?" and re.match(f"[{_HANGUL}]", after):
        return _KOREAN_END.search(before) is not None
    return (
        re.search(f"[{_CJ}]$", before) is not None
        and stop[0] != "…"
        and re.match(f"[{_CJ}]", after) is not None
    )


def _period_ends(before: str, following: str, begin: int, stop: re.Match[str]) -> bool:
    """Tell a full stop from an abbreviation's, an initial's, a list number's."""
    found = _WORD_BEFORE.search(before)
    if found is None:
        return True
    word, next_word = found[0].lower(), _NEXT_WORD.match(following)
    after = next_word[0].lower() if next_word else ""
    if word in _TITLES:
        return False
    if word in _NUMBERED:
        return not after[:1].isdigit()
    if word[0].isdigit() and _is_in_date(before[: found.start()], word, following):
        return False
    if word.isdigit():
        return not (after in _GERMAN_MONTHS or _is_list_number(before, found, begin, stop))
    if word in _UNDECIDED or _is_initial(found[0]):
        return after in _STARTERS or not after
    return True


def _is_in_date(before: str, word: str, following: str) -> bool:
    """Return True for a number within a date as Korean writes it.

    >>> _is_in_date("from ", "2025", "4. 17. to"), _is_in_date("from 2025. ", "4", "17. to")
    (True, True)
    >>> _is_in_date("since ", "2025", "4 ships came"), _is_in_date("with ", "4", "17 left")
    (False, False)
    """
    if _YEAR.fullmatch(word):
        return _MONTH_AND_DAY.match(following) is not None
    return _DATE.fullmatch(word) is not None or (word.isdigit() and _YEAR_BEFORE.search(before) is not None)


def _is_list_number(before: str, found: re.Match[str], begin: int, stop: re.Match[str]) -> bool:
    """Return True where the number opens its block: "1. Install" is one sentence."""
    return begin + len(before) == stop.start() and not before[: found.start()].strip("#*_-–• \t\n")


def _is_initial(word: str) -> bool:
    """Return True for capital letters with stops, as in "J. Smith" or "U.S.A. team"."""
    return all(len(part) == 1 and part.isupper() and part.isascii() for part in word.split("."))
