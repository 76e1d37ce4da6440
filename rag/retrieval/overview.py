"""Overview of whole documents without a model: their most central sentences, over all passages.

A sentence is worth the weight of its words, those that many others share and not all have, by a power of its
length (much as a summary of RAPTOR's tree is chosen); more near the beginning of its document, where it says
what the section is that it opens, or under a heading that promises an overview; less in what follows the
signatures, the references or an appendix. Its words are those after the marker of its list item and after the
lines of a heading that runs into it. Addresses, dates and names alone are no sentence, nor are figures, lists
and footers.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, log, sqrt
from typing import Protocol, TypeVar

from rag.passage import Passage
from rag.retrieval.question_type import denies
from rag.retrieval.sentences import Pick, width
from rag.text.markers import inert
from rag.text.sentences import sentences
from rag.text.tokenize import tokens

SHORTEST, LONGEST = 30, 400  # width of an informative sentence, in Latin letters
LETTERS = 0.6  # minimum share of letters in a sentence without its spaces: less is a row of figures
_NO_PROSE = re.compile(
    r"[|{}<>=\\`]|https?:|\.{4}|^\s*(?:[-*+•#>]|\d{1,3}[.)])\s|©|All rights reserved", re.I
)
_CONTEXT_DEPENDENT = re.compile(  # beginnings of a sentence that refers to the one before
    r"(?:it|its|this|that|these|those|they|their|he|his|she|her|we|our|you|your|i|my|such|there|here|however"
    r"|but|and|so|thus|then|also|therefore|moreover|furthermore|in addition|for example)\b"
    r"|(?:그|이|저|또|또한|그러나|하지만|따라서|그리고|그런데|이에|이를|이는|그는|그녀는|그것|이것|이러한|그러한|즉|예를)(?=\s)"
    r"|(?:これ|それ|あれ|この|その|あの|彼|また|しかし|そして|なお|ただし|例えば|ここ|そこ|さらに|一方)",
    re.IGNORECASE,
)
_ENDED = re.compile(r"[.。．!！?？][\"'”’」』）)\]]*\Z")


def is_informative(sentence: str) -> bool:
    """Return True for prose of a fit length that is complete in itself and mostly letters."""
    letters = sum(map(str.isalpha, sentence))
    return (
        SHORTEST <= width(sentence) <= LONGEST
        and letters >= LETTERS * len("".join(sentence.split()))
        and _ENDED.search(sentence) is not None
        and not sentence[0].islower()  # the end of a sentence that was cut
        and not _NO_PROSE.search(sentence)
        and not _CONTEXT_DEPENDENT.match(sentence)
    )


MOST = 6  # sentences of an overview
NARROWEST, WIDEST = 45, 420  # width of a sentence in Latin letters
SHORT = 2.0 * WIDEST
"""Greatest width of a text that is its own summary."""
TOLD = 0.4
"""Share of its weight that a word keeps once a chosen sentence has it."""
CHANCE = 0.7  # share of the weight of a word of one sentence that is lost, half of it for one of two
DEFINES = 1.5  # factor of a sentence that says what the document or section is that it opens
LEAD = 1.5  # what is added to the factor of a document's first sentence, divided by the root of each place
PROMISED, PROMISED_ABOVE, BOILERPLATE = 1.8, 1.3, 0.3
HEADING_LINE = 0.5  # a line shorter than this share of one after it ends before the margin: a heading, a date
NAMES = 0.6  # share of names and numbers in an English sentence from which it is an address or a signature
GOES_ON = 0.6  # factor of a sentence that goes on from one that is not quoted
TITLED = 2.0  # weight of a word of the document's title or file name
SAME_DOCUMENT = 0.5  # factor for each sentence of its document that is chosen, where there are several
LENGTH = 0.7  # power of the length that a sentence's weight is divided by
_OVERVIEW = re.compile(
    r"\b(?:abstract|summary|overview|introduction|highlights|conclusions?|key (?:points|findings)|results of"
    r"|recent developments|about)\b|요약|개요|서론|결론|소개|概要|要約|要旨|はじめに|結論|まとめ",
    re.IGNORECASE,
)
_BOILERPLATE = re.compile(
    r"\b(?:exhibits?|signatures?|certifications?|table of contents|references|bibliography|copyright"
    r"|accounting policies|basis of presentation|use of estimates|market risk"
    r"|legal notices?|where you can find)\b|목차|참고 ?문헌|目次|参考文献",
    re.IGNORECASE,
)
_BACK_MATTER = re.compile(
    r"(?im)^[ \t#*]*(?:signatures?|references|bibliography|exhibit index"
    r"|(?:appendix|annex)(?: [a-z0-9]{1,3})?|참고 ?문헌|부록|별첨|서명|参考文献|付録|別紙|署名)[ \t*:]*$"
)
"""A line after which a document has what is attached to it."""
BODY = 0.33  # share of a document's passages that are never back matter: a table of contents has such lines
_OF_ITSELF = re.compile(
    r"\A\(\d{1,2}\) "
    r"|\b(?:refer to|see) (?:note|item|part|section|page|appendix|the notes)\b|\bin conjunction with\b"
    r"|\bitem \d|\bherein\b|\bcheck mark\b|\bforward-looking\b"
    r"|\bfor other uses\b"
    r"|\bfollowing (?:table|discussion|section|figure)s?\b|\bsets? forth\b"
    r"|다음 표|아래 표|次の表|以下の表",
    re.IGNORECASE,
)
"""Text about the document itself: what it refers to, how it is to be read, notes below its tables."""
_GOES_ON = re.compile(
    r"(?:Additionally|In addition|Also|However|But|And|Further|Furthermore|Moreover|For example"
    r"|Thus|Therefore|Accordingly|As a result|Those|Such|It|They|He|She)\b|(?:Second|Third|Finally),"
    r"|또한|그러나|하지만|따라서|그리고|그런데|이는|즉[ ,]|예를 들어"
    r"|また|しかし|そして|そのため|さらに|例えば|これ|それ"
)
"""Beginning of a sentence that goes on from one before it."""
_POINTS = re.compile(r"(?:This|These)\b|(?:이|본) (?=[가-힣])|この|本(?=[一-鿿])")
"""Beginning that goes on from the sentence before, or is of the document or section that it opens."""
_MARKER = re.compile(
    r"(?:[-*+•·▪‣◦※○●■□]|\d{1,2}(?:\.\d{1,2})*[.)]|\d{1,2}(?:\.\d{1,2})+(?=\s+[A-Z가-힣ぁ-ヿ一-鿿])|[a-z]\)|[①-⑳])\s+"
    r"|제\s?\d+\s?[조항](?:의\s?\d+)?\s*(?:\([^()\n]{1,30}\))?\s*"
    r"|第[\d一二三四五六七八九十]+[条項](?:の\d+)?\s*(?:[（(][^（）()\n]{1,30}[）)])?\s*"
)
"""Marker of a list item or of an article."""
_NO_SENTENCE = re.compile(r"[{}|\\]|https?:|</?[a-z]+[ >]|[?？][\"'”’」』）)\]]*\Z")
"""Code, a link, or a question."""
_AROUND = re.compile(r"\A[\W\d]+|\([^()]*\)")  # the number of a heading, and what stands in brackets
_NAME = re.compile(r"[A-Z][^\W_]*|\d[\d.,:/-]*")
_BEGINS_WELL = re.compile(r"[\"'“‘(「『*_\s]*[A-Z0-9À-Þ가-힣ぁ-ヿ一-鿿#]")
_ENDS_WELL = re.compile(r"[.!?。！？…다요음함][\"'”’)」』*_\s]*\Z")


@dataclass(frozen=True)
class _Sentence:
    number: int
    start: int
    end: int
    words: frozenset[str]
    prior: float


def central_sentences(passages: Sequence[Passage], most: int = MOST) -> list[Pick]:
    """Return the most central sentences of whole documents, the best first, then in the order of the text.

    `passages` are all of the documents, in order. A passage gives one sentence, unless there are few. A short
    text gives all its sentences.
    """
    if whole := _short_text(passages, most):
        return whole
    pool = [
        replace(one, prior=one.prior * BOILERPLATE) if is_repeated else one
        for one, is_repeated in said_once(passages, _pool(passages))
    ]
    weight = word_weights([one.words for one in pool])
    titles = {one.number: _title(passages[one.number - 1]) for one in pool}
    several = len({passage.document_id for passage in passages}) > 1
    of: Counter[str] = Counter()
    told: set[str] = set()

    def worth(one: _Sentence) -> float:
        repeated = SAME_DOCUMENT ** of[passages[one.number - 1].document_id] if several else 1.0
        return repeated * one.prior * worth_of(one.words, weight, told, titles[one.number])

    chosen: list[tuple[_Sentence, float]] = []
    used: Counter[int] = Counter()
    least = 1 + most // max(1, len({sentence.number for sentence in pool}))
    while pool and len(chosen) < most:
        best = max(pool, key=lambda one: (worth(one), -one.number))
        chosen.append((best, worth(best)))
        of[passages[best.number - 1].document_id] += 1
        told |= best.words
        used[best.number] += 1
        pool = [
            one
            for one in pool
            if one is not best and used[one.number] < least and len(one.words - told) > len(one.words) / 3
        ]
    lead, rest = chosen[:1], sorted(chosen[1:], key=lambda one: (one[0].number, one[0].start))
    return [Pick(one.number, one.start, one.end, worth, one.start, one.end) for one, worth in [*lead, *rest]]


class Said(Protocol):
    """Words that begin at an offset of a numbered passage."""

    @property
    def number(self) -> int:
        """Number of the passage, from 1."""

    @property
    def start(self) -> int:
        """Offset in its text."""

    @property
    def words(self) -> frozenset[str]:
        """Words that are compared."""


AnySaid = TypeVar("AnySaid", bound=Said)


def said_once(passages: Sequence[Passage], pool: Iterable[AnySaid]) -> list[tuple[AnySaid, bool]]:
    """Return the first of those with the same words, and whether the document repeats it.

    What a document repeats word for word says little of it. Where passages overlap, it is one place.
    """
    places: dict[tuple[str, frozenset[str]], set[int]] = {}
    first: dict[tuple[str, frozenset[str]], AnySaid] = {}
    for one in pool:
        passage = passages[one.number - 1]
        key = passage.document_id, one.words
        places.setdefault(key, set()).add(passage.start + one.start)
        first.setdefault(key, one)
    return [(one, len(places[key]) > 1) for key, one in first.items()]


def word_weights(pool: Sequence[frozenset[str]]) -> dict[str, float]:
    """Return each word's weight by the sentences that have it; less for few, which may be by chance."""
    having = Counter(word for words in pool for word in words if not word.isdigit())
    return {word: (1 - CHANCE / n) * log(1 + n) * log(1 + len(pool) / n) for word, n in having.items()}


