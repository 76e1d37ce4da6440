"""Citation checker: finds the words of a passage that support a sentence, without a model.

A sentence is verified by up to three neighbouring sentences of a passage that have most of its words and
differ in nothing that they state: number, name, denial, direction, order. Precision goes before recall: what
is not found is only `related`. How it was measured: docs/developer/citations.md.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum
from types import MappingProxyType
from typing import Protocol

from langchain_core.embeddings import Embeddings

from rag.citations.arithmetic import Derivation, derive, may_be_calculated
from rag.citations.asked import Reading, Span, TableText
from rag.citations.claims import find_contradiction, in_its_words
from rag.citations.differences import Exchange, exchanges_of_value, is_stated
from rag.citations.logic import qualified
from rag.citations.lookup import TableLookup
from rag.citations.quantities import Quantity, periods, quantities
from rag.citations.quoted import Quotes, differing_fact
from rag.citations.rows import RowLookup
from rag.citations.sentence import JOINT_WEIGHT, Sentence, joined
from rag.citations.support import Status
from rag.citations.tables import split_row
from rag.passage import Passage, quotable
from rag.text.facts import names
from rag.text.language import may_share_words
from rag.text.normalize import NormalizedText, normalize_with_offsets
from rag.text.sentences import sentences
from rag.text.tokenize import content_words, tokens

# Semantic similarity
MOST = 0.2  # that similarity adds to a score or takes from it


@dataclass(frozen=True)
class SimilarityScale:
    """Calibration of a model's cosines: the neutral cosine of two texts, and the weight of a difference.

    `asked` is the neutral cosine of a question and a passage.
    """

    middle: float
    slope: float
    asked: float


SCALES: Mapping[str, SimilarityScale] = MappingProxyType(
    {"multilingual-e5-small": SimilarityScale(0.87, 3.0, 0.85)}
)
"""By model name; only models whose cosines were measured (docs/developer/citations.md)."""


def scale_of(embedder: Embeddings | None) -> SimilarityScale | None:
    """Return the scale of an embedding model's cosines; None where it is not known."""
    return SCALES.get(getattr(embedder, "name", ""))


@dataclass(frozen=True)
class Similarity:
    """Semantic similarity by an embedding model with a known scale."""

    embedder: Embeddings
    scale: SimilarityScale

    @classmethod
    def of(cls, embedder: Embeddings | None) -> "Similarity | None":
        """Return the similarity of an embedding model; None without one, or where its scale is not known."""
        scale = scale_of(embedder)
        return cls(embedder, scale) if embedder is not None and scale is not None else None

    def weight(self, claim: str, evidence: str) -> float:
        """Return what the similarity adds to a score: 0.09 for a cosine of 0.9."""
        one, other = self.embedder.embed_documents([claim, evidence])
        cosine = sum(a * b for a, b in zip(one, other, strict=True))  # vectors of length 1
        return max(-MOST, min(MOST, self.scale.slope * (cosine - self.scale.middle)))


SUPPORTS = 0.5  # least probability of a sentence that a judge calls supported


class Judge(Protocol):
    """Estimates the probability that a text supports a claim."""

    def support(self, claim: str, evidence: str) -> float | None:
        """Return the probability, 0 to 1; None where the judge has no opinion."""


