"""Question sets made from documents: which passages are asked about, and the making, stored as it goes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count as counting
from itertools import islice

from rag.errors import Cancelled, LLMError, QuestionRefused
from rag.evaluation.questions import draw, from_model, from_passage
from rag.index.chunks import to_document
from rag.ingest.library import Library
from rag.jobs import Cancel
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.clip import width
from storage.lab import QuestionSets
from storage.lab_records import MarkedPassage
from storage.records import ChunkRecord, DocumentRecord

SHORTEST_CHUNK = 120  # width in Latin letters: a shorter chunk says too little to ask about
TRIES = 10  # passages looked at for one question from a sentence
MODEL_TRIES = 3  # passages a model is asked about for one question
FAILURES = 3  # failed answers of a model's server in a row, after which it is left alone

Made = tuple[str, MarkedPassage]


@dataclass(frozen=True)
class MakingProgress:
    """How far the making of a set is: `done` of `total` questions; `skipped` passages gave none.

    `set_id` is None until there is a first question; `latest` is the last one made.
    """

    set_id: str | None
    done: int
    total: int
    skipped: int
    latest: str = ""


@dataclass
class Maker:
    """Makes a set of `count` questions about `records`, the same ones each time for one `seed`.

    With `llm` its questions, else from sentences; see rag/evaluation/questions.py. Passages are drawn from all the
    documents in turn.
    """

    library: Library
    sets: QuestionSets
    records: Sequence[DocumentRecord]
    name: str
    count: int
    llm: LanguageModel | None = None
    seed: str = ""
    _set_id: str | None = None
    _skipped: int = 0
    _failures: int = 0
    _texts: set[str] = field(default_factory=set)

    def run(self, cancelled: Cancel) -> Iterator[MakingProgress]:
        """Make the set and yield progress; what was made before a stop or a failure is kept.

        Raises LLMError when the model's server fails again and again, QuestionRefused when no passage
        gave a question.
        """
        yield self._progress()
        tries = (TRIES if self.llm is None else MODEL_TRIES) * self.count
        for chunk in islice(chosen(self.library, self.records, self.seed), tries):
            if cancelled():
                raise Cancelled("The making of questions was stopped.")
            made = self._make(chunk, cancelled)
            if made is None:
                self._skipped += 1
            else:
                self._keep(*made)
            yield self._progress(made[0] if made else "")
            if len(self._texts) == self.count:
                return
        if not self._texts:
            raise QuestionRefused(
                "No question could be made from these documents: they have too few sentences that stand by "
                "themselves. Choose other documents, or type questions."
            )

    def _make(self, chunk: ChunkRecord, cancelled: Cancel) -> Made | None:
        made = (
            self._from_sentence(chunk) if self.llm is None else self._from_model(chunk, self.llm, cancelled)
        )
        return made if made and made[0].casefold() not in self._texts else None

    def _from_sentence(self, chunk: ChunkRecord) -> Made | None:
        found = from_passage(chunk.text, self.seed)
        if found is None or not _stands_once(self.library, chunk.text[found[0] : found[1]]):
            return None
        start, end, question = found
        return question, marked(chunk, start, end)

    def _from_model(self, chunk: ChunkRecord, llm: LanguageModel, cancelled: Cancel) -> Made | None:
        try:
            question = from_model(Passage.from_document(to_document(chunk)), llm, cancelled)
        except LLMError:
            self._failures += 1
            if self._failures == FAILURES:
                raise
            return None
        self._failures = 0
        return (question, marked(chunk)) if question else None

    def _keep(self, question: str, passage: MarkedPassage) -> None:
        if self._set_id is None:
            self._set_id = self.sets.create(self.name, "sentences" if self.llm is None else "made").id
        self.sets.add(self._set_id, question, [passage])
        self._texts.add(question.casefold())

    def _progress(self, latest: str = "") -> MakingProgress:
        return MakingProgress(self._set_id, len(self._texts), self.count, self._skipped, latest)


def marked(chunk: ChunkRecord, start: int = 0, end: int | None = None) -> MarkedPassage:
    """Freeze ``chunk.text[start:end]``, or the whole chunk, as a right passage."""
    quote = chunk.text[start:end]
    return MarkedPassage(
        document_id=chunk.document_id,
        document=chunk.document,
        sha256=chunk.sha256,
        chunk_id=chunk.id,
        start=chunk.start + start,
        end=chunk.start + start + len(quote),
        quote=quote,
    )


def chosen(library: Library, records: Sequence[DocumentRecord], seed: str) -> Iterator[ChunkRecord]:
    """Yield chunks worth asking about, one of each document in turn, each drawn by `seed`."""
    documents = library.documents
    ordered = sorted(records, key=lambda record: draw(seed, record.sha256))
    waiting: dict[str, Iterator[str]] = {}
    for turn in counting():
        empty = 0
        for record in ordered:
            if turn == 0:
                waiting[record.id] = iter(_worth_asking(documents.chunks(record.id), seed))
            id_ = next(waiting[record.id], None)
            found = {} if id_ is None else documents.chunks_by_id([id_])
            yield from found.values()
            empty += id_ is None
        if empty == len(ordered):
            return


def _worth_asking(chunks: Sequence[ChunkRecord], seed: str) -> list[str]:
    """Return the ids of chunks of prose that are long enough, in the order drawn."""
    worth = [chunk for chunk in chunks if width(chunk.text) >= SHORTEST_CHUNK and not _table(chunk.text)]
    return [chunk.id for chunk in sorted(worth, key=lambda chunk: draw(seed, (chunk.sha256, chunk.position)))]


def _table(text: str) -> bool:
    """Return whether most lines of a text are rows of a table."""
    lines = [line for line in text.splitlines() if line.strip()]
    return sum(line.lstrip().startswith("|") for line in lines) * 2 > len(lines)


def _stands_once(library: Library, sentence: str) -> bool:
    """Return whether a sentence stands at one place of the library only: no footer, no copied paragraph."""
    places = set()
    for found in library.retriever("bm25", 5).invoke(sentence):
        at = found.page_content.find(sentence)
        if at >= 0:
            places.add((found.metadata["document_id"], found.metadata["start"] + at))
    return len(places) <= 1
