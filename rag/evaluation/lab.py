"""The lab: question sets over the user's own documents, and background runs of retrievers over them."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.chat.pipeline import validated_question
from rag.chat.steps import read_plan
from rag.errors import QuestionRefused, SettingsError
from rag.evaluation import lab_run
from rag.evaluation.question_maker import MakingProgress, QuestionMaker, marked_passage
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
from storage.lab import RUN, QuestionSets, Runs
from storage.records import (
    DocumentRecord,
    MarkedPassage,
    Message,
    QuestionRecord,
    QuestionSetRecord,
    RunRecord,
    SearchedRecord,
)


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
    ) -> Job[lab_run.RunProgress]:
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

    def running(self, set_id: str) -> Job[lab_run.RunProgress] | None:
        """Return the running or waiting job over a set, None where there is none."""
        return self._jobs.get(self._library.owner, _key(set_id))  # type: ignore[return-value]

    def delete_set(self, set_id: str) -> None:
        """Delete a set with its questions and runs, stopping a running one."""
        job = self.running(set_id)
        if job is not None:
            job.cancel()
        stop_elsewhere(self._library.queue, self._name(set_id))
        self.sets.delete(set_id)

    def prepared(
        self, set_id: str, document_ids: Collection[str] | None = None
    ) -> list[lab_run.PreparedQuestion]:
        """Return a set's questions with their right chunks and status now: "asked", "gone" or "outside"."""
        return lab_run.prepare_questions(self._library.documents, self.sets.questions(set_id), document_ids)

    def _run(
        self, set_id: str, retrievers: Sequence[str], document_ids: Collection[str] | None, cancelled: Cancel
    ) -> Iterator[lab_run.RunProgress]:
        documents = self._library.documents
        chosen, prepared = self._chosen(document_ids), self.prepared(set_id, document_ids)
        run = self.runs.begin(
            set_id,
            retrievers=retrievers,
            k=FOUND,
            embedding=str((documents.index_state("vectors") or {}).get("model", "")),
            mixture=describe_weights(self._library.weighing.mixture),
            searched=searched_record(chosen, every=document_ids is None),
            asked=lab_run.asked_records(prepared),
        )
        ids = None if document_ids is None else [record.id for record in chosen]

        def opened(name: str, on_failure: lab_run.OnFailure) -> BaseRetriever:
            return self._library.retriever(name, FOUND, document_ids=ids, on_failure=on_failure)

        yield from lab_run.LabRunner(self.runs, run, prepared, documents, opened).run(cancelled)

    def _chosen(self, document_ids: Collection[str] | None) -> list[DocumentRecord]:
        there = lab_run.searchable(self._library.documents)
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