VERIFIED = 0.55
VERIFIED_UNSPACED = 0.6
VERIFIED_KOREAN = 0.85
"""Least scores of a verified citation; the second for sentences in Japanese or Chinese script, whose pairs of
letters match by chance more often; the third for Korean ones, of which only the content words count."""
OPEN = 0.2
"""Distance of a score from the threshold within which similarity decides; it moves a score by at most 0.2."""
JUDGED = 0.3  # least score for which a judge is asked
VERBATIM = 1.0
DIFFERS = 0.6  # least score of a sentence that a claim would have with one number or time of it exchanged
ON_SUBJECT = 0.15  # least share of them in the words that a reader quotes, in one language
RELATED = 0.3  # least share of a sentence's words in a passage on its subject
NEARER = 0.03  # by which words that differ may be nearer to a sentence than those that support it
WINDOW = 3  # sentences that evidence may have
COSTS = {
    "extra sentence": 0.03,
    "name from further away": 0.15,
    "word in a row": 0.05,
    "unsaid time": 1.0,  # a time that counts from another is none where the words do not say it
    "few words": 0.1,
}
FEW_WORDS = 6
NOT_CALCULATED = ("name", "rate", "denial", "quantifier", "mode", "condition", "role")
"""Contradictions that a calculated number does not explain."""
_COPULA = re.compile(
    r"(?:이다|입니다|이에요|예요|이었다|(?<!하)였다|이었습니다|(?<!하)였습니다"
    r"|である|です|でした|であった|だった|だ)[.。!?！？ ]*\Z"
)
_TOPIC = re.compile(r"[가-힣](?:은|는|이|가) |[はが]")
_DIGIT_BEFORE = re.compile(r"[\d만억조万億兆][\s,]*\Z")
_UNSAID_TIME = re.compile(
    r"\b(?:(?:the|that|this) (?:same|following|previous|next|latter|former)\b|that (?:year|month|day|time)\b"
    r"|(?:year|month|day|week)s? (?:later|earlier|after|before)\b|at the time\b|respectively\b)",
    re.IGNORECASE,
)
_DENIED_BEFORE = re.compile(
    r"(?:\b(?:not|never|no|nobody|without|den(?:y|ies|ied)|false|untrue|unlikely|wrong|doubt\w*|myth|refut\w*)\b|n[’']t\b)"
    r"[^,;:.]{0,40}\b(?:that|whether|if)[\s:\"“‘']*\Z",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"[\s\"”’'」』]*(?:(?:라|다|이라)?(?:는|고|란)\s*(?:것|말|주장|사실|이야기|소문|설)[^.。,]{0,12}?(?:아니|않|없|거짓|틀|부인)"
    r"|(?:という|との|と|わけ|こと|の)[^。、]{0,12}?(?:ない|なかっ|なく|誤|嘘|否定|間違))"
)


@dataclass(frozen=True)
class Evidence:
    """Evidence for a sentence: the passage's number from 1 (0: none) and a span of its text.

    `score`, 0 to 1, is the share of the sentence's words in the span, less the costs. `more` are the words
    for its other parts, `said` is what the source says where it differs, and `calculation` how a number
    follows from the source's numbers.
    """

    status: Status
    number: int = 0
    start: int = 0
    end: int = 0
    score: float = 0.0
    more: tuple[Span, ...] = ()
    said: str = ""
    calculation: str = ""

    @property
    def spans(self) -> tuple[Span, ...]:
        """All words of passages that support the sentence, those of its first part first."""
        return (Span(self.number, self.start, self.end), *self.more) if self.number else ()


