"""The answer when no model is configured: the documents' own sentences, the best few, word for word.

Each sentence is scored by a weighted sum of a few signs: shared words by rarity, the passage and the
neighbours around it, and whether it has the kind of thing asked for. The weights were fitted (a softmax
over the sentences of five BM25 passages) on halves of XQuAD, KorQuAD and JaQuAD and rounded; the rank's
was raised to what suits passages found by words and meaning together.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum, hypot, inf, log

from langchain_core.embeddings import Embeddings

from rag.passage import Passage
from rag.retrieval.clip import clip, width
from rag.retrieval.cues import QuestionType
from rag.text.markers import inert
from rag.text.tokenize import language, sentences, tokens

MOST = 3
WEIGHTS = {
    "overlap": 5.5,
    "tail": 1.1,
    "characters": 2.4,
    "passage": 2.6,
    "title": 3.5,
    "before": 2.4,
    "after": 2.8,
    "rank": 4.0,
    "date": 2.0,
    "number": 1.6,
    "counted": 3.5,
    "name": 0.8,
    "place": 1.3,
    "reason": 1.4,
}
TOGETHER = 3.5
"""A neighbour that scores within this of a pick joins it: what a pronoun stands for is often next door."""
WIDEST = 600
"""A quote's width in Latin letters; a letter of Korean or Japanese counts as 2.5."""
BEHIND = 5.0
"""How far behind the best a pick may score: the third sentence of three is often about something else."""
COMPARED = 8
"""Sentences that are embedded where words do not decide: about 20 ms each."""
FRAGMENT = 4.0
"""What a heading or a page number falls back by: it names a subject and says nothing of it."""
FITS = 0.15
"""The share of a question's weight that some passage must have; below it nothing is an answer.

On XQuAD, KorQuAD and JaQuAD this refuses at most .5 % of the questions their passages answer, and 70-90 % of
questions that are put to the passages of another. What is left is doubted (rag/chat/answerable.py)."""


@dataclass(frozen=True)
class Pick:
    """Words chosen as an answer: the passage's number from 1 and a span of its text."""

    number: int
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class Rated:
    """A sentence, as a span of its passage's text, and how well it seems to answer: more is better."""

    number: int
    start: int
    end: int
    score: float


@dataclass(frozen=True)
class _Sentence:
    number: int
    start: int
    end: int
    text: str
    words: frozenset[str]


def extract(
    question: str, passages: Sequence[Passage], *, embedder: Embeddings | None = None, said: str = ""
) -> list[Pick]:
    """Return the passages' words that answer best, best first; none where nothing fits the question.

    `embedder` is asked only where no sentence shares a word with the question, as across languages. Sentences
    that stand in `said` already are not said again while there are others.
    """
    units = [unit for number, passage in enumerate(passages, 1) for unit in _sentences(number, passage)]
    scorer = _Scorer(question, units)
    if not units or not scorer.fits(passages):
        return []
    if scorer.strange and embedder is not None:
        units = units[:COMPARED]
        scores = _similarities(question, units, embedder)
    else:
        scores = [scorer.score(at, passages) for at in range(len(units))]
    return [
        Pick(
            first.number,
            *clip(passages[first.number - 1].text, first.start, last.end, scorer.weight, WIDEST),
            score,
        )
        for first, last, score in _best(units, _after(units, scores, said))
    ]


def _after(units: Sequence[_Sentence], scores: Sequence[float], said: str) -> Sequence[float]:
    """Return the scores with those of sentences that were said already below all others."""
    fresh = [inert(unit.text) not in said for unit in units] if said else []
    if not any(fresh):
        return scores
    return [score if new else -inf for score, new in zip(scores, fresh, strict=False)]


def rated(question: str, passages: Sequence[Passage]) -> list[Rated]:
    """Return the passages' sentences in their order, each with its score."""
    units = [unit for number, passage in enumerate(passages, 1) for unit in _sentences(number, passage)]
    scorer = _Scorer(question, units)
    return [
        Rated(unit.number, unit.start, unit.end, scorer.score(at, passages)) for at, unit in enumerate(units)
    ]


def _similarities(question: str, units: Sequence[_Sentence], embedder: Embeddings) -> list[float]:
    """Return the sentences' cosine similarities to the question, -1 to 1."""
    asked = embedder.embed_query(question)
    return [_cosine(asked, vector) for vector in embedder.embed_documents([unit.text for unit in units])]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    product = sum(a * b for a, b in zip(one, other, strict=True))
    return product / (hypot(*one) * hypot(*other) or 1.0)


def _sentences(number: int, passage: Passage) -> Iterator[_Sentence]:
    for start, end in sentences(passage.text):
        text = passage.text[start:end]
        if words := frozenset(tokens(text)):
            yield _Sentence(number, start, end, text, words)