def back_matter(texts: Sequence[str]) -> int:
    """Return the place of the first passage of a document that only has attachments; their number if none.

    >>> back_matter(["Sales rose.", "Costs fell.", "SIGNATURE", "Exhibit 10.1", "Vesting"])
    3
    """
    marked = (at for at, text in enumerate(texts) if at >= BODY * len(texts) and _BACK_MATTER.search(text))
    return min(next(marked, len(texts)) + 1, len(texts))


def _short_text(passages: Sequence[Passage], most: int) -> list[Pick]:
    """Return all sentences of a text that is its own summary; none of a longer one."""
    picks, told, length = list[Pick](), set[str](), 0.0
    for number, passage in enumerate(passages, 1):
        for begin, end in sentences(passage.text):
            start = past_marks(passage.text, begin, end)
            text = inert(passage.text[start:end])
            if text.startswith(("|", "#")) or _OF_ITSELF.search(text) or text in told:
                continue
            told.add(text)
            length += width(text)
            if _ENDS_WELL.search(text):
                picks.append(Pick(number, start, end, 1.0, start, end))
            if len(picks) > most or length > SHORT:
                return []
    return picks


def _pool(passages: Sequence[Passage]) -> Iterator[_Sentence]:
    texts: dict[str, list[str]] = {}
    for passage in passages:
        texts.setdefault(passage.document_id, []).append(passage.text)
    ends = {document: back_matter(all_) for document, all_ in texts.items()}
    begun, led, above = Counter[str](), Counter[str](), ""
    for number, passage in enumerate(passages, 1):
        document = passage.document_id
        begun[document] += 1
        attached = BOILERPLATE if begun[document] > ends[document] else 1.0
        opens, above = f"{document} {passage.heading}" != above, f"{document} {passage.heading}"
        for begin, end in sentences(passage.text):
            start = past_marks(passage.text, begin, end)
            text = inert(passage.text[start:end])
            if text.startswith(("|", "#")) or not says_something(text):
                continue
            led[document] += 1
            lead = 1.0 + LEAD / sqrt(led[document])
            prior = heading_factor(passage.heading) * beginning_factor(text, opens=opens) * attached * lead
            opens = False
            yield _Sentence(number, start, end, frozenset(tokens(text)), prior)