class Checker:
    """Checks many sentences against the same passages, parsing each passage once.

    `embedder` decides only near the threshold, and if its scale is known (see `scale_of`). `least` overrides
    the threshold of a verified sentence.

    >>> from rag.passage import Passage
    >>> text = "Seoul is big. It has 9 million people."
    >>> checker = Checker([Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)])
    >>> found = checker.check("Seoul has 9 million people.")
    >>> found.status, found.number, found.start, found.end, found.score
    ('verified', 1, 0, 38, 0.87)
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        *,
        embedder: Embeddings | None = None,
        judge: Judge | None = None,
        least: float | None = None,
    ):
        self._pictures = {number for number, one in enumerate(passages, 1) if one.is_from_picture}
        passages = [quotable(passage) for passage in passages]
        owners = [_owners(passage, passages) for passage in passages]
        self._passages = [_ParsedPassage(*pair) for pair in zip(passages, owners, strict=True)]
        named = [owner | frozenset(content_words(" ".join(owner))) for owner in owners]
        about = [content_words(f"{p.document} {p.heading} {p.about}") for p in passages]
        texts = [TableText(n, p.text, p.heading, p.about, p.document) for n, p in enumerate(passages, 1)]
        self._rows = RowLookup(texts)
        self._tables = TableLookup(
            texts,
            {n: names.union(words) for n, (words, names) in enumerate(zip(about, named, strict=True), 1)},
            {n: names for n, (p, names) in enumerate(zip(passages, named, strict=True), 1) if p.about},
        )
        self._meaning = Similarity.of(embedder)
        self._judge = judge
        self._least = least

    def is_from_picture(self, number: int) -> bool:
        """Return True for a passage that a model read from a picture, which supports nothing."""
        return number in self._pictures

    def check(self, sentence: str, among: Collection[int] | None = None) -> Evidence:
        """Return the best evidence among the passages of these numbers, or among all.

        A table in Markdown is checked row by row, each cell by its row's label and its column's header.
        """
        if sentence.lstrip().startswith("|"):
            return self._check_table(sentence, among)
        bare = _MARKUP.sub("", sentence)
        read = self._tables.read(bare, among) if self._tables else None
        if read is not None and read.holds:
            return _as_evidence(read)
        found = self._check_prose(bare, among)
        if read is None and found.score < VERBATIM and (in_row := self._rows.read(bare, among)):
            return _as_evidence(in_row)
        if found.status != "verified" and read is None:
            found = self._check_parts(bare, among) or self._check_calculated(bare, among) or found
        if found.status != "verified" and read is None:
            return self._check_other_value(bare, among) or found
        if read is None or found.score == VERBATIM:
            return found
        return replace(found, status="related") if found.status == "verified" else _as_evidence(read)

    def supported_by(self, statement: str, spans: Sequence[Span]) -> Evidence:
        """Return the evidence that the quotes of a tested reader give a statement: verified, or unsupported.

        Quotes are widened to whole sentences and rows, so that none hides a "not" or an "if". Whether other
        words say the same is the reader's to tell; the facts of `rag.citations.quoted` must agree.

        >>> from rag.passage import Passage
        >>> text = "Seoul is big. Its residents number 9 million."
        >>> checker = Checker([Passage("c", "d", "a.txt", "", None, "", 0, len(text), text)])
        >>> asked = ("Seoul has 9 million inhabitants.", "Seoul has 8 million inhabitants.")
        >>> [checker.supported_by(said, [Span(1, 0, 10), Span(1, 20, 30)]).status for said in asked]
        ['verified', 'unsupported']
        """
        quoted = [
            _Quoted(number, text, units)
            for number, text in enumerate(self._passages, 1)
            if (units := text.around([span for span in spans if span.number == number]))
        ]
        said = [_MARKUP.sub("", one) for one in _rows_as_text(statement)]
        found = [self._parts_supported(parts(one), quoted) for one in said]
        whole = [one for one in found if one is not None]
        return (len(whole) == len(found) and _together(whole)) or Evidence("unsupported")

    def _parts_supported(self, told: Sequence[str], quoted: "Sequence[_Quoted]") -> Evidence | None:
        """Return the evidence of a statement's parts as one, if the quotes support all of them."""
        found = [self._supported(part, quoted) for part in told]
        whole = [one for one in found if one is not None]
        return _together(whole) if len(whole) == len(told) else None

    def _supported(self, said: str, quoted: "Sequence[_Quoted]") -> Evidence | None:
        """Return the evidence of the quotes of one passage, or else of all together, for a statement."""
        alone = [self._supported_together(said, [one]) for one in quoted]
        told = [one for one in alone if one is not None]
        return max(told, key=lambda one: one.score) if told else self._supported_together(said, quoted)

    def _supported_together(self, said: str, quoted: "Sequence[_Quoted]") -> Evidence | None:
        claim = Sentence(said, 0, len(said))
        for one in quoted:
            claim = one.passage.in_its_words(claim)
        units = [unit for one in quoted for unit in one.units]
        above = [one.passage.above for one in quoted]
        given = joined([*units, *above])
        share = claim.share(given)
        unrelated = share < ON_SUBJECT and may_share_words(said, " ".join(unit.text for unit in units))
        if not units or unrelated:
            return None
        every = [*above, *(unit for one in quoted for unit in one.passage.units)]
        cells = {
            unit: self._tables.cells(Span(one.number, unit.start, unit.end))
            for one in quoted
            for unit in one.units
        }
        told = [cell for found in cells.values() for cell in found]
        rows = [unit for unit, found in cells.items() if found]
        if differing_fact(claim, Quotes(_anchor(claim, units), units, every, told, rows)):
            return None
        first, *more = [Span(one.number, unit.start, unit.end) for one in quoted for unit in one.units]
        score = round(share, 4)
        return Evidence("verified", first.number, first.start, first.end, score, tuple(more))

    def _check_table(self, table: str, among: Collection[int] | None) -> Evidence:
        rows = [[cell for cell, _ in split_row(line)] for line in table.strip().splitlines()]
        found = [self._check_row(rows[0], row, among) for row in rows[2:]]
        return _together(found) or Evidence("unsupported")

    def _check_row(self, head: Sequence[str], row: Sequence[str], among: Collection[int] | None) -> Evidence:
        read = (
            self._tables.read_row(head, [_MARKUP.sub("", cell) for cell in row], "", among)
            if self._tables
            else None
        )
        if read is not None:
            return _as_evidence(read)
        return self._check_prose(" ".join(filter(None, row)), among)

    def _check_parts(self, sentence: str, among: Collection[int] | None) -> Evidence | None:
        """Return the evidence of a sentence's parts as one, if it has parts and all are verified."""
        found = []
        for part in parts(sentence):
            read = self._tables.read(part, among) if self._tables else None
            found.append(_as_evidence(read) if read is not None else self._check_prose(part, among))
            if found[-1].status != "verified":
                return None
        return _together(found) if len(found) > 1 else None

    def _check_calculated(self, sentence: str, among: Collection[int] | None) -> Evidence | None:
        """Return the evidence of a sentence whose number follows from numbers of a passage."""
        if not may_be_calculated(sentence):
            return None
        claim = Sentence(sentence, 0, len(sentence))
        found = (text.calculated(claim, number) for number, text in self._numbered(among))
        return next((one for one in found if one is not None), None)

    def _check_other_value(self, sentence: str, among: Collection[int] | None) -> Evidence | None:
        """Return the sentence that would verify a claim if one number or time were the sentence's own."""
        claim = Sentence(sentence, 0, len(sentence))
        every = [unit for _, text in self._numbered(among) for unit in text.units]
        for number, text in self._numbered(among):
            for unit in text.units:
                if claim.share(unit.words) < RELATED or self._tables.touches(
                    Span(number, unit.start, unit.end)
                ):
                    continue
                made = exchanges_of_value(claim, unit)
                found = [self._with_value(claim, number, unit, exchange) for exchange in made]
                differing = [one for one in found if one is not None]
                if len(differing) == 1 and not is_stated(claim, made[0].own, unit, every):
                    return differing[0]
        return None

    def _with_value(
        self, claim: Sentence, number: int, unit: Sentence, exchange: Exchange
    ) -> Evidence | None:
        """Return how a claim differs from a sentence that verifies it with another value, if it does."""
        found = self._check_prose(exchange.made(claim.text), {number})
        inside = unit.start <= found.start and found.end <= unit.end
        verified = found.status == "verified" and inside and found.score >= DIFFERS
        return replace(found, status="differs", said=exchange.words) if verified else None

    def _numbered(self, among: Collection[int] | None) -> "Iterator[tuple[int, _ParsedPassage]]":
        """Yield the passages of these numbers, or all, with their numbers."""
        yield from (
            (number, text)
            for number, text in enumerate(self._passages, 1)
            if among is None or number in among
        )

    def _check_prose(self, sentence: str, among: Collection[int] | None) -> Evidence:
        claim = Sentence(sentence, 0, len(sentence))
        least = _threshold(claim) if self._least is None else self._least
        open_from = min(least, _threshold(claim) - OPEN if self._meaning and not claim.unspaced else least)
        if self._judge is not None:
            open_from = min(open_from, JUDGED)
        found = [
            text.evidence(claim, number, open_from, self._tables if claim.quantities else None)
            for number, text in self._numbered(among)
        ]
        best = max((one for one, _ in found), key=_rank, default=Evidence("unsupported"))
        refuted = max((score for _, score in found), default=0.0)
        if best.status == "verified" and best.score < refuted - NEARER and best.score < VERBATIM:
            best = replace(best, status="related")
        return self._decided(claim, best, least) if best.status == "verified" else best

    def _decided(self, claim: Sentence, found: Evidence, least: float) -> Evidence:
        if self._judge is None or found.score == VERBATIM:
            return self._weighed(claim, found, least)
        probability = self._judge.support(claim.text, self._words(found))
        if probability is None:
            return self._weighed(claim, found, least)
        return replace(found, status="verified" if probability >= SUPPORTS else "related")

    def _words(self, found: Evidence) -> str:
        return self._passages[found.number - 1].text[found.start : found.end]

    def _weighed(self, claim: Sentence, found: Evidence, least: float) -> Evidence:
        score = found.score
        if self._meaning and not claim.unspaced and abs(score - _threshold(claim)) < OPEN:
            moved = self._meaning.weight(claim.text, self._words(found))
            score = round(max(0.0, min(1.0, score + moved)), 4)
        return replace(found, status="verified" if score >= least else "related", score=score)


