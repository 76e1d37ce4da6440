"""Excerpts: the sentences of passages that answer a question best, within a token budget."""

from collections.abc import Sequence
from dataclasses import replace

from rag.passage import Passage
from rag.retrieval.sentences import Pick, score_sentences
from rag.text.prompt_parts import count_tokens

PASSAGES = 4
PROMPT_TOKENS = 260
"""Tokens of all passages in a prompt; they hold nine in ten answers (docs/benchmarks/local-model.md)."""
EXCERPT_TOKENS = 75
"""Tokens of each passage that is read by itself; a short passage leaves its rest to the next."""


def best_excerpts(
    question: str, passages: Sequence[Passage], tokens: int = PROMPT_TOKENS
) -> list[Passage | None]:
    """Return an excerpt of each passage, or None, together about `tokens`.

    The sentence that answers best is taken first, then repeatedly the best one that is a passage's first or
    next to its excerpt so far.

    >>> lease = "The roof is new. The lease ends in May. It may be renewed. It rains."
    >>> passage = Passage("c", "d", "lease.md", "", None, "", 10, 10 + len(lease), lease)
    >>> [(found.text, found.start) for found in best_excerpts("When does the lease end?", [passage], 12)]
    [('The roof is new. The lease ends in May.', 10)]
    """
    shown = _growing_excerpts(question, passages)
    _grow(shown, tokens)
    return [one.excerpt() for one in shown]


def excerpts(question: str, passages: Sequence[Passage], tokens: int = EXCERPT_TOKENS) -> list[Passage]:
    """Return an excerpt of about `tokens` of each passage: the sentences around the one that answers best."""
    found, spare = [], 0
    for passage, one in zip(passages, _growing_excerpts(question, passages), strict=True):
        room = tokens + spare
        _grow([one], room)
        excerpt = one.excerpt() if count_tokens(passage.text) > room else None
        found.append(excerpt or passage)
        spare = max(0, room - count_tokens(found[-1].text))
    return found


def _growing_excerpts(question: str, passages: Sequence[Passage]) -> "list[_GrowingExcerpt]":
    units = score_sentences(question, passages)
    return [
        _GrowingExcerpt(p, [unit for unit in units if unit.number == n]) for n, p in enumerate(passages, 1)
    ]


def _grow(shown: "Sequence[_GrowingExcerpt]", tokens: int) -> None:
    """Add the best sentences while there is room; the first one is added however long it is."""
    left = tokens
    while candidates := [one for one in shown if one.next is not None]:
        best = max(candidates, key=lambda one: one.score)
        if best.cost > left and left < tokens:
            best.close()
            continue
        left -= best.cost
        best.take()
        if sum(one.begun for one in shown) == PASSAGES:
            for one in shown:
                if not one.begun:
                    one.close()


class _GrowingExcerpt:
    """Excerpt of neighbouring sentences, which grows by the better of its two neighbours."""

    def __init__(self, passage: Passage, units: Sequence[Pick]):
        self._passage = passage
        self._units = units
        self._run: range = range(0)
        self.next = max(range(len(units)), key=lambda at: (units[at].score, -at), default=None)

    @property
    def begun(self) -> bool:
        """True where the excerpt has a sentence."""
        return len(self._run) > 0

    @property
    def score(self) -> float:
        """The score of the next sentence."""
        return self._units[self._next].score

    @property
    def cost(self) -> int:
        """Tokens that the next sentence adds."""
        return count_tokens(self._text(self._grown())) - count_tokens(self._text(self._run))

    def take(self) -> None:
        """Add the next sentence."""
        self._run = self._grown()
        beside = [at for at in (self._run.stop, self._run.start - 1) if 0 <= at < len(self._units)]
        self.next = max(beside, key=lambda at: self._units[at].score, default=None)

    def close(self) -> None:
        """Stop growing."""
        self.next = None

    def excerpt(self) -> Passage | None:
        """Return the excerpt as a passage with its own place in the document; None where it is empty."""
        if not self.begun:
            return None
        start, end = self._span(self._run)
        at = self._passage.start
        return replace(self._passage, text=self._passage.text[start:end], start=at + start, end=at + end)

    @property
    def _next(self) -> int:
        assert self.next is not None  # noqa: S101 - callers check `next` first
        return self.next

    def _grown(self) -> range:
        run = self._run or range(self._next, self._next)
        return range(min(run.start, self._next), max(run.stop, self._next + 1))

    def _text(self, run: range) -> str:
        start, end = self._span(run)
        return self._passage.text[start:end]

    def _span(self, run: range) -> tuple[int, int]:
        return (self._units[run[0]].start, self._units[run[-1]].end) if run else (0, 0)
