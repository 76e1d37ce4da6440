"""Fact extraction by rules: numbers, names, nouns, negation and direction of a text.

For English, Korean and Japanese; in other languages numbers, words and Latin names are found.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache

from rag.text.language import without_particle

_CJK_UNITS = {"천": 3, "千": 3, "백": 2, "百": 2}
_CJK_MYRIADS = {"만": 4, "万": 4, "萬": 4, "억": 8, "億": 8, "조": 12, "兆": 12}
_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
_FROM_TWO = "two three four five six seven eight nine ten eleven twelve"
_NUMBER_WORDS = {word: str(value) for value, word in enumerate(_FROM_TWO.split(), 2)}
NUMBER = re.compile(
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<cjk>(?:\s?[천千백百만万萬억億조兆](?:\s?\d+(?=[천千백百만万萬억億조兆]))?)*"
    r"(?:(?<=[만万萬])\s?(?:\d,\d{3}|\d{4})(?![\d년年]))?)"
    r"(?P<scale>\s(?:hundred|thousand|million|billion|trillion)\b)?(?P<decade>s\b)?"
    rf"|\b(?P<word>{'|'.join(_NUMBER_WORDS)})\b(?P<times>\s(?:hundred|thousand|million|billion|trillion)\b)?",
    re.IGNORECASE,
)
_YEARS = re.compile(r"\b(1[5-9]|20)(\d\d)\s?[-–/]\s?(\d\d)\b(?![-–/.]?\d)")


def numbers(text: str) -> list[str]:
    """Return the numbers of a text by value, in order, however they are written.

    >>> numbers("1,234 of 3만 5천, two million and 12.50%"), numbers("in 2018–19")
    (['1234', '35000', '2000000', '12.5'], ['2018', '2019'])
    """
    plain = _YEARS.sub(_to_year, unicodedata.normalize("NFKC", text))
    return [value_of(match) for match in NUMBER.finditer(plain)]


def plain_years(text: str) -> str:
    """Return a text with the second year of a range in full: "2018–19" as "2018-2019"."""
    return _YEARS.sub(_to_year, unicodedata.normalize("NFKC", text))


def _to_year(match: re.Match[str]) -> str:
    century, first, last = match.groups()
    return f"{century}{first}-{century}{last}" if last > first else match[0]


def value_of(match: re.Match[str]) -> str:
    """Return the value of a match of NUMBER."""
    digits = match["digits"] or _NUMBER_WORDS[match["word"].lower()]
    scale = (match["scale"] or match["times"] or "").strip().lower()
    value = _cjk_value(digits, match["cjk"] or "") * Decimal(10) ** _SCALES.get(scale, 0)
    return f"{value.normalize():f}" + (match["decade"] or "")


def with_values(text: str) -> str:
    """Return a text with each number written as its value.

    >>> with_values("It has 48,500 seats in two halls.")
    'It has 48500 seats in 2 halls.'
    """
    return NUMBER.sub(value_of, _YEARS.sub(_to_year, unicodedata.normalize("NFKC", text)))


def without_numbers(text: str) -> str:
    """Return a text without its numbers, which are compared by value.

    >>> without_numbers("in 1932, 4만 대")
    'in  ,   대'
    """
    return NUMBER.sub(" ", unicodedata.normalize("NFKC", text))


def in_order(claim: Sequence[str], evidence: Sequence[str]) -> bool:
    """Return True where the evidence has the claim's numbers in their order; years apart from others.

    >>> in_order(["2.4", "2019"], ["2019", "2.4"]), in_order(["20", "10"], ["10", "20"])
    (True, False)
    """
    return all(
        _subsequence([n for n in claim if is_year(n) == year], [n for n in evidence if is_year(n) == year])
        for year in (True, False)
    )


def is_year(number: str) -> bool:
    """Return True for a number that may be a year or a decade: "1932", "1990s"."""
    return len(number.rstrip("s")) == 4 and "10" <= number[:2] <= "21"


def _subsequence(part: Sequence[str], whole: Sequence[str]) -> bool:
    rest = iter(whole)
    return all(number in rest for number in part)


def _cjk_value(digits: str, units: str) -> Decimal:
    """Return the value of digits followed by Korean or Japanese units: ("3", "만 5천") -> 35000."""
    try:
        total, part = Decimal(0), Decimal(digits.replace(",", ""))
    except InvalidOperation:
        return Decimal(0)
    for piece in re.findall(r"\d+|\D", units.replace(" ", "").replace(",", "")):
        if piece in _CJK_MYRIADS:
            total, part = (total + part) * Decimal(10) ** _CJK_MYRIADS[piece], Decimal(0)
        elif piece in _CJK_UNITS:
            total, part = total + part * Decimal(10) ** _CJK_UNITS[piece], Decimal(0)
        else:
            part = Decimal(piece)
    return total + part


_LATIN_NAME = re.compile(
    r"(?<![A-Za-z\d])(?:[A-ZÀ-Þ][A-Za-zÀ-ɏ\d&’'-]*|[a-z]+[A-Z][A-Za-z\d]*|[A-Za-z]+-?\d[A-Za-z\d]*|\d+[A-Z][A-Za-z\d]+)"
)
_KATAKANA_NAME = re.compile(r"[ァ-ヺー]{2,}(?:\d+世)?")
_KANJI = re.compile(r"[一-鿿々]{2,}")
_HANGUL_WORD = re.compile(r"[가-힣]+")


_OPENING = """
the a an this that these those it its he she they we you i in on at by for from to of with as and but or so
if when while after before since because although though however additionally moreover furthermore also
overall finally first second third next then thus therefore according based each both all some many most
more there here what which who whom whose where why how is are was were do does did has have had can could
may might must should would will not no yes one another other such during under over between among through
specifically similarly instead meanwhile
please note subsequently eventually yes well his her their our my your passage passages document
documents text source sources nevertheless nonetheless indeed furthermore moreover even still yet hence
thereby likewise otherwise rather regardless besides women men people avoid make ensure use keep take
currently historically
"""
OPENERS = frozenset(_OPENING.split())
"""Words that open a sentence with a capital and are no names."""


def names(text: str) -> list[str]:
    """Return the names in a text, as written.

    Latin words with capitals or digits, Katakana words, runs of Kanji, and Korean nouns without
    their particles.

    >>> names("Marie Curie는 1903년 파리에서 수상했다."), names("東京タワーは高い。")
    (['Marie', 'Curie', '파리'], ['東京', 'タワー'])
    """
    text = unicodedata.normalize("NFKC", text)
    latin = [re.sub(r"[’']s?$", "", match) for match in _LATIN_NAME.findall(text)]
    opening = text.lstrip("\"'“‘*_- ")
    found = [
        word
        for word in latin
        if word.casefold() not in OPENERS and not (word.endswith("ly") and opening.startswith(word))
    ]
    return [*found, *_korean_nouns(text), *_KANJI.findall(text), *_KATAKANA_NAME.findall(text)]


def _korean_nouns(text: str) -> Iterable[str]:
    for match in _HANGUL_WORD.finditer(text):
        stem = without_particle(match[0])
        if len(stem) >= 2 and stem != match[0]:
            yield stem


_ENDINGS = frozenset({"s", "n", "an", "ian", "ese", "ish", "y", "es", "ns", "ans", "ians"})


def holds_name(name: str, text: str, words: frozenset[str]) -> bool:
    """Return True where case-folded `text`, whose Latin words are `words`, has the name.

    >>> holds_name("Korea", "the korean economy", frozenset({"the", "korean", "economy"}))
    True
    """
    folded = name.casefold()
    if not folded[0].isascii():
        return folded in text
    if folded in words or ("-" in folded and folded in text):
        return True
    return any(_same_name(folded, word) for word in words if word[:3] == folded[:3])


def _same_name(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and long.startswith(short) and long[len(short) :] in _ENDINGS


def latin_words(folded: str) -> frozenset[str]:
    """Return the words of case-folded text that begin with a Latin letter or digit."""
    return frozenset(re.sub(r"[’']s?$", "", word) for word in re.findall(r"[a-z0-9à-ɏ][\w&’'-]*", folded)) | (
        frozenset(re.findall(r"[a-z0-9à-ɏ]+", folded))
    )


NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|hardly|nowhere|unable|unlikely"
    r"|fail(?:s|ed)? to|lack(?:s|ed|ing)?|den(?:y|ies|ied)|false|untrue)\b|n[’']t\b"
    r"|(?:^|\s)(?:안|못)\s|않|못[하했한할해]|없|아니|아닌|아닙|불가능"
    r"|(?<!少)(?:ない|なかっ|なけれ)|なく(?:て|、|な)|ません|[せわからればまえけめべさた]ず(?=[にと、。]|$)"
    r"|不可能|(?<=[はが])無い",
    re.IGNORECASE,
)


@lru_cache(maxsize=8_192)
def negations(text: str) -> int:
    """Return the number of negations in a text, kept since a statement is compared with many sentences.

    >>> [negations(t) for t in ("not without rain", "비가 오지 않았다.", "雨は降らなかった。", "It rained.")]
    [2, 1, 1, 0]
    """
    return len(NEGATION.findall(text))


_CLAUSE = re.compile(
    r"(?<=[a-z)])[.?!](?=[A-Z][a-z])|[,;:、，；：()（）—]|\b(?:but|although|though|whereas|while|however)\b|지만|으나|는데|けれど|ものの|が、"
)


def clauses(text: str) -> list[str]:
    """Return the clauses of a sentence, roughly: the reach of a negation."""
    return [part for part in _CLAUSE.split(text) if part.strip()]


WORD = re.compile(r"[\w’'-]*\w")
_KOREAN_WORD = re.compile(r"[가-힣]+\Z")
_KOREAN_PREDICATE_ENDING = re.compile(
    r"(?:나요|가요|까요|니까|인가|는가|는지|한지|어요|아요|해요|세요|예요|에요|니다|[다까냐니지죠야]|하는|되는|있는|없는|하고|되고|했던|된)\Z"
)
_JAPANESE_NOUN = re.compile(r"[一-鿿々ァ-ヺーA-Za-z0-9]+")
_KANA = re.compile(r"[\u3041-\u30ff]")


def nouns(text: str) -> Iterator[str]:
    """Yield the words that may name a subject: no Korean particles and predicates, only Japanese nouns.

    >>> list(nouns("한국의 수도는 어디인가요?")), list(nouns("日本の首都はどこですか"))
    (['한국', '수도'], ['日本', '首都'])
    """
    for word in WORD.findall(text):
        if _KANA.search(word):
            yield from (noun for noun in _JAPANESE_NOUN.findall(word) if len(noun) > 1)
        elif not _KOREAN_WORD.match(word):
            yield without_particle(word)
        elif not _KOREAN_PREDICATE_ENDING.search(word):
            stem = without_particle(word)
            if len(stem) > 1:
                yield stem


LONGEST_TERM = 40  # characters of a term
_IN_QUOTATION_MARKS = re.compile(
    rf"[\"“]([^\"”\n]{{1,{LONGEST_TERM}}})[\"”]|「([^」\n]{{1,{LONGEST_TERM}}})」|『([^』\n]{{1,{LONGEST_TERM}}})』"
    rf"|‘([^’\n]{{1,{LONGEST_TERM}}})’"
)
_ARTICLE = re.compile(r"\A(?:the|an?)\s+", re.IGNORECASE)


def defines(thing: str, sentence: str) -> bool:
    """Return True for a sentence that puts a thing in quotation marks, as a definition does.

    >>> defines("원장", '이 규정에서 "원장"이란 서지훈을 말한다.'), defines("원장", "원장은 휴가 중이다.")
    (True, False)
    """
    return any(term.casefold() == thing.casefold() for term, _ in quoted_terms(sentence))


def quoted_terms(text: str) -> Iterator[tuple[str, int]]:
    """Yield the terms that a text has in quotation marks, without their article, with their places."""
    for found in _IN_QUOTATION_MARKS.finditer(text):
        quoted = next(part for part in found.groups() if part is not None).strip()
        if term := _ARTICLE.sub("", quoted):
            yield term, found.start()