_MARKUP = re.compile(r"\*\*|__(?=\w)|(?<=\w)__|^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_JOINT = re.compile(
    r"(?:,\s*(?:and|but|while|whereas)|;|\s(?:while|whereas))\s+"
    r"|(?<=[가-힣]{2}(?:며|고))[,\s]\s*|(?<=반면)[,\s]\s*|(?<=지만)[,\s]\s*|(?<=[でりしがくず])、"
)
_PART_WORDS = 2
_TOPIC = re.compile(r"[^、,]{1,40}?(?:は|が)|[^,]{0,40}?[가-힣`](?:은|는|이|가)(?=\s)")
"""Subject of a Korean or Japanese part; one without its own has that of the first part."""
_STARTS = re.compile(
    r"[^a-z]|(?:the|an?|its?|they|he|she|this|these|those|that|their|his|her|in|on|at|during|for|no|not|all|many|most|some)\b"
)


_ELLIPSIS = re.compile(r"(\bin the (?:first|second|third|fourth))\s*(?=[.,]?\Z)", re.IGNORECASE)


_BETWEEN = re.compile(r"\bbetween\s+\S{0,3}\Z", re.IGNORECASE)


def _gapped(sentence: str) -> list[str]:
    """Return the parts of a sentence whose second part leaves out its beginning.

    >>> _gapped("It sold $2 million in 2021 and $3 million in 2022.")
    ['It sold $2 million in 2021', 'It sold $3 million in 2022.']
    """
    given = quantities(sentence)
    told = [q for q in given if not q.is_year and not _is_dated(sentence, q)]
    both = len(told) == 2 and not _BETWEEN.search(sentence[: told[0].start])
    joint = re.search(r",?\s+and\s+", sentence[told[0].end :]) if both else None
    if joint is None or told[0].end + joint.end() != told[1].start:
        return []
    lead, first = sentence[: told[0].start], sentence[: told[0].end + joint.start()]
    second = lead + sentence[told[1].start :]
    quarter = re.search(r"quarter of (?:fiscal )?\d{4}", first)
    return [first, _ELLIPSIS.sub(rf"\1 {quarter[0]}", second) if quarter else second]