def _best(units: Sequence[_Sentence], scores: Sequence[float]) -> list[tuple[_Sentence, _Sentence, float]]:
    """Return the best sentences as (first, last, score), each with the neighbour that nearly equals it."""
    order = sorted(range(len(units)), key=lambda at: (-scores[at], at))
    used: set[int] = set()
    picks: list[tuple[_Sentence, _Sentence, float]] = []
    for at in order:
        if at in used or len(picks) == MOST or scores[at] < scores[order[0]] - BEHIND:
            continue
        if any(units[at].words <= first.words | last.words for first, last, _ in picks):
            continue
        beside = [
            near
            for near in (at - 1, at + 1)
            if 0 <= near < len(units) and near not in used and _together(units, scores, at, near)
        ]
        run = sorted([at, max(beside, key=scores.__getitem__)] if beside else [at])
        used.update(run)
        picks.append((units[run[0]], units[run[-1]], scores[at]))
    return picks


def _together(units: Sequence[_Sentence], scores: Sequence[float], at: int, near: int) -> bool:
    one, other = units[at], units[near]
    short = width(one.text) + width(other.text) <= WIDEST
    return one.number == other.number and short and scores[near] >= scores[at] - TOGETHER


_KANA = re.compile(r"[\u3041-\u3096ー]+\Z")
_PART_KANA = re.compile(r"[\u3041-\u3096]")
_LETTERS = re.compile(r"[一-鿿ァ-ヺ가-힣]")


def substance(token: str) -> float:
    """Return how much a token can say: pairs of Hiragana are mostly grammar.

    >>> substance("され"), substance("高い"), substance("東京")
    (0.15, 0.5, 1.0)
    """
    if _KANA.match(token):
        return 0.15
    return 0.5 if _PART_KANA.search(token) else 1.0


class _Scorer:
    """Scores the sentences of some passages against one question."""

    def __init__(self, question: str, units: Sequence[_Sentence]):
        self._units = units
        self._question = question
        asked = tokens(question)
        seen = Counter(word for unit in units for word in unit.words)
        self.weight: dict[str, float] = {
            word: substance(word) * log(1 + len(units) / (0.5 + seen[word])) for word in frozenset(asked)
        }
        self._held = frozenset(word for word in asked if seen[word])
        half = len(asked) // 2
        self._tail = self._held & (frozenset(asked[half:]) - frozenset(asked[:half]))
        letters = frozenset(_LETTERS.findall(question))
        used = Counter(letter for unit in units for letter in letters & frozenset(unit.text))
        self._letters: dict[str, float] = {
            letter: log(1 + len(units) / (0.5 + used[letter])) for letter in letters
        }
        self._around: dict[int, frozenset[str]] = {}
        for unit in units:
            self._around[unit.number] = self._around.get(unit.number, frozenset()) | unit.words
        self._asked = QuestionType(question)

    @property
    def strange(self) -> bool:
        """Whether no sentence has any of the question's words."""
        return not self._held

    def fits(self, passages: Sequence[Passage]) -> bool:
        """Return whether some passage has enough of the question's words, or is in another language."""
        code = language(self._question)
        return any(
            _share(self.weight, frozenset(self.weight), words | _title(passages[number - 1])) >= FITS
            or language(passages[number - 1].text) != code
            for number, words in self._around.items()
        )

    def score(self, at: int, passages: Sequence[Passage]) -> float:
        """Return the score of sentence `at`; higher is better, without a unit."""
        unit = self._units[at]
        signs = {
            "overlap": self._holds(unit.words),
            "tail": _share(self.weight, self._tail, unit.words),
            "characters": _share(self._letters, frozenset(self._letters), frozenset(unit.text)),
            "passage": self._holds(self._around[unit.number]),
            "title": self._holds(_title(passages[unit.number - 1]) - unit.words),
            "before": self._holds(self._beside(at, -1) - unit.words),
            "after": self._holds(self._beside(at, 1) - unit.words),
            "rank": 1 / unit.number,
            **asdict(self._asked.cues(unit.text)),
        }
        fragment = FRAGMENT if _is_fragment(unit.text) else 0.0
        return fsum(WEIGHTS[name] * sign for name, sign in signs.items()) - fragment

    def _holds(self, words: frozenset[str]) -> float:
        return _share(self.weight, self._held, words)

    def _beside(self, at: int, step: int) -> frozenset[str]:
        near = at + step
        if 0 <= near < len(self._units) and self._units[near].number == self._units[at].number:
            return self._units[near].words
        return frozenset()


def _share(weight: Mapping[str, float], wanted: frozenset[str], given: Collection[str]) -> float:
    """Return the given part of the wanted words, by weight: 0 to 1."""
    total = fsum(weight[word] for word in wanted)
    return fsum(weight[word] for word in wanted if word in given) / total if total else 0.0


def _is_fragment(text: str) -> bool:
    """Return whether a text is too short for a statement and does not end like one.

    >>> _is_fragment("Foreign Exchange Risk"), _is_fragment("It rose."), _is_fragment("2023년에 올랐다")
    (True, False, False)
    """
    text = inert(text)
    return width(text) < 40 and not re.search(
        r"(?:[.!?。！？…:：][\"'”’」』)\]]*|[다요죠음됨함까た])\Z", text.strip()
    )


def _title(passage: Passage) -> frozenset[str]:
    name = passage.document.rsplit(".", 1)[0].replace("_", " ")
    return frozenset(tokens(f"{name} {passage.heading}"))
