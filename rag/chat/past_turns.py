"""Turns before a question: their answers, with the passages and citations stored with them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from rag.citations.support import Citation
from rag.passage import Passage

_MARKER = re.compile(r"(\s?)\[(\d{1,4})\]")


@dataclass(frozen=True)
class PastTurn:
    """Question with its answer, of which an early end kept some; marker n is the n-th of `passages`."""

    question: str
    answer: str
    passages: tuple[Passage, ...] = ()
    citations: tuple[Citation, ...] = ()

    @property
    def unmarked(self) -> str:
        """The answer without its markers, which mean nothing beside other passages."""
        return _MARKER.sub("", self.answer)

    def quotes(self, number: int | None = None) -> list[str]:
        """Return the words that the answer cites, of passage `number` or of all, each once."""
        cited = (c for c in self.citations if c.quote and number in (None, c.marker))
        return list(dict.fromkeys(" ".join(citation.quote.split()) for citation in cited))


def answered(turns: Sequence[PastTurn], count: int) -> list[PastTurn]:
    """Return the newest `count` turns whose answers have passages, oldest first; small talk has none."""
    return [turn for turn in turns if turn.answer.strip() and turn.passages][-count:]


def share_numbers(turns: Sequence[PastTurn]) -> list[PastTurn]:
    """Return turns whose markers count in one list of passages, which is that of the last of them.

    The last turn keeps its numbers; passages of earlier ones are numbered after them.

    >>> one, other = (Passage(id_, "d", "a.pdf", "", 1, "", 0, 3, id_) for id_ in ("one", "other"))
    >>> turns = [PastTurn("", "A [1]. B [2].", (one, other)), PastTurn("", "C [1].", (other,))]
    >>> first, last = share_numbers(turns)
    >>> first.answer, last.answer, [passage.id for passage in last.passages]
    ('A [2]. B [1].', 'C [1].', ['other', 'one'])
    """
    shared: dict[str, Passage] = {}
    for turn in reversed(turns):
        for passage in turn.passages:
            shared.setdefault(passage.id, passage)
    numbers = {id_: number for number, id_ in enumerate(shared, start=1)}
    passages = tuple(shared.values())
    if turns and len(numbers) == len(turns[-1].passages):
        passages = turns[-1].passages
    return [replace(_renumbered(turn, numbers), passages=passages) for turn in turns]


def _renumbered(turn: PastTurn, numbers: dict[str, int]) -> PastTurn:
    new = {at: numbers[passage.id] for at, passage in enumerate(turn.passages, start=1)}
    text = _MARKER.sub(lambda match: f"{match[1]}[{new.get(int(match[2]), match[2])}]", turn.answer)
    return replace(
        turn,
        answer=text,
        citations=tuple(replace(one, marker=new.get(one.marker, 0)) for one in turn.citations),
    )


Rework = Literal["shorter", "form", "compare", "recall"]