def _is_dated(sentence: str, quantity: Quantity) -> bool:
    return any(p.start < quantity.end and quantity.start < p.end for p in periods(sentence))


def parts(sentence: str) -> list[str]:
    """Return the parts of a sentence that each state something.

    >>> parts("The shop opened in May, and the mill closed in June.")
    ['The shop opened in May', 'the mill closed in June.']
    """
    gapped = _gapped(sentence)
    if gapped:
        return gapped
    found = [part.strip() for part in _JOINT.split(sentence)]
    topic = _TOPIC.match(found[0])
    if len(found) > 1 and topic:
        lead = topic[0] + " " * ("가" <= topic[0][-1] <= "힣")
        found[1:] = [part if _TOPIC.search(part) else lead + part for part in found[1:]]
    elif not (all(map(_STARTS.match, found[1:])) or all(map(quantities, found))):
        return [sentence]
    whole = all(len(content_words(part)) >= _PART_WORDS for part in found)
    return _dated_alike(found) if whole else [sentence]


def _dated_alike(told: Sequence[str]) -> list[str]:
    """Return parts of which those with numbers and no time have the only time of the first."""
    times = periods(told[0])
    when = told[0][times[0].start : times[0].end] if len(times) == 1 and times[0].year else ""
    return [
        part if not when or periods(part) or not quantities(part) else f"{part.rstrip('. ')} ({when})."
        for part in told
    ]


def _owners(passage: Passage, passages: Sequence[Passage]) -> frozenset[str]:
    """Return the names that "the Company" of a passage may stand for.

    They are the party that its document names; where that is unknown, words of the document's name, and
    names in the texts of such documents. One also written in lower case is a word: Services, Products.
    """
    titles = {word.casefold() for word in re.findall(r"[^\W\d_]{3,}", passage.document)}
    if passage.about:
        return frozenset(titles | {name.casefold() for name in re.findall(r"[^\W\d_]{2,}", passage.about)})
    text = " ".join(p.text for p in passages if not p.about)
    common = set(re.findall(r"(?<![\w.])[a-z]{2,}(?![\w.]*\.\w)", text))
    told = {name.casefold() for name in names(text) if name.isascii() and not name.isupper()}
    companies = {name.casefold() for name in _COMPANY.findall(text)}
    return frozenset(titles | (told - common) | companies)


