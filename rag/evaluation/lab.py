"""The lab: question sets over the user's own documents, and background runs of retrievers over them.

A run finds the gold passages of the questions, and asks the retrievers side by side.
"""

import hashlib
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.chat.pipeline import validated_question
from rag.chat.steps import read_plan
from rag.errors import Cancelled, FootnoteError, QuestionRefused, SettingsError
from rag.evaluation.datasets import QuestionSet
from rag.evaluation.question_maker import MakingProgress, QuestionMaker, marked_passage
from rag.evaluation.runs import QuestionResult, ask_all, summarize_results
from rag.i18n import N_
from rag.ingest.leased import JobName, exclusive, stop_elsewhere
from rag.ingest.library import Library
from rag.jobs import Cancel, Job, Jobs
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.registry import NAMES
from rag.retrieval.weights import describe_weights
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import SEARCHABLE, Documents
from storage.errors import NotFound
from storage.lab import RUN, QuestionSets, Runs
from storage.records import (
    AskedRecord,
    AskedStatus,
    ChunkRecord,
    DocumentRecord,
    FindingRecord,
    FoundRecord,
    MarkedPassage,
    Message,
    QuestionRecord,
    QuestionSetRecord,
    ResultRecord,
    RunRecord,
    RunState,
    SearchedRecord,
)

HALF = 0.5  # the share of a chunk or of a marked passage that makes the chunk a right one


class GoldPassages(NamedTuple):
    """The chunks of a document that hold a marked passage, in their order."""

    document_id: str
    chunk_ids: tuple[str, ...]


@dataclass(frozen=True)
class PreparedQuestion:
    """A question as it can be asked now.

    `targets` maps each right chunk to its gold passage, named by the first chunk of it: a passage on the
    border of two chunks counts once, whichever of them is found. Empty unless the status is "asked".
    """

    question: QuestionRecord
    status: AskedStatus
    targets: Mapping[str, str]

    @property
    def judgements(self) -> dict[str, float]:
        """Return the right passages with equal grades, as metrics take them."""
        return dict.fromkeys(self.targets.values(), 1.0)


def searchable(documents: Documents) -> list[DocumentRecord]:
    """Return the documents that can be searched, without those that are to replace another."""
    return [each for each in documents.list() if each.replaces is None and each.state in SEARCHABLE]


def prepare_questions(
    documents: Documents, questions: Sequence[QuestionRecord], document_ids: Collection[str] | None = None
) -> list[PreparedQuestion]:
    """Return the questions with the chunks that answer them among the chosen documents, or among all.

    A question is "gone" when none of its passages is in any document, "outside" when none is in a
    chosen one; of several passages, the existing ones count.
    """
    located = locate_passages(documents, (passage for question in questions for passage in question.passages))
    return [_prepared(question, located, document_ids) for question in questions]


def locate_passages(
    documents: Documents, passages: Iterable[MarkedPassage]
) -> dict[MarkedPassage, GoldPassages]:
    """Return the present chunks of marked passages; passages that no longer exist are absent.

    The document is the one with the same contents, or else of the same name, which has replaced it.
    """
    there = searchable(documents)
    by_content = {record.sha256: record for record in there}
    by_name = {record.name: record for record in there}
    wanted: dict[str, list[MarkedPassage]] = {}
    for passage in dict.fromkeys(passages):
        record = by_content.get(passage.sha256) or by_name.get(passage.document)
        if record is not None:
            wanted.setdefault(record.id, []).append(passage)
    found: dict[MarkedPassage, GoldPassages] = {}
    for document_id, marked in wanted.items():
        text, chunks = documents.text(document_id), documents.chunks(document_id)
        for passage in marked:
            span = find_quote(text, passage)
            if span is not None and (ids := overlapping_chunks(chunks, *span)):
                found[passage] = GoldPassages(document_id, ids)
    return found


def find_quote(text: str, passage: MarkedPassage) -> tuple[int, int] | None:
    """Return the span of a quote in a text, at its old place or else the nearest; white space may differ."""
    if text[passage.start : passage.end] == passage.quote:
        return passage.start, passage.end
    words = passage.quote.split()
    if not words:
        return None
    found = [match.span() for match in re.finditer(r"\s+".join(map(re.escape, words)), text)]
    return min(found, key=lambda span: abs(span[0] - passage.start), default=None)