def ends_well(text: str) -> bool:
    """Return True for a text that ends as a sentence does."""
    return _ENDS_WELL.search(text) is not None


def is_code_or_link(text: str) -> bool:
    """Return True for code, a link, or a question."""
    return _NO_SENTENCE.search(text) is not None


def beginning_factor(text: str, *, opens: bool) -> float:
    """Return the factor of a sentence by its beginning, which may refer to the sentence before it.

    One that `opens` its section may say there what the document or the section is.

    >>> told = "This plan rebuilds the quay.", "However, it is late.", "The quay is old."
    >>> [beginning_factor(text, opens=True) for text in told]
    [1.5, 0.6, 1.0]
    """
    points = _POINTS.match(text)
    goes_on = _GOES_ON.match(text) or (points and not opens)
    return GOES_ON if goes_on else DEFINES if points else 1.0


def says_something(text: str, narrowest: float = NARROWEST) -> bool:
    """Return True for a sentence of a fit width that says something by itself.

    >>> says_something("The new quay of the harbour costs four million crowns.")
    True
    >>> says_something("Signed: A. Berg MRICS, surveyor number 0887312, 4 May 2025.")
    False
    """
    return (
        narrowest <= width(text) <= WIDEST
        and _BEGINS_WELL.match(text) is not None
        and _ENDS_WELL.search(text) is not None
        and not (_OF_ITSELF.search(text) or _NO_SENTENCE.search(text) or _is_names(text))
    )