_COMPANY = re.compile(
    r"\b([A-Z][\w&-]+)(?i:\.com)?,? (?:(?i:corporation|corp|inc|ltd|limited|llc|plc)\b|AG\b|SE\b)"
)
"""Name before the form of a company: NVIDIA CORPORATION."""


def _as_evidence(read: Reading) -> Evidence:
    first, more = read.spans[0], read.spans[1:]
    status: Status = "verified" if read.holds else "differs"
    return Evidence(status, first.number, first.start, first.end, VERBATIM, more, read.said, read.calculation)


def _together(found: Sequence[Evidence]) -> Evidence | None:
    """Return the evidence of parts as one: what differs first, then the weakest."""
    if not found:
        return None
    worst = min(found, key=lambda one: (_PARTS.index(one.status), one.score))
    if worst.status != "verified":
        return worst
    spans = list(dict.fromkeys(span for one in found for span in one.spans))
    told = "; ".join(dict.fromkeys(one.calculation for one in found if one.calculation))
    return replace(
        found[0], score=worst.score, number=spans[0].number, start=spans[0].start, end=spans[0].end,
        more=tuple(spans[1:]), calculation=told,
    )  # fmt: skip


_PARTS = ("differs", "unsupported", "related", "verified")


def _threshold(claim: Sentence) -> float:
    if claim.korean:
        return VERIFIED_KOREAN
    return VERIFIED_UNSPACED if claim.unspaced else VERIFIED


def _rank(evidence: Evidence) -> tuple[int, float]:
    order = ("unsupported", "related", "differs", "verified")
    return order.index(evidence.status), evidence.score


@dataclass(frozen=True)
class _Window:
    """Neighbouring sentences, and the claim as they would put it: "the Company" where they say so."""

    claim: Sentence
    units: Sequence[Sentence]
    share: float
    score: float

    @property
    def is_heading(self) -> bool:
        """Return True for a heading alone, which names what a sentence below it says."""
        return len(self.units) == 1 and self.units[0].text.lstrip().startswith("#")


