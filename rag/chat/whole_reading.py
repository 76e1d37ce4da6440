"""Answers about whole documents with a language model, which reads as much of them as the question needs.

| scope | overview | list, count, mentions |
|---|---|---|
| its text fits into the prompt | the whole text | one batch |
| a summary tree is built | the tree's passages and summaries | |
| few requests, or all was asked for | all batches, then an answer from the notes | all batches |
| else | the most central passages | what code finds in all passages |

Where not all was read, reading all is offered with its cost.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.embeddings import Embeddings

from rag.chat.answer import Event, Prompt, Sources, generated, longest_answer, written
from rag.chat.coverage import Coverage, coverage_of
from rag.chat.map_reduce import (
    AROUND,
    ITEMS,
    MOST_REQUESTS,
    REQUESTS,
    BatchRead,
    BatchReader,
    NoteKind,
    ReadingPlan,
    batch_tokens,
    plan_reading,
    reduce_messages,
    share_passages,
    split_batches,
    spread,
)
from rag.chat.scope import NarrowedTo, SearchedIn
from rag.chat.whole_answer import WholeAnswer, answer_whole, list_items
from rag.chat.whole_question import WholeQuestion
from rag.citations.checker import Judge
from rag.ingest.document_facts import DocumentProfile
from rag.jobs import Cancel, never
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.degradation import Degraded
from rag.retrieval.items import find_items
from rag.retrieval.overview import central_sentences
from rag.text.prompt_parts import count_fitting, count_tokens, fenced

PURPOSE = "read"
"""Purpose of the requests that read a batch."""
WHOLE = 60  # passages of a text that is put into the prompt whole
CENTRAL = 40  # sentences whose passages stand for a scope that is not read whole
Reading = Event | Coverage | SearchedIn | NarrowedTo | Degraded | ReadingPlan | BatchRead
Outcome = Literal["answered", "unread", "nothing"]
"""Answered; to be searched instead; or all was read, and nothing asked for is named in it."""


@dataclass(frozen=True)
class Budget:
    """Requests that reading a scope may take: `free` begin without being asked for, `most` in all."""

    free: int = REQUESTS
    most: int = MOST_REQUESTS
    all: bool = False
    """True where the asker has asked to read all."""

    def allows(self, requests: int) -> bool:
        """Return True where so many requests may begin."""
        return requests <= (self.most if self.all else self.free)


BUDGET = Budget()


@dataclass(frozen=True)
class WholeReading:
    """Reading of all `passages` of some documents for one question.

    `reader` is the model that reads the batches. `write` answers from passages, `tree` finds those of a
    summary tree where one is built. `scope` are the events that say where is read. To read all is not offered
    where there are no more passages than a search gives, `searched`.
    """

    question: str
    asked: WholeQuestion
    passages: Sequence[Passage]
    documents: Mapping[str, DocumentProfile]
    llm: LanguageModel
    reader: LanguageModel
    write: Callable[[Sequence[Passage]], Iterator[Event]]
    tree: Callable[[str], Sequence[Passage]] | None = None
    budget: Budget = BUDGET
    embedder: Embeddings | None = None
    judge: Judge | None = None
    instructions: str = ""
    scope: Sequence[SearchedIn | NarrowedTo] = ()
    searched: int = 0
    cancelled: Cancel = never

    def events(self) -> Generator[Reading, None, Outcome]:
        """Yield the events of an answer; return what came of it. Raises LLMError and Cancelled."""
        if self.asked.kind == "overview":
            yield from self._overview()
            return "answered"
        return (yield from self._list())

    def _overview(self) -> Iterator[Reading]:
        batches = self._batches()
        if self._fits():
            yield from self._written(self.passages)
        elif self.tree is not None and not self.budget.all and (leaves := self.tree(self.question)):
            yield plan_reading(self.passages, batches, begun=False)
            yield from self._covered(_holding(leaves, self.passages))
            yield from self.write(leaves)
        elif self.budget.allows(len(batches) + 1):
            yield from self._from_notes(batches)
        else:
            yield plan_reading(self.passages, batches, begun=False)
            yield from self._written(self._central())

    def _list(self) -> Generator[Reading, None, Outcome]:
        batches = self._batches()
        counted = self.asked.counted and not find_items(self.asked.subject, self.passages)
        if self.budget.allows(len(batches)) and (self.budget.all or not counted):
            kind, locate = ITEMS[self.asked.kind]
            reader = yield from self._read(kind, batches)
            notes = [note for batch in reader.notes for note in batch]
            items = locate(notes, self.passages)
            total = len(self.documents) if self.asked.kind == "documents" else len(items)
            found = list_items(self.question, self.asked.kind, items, self.passages, total)
            read = [self.passages[at] for at in reader.read]
            if found is None:
                yield coverage_of(read, self.passages)
                return "nothing"
            yield from self._covered(read)
            yield from self._told(found, self.llm.settings.model)
            return "answered"
        if len(self.passages) > self.searched:
            yield plan_reading(self.passages, batches, begun=False)
        listed = answer_whole(self.question, self.asked, self.passages, self.documents)
        if listed is None:
            return "unread"
        yield from self._covered(self.passages)
        yield from self._told(listed, None)
        return "answered"

    def _batches(self) -> list[range]:
        return spread(split_batches(self.passages, batch_tokens(self.llm.settings)), self.budget.most)

    @property
    def _room(self) -> int:
        """Tokens that passages may have in one prompt, beside a quarter for the conversation."""
        context = self.llm.settings.context_tokens
        return context - longest_answer(self.llm) - context // 4 - AROUND - count_tokens(self.instructions)

    def _fits(self) -> bool:
        return len(self.passages) <= WHOLE and sum(map(_size, self.passages)) <= self._room

    def _central(self) -> list[Passage]:
        """Return the passages of the most central sentences, in order, as many as a prompt has room for."""
        numbers = dict.fromkeys(pick.number for pick in central_sentences(self.passages, CENTRAL))
        central = [self.passages[number - 1] for number in numbers] or list(self.passages)
        most = count_fitting(map(fenced, range(len(central)), central), self._room, between=2)
        return sorted(central[:most], key=self.passages.index)

    def _read(self, kind: NoteKind, batches: Sequence[range]) -> Generator[Reading, None, BatchReader]:
        yield plan_reading(self.passages, batches, begun=True)
        reader = BatchReader(self.reader, kind, self.question, self.cancelled)
        yield from reader.run(self.passages, batches)
        if reader.failure is not None:
            yield Degraded("passages", str(reader.failure))
        return reader

    def _from_notes(self, batches: Sequence[range]) -> Iterator[Reading]:
        reader = yield from self._read("points", batches)
        yield from self._covered([self.passages[at] for at in reader.read])
        context = self.llm.settings.context_tokens
        room = context - longest_answer(self.llm) - AROUND - count_tokens(self.question + self.instructions)
        notes, order = share_passages(reader.fitting(room))
        if not notes:
            yield from self.write(self._central())
            return
        given = tuple(self.passages[number - 1] for number in order)
        prompt = Prompt(given, reduce_messages(self.question, notes, self.instructions))
        yield from generated(prompt, self.llm, self.embedder, self.judge, "", self.cancelled)

    def _written(self, passages: Sequence[Passage]) -> Iterator[Reading]:
        yield from self._covered(passages)
        yield from self.write(passages)

    def _covered(self, read: Sequence[Passage]) -> Iterator[Reading]:
        yield from self.scope
        yield coverage_of(read, self.passages)

    def _told(self, found: WholeAnswer, model: str | None) -> Iterator[Event]:
        yield Sources(found.passages)
        yield from written(found.parts, self.cancelled, model)


def _size(passage: Passage) -> int:
    return count_tokens(fenced(100, passage)) + 2


def _holding(leaves: Sequence[Passage], passages: Sequence[Passage]) -> list[Passage]:
    """Return the passages that some leaf of a summary tree lies in."""
    of: dict[str, list[Passage]] = {}
    for leaf in leaves:
        of.setdefault(leaf.document_id, []).append(leaf)
    return [
        one
        for one in passages
        if any(leaf.start < one.end and one.start < leaf.end for leaf in of.get(one.document_id, ()))
    ]