def overlapping_chunks(chunks: Sequence[ChunkRecord], start: int, end: int) -> tuple[str, ...]:
    """Return the chunks that hold at least half of [start, end), or half of which lie in it."""
    shares = {chunk.id: _share(chunk, start, end) for chunk in chunks}
    enough = min(HALF, max(shares.values(), default=0.0))
    return tuple(id_ for id_, share in shares.items() if share and share >= enough)


def _share(chunk: ChunkRecord, start: int, end: int) -> float:
    common = min(chunk.end, end) - max(chunk.start, start)
    return max(0.0, common / max(1, min(chunk.end - chunk.start, end - start)))


def _prepared(
    question: QuestionRecord,
    located: Mapping[MarkedPassage, GoldPassages],
    document_ids: Collection[str] | None,
) -> PreparedQuestion:
    there = [located[passage] for passage in question.passages if passage in located]
    chosen = [found for found in there if document_ids is None or found.document_id in document_ids]
    status: AskedStatus = "asked" if chosen else "outside" if there else "gone"
    return PreparedQuestion(question, status, _targets([found.chunk_ids for found in chosen]))


def _targets(passages: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """Return each chunk's passage; passages that share a chunk are one: ``[a b] [b c] -> all are a``."""
    targets: dict[str, str] = {}
    for ids in passages:
        known = {targets[id_] for id_ in ids if id_ in targets}
        name = min([*known, ids[0]])
        targets = {id_: name if of in known else of for id_, of in targets.items()}
        targets |= dict.fromkeys(ids, name)
    return targets


KEEP_SECONDS = 0.5  # a killed server loses at most this much of a run
UNEXPECTED = "Something unexpected went wrong; the server's log tells what. Run it again."
OnFailure = Callable[[str, Exception], None]
Open = Callable[[str, OnFailure], BaseRetriever]  # a name, and a callback for the parts left out


@dataclass(frozen=True)
class RunProgress:
    """Progress of a run: `done` of `total` searches, and the results so far, none before the first search."""

    done: int
    total: int
    rows: tuple[ResultRecord, ...]


@dataclass
class _Contender:
    """A retriever in the run, its results so far, and the parts of it that the last search left out."""

    retriever: BaseRetriever
    answers: Iterator[QuestionResult]
    gaps: list[str]
    answered: list[QuestionResult] = field(default_factory=list)


@dataclass
class LabRunner:
    """Runner that asks every retriever every question, question by question, and stores the findings.

    So a stopped run has asked all the same questions. The first retriever changes with every question.
    """

    runs: Runs
    record: RunRecord
    prepared: Sequence[PreparedQuestion]
    documents: Documents
    open_retriever: Open
    _contenders: dict[str, _Contender] = field(default_factory=dict)
    _unsaved: list[FindingRecord] = field(default_factory=list)
    _finished: bool = False

    def __post_init__(self) -> None:
        self._asked = {
            str(number): one for number, one in enumerate(self.prepared, 1) if one.status == "asked"
        }
        self._questions = QuestionSet(
            name=self.record.set_id,
            corpus=(),
            questions={id_: one.question.text for id_, one in self._asked.items()},
            judgements={id_: one.judgements for id_, one in self._asked.items()},
        )

    def run(self, cancelled: Cancel) -> Iterator[RunProgress]:
        """Run to the end and yield progress; the run ends as complete, stopped or failed."""
        try:
            yield from self._ask(cancelled)
            self._finish("complete")
        except Cancelled:
            self._finish("stopped")
        except NotFound:  # the set was deleted while its questions were asked
            self._finished = True
        except FootnoteError as error:
            self._finish("failed", str(error))
            raise
        except Exception:
            self._finish("failed", UNEXPECTED)
            raise
        finally:
            self._finish("stopped")

    def _ask(self, cancelled: Cancel) -> Iterator[RunProgress]:
        yield self._progress(())
        if not self._asked:
            raise QuestionRefused(
                N_(
                    "None of the questions can be asked: their right passages are not in the chosen "
                    "documents."
                )
            )
        self._contenders = {name: self._contender(name, cancelled) for name in self.record.retrievers}
        self._warm_up(cancelled)
        saved = time.monotonic()
        for number in range(len(self._asked)):
            first = number % len(self._contenders)
            names = [*self._contenders][first:] + [*self._contenders][:first]
            answers = [(self._contenders[name], next(self._contenders[name].answers)) for name in names]
            for contender, answer in answers:
                self._take(contender, answer)
            if time.monotonic() - saved >= KEEP_SECONDS:
                yield self._progress(self._save())
                saved = time.monotonic()
        yield self._progress(self._save())

    def _contender(self, name: str, cancelled: Cancel) -> _Contender:
        gaps: list[str] = []
        retriever = self.open_retriever(name, lambda what, error: gaps.append(f"Without {what}: {error}"))
        return _Contender(retriever, ask_all(self._questions, {name: retriever}, cancelled), gaps)

    def _warm_up(self, cancelled: Cancel) -> None:
        first = replace(self._questions, questions=dict(islice(self._questions.questions.items(), 1)))
        for name, contender in self._contenders.items():
            for _ in ask_all(first, {name: contender.retriever}, cancelled):
                contender.gaps.clear()

    def _take(self, contender: _Contender, answer: QuestionResult) -> None:
        """Add one result; chunks of the same gold passage count as that passage."""
        gaps, targets = " ".join(contender.gaps), self._asked[answer.question_id].targets
        contender.gaps.clear()
        answer = replace(answer, error=answer.error or gaps or None)
        self._unsaved.append(self._finding(answer, targets))
        contender.answered.append(replace(answer, found=tuple(targets.get(id_, id_) for id_ in answer.found)))

    def _finding(self, answer: QuestionResult, targets: Mapping[str, str]) -> FindingRecord:
        chunks = self.documents.chunks_by_id(answer.found)
        found = tuple(
            FoundRecord(id_, rank, _describe_place(chunks.get(id_)), id_ in targets)
            for rank, id_ in enumerate(answer.found, start=1)
        )
        return FindingRecord(
            position=int(answer.question_id),
            retriever=answer.retriever,
            found=found,
            first_right=next((one.rank for one in found if one.right), None),
            ms=round(answer.ms, 2),
            error=answer.error,
        )

    def _save(self) -> tuple[ResultRecord, ...]:
        rows = []
        for name, contender in self._contenders.items():
            if contender.answered:
                ids = {answer.question_id for answer in contender.answered}
                asked = {id_: text for id_, text in self._questions.questions.items() if id_ in ids}
                so_far = replace(self._questions, questions=asked)
                rows.append(summarize_results(so_far, name, contender.answered))
        self.runs.keep(self.record.id, rows, self._unsaved)
        self._unsaved = []
        return tuple(rows)

    def _progress(self, rows: tuple[ResultRecord, ...]) -> RunProgress:
        done = sum(len(contender.answered) for contender in self._contenders.values())
        return RunProgress(done, len(self._asked) * len(self.record.retrievers), rows)

    def _finish(self, state: RunState, error: str | None = None) -> None:
        if self._finished:
            return
        self._finished = True
        with suppress(NotFound):  # deleted with its set
            if self._unsaved:
                self._save()
            self.runs.finish(self.record.id, state, error)


def asked_records(prepared: Sequence[PreparedQuestion]) -> list[AskedRecord]:
    """Return the questions as a run stores them, numbered from 1."""
    return [
        AskedRecord(number, one.question.id, one.question.text, one.status, tuple(one.targets))
        for number, one in enumerate(prepared, start=1)
    ]


def _describe_place(chunk: ChunkRecord | None) -> str:
    """Return a chunk's place in words: ``"report.pdf, page 3"``, ``"guide.md, Guide > Install"``."""
    if chunk is None:
        return ""
    place = f"page {chunk.page}" if chunk.page is not None else chunk.heading
    return f"{chunk.document}, {place}" if place else chunk.document


def searched_record(records: Sequence[DocumentRecord], *, every: bool) -> SearchedRecord:
    """Return the record of the documents that a run searches."""
    contents = "\n".join(sorted(record.sha256 for record in records))
    return SearchedRecord(
        every=every,
        count=len(records),
        names=tuple(sorted(record.name for record in records)),
        fingerprint=hashlib.sha256(contents.encode()).hexdigest()[:16],
        chunks=sum(record.chunks for record in records),
    )


def differences(newer: RunRecord, older: RunRecord) -> list[str]:
    """Return the differences of two runs over a set: ``["10 questions in place of 8"]``."""
    found: list[str] = [
        N_(message, new=new, old=old)
        for message, new, old in (
            (N_("{new} questions in place of {old}"), newer.asked, older.asked),
            (N_("{new} passages a search in place of {old}"), newer.k, older.k),
            (N_("{new} documents in place of {old}"), newer.searched.count, older.searched.count),
            (N_("{new} chunks in place of {old}"), newer.searched.chunks, older.searched.chunks),
        )
        if new != old
    ]
    same_size = newer.searched.count == older.searched.count
    if same_size and newer.searched.fingerprint != older.searched.fingerprint:
        found.append(N_("other documents, or other contents"))
    if newer.embedding != older.embedding:
        message = N_("embedding model {new} in place of {old}")
        found.append(N_(message, new=newer.embedding or "unknown", old=older.embedding or "unknown"))
    if newer.mixture != older.mixture:
        message = N_("mixture {new} in place of {old}")
        found.append(N_(message, new=newer.mixture or "unknown", old=older.mixture or "unknown"))
    return found


LAB = "lab"
LANES = {LAB: 1}  # one job at a time, so that runs do not distort each other's latencies
FOUND = 10  # passages of a search: the metrics look at the first ten
MOST_QUESTIONS = 500  # of a set
MOST_PASSAGES = 20  # of a question
MOST_MADE = 200  # questions made at once
MAKING = "lab-making"


class Lab:
    """The question sets and runs of the owner of `library`; `sets` and `runs` are their stores.

    `jobs` must have the lanes in LANES. `llm` gives the connected model, or None.
    """

    def __init__(
        self, database: Database, library: Library, jobs: Jobs, llm: Callable[[], LanguageModel | None]
    ):
        self.sets = QuestionSets(database, library.owner)
        self.runs = Runs(database, library.owner)
        self._conversations = Conversations(database, library.owner)
        self._library = library
        self._jobs = jobs
        self._llm = llm

    def candidates(self, question: str) -> list[Passage]:
        """Return passages to mark the right ones among: of BM25 and vectors, equally weighted."""
        retriever = self._library.retriever("ensemble-rrf", FOUND)
        return [Passage.from_document(found) for found in retriever.invoke(validated_question(question))]

    def add_typed(self, set_id: str, question: str, chunk_ids: Sequence[str]) -> QuestionRecord:
        """Add a typed question with the chunks that were marked as answering it; raises QuestionRefused."""
        text = validated_question(question)
        chunks = self._library.documents.chunks_by_id(chunk_ids[:MOST_PASSAGES])
        if not chunks:
            raise QuestionRefused(
                N_("No passage is marked as the right one. Mark at least one that answers it.")
            )
        if self.sets.get(set_id).questions >= MOST_QUESTIONS:
            raise QuestionRefused(
                N_(
                    "A question set holds {most_questions} questions at most. Begin another.",
                    most_questions=MOST_QUESTIONS,
                )
            )
        return self.sets.add(set_id, text, [marked_passage(chunk) for chunk in chunks.values()])

    def from_feedback(self, name: str) -> tuple[QuestionSetRecord, int]:
        """Make a set of the answers rated up: the standalone question of each, and its verified quotes.

        Return it, and the number of answers without any. A question asked twice is added once, with its
        newest answer. Raises QuestionRefused.
        """
        questions: dict[str, list[MarkedPassage]] = {}
        skipped = 0
        for answer in self._conversations.rated("up", limit=MOST_QUESTIONS):
            passages = _cited_passages(answer)
            skipped += not passages
            if passages:
                question_id = answer.question_id or ""
                asked, _ = read_plan(answer.standalone_question or "")
                text = asked or self._conversations.message(question_id).content
                questions.setdefault(text, passages)
        if not questions:
            raise QuestionRefused(
                N_(
                    "No answer with a verified citation is rated as good yet. Rate answers in the chat, then "
                    "collect them here."
                )
            )
        record = self.sets.create(name, "feedback")
        self.sets.extend(record.id, list(questions.items()))
        return self.sets.get(record.id), skipped

    def start_making(
        self,
        name: str,
        *,
        document_ids: Collection[str] | None = None,
        count: int = 20,
        use_model: bool = False,
        seed: str = "",
    ) -> Job[MakingProgress]:
        """Generate a set of `count` questions in a job: by the connected model, or from sentences.

        A job that runs already is returned. Raises QuestionRefused, and SettingsError without a model.
        """
        if not 1 <= count <= MOST_MADE:
            raise QuestionRefused(
                N_(
                    "{number} questions cannot be made at once: choose 1 to {most_made}.",
                    number=count,
                    most_made=MOST_MADE,
                )
            )
        llm = self._llm() if use_model else None
        if use_model and llm is None:
            raise SettingsError(
                N_("No language model is connected. Connect one, or make questions from sentences.")
            )
        documents, chosen = self._library.documents, self._chosen(document_ids)
        maker = QuestionMaker(documents, self._search, self.sets, chosen, name, count, llm, seed)
        return self._jobs.start(self._library.owner, MAKING, maker.run, lane=LAB)

    def _search(self, text: str) -> list[Document]:
        return self._library.retriever("bm25", 5).invoke(text)

    def making(self) -> Job[MakingProgress] | None:
        """Return the running or waiting job that generates questions, None where there is none."""
        return self._jobs.get(self._library.owner, MAKING)  # type: ignore[return-value]

    def start_run(
        self, set_id: str, retrievers: Sequence[str], *, document_ids: Collection[str] | None = None
    ) -> Job[RunProgress]:
        """Ask retrievers the questions of a set over the chosen documents, or all, in a job: a `LabRunner`.

        A run over the set that runs already is returned. Raises SettingsError, QuestionRefused, NotFound.
        """
        names = tuple(dict.fromkeys(retrievers))
        unknown = [
            N_("There is no retriever {name}.", name=repr(name)) for name in names if name not in NAMES
        ]
        if unknown or not names:
            said = [*unknown, N_("No retriever is chosen.")][0]
            raise SettingsError(N_("{said} Choose among: {names}.", said=said, names=", ".join(NAMES)))
        if not self.sets.get(set_id).questions:
            raise QuestionRefused(N_("This question set has no questions yet. Add some first."))
        self._chosen(document_ids)
        work = partial(self._run, set_id, names, document_ids)
        mine = partial(exclusive, self._library.queue, self._name(set_id), work, waits=False)
        return self._jobs.start(self._library.owner, _key(set_id), mine, lane=LAB)

    def _name(self, set_id: str) -> JobName:
        return JobName(self._library.owner, RUN, set_id)

    def running(self, set_id: str) -> Job[RunProgress] | None:
        """Return the running or waiting job over a set, None where there is none."""
        return self._jobs.get(self._library.owner, _key(set_id))  # type: ignore[return-value]

    def delete_set(self, set_id: str) -> None:
        """Delete a set with its questions and runs, stopping a running one."""
        job = self.running(set_id)
        if job is not None:
            job.cancel()
        stop_elsewhere(self._library.queue, self._name(set_id))
        self.sets.delete(set_id)

    def prepared(self, set_id: str, document_ids: Collection[str] | None = None) -> list[PreparedQuestion]:
        """Return a set's questions with their right chunks and status now: "asked", "gone" or "outside"."""
        return prepare_questions(self._library.documents, self.sets.questions(set_id), document_ids)

    def _run(
        self, set_id: str, retrievers: Sequence[str], document_ids: Collection[str] | None, cancelled: Cancel
    ) -> Iterator[RunProgress]:
        documents = self._library.documents
        chosen, prepared = self._chosen(document_ids), self.prepared(set_id, document_ids)
        run = self.runs.begin(
            set_id,
            retrievers=retrievers,
            k=FOUND,
            embedding=str((documents.index_state("vectors") or {}).get("model", "")),
            mixture=describe_weights(self._library.weighing.mixture),
            searched=searched_record(chosen, every=document_ids is None),
            asked=asked_records(prepared),
        )
        ids = None if document_ids is None else [record.id for record in chosen]

        def opened(name: str, on_failure: OnFailure) -> BaseRetriever:
            return self._library.retriever(name, FOUND, document_ids=ids, on_failure=on_failure)

        yield from LabRunner(self.runs, run, prepared, documents, opened).run(cancelled)

    def _chosen(self, document_ids: Collection[str] | None) -> list[DocumentRecord]:
        there = searchable(self._library.documents)
        chosen = [record for record in there if document_ids is None or record.id in document_ids]
        if not chosen:
            raise QuestionRefused(
                N_("None of the chosen documents can be searched. Choose others, or add some.")
            )
        return chosen


def _cited_passages(answer: Message) -> list[MarkedPassage]:
    """Return the verified quotes of an answer, each once, without those marked as a wrong source."""
    passages = {passage.number: passage for passage in answer.passages}
    found = [
        MarkedPassage(
            document_id=passage.document_id,
            document=passage.document,
            sha256=passage.sha256,
            chunk_id=passage.chunk_id,
            start=citation.quote_start,
            end=citation.quote_end,
            quote=citation.quote,
        )
        for citation in answer.citations
        if citation.status == "verified" and citation.feedback is None and citation.quote.strip()
        if (passage := passages.get(citation.marker)) is not None
    ]
    return list(dict.fromkeys(found))[:MOST_PASSAGES]


def _key(set_id: str) -> str:
    return f"{RUN}:{set_id}"