class _ParsedPassage:
    """Passage split into sentences, with the titles above it that its pronouns may refer to."""

    def __init__(self, passage: Passage, owners: Collection[str]):
        self._owners = owners
        self.text = passage.text
        self.folded: NormalizedText = normalize_with_offsets(passage.text)
        self.units = [Sentence(self.text[start:end], start, end) for start, end in sentences(passage.text)]
        self.above = Sentence(f"{passage.heading} {passage.document}", 0, 0)
        self._passage = passage

    def evidence(
        self, claim: Sentence, number: int, least: float, tables: TableLookup | None = None
    ) -> tuple[Evidence, float]:
        """Return the passage's best evidence, verified from `least`, and the best score of what differs.

        Rows of `tables` are no evidence.
        """
        claim = self._in_its_year(claim)
        verbatim = self._verbatim(claim) or self._with_other_ending(claim)
        if verbatim is not None:
            return Evidence("verified", number, *verbatim, VERBATIM), 0.0
        refuted = 0.0
        windows = sorted(self._windows(claim), key=lambda window: (-window.score, window.is_heading))
        for window in windows:
            if window.score < least:
                break
            if tables is not None and any(tables.touches(Span(number, u.start, u.end)) for u in window.units):
                continue  # numbers of a table count by row and column only
            if not self._contradicted(window):
                return _evidence("verified", number, window), refuted
            if self._is_on_subject(window):
                refuted = max(refuted, window.score)
        if not windows:
            return Evidence("unsupported"), refuted
        status: Status = "related" if windows[0].share >= RELATED else "unsupported"
        return _evidence(status, number, windows[0]), refuted

    @cached_property
    def _year(self) -> int:
        return _year_of(self._passage)

    def _in_its_year(self, claim: Sentence) -> Sentence:
        """Return a claim that gives its months without the year of this passage's document."""
        dated = any(period.year and period.month for period in claim.periods)
        return _without_year(claim, self._year) if dated else claim

    def calculated(self, claim: Sentence, number: int) -> Evidence | None:
        """Return the evidence of a claim whose number follows from numbers of at most three sentences.

        The shortest window that gives a number decides, so that no other numbers nearby are tried.
        """
        claim = self._in_its_year(claim)
        windows = [window for window in self._windows(claim) if window.share >= RELATED]
        for window in sorted(windows, key=lambda window: (len(window.units), -window.share)):
            begin, end = window.units[0].start, window.units[-1].end
            found = derive(window.claim.text, self.text[begin:end])
            if found is not None:
                holds = found.holds and not self._contradicted(window, NOT_CALCULATED)
                return self._calculation(found, begin, number) if holds else None
        return None

    def _contradicted(self, window: "_Window", kinds: Collection[str] = ()) -> bool:
        claim, units = window.claim, window.units
        every = [*self.units, self.above]
        return bool(find_contradiction(claim, _anchor(claim, units), units, every, kinds))

    def _calculation(self, found: Derivation, begin: int, number: int) -> Evidence:
        """Return the sentences that hold the numbers of a calculation as evidence."""
        held = [
            Span(number, unit.start, unit.end)
            for unit in self.units
            if any(unit.start <= begin + start < unit.end for start, _ in found.spans)
        ]
        first, more = held[0], tuple(held[1:])
        return Evidence(
            "verified", number, first.start, first.end, VERBATIM, more, calculation=found.calculation
        )

    def in_its_words(self, claim: Sentence) -> Sentence:
        """Return a claim with the owner's name as this passage's document calls it."""
        return in_its_words(claim, self.text, self._owners)

    def around(self, spans: Sequence[Span]) -> list[Sentence]:
        """Return the whole sentences and rows that some spans touch, in order."""
        return [
            unit
            for unit in self.units
            if any(span.start < unit.end and unit.start < span.end for span in spans)
        ]

    def _is_on_subject(self, window: _Window) -> bool:
        """Return True where the window has all names of the claim that the passage has."""
        known = [name for name in window.claim.names if any(unit.holds(name) for unit in self.units)]
        return all(any(unit.holds(name) for unit in window.units) for name in known)

    def _verbatim(self, claim: Sentence) -> tuple[int, int] | None:
        """Return the span of a verbatim quote, unless the sentence around it denies it."""
        span = self.folded.find(claim.folded) or self.folded.find(claim.folded.rstrip(".。!?！？ "))
        if span is None or not tokens(claim.text):
            return None
        cut = claim.folded[:1].isdigit() and _DIGIT_BEFORE.search(self.text[: span[0]])
        return None if cut or self._denied(*span) else span

    def _with_other_ending(self, claim: Sentence) -> tuple[int, int] | None:
        """Return the span of a Korean or Japanese "A is B" whose words end otherwise: "으로 한다".

        It may begin with words of the document's name or of the heading.
        """
        bare = _COPULA.sub("", claim.folded)
        while (first := bare.partition(" "))[2] and not self.above.lacks(tokens(first[0])):
            bare = first[2]
        span = self.folded.find(bare) if _COPULA.search(claim.folded) and _TOPIC.search(bare) else None
        unit = next((one for one in self.units if span and one.start <= span[0] and span[1] <= one.end), None)
        if span is None or unit is None or self._denied(*span):
            return None
        said = Sentence(bare, 0, len(bare))
        return None if find_contradiction(said, unit, [unit], [*self.units, self.above]) else span

    def _denied(self, start: int, end: int) -> bool:
        """Return True where the sentence around a span denies or qualifies it: "It is not true that ..."."""
        begin = max((unit.start for unit in self.units if unit.start <= start), default=0)
        close = min((unit.end for unit in self.units if unit.end >= end), default=len(self.text))
        before, after = self.text[begin:start], self.text[end:close]
        return bool(_DENIED_BEFORE.search(before) or _DENIED_AFTER.match(after) or qualified(before, after))

    def _windows(self, claim: Sentence) -> Iterator[_Window]:
        claim = _without_numbers_of_title(claim, self.above.text)
        told = self.in_its_words(claim)
        words = claim.words | told.words
        sharing = [not words.isdisjoint(unit.words) for unit in self.units]
        for first, begins in enumerate(sharing):
            for last in range(first, min(first + WINDOW, len(self.units))) if begins else ():
                if sharing[last]:
                    units = self.units[first : last + 1]
                    yield self._window(_nearer(claim, told, units), units)

    def _window(self, claim: Sentence, units: Sequence[Sentence]) -> _Window:
        given = joined([*units, self.above])
        share = claim.share(given)
        score = share
        if share >= RELATED:
            score += _forms(claim, given) - _cost(claim, units, given, self.above)
        return _Window(claim, units, share, score)


