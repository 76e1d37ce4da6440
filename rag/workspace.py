"""Workspace: one owner's documents, conversations and sources, and the jobs that work on them."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from secrets import token_hex
from typing import Any, get_args

from rag.chat.answer import Done, Sources
from rag.chat.check_text import CHECK, CheckedText, CheckProgress, TextCheck
from rag.chat.conversation import Conversation, newest, turns_of
from rag.chat.export import FORMS, FormName, export
from rag.chat.introduction import INTRODUCE, Introduction, introduce
from rag.chat.pipeline import RagPipeline, validated_question
from rag.chat.scope import EVERYTHING, Scope, scope_among, scope_of, scope_of_attached
from rag.citations.reader import Checked, ReaderRecord
from rag.connectors.base import Source
from rag.connectors.registry import open_source
from rag.connectors.ssrf import parse_url
from rag.connectors.sync import Syncing
from rag.errors import Cancelled, QuestionRefused
from rag.evaluation.lab import Lab
from rag.factory import (
    Current,
    make_cell_reader,
    make_figure_model,
    make_library,
    make_means,
    make_pipeline,
    make_text_checker,
    reading_seconds,
)
from rag.grid.ask import GridAnswer
from rag.grid.columns import Column
from rag.grid.export import GridExport, GridForm, export_grid
from rag.grid.extraction import CellReader
from rag.grid.grids import DocumentRow, Grids
from rag.grid.plan import ask_planned
from rag.grid.run import GRID, GridRuns
from rag.i18n import N_
from rag.ingest.figure_descriptions import FigureDescriber
from rag.ingest.queue import Ingest, Reindexing
from rag.jobs import ANSWERS, Cancel, Job, Jobs, kind_of
from rag.models.embeddings import SharedEmbedders
from rag.models.protocol import LanguageModel, ObservedModel, Sent
from rag.passage import Passage
from rag.quota import Limits, Quota
from rag.settings import RetrieverName, Settings
from rag.undo import Deletions
from storage.accounts import Account
from storage.answers import Feedback, Standings, Trace, Traces
from storage.audit_log import AuditLog
from storage.choices import Choices
from storage.collections import Tags
from storage.conversations import Conversations
from storage.database import Database
from storage.errors import AnswerPending, FootnoteError, LeaseLost, NotFound, StorageError
from storage.events import Detail, Kind, WebhookEvent
from storage.figures import VisionModels
from storage.keys import ApiKeys
from storage.records import AttachedRecord, DocumentRecord, Outcome, TurnRecord
from storage.webhooks import WebhookRecord, Webhooks

log = logging.getLogger(__name__)

OtherModel = Callable[[str], tuple[Settings, LanguageModel | None]]

MOST_NAMED = 3  # attached files given by name in a refusal
READING_PATIENCE = 60.0  # seconds that a question waits for files sent along with it
MOST_INTRODUCED = 100  # documents whose introduction is kept
EVERY = 1_000_000  # messages of a conversation
CHECKS = "reading"  # kind of the jobs that have a model read for an answer's open statements
SETTLING = 0.3  # seconds, far longer than from a turn's commit to the start of its job


CHOSEN_SEARCH, CHOSEN_MODEL = "chosen_search", "chosen_model"  # their keys among the stored settings


@dataclass(frozen=True)
class AnswerWith:
    """Search mode and language model that were chosen for one answer; without, those of the settings.

    `read_all` is the consent to read whole documents, which each answer needs anew.
    """

    retriever: RetrieverName | None = None
    model: str | None = None
    read_all: bool = False

    @classmethod
    def of(cls, trace: Trace | None) -> "AnswerWith":
        """Return what an earlier answer was made with, by its stored settings."""
        kept = {} if trace is None else trace.settings
        name = kept.get(CHOSEN_SEARCH)
        return cls(name if name in get_args(RetrieverName) else None, kept.get(CHOSEN_MODEL))

    @property
    def notes(self) -> dict[str, str]:
        """Settings that are stored with the answer, for its retries."""
        chosen = {CHOSEN_SEARCH: self.retriever, CHOSEN_MODEL: self.model}
        return {name: value for name, value in chosen.items() if value}


USUAL = AnswerWith()


class Workspace:
    """Library, conversations and lab of one owner, over the server's database, jobs and current settings."""

    def __init__(
        self,
        database: Database,
        owner: str,
        jobs: Jobs,
        current: Current,
        opened: SharedEmbedders | None = None,
        other_model: OtherModel | None = None,
    ):
        """Open nothing heavy yet; `opened` shares the embedding models of the process.

        `other_model` returns settings and client of another model, by its name.
        """
        self.owner = owner
        self.conversations, self.choices = Conversations(database, owner), Choices(database, owner)
        self.traces, self.feedback = Traces(database, owner), Feedback(database, owner)
        self.keys, self.webhooks = ApiKeys(database, owner), Webhooks(database, owner)
        self.standings, self.audit_log = Standings(database, owner), AuditLog(database, owner)
        self.tags, self.deletions = Tags(database, owner), Deletions()
        self.text_check: TextCheck | None = None
        """The check of a text that the page shows, also after a reload; nothing of it is stored."""
        self._introductions: dict[str, Job[Introduction]] = {}  # by document, oldest first
        self._introducing = threading.Lock()
        self.allowance = Quota(Account(database, owner), lambda: Limits.of(current()[0]))
        current = self._metered(current)
        self.library = make_library(
            database, owner, current, opened=opened or SharedEmbedders(), quota=self.allowance
        )
        self.describer = FigureDescriber(
            self.library, VisionModels(database), lambda: make_figure_model(*current())
        )
        self.ingest = Ingest(self.library, jobs, trees=self.builds_trees, describer=self.describer)
        self.reindexing = Reindexing(self.library, self.ingest, jobs)
        self.syncing = Syncing(
            database,
            self.library,
            self.ingest,
            jobs,
            lambda record: self.source(record.kind, record.settings),
            lambda: current()[0].max_upload_mb << 20,
        )
        self.grids = Grids(
            database,
            self.library,
            self._cell_reader,
            hidden=lambda: self.deletions.hidden,
            with_model=lambda: current()[1] is not None,
        )
        self.grid_runs = GridRuns(self.grids, owner, jobs)
        self.lab = Lab(database, self.library, jobs, lambda: current()[1])
        self._jobs = jobs
        self._readers = ReaderRecord()
        self._asking = threading.Lock()  # held from the check of the quota to the start of the answer
        self._current, self._other_model = current, other_model

    def recover(self) -> None:
        """Repair the library, continue unfinished documents, and open what the first question needs."""
        self.ingest.recover()
        self.reindexing.recover()
        self.syncing.recover()
        self.grid_runs.recover()
        self.pipeline()
        self.library.indexes.words.answering.warm()

    def pipeline_within(
        self,
        scope: Scope,
        *,
        retriever: RetrieverName | None = None,
        k: int | None = None,
        model: str | None = None,
        read_all: bool = False,
    ) -> RagPipeline:
        """Return the RAG pipeline in a scope; `retriever`, `k` and `model` override the settings."""
        current = self._current
        if model and self._other_model is not None:
            current = self._metered(partial(self._other_model, model))
        settings, llm = current()
        return make_pipeline(
            settings, self.library, llm, retriever=retriever, k=k, scope=scope, read_all=read_all
        )

    def pipeline(
        self,
        conversation_id: str | None = None,
        attached: Sequence[AttachedRecord] = (),
        made_with: AnswerWith = USUAL,
    ) -> RagPipeline:
        """Return the RAG pipeline with the current settings, in the scope of a conversation.

        Documents `attached` to a question are its scope instead; `made_with` overrides the settings.
        """
        scope = EVERYTHING
        if attached:
            self._refuse_unread(attached)
            scope = scope_of_attached(attached)
        elif conversation_id is not None:
            scope = scope_of(self.choices, conversation_id, self.library.profiles)
        made = self.pipeline_within(
            scope, retriever=made_with.retriever, model=made_with.model, read_all=made_with.read_all
        )
        return replace(made, made_with={**made.made_with, **made_with.notes})

    def builds_trees(self) -> bool:
        """Return True where summary trees are built in the background."""
        settings, llm = self._current()
        if settings.raptor != "auto":
            return settings.raptor != "off"
        return llm is not None and not llm.settings.brief and self.library.forest.worth_building()

    def add(
        self, name: str, content: bytes | Iterable[bytes], collection_id: str | None = None
    ) -> tuple[DocumentRecord, Outcome]:
        """Store a file, in a collection if one is given, and queue it for ingest; returns at once.

        A file that the library has already stays in its collection.
        """
        record, outcome = self.library.add(name, content)
        if collection_id is not None and (outcome != "unchanged" or record.collection_id is None):
            self.library.collections.put([record.id], collection_id)
            self.ingest.split_if_due()
        self.ingest.start(record.id)
        return record, outcome

    def documents(self) -> list[DocumentRecord]:
        """List the documents, newest first, without those whose deletion can still be undone."""
        hidden = self.deletions.hidden
        return [record for record in self.library.documents.list() if record.id not in hidden]

    def introduction(self, document_id: str) -> Job[Introduction]:
        """Return the job that makes the introduction of a document that was read; raises NotFound.

        It searches without a language model. It is started once; the latest are kept with what they made.
        """
        self.library.documents.get(document_id)
        with self._introducing:
            job = self._introductions.get(document_id)
            if job is None or (job.error is not None and job.latest is None):
                work = partial(self._introduce, document_id)
                job = self._jobs.start(self.owner, f"{INTRODUCE}:{document_id}", work, lane=INTRODUCE)
                self._introductions[document_id] = job
            while len(self._introductions) > MOST_INTRODUCED:
                del self._introductions[next(iter(self._introductions))]
            return job

    def _introduce(self, document_id: str, cancelled: Cancel) -> Iterator[Introduction]:
        record = self.library.documents.get(document_id)
        scope = scope_of_attached([AttachedRecord(record.id, record.name)])
        pipeline = make_pipeline(self._current()[0], self.library, None, scope=scope)
        yield from introduce(self.library.documents.chunks(document_id), pipeline, cancelled)

    def read_again(self, document_id: str) -> None:
        """Read a document again that could not be read, or go on with one whose ingest has ended."""
        if self.library.documents.get(document_id).state == "refused":
            self.library.documents.set_state(document_id, "queued")
        self.ingest.start(document_id)

    def remove_documents(self, document_ids: Collection[str], said: str) -> None:
        """Delete documents unless that is undone within some seconds; `said` names what is deleted."""
        known = {record.id for record in self.documents()}
        self.deletions.start(said, known & set(document_ids), self.ingest.remove)

    def source(self, kind: str, settings: Mapping[str, Any]) -> Source:
        """Open a source of documents; raises SourceError."""
        return open_source(kind, settings, make_means(self._current()[0], self.owner))

    def add_webhook(self, url: str, events: Iterable[WebhookEvent]) -> tuple[WebhookRecord, str]:
        """Create a webhook; return it with its secret. Raises AddressRefused for what is no URL.

        Whether it may be connected to is decided each time, by the address that its host then has.
        """
        return self.webhooks.create(parse_url(url).url, events)

    def embed_anew(self) -> None:
        """Embed every document again, after a change of model; the earlier index answers meanwhile."""
        self.reindexing.start()

    def ask(
        self,
        conversation_id: str | None,
        question: str,
        *,
        searching: Sequence[Collection[Any]] = (),
        after: Collection[str] = (),
        read_all: bool = False,
    ) -> TurnRecord:
        """Commit a question and answer it in a job, once the documents `after` are read.

        Without a conversation a new one is begun, whose scope is `searching` (collections, documents, tags,
        filters), or everything; it is deleted where the question is refused. The documents `after` are
        attached to the question, which is searched in them alone. A conversation with a scope includes them
        from then on.
        With `read_all` whole documents are read without asking.
        """
        made_with = AnswerWith(read_all=read_all)
        self.deletions.finish()  # what was deleted before a question is not found by it
        if conversation_id is None:
            return self._answered(lambda: self._opened_with(question, searching, after), after, made_with)
        if after:
            self.choices.add(conversation_id, after)
        try:
            return self._asked(conversation_id, question, after, made_with)
        except AnswerPending:
            self._settle_in(conversation_id)
            return self._asked(conversation_id, question, after, made_with)

    def answer(
        self,
        question: str,
        history: Sequence[tuple[str, str]] = (),
        *,
        scope: Scope = EVERYTHING,
        retriever: RetrieverName | None = None,
        k: int | None = None,
        read_all: bool = False,
    ) -> Job[Any]:
        """Answer a question in a job and store nothing; its events are those of the pipeline.

        After `Done` the model reads for the statements that are open, if there is one and it is to.
        """
        asked = validated_question(question)

        def work(cancelled: Cancel) -> Iterator[Any]:
            pipeline = self.pipeline_within(scope, retriever=retriever, k=k, read_all=read_all)
            passages: Sequence[Passage] = ()
            done: Done | None = None
            for event in pipeline.ask(asked, newest(history), cancelled):
                passages = event.passages if isinstance(event, Sources) else passages
                done = event if isinstance(event, Done) else done
                yield event
            self.allowance.used(answers=1)
            if done is not None and done.model is not None:
                yield from pipeline.check(done.text, done.citations, passages, cancelled)

        with self._asking:
            self.allowance.answer(self._answers_running())
            return self._jobs.start(self.owner, _key(token_hex(8)), work)

    def begin_with(
        self,
        history: Sequence[tuple[str, str]],
        searching: tuple[Collection[str], Collection[str]] = ((), ()),
    ) -> str:
        """Begin a conversation that has these turns already, without evidence; return its id."""
        collections, documents = searching
        for id_ in collections:
            self.library.collections.get(id_)  # NotFound, before anything is stored
        for id_ in documents:
            self.library.documents.get(id_)
        conversation_id = self.conversations.create().id
        with self._deleted_if_refused(conversation_id):
            if any(searching):
                self.choices.choose(conversation_id, *searching)
            for question, answer in turns_of(history):
                turn = self._conversation().begin(conversation_id, question)
                self.conversations.finish(turn.answer_id, "complete", answer)
        return conversation_id

    def reading(self, answer_id: str) -> Job[Any] | None:
        """Return the job that has the model read for an answer's open statements, if it runs."""
        keys = [key for key in self._jobs.keys(self.owner) if kind_of(key) == CHECKS]
        return next((self._jobs.get(self.owner, key) for key in keys if key.endswith(f":{answer_id}")), None)

    def otherwise(
        self,
        question_id: str,
        question: str,
        *,
        searched: str | None = None,
        widened: bool = False,
        made_with: AnswerWith = USUAL,
    ) -> TurnRecord:
        """Ask a new version of an earlier question; `searched` is searched word for word.

        A `widened` one is searched in the whole scope, whatever documents it names. `made_with` is for this
        answer alone.
        """
        begin = partial(self._conversation().begin_version, question_id, question)
        return self._answered(lambda: begin(searched=searched, widened=widened), made_with=made_with)

    def answer_again(self, answer_id: str, made_with: AnswerWith | None = None) -> TurnRecord:
        """Generate another answer to a question; earlier ones are kept.

        It is made with the search mode and the model that the earlier one was, unless others are given.
        """
        asked = self.conversations.message(self.conversations.message(answer_id).question_id or "")
        return self.otherwise(
            asked.id,
            asked.content,
            searched=asked.standalone_question,
            widened=asked.narrowed_to is not None,
            made_with=made_with or AnswerWith.of(self.traces.get(answer_id)),
        )

    def retry(self, answer_id: str) -> TurnRecord:
        """Answer a question again, with the same search and model; an empty answer is replaced."""
        if self.conversations.message(answer_id).content:
            return self.answer_again(answer_id)
        made_with = AnswerWith.of(self.traces.get(answer_id))
        return self._answered(lambda: self.conversations.begin_retry(answer_id), made_with=made_with)

    def go_on(self, answer_id: str) -> TurnRecord:
        """Continue an answer that ended early, with the same model."""
        made_with = AnswerWith.of(self.traces.get(answer_id))
        return self._answered(lambda: self.conversations.begin_continuation(answer_id), made_with=made_with)

    def answering(self, answer_id: str) -> Job[Any] | None:
        """Return the running job of an answer, if any."""
        return self._jobs.get(self.owner, _key(answer_id))

    def settle(self, answer_id: str) -> None:
        """Mark a pending answer that no process writes as interrupted, so that it can be retried."""
        for _ in range(2):
            message = self.conversations.message(answer_id)
            if message.state != "pending" or self.answering(answer_id) is not None:
                return
            if self.conversations.is_written_elsewhere(answer_id):
                return
            time.sleep(SETTLING)
        self.conversations.interrupt(answer_id)

    def stop(self, answer_id: str) -> None:
        """Stop an answer, whichever process writes it; its text so far is kept."""
        job = self.answering(answer_id)
        if job is not None:
            job.cancel()
        else:
            self.conversations.stop_answer(answer_id)
        self.stop_checking(answer_id)

    def checking(self) -> frozenset[str]:
        """Return the ids of the answers for whose open statements the model is reading."""
        return frozenset(key.split(":")[2] for key in self._jobs.keys(self.owner) if kind_of(key) == CHECKS)

    def stop_checking(self, id_: str) -> None:
        """Stop reading for the statements of an answer, or of a conversation's; what the code found stays."""
        for key in self._jobs.keys(self.owner):
            if kind_of(key) == CHECKS and id_ in key.split(":") and (job := self._jobs.get(self.owner, key)):
                job.cancel()

    def delete_conversation(self, conversation_id: str) -> None:
        """Delete a conversation for good, and stop its answer in progress."""
        with suppress(NotFound):  # a discarded one has none
            self._stop_in(conversation_id)
        self.conversations.delete(conversation_id)
        self.deletions.withdraw(conversation_id)

    def restore_conversation(self, conversation_id: str) -> None:
        """Bring a removed conversation back; NotFound where it was deleted for good meanwhile."""
        self.conversations.restore(conversation_id)
        self.deletions.withdraw(conversation_id)

    def remove_conversation(self, conversation_id: str, said: str) -> None:
        """Stop a conversation's answer, and hide it; it can be restored for some days.

        For some seconds that is offered as an undo; `said` names what is deleted.
        """
        self._stop_in(conversation_id)
        self.conversations.discard(conversation_id)
        self.deletions.start_discarded(said, [conversation_id], self.conversations.restore)

    def _stop_in(self, conversation_id: str) -> None:
        pending = self.conversations.pending(conversation_id)
        if pending is not None:
            self.stop(pending)
        self.stop_checking(conversation_id)

    def exported(self, conversation_id: str, form: FormName, *, answer_id: str | None = None) -> str:
        """Return a conversation as a file of the given form, and note that in the audit log.

        With `answer_id` it has that answer alone, with its question.
        """
        conversation = self.conversations.open(conversation_id)
        messages = self.conversations.messages(conversation_id, limit=EVERY)
        if answer_id is not None:
            answer = self.conversations.message(answer_id)
            messages = [one for one in messages if one.id in (answer.question_id, answer.id)]
        exported = FORMS[form](export(conversation, messages, datetime.now(UTC)))
        self.note("chat_exported", chat=conversation_id, form=form)
        return exported

    def ask_grid(self, question: str, columns: Sequence[Column], rows: Sequence[DocumentRow]) -> GridAnswer:
        """Answer a question from the cells of rows, by a plan of the connected language model or by rules.

        The model gets the question and the columns, and no cell. Raises QuestionRefused.
        """
        return ask_planned(question, columns, rows, self._current()[1])

    def exported_grid(self, grid_id: str, form: GridForm, address: str = "") -> bytes:
        """Return a grid as a file of the given form, and note that in the audit log.

        `address` is that of the server, for links to documents.
        """
        grid, rows = self.grids.get(grid_id), self.grids.rows(grid_id)
        content = export_grid(GridExport(grid, rows, datetime.now(UTC), address), form)
        self.note("grid_exported", grid=grid_id, form=form)
        return content

    def original(self, document_id: str) -> bytes:
        """Return a document's original file, and note that in the audit log."""
        content = self.library.files.path(self.library.documents.get(document_id).sha256).read_bytes()
        self.note("original_downloaded", document=document_id)
        return content

    def note(self, kind: Kind, **detail: Detail) -> None:
        """Add to the audit log what was given out; a failure is logged, so that it is given out still."""
        try:
            self.audit_log.record(kind, **detail)
        except StorageError as error:
            log.warning("The audit log lacks an entry (%s). %s", kind, error)

    def check_text(
        self,
        name: str,
        content: bytes,
        *,
        collections: Collection[str] = (),
        documents: Collection[str] = (),
    ) -> Job[CheckProgress | CheckedText]:
        """Check a file's statements in a job, against these collections and documents, or against all.

        Raises QuestionRefused while another text is checked.
        """
        if self._jobs.running(self.owner, CHECK):
            raise QuestionRefused(N_("Another text of yours is being checked. Wait for it, or stop it."))
        chosen = self.choices.would_be(collections, documents)
        everything = not (collections or documents)
        scope = EVERYTHING if everything else scope_among(self.library.collections, chosen)

        def work(cancelled: Cancel) -> Iterator[CheckProgress | CheckedText]:
            own = sha256(content).hexdigest()
            settings, llm = self._current()
            checker = make_text_checker(settings, self.library, llm, scope=scope, sha256=own)
            yield from checker.check(name, content, cancelled)

        return self._jobs.start(self.owner, f"{CHECK}:{token_hex(4)}", work, lane=CHECK)

    def _cell_reader(self, sent: list[Sent]) -> CellReader:
        """Return the reader of grids' cells by the present settings; it adds its requests to `sent`."""
        _, llm = self._current()
        observed = None if llm is None else ObservedModel(llm, purpose=GRID, sent=sent)
        return make_cell_reader(self.library, observed)

    def _opened_with(
        self, question: str, searching: Sequence[Collection[Any]], after: Collection[str]
    ) -> TurnRecord:
        conversation_id = self.conversations.create().id
        with self._deleted_if_refused(conversation_id):
            if any(searching):
                self.choices.choose(conversation_id, *searching)
                self.choices.add(conversation_id, after)
            return self._conversation().begin(conversation_id, question, self._attached(after))

    @contextmanager
    def _deleted_if_refused(self, conversation_id: str) -> Iterator[None]:
        try:
            yield
        except FootnoteError:
            with suppress(StorageError):  # the reason of the refusal matters more
                self.conversations.delete(conversation_id, begun=False)
            raise

    def _asked(
        self, conversation_id: str, question: str, after: Collection[str], made_with: AnswerWith
    ) -> TurnRecord:
        attached = self._attached(after)
        begin = partial(self._conversation().begin, conversation_id, question, attached)
        return self._answered(begin, after, made_with)

    def _refuse_unread(self, attached: Sequence[AttachedRecord]) -> None:
        """Raise QuestionRefused where none of the documents attached to a question can be read."""
        there = {record.id: record for record in self.library.documents.list()}
        records = [there.get(one.document_id) for one in attached]
        if any(record is not None and record.state != "refused" for record in records):
            return
        reasons = " ".join(
            N_("{name} was deleted.", name=one.name)
            if record is None
            else record.reason or N_("{name} cannot be read.", name=one.name)
            for one, record in list(zip(attached, records, strict=True))[:MOST_NAMED]
        )
        raise QuestionRefused(
            N_(
                "{reasons} Nothing was searched. Ask again without it, or attach another file.",
                reasons=reasons,
            )
        )

    def _attached(self, document_ids: Collection[str]) -> list[AttachedRecord]:
        return [AttachedRecord(id_, self.library.documents.get(id_).name) for id_ in document_ids]

    def _settle_in(self, conversation_id: str) -> None:
        pending = self.conversations.pending(conversation_id)
        if pending is not None:
            self.settle(pending)

    def _conversation(
        self,
        searching: str | None = None,
        attached: Sequence[AttachedRecord] = (),
        made_with: AnswerWith = USUAL,
    ) -> Conversation:
        return Conversation(
            self.conversations,
            partial(self.pipeline, searching, attached, made_with),
            lambda: "interrupted" if self._jobs.closed else "stopped",
        )

    def _metered(self, current: Current) -> Current:
        def metered() -> tuple[Settings, LanguageModel | None]:
            settings, llm = current()
            return settings, None if llm is None else ObservedModel(llm, meter=self.allowance)

        return metered

    def _answered(
        self,
        begin: Callable[[], TurnRecord],
        after: Collection[str] = (),
        made_with: AnswerWith = USUAL,
    ) -> TurnRecord:
        with self._asking:
            self.allowance.answer(self._answers_running())
            turn = begin()
            self._answer(turn, after, made_with)
        return turn

    def _answers_running(self) -> int:
        """Count the answers that are being written for this owner, here and by other processes."""
        return self._jobs.running(self.owner, ANSWERS) + self.conversations.answers_elsewhere()

    def _answer(self, turn: TurnRecord, after: Collection[str], made_with: AnswerWith) -> None:
        def work(cancelled: Cancel) -> Iterator[Any]:
            if after:
                with suppress(LeaseLost, NotFound), self.conversations.answering(turn.answer_id):
                    self._wait_until_read(after, cancelled)
            about = self._conversation(turn.conversation_id, turn.question.attached, made_with)
            yield from about.run(turn, cancelled)
            self.allowance.used(answers=1)
            self._check(turn)

        ending = self.answering(turn.answer_id)
        if ending is not None:
            ending.wait(SETTLING)
        self.stop_checking(turn.conversation_id)
        self._jobs.start(self.owner, _key(turn.answer_id), work)

    def _check(self, turn: TurnRecord) -> None:
        """Start to have the model read for the open statements of a finished answer, if it has any."""
        settings, llm = self._current()
        if llm is None or reading_seconds(settings) is None or not self._readers.is_due(llm.settings.model):
            return
        model, begun = llm.settings.model, self._conversation(turn.conversation_id).check

        def work(cancelled: Cancel) -> Iterator[Any]:
            with suppress(NotFound):  # deleted meanwhile
                for event in begun(turn.answer_id, cancelled):
                    if isinstance(event, Checked):
                        self._readers.note(model, tested=event.tested)
                    yield event

        with suppress(Cancelled):  # the server is about to stop
            self._jobs.start(self.owner, _check_key(turn.conversation_id, turn.answer_id), work)

    def _wait_until_read(self, document_ids: Collection[str], cancelled: Cancel) -> None:
        deadline = time.monotonic() + READING_PATIENCE
        while time.monotonic() < deadline and not cancelled() and any(map(self._unread, document_ids)):
            time.sleep(0.1)

    def _unread(self, document_id: str) -> bool:
        try:
            return self.library.documents.get(document_id).state in ("queued", "reading")
        except NotFound:
            return False


def _check_key(conversation_id: str, answer_id: str) -> str:
    return f"{CHECKS}:{conversation_id}:{answer_id}"


def _key(answer_id: str) -> str:
    return f"answer:{answer_id}"