def past_marks(text: str, begin: int, end: int) -> int:
    """Return where the words of a sentence begin, after headings that run into it and its item's marker."""
    start = _past_headings(text, begin, end)
    marker = _MARKER.match(text, start, end)
    return marker.end() if marker and marker.end() < end else start


def _past_headings(text: str, start: int, end: int) -> int:
    """Return where a sentence begins after the short lines above it, which end before the margin."""
    if start and text[start - 1] != "\n":
        return start
    lines = text[start:end].split("\n")
    widths = [width(line) for line in lines]
    longest = max(widths)
    heads = [at for at, one in enumerate(widths[:-1]) if one < HEADING_LINE * max(widths[at + 1 :])]
    if not heads or longest < NARROWEST:
        return start
    return start + sum(len(line) + 1 for line in lines[: heads[-1] + 1])


def _is_names(text: str) -> bool:
    """Return True for an address, a date or a signature in Latin letters: mostly names and numbers."""
    words = re.findall(r"[^\W_][\w.,:/-]*", text) if text.isascii() else []
    return len(words) > 0 and sum(_NAME.match(word) is not None for word in words) >= NAMES * len(words)


def heading_factor(heading: str) -> float:
    """Return the factor of a sentence by the headings above it."""
    above, _, own = " > ".join(heading.split(" > ")[-2:]).rpartition(" > ")
    if _BOILERPLATE.search(f"{above} {own}"):
        return BOILERPLATE
    return PROMISED if _OVERVIEW.search(own) else PROMISED_ABOVE if _OVERVIEW.search(above) else 1.0


def _title(passage: Passage) -> frozenset[str]:
    return frozenset(tokens(f"{passage.document.rpartition('.')[0]} {passage.heading.partition(' > ')[0]}"))


def worth_of(
    words: Collection[str], weight: Mapping[str, float], told: Collection[str], title: Collection[str]
) -> float:
    """Return the worth of words by their weights; less of those told, more of those in the title."""
    total = fsum(
        weight.get(word, 0.0) * (TOLD if word in told else 1.0) * (TITLED if word in title else 1.0)
        for word in sorted(words)
    )
    return total / float(max(8, len(words)) ** LENGTH)


def section_called(question: str, passages: Sequence[Passage]) -> list[int]:
    """Return the places of the passages under headings that say what a question says, and no more.

    >>> told = "Policy > 2. What is covered", "Policy > 3. What is not covered (exclusions)"
    >>> section_called("What is covered?", [Passage("1", "d", "a", "", None, h, 0, 1, "x") for h in told])
    [0]
    >>> section_called("What is not covered?", [Passage("1", "d", "a", "", None, h, 0, 1, "x") for h in told])
    [1]
    """
    asked = _said(question)
    return [at for at, one in enumerate(passages) if asked in map(_said, one.heading.split(" > "))]


def _said(text: str) -> tuple[frozenset[str], bool]:
    """Return the words of a question or a heading, without its number and brackets, and whether it denies."""
    return frozenset(tokens(_AROUND.sub("", text))), denies(text)


def section_on(subject: str, passages: Sequence[Passage]) -> list[int]:
    """Return the places of the passages under headings that have all words of a subject; of the longest such.

    >>> given = [Passage(str(n), "d", "a", "", None, h, 0, 1, "x") for n, h in enumerate(("A > Risks", "B"))]
    >>> section_on("risks", given)
    [0]
    """
    wanted = frozenset(tokens(subject))
    sections: dict[tuple[str, str], list[int]] = {}
    for at, passage in enumerate(passages):
        parts = passage.heading.split(" > ")
        for depth, part in enumerate(parts, 1):
            if wanted and wanted <= frozenset(tokens(part)):
                sections.setdefault((passage.document_id, " > ".join(parts[:depth])), []).append(at)
                break
    longest = max(map(len, sections.values()), default=0)
    return sorted({at for of in sections.values() if 2 * len(of) >= longest for at in of})