@dataclass(frozen=True)
class _Quoted:
    """Whole sentences of a passage that a reader quotes."""

    number: int
    passage: _ParsedPassage
    units: Sequence[Sentence]


def _rows_as_text(statement: str) -> list[str]:
    """Return the body rows of a Markdown table without their bars, or a statement in words as it is."""
    if not statement.lstrip().startswith("|"):
        return [statement]
    rows = [[cell for cell, _ in split_row(line)] for line in statement.strip().splitlines()]
    return [" ".join(filter(None, row)) for row in rows[2:]]


def _evidence(status: Status, number: int, window: _Window) -> Evidence:
    score = round(max(0.0, min(1.0, window.score)), 4)
    return Evidence(status, number, window.units[0].start, window.units[-1].end, score)


def _year_of(passage: Passage) -> int:
    """Return the one year that a passage's document is of, if the passage itself names none; else 0."""
    if any(period.year for period in periods(passage.text)):
        return 0
    told = {period.year for period in periods(f"{passage.about} {passage.document.replace('_', ' ')}")}
    years = told - {0}
    return years.pop() if len(years) == 1 else 0


def _without_year(claim: Sentence, year: int) -> Sentence:
    """Return a claim that gives its months without the year of the document.

    >>> _without_year(Sentence("Sales rose in May 2025.", 0, 0), 2025).text
    'Sales rose in May.'
    """
    text = claim.text
    for one in reversed(claim.periods):
        if one.year == year and one.month:
            bare = re.sub(rf"(?:,?\s)?(?<!\d){year}(?!\d)\s?[年년]?", "", text[one.start : one.end])
            text = text[: one.start] + bare.lstrip("-/. ") + text[one.end :]
    return claim if text == claim.text else Sentence(text, claim.start, claim.end)


_TITLED = re.compile(r"\s?[A-Z][\w-]+")


def _without_numbers_of_title(claim: Sentence, title: str) -> Sentence:
    """Return a claim without a number that is part of a name in the title: the 14 of "14 Orchard Lane".

    >>> _without_numbers_of_title(Sentence("2 flats are in 14 Elm Lane.", 0, 0), "14 Elm Lane.pdf").text
    '2 flats are in  Elm Lane.'
    """
    text = claim.text
    for one in reversed(claim.quantities):
        name = _TITLED.match(text, one.end)
        stated = name and re.search(rf"(?<![\w.,]){re.escape(text[one.start : name.end()])}\b", title)
        text = text[: one.start] + text[one.end :] if stated else text
    return claim if text == claim.text else Sentence(text, claim.start, claim.end)


def _nearer(claim: Sentence, told: Sentence, units: Sequence[Sentence]) -> Sentence:
    """Return a claim as it is written where some sentences name its subject so, else as `told`."""
    given = joined(units)
    return told if told is not claim and claim.share(given) < told.share(given) else claim


def _anchor(claim: Sentence, units: Sequence[Sentence]) -> Sentence:
    return max(units, key=lambda unit: claim.share(unit.words))


def _forms(claim: Sentence, given: Collection[str]) -> float:
    weights = claim.weights
    gained = fsum(weights[word] * share for word, share in claim.alike(given).items())
    return gained / fsum(weights.values())


def _cost(claim: Sentence, units: Sequence[Sentence], given: Collection[str], above: Sentence) -> float:
    absent = [name for name in claim.names if not any(unit.holds(name) for unit in (*units, above))]
    stating = [unit for unit in units if any(q.fits(o) for q in claim.quantities for o in unit.quantities)]
    timed = any(_UNSAID_TIME.search(unit.text) for unit in stating or units)
    unsaid = _UNSAID_TIME.search(claim.text) and not timed
    return (
        COSTS["extra sentence"] * (len(units) - 1)
        + COSTS["name from further away"] * len(absent)
        + COSTS["word in a row"] * _longest_gap(claim, given)
        + COSTS["unsaid time"] * bool(unsaid)
        + COSTS["few words"] * (len(claim.words) < FEW_WORDS)
    )


def _longest_gap(claim: Sentence, given: Collection[str]) -> int:
    alike = claim.alike(given)
    longest = here = 0
    for word in claim.sequence:
        if claim.weights[word] == JOINT_WEIGHT:
            continue
        here = here + 1 if alike.get(word) == 0 else 0
        longest = max(longest, here)
    return longest
