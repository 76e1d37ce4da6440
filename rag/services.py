"""Services: everything that one process holds for all users, without a page."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from pydantic import SecretStr

from rag import backups, webhooks
from rag import settings as config
from rag.backups import BackupSchedule, BackupsOnRequest
from rag.chat import check_text, introduction
from rag.connectors import sync
from rag.connectors.sync import Scheduler
from rag.errors import EmbeddingError, FootnoteError, SettingsError
from rag.evaluation import lab
from rag.factory import make_embedder, make_hub, make_library, make_llm, make_originals, make_store
from rag.grid import run as grid_runs
from rag.i18n import N_
from rag.ingest import queue as ingest
from rag.ingest.library import Library
from rag.ingest.page_images import PageImages
from rag.ingest.parsers.sandbox import available
from rag.ingest.queue import Removals
from rag.ingest.taking import TAKE_SECONDS, JobTaker, document_lanes
from rag.jobs import ANSWERS, Cancel, Jobs, kind_of
from rag.local_server import LocalServer, new_token
from rag.metrics import Metrics, Watch
from rag.models.embeddings import Embedder, SharedEmbedders
from rag.models.llm import LLM
from rag.models.local.install import Installs
from rag.models.local.server import LocalModel
from rag.models.protocol import LanguageModel
from rag.settings import LOCAL_OWNER, Settings
from rag.sharing import open_ledger
from rag.webhooks import WebhookSender
from rag.workspace import Workspace
from storage.accounts import Account, People, owners_with_sources, owners_with_work
from storage.audit_log import SERVER, AuditLog, AuditTrail
from storage.conversations import delete_discarded, interrupt_left, interrupt_pending
from storage.documents import EMBED, READ
from storage.errors import AccountClosed
from storage.jobs import Lease
from storage.lab import stop_running

UPKEEP = "upkeep"  # kind of the turns in which one process of those that do the same looks after a library
RECOVER = "recover"  # job that repairs a library when its owner comes
MAX_IDLE_LIBRARIES = 20  # unused libraries that stay open
LOOK_SECONDS = 1.0  # between two looks for what other processes have put, or left when they were killed
TICK_SECONDS = 20.0  # between two looks for what is due by the clock
SEND_SECONDS = 2.0  # between two looks for events that webhooks wait for
IDLE_SECONDS = 300.0  # after its last use before a library may be closed: a page may still read it

log = logging.getLogger(__name__)


class Services:
    """Data directory, jobs, language model and workspaces of one process."""

    def __init__(self, settings: Settings, *, local: bool = True, documents: Mapping[str, int] | None = None):
        """Open the data directory; with `local` there is one user, who need not sign in.

        `documents` has the kinds of jobs on documents that this process does, and how many of each at once;
        without it that follows the settings. Raises SettingsError or StorageError.
        """
        make_store(settings)  # before anything is opened: a missing store is an error at once
        backups.check(settings)
        self.originals = make_originals(settings, settings.data)
        """Place of everyone's original files."""
        self.originals.check()
        self.settings, self.local = settings, local
        self.database = open_ledger(settings)
        interrupt_pending(self.database)
        stop_running(self.database)
        self.metrics = Metrics()
        self._models = SharedEmbedders(self.metrics.embedding)
        self._held: Embedder | None = None
        documents = document_lanes(settings.workers) if documents is None else documents
        lanes = {
            **{name: width for name, width in ingest.LANES.items() if name not in (READ, EMBED)},
            **documents,
            **lab.LANES,
            **sync.LANES,
            **check_text.LANES,
            **introduction.LANES,
            **backups.LANES,
            **webhooks.LANES,
            **grid_runs.LANES,
        }
        self._upkeep = " ".join([UPKEEP, *sorted(documents)])
        self.jobs = Jobs(lanes, Watch(self.metrics))
        self.llm: LLM | LocalModel | None = make_llm(settings)
        self._other_models: dict[str, LLM | LocalModel] = {}  # of the connected server, by name
        self.people, self.audit_trail = People(self.database), AuditTrail(self.database)
        self.removals = Removals(self.people, self.jobs, self.library, self._forget)
        self.page_images = PageImages()
        self.installs = Installs(
            self.jobs, settings.model_cache, self._use_own, lambda: make_hub(self.settings)
        )
        self.local_token = new_token()
        """Token of this computer's own commands; see `announce`."""
        self._announced: LocalServer | None = None
        server_log = AuditLog(self.database, SERVER)
        self.backups = BackupSchedule(self.jobs, lambda: self.settings, server_log, self.metrics.backup)
        self.backups_on_request = BackupsOnRequest(self.jobs, lambda: self.settings)
        self.warm = False
        """True once background work has started and every open library is repaired."""
        self.stopping = False
        """True once the process was told to stop; it may serve a while longer."""
        self.looking = threading.Lock()
        """Lock held while open libraries are read, and while they are closed."""
        self._schedule = Scheduler(self._tick, seconds=TICK_SECONDS)
        sender = WebhookSender(self.database, self.jobs, lambda: self.settings)
        self._sending = Scheduler(sender.start_due, seconds=SEND_SECONDS)
        taker = JobTaker(self.database.queue, self.jobs, documents, self._begin)
        together = self.database.together
        self._taking = Scheduler(taker.take_due, seconds=LOOK_SECONDS if together else TAKE_SECONDS)
        self._ending = Scheduler(self._end_what_was_left, seconds=LOOK_SECONDS) if together else None
        self.jobs.at_end = lambda kind: self._taking.wake() if kind in documents else None
        self._workspaces: dict[str, Workspace] = {}
        self._used: dict[str, float] = {}
        self._in_step: set[str] = set()
        self._lock = threading.Lock()

    @property
    def model_starts(self) -> bool:
        """True where the next answer waits for a local model to start."""
        return isinstance(self.llm, LocalModel) and not self.llm.ready

    def current(self) -> tuple[Settings, LanguageModel | None]:
        """Return the settings and the language model that are in use now."""
        return self.settings, self.llm

    def other_model(self, name: str) -> tuple[Settings, LanguageModel | None]:
        """Return the settings with another model of the connected server, and its client; as `current` does.

        Where no server is connected any more these are the current ones.
        """
        settings = self.settings
        if not settings.connected or name == settings.llm_model:
            return self.current()
        settings = settings.model_copy(update={"llm_model": name})
        with self._lock:
            if name not in self._other_models and (made := make_llm(settings)) is not None:
                self._other_models[name] = made
            return settings, self._other_models.get(name)

    def account(self, owner: str) -> Account:
        """Return the account of `owner`."""
        return Account(self.database, owner)

    def workspace(self, owner: str) -> Workspace:
        """Return the workspace of `owner`; raises AccountClosed for a removed account.

        After a start the first call begins the repair of their library.
        """
        with self._lock:
            self._used[owner] = time.monotonic()
            there = self._made(owner)
        if self.warm and not self.jobs.closed:
            self._bring_in_step(owner)
        return there

    def _made(self, owner: str) -> Workspace:
        if owner not in self._workspaces:
            self.account(owner).confirm()
            self.jobs.welcome(owner)
            self._workspaces[owner] = Workspace(
                self.database, owner, self.jobs, self.current, self._models, self.other_model
            )
        return self._workspaces[owner]

    def library(self, owner: str) -> Library:
        """Return the library of `owner` for the operator; one that is not in use has no quota."""
        with self._lock:
            there = self._workspaces.get(owner)
        if there is not None:
            return there.library
        return make_library(self.database, owner, self.current, opened=self._models)

    def libraries(self) -> list[Library]:
        """Return the open libraries; hold `looking` while reading them."""
        with self._lock:
            return [one.library for one in self._workspaces.values() if one.library.indexes.opened]

    def warm_up(self) -> None:
        """Continue interrupted work and open what answers need; other libraries wait for their owners."""
        log.info("Walls of the kernel around parsers: %s", ", ".join(available()) or "none")
        local = {LOCAL_OWNER} if self.local else set()
        self.removals.recover()
        for owner in sorted({*owners_with_work(self.database), *local} - set(self.people.marked())):
            self._recover(owner)
        self._hold_model()
        self.warm = True
        for owner in list(self._workspaces):
            self._bring_in_step(owner)
        self._schedule.start()
        self._sending.start()
        self._taking.start()
        if self._ending is not None:
            self._ending.start()
        if self.llm is not None:
            self.llm.warm()

    def _begin(self, lease: Lease) -> None:
        """Begin a job on a document that was taken from the ledger; raises AccountClosed."""
        self.account(lease.owner).confirm()  # another process may be removing them
        self.workspace(lease.owner).ingest.run(lease)

    def _recover(self, owner: str) -> None:
        """Continue an owner's interrupted work; a job tries again where that fails."""
        try:
            self.workspace(owner).recover()
            self._in_step.add(owner)
            self.rest()
        except FootnoteError as error:
            log.warning("%s", error)

    def _hold_model(self) -> None:
        """Open the embedding model early; where it is not available, each answer says so."""
        try:
            self._held = make_embedder(self.settings, opened=self._models)
        except EmbeddingError as error:
            log.warning("%s", error)

    def rest(self, *, most: int = MAX_IDLE_LIBRARIES, idle: float = IDLE_SECONDS) -> None:
        """Close idle libraries where more than `most` are open."""
        with self.looking, self._lock:
            self.jobs.while_idle(lambda busy: self._close_idle(busy, most, idle))

    def _close_idle(self, busy: Collection[str], most: int, idle: float) -> None:
        open_now = {owner: there for owner, there in self._workspaces.items() if there.library.indexes.opened}
        used = {owner: self._used.get(owner, 0.0) for owner in open_now}
        for owner in libraries_to_close(used, time.monotonic(), busy, most=most, idle=idle):
            open_now[owner].library.close()

    def _bring_in_step(self, owner: str) -> None:
        """Repair a library from the ledger in a job, once after each start.

        Its lane is that of splitting: the ledger does not yet have the passages of a split in progress.
        """
        with self._lock:
            if owner in self._in_step or owner not in self._workspaces:
                return
            self._in_step.add(owner)
            there = self._workspaces[owner]

        def work(cancelled: Cancel) -> Iterator[None]:
            if not cancelled():
                there.recover()
            yield

        self.jobs.start(owner, RECOVER, work, lane=ingest.SPLIT)

    def apply(self, changes: Mapping[str, Any], *, by: str = SERVER) -> None:
        """Save settings that `by` changed and use them from now on; raises SettingsError, changing nothing.

        The audit log gets the names of those whose value is another one. Where other processes use the
        ledger, which would not learn of it, nothing is changed here.
        """
        if self.database.together:
            raise SettingsError(
                N_(
                    "Several processes may use this ledger, and a change here would reach only one of them. "
                    "Set it in the environment of each, and start them again."
                )
            )
        config.check(self.settings, changes)
        names = sorted(name for name, value in changes.items() if _differs(self.settings, name, value))
        if names:
            AuditLog(self.database, by).record("settings_changed", names=names)
        config.save(self.settings.data, changes)
        before, self.settings = self.settings, config.load({"data": self.settings.data})
        self._reconnect()
        if self.settings.embedding_model != before.embedding_model:
            self._held = None
            for workspace in list(self._workspaces.values()):
                workspace.embed_anew()
        if (self.settings.raptor, self.settings.connected) != (before.raptor, before.connected):
            for workspace in list(self._workspaces.values()):
                workspace.ingest.follow_setting()

    def _end_what_was_left(self) -> None:
        """End answers and runs of the lab that a killed process was writing."""
        interrupt_left(self.database, besides=self._answers_here())
        stop_running(self.database)

    def _answers_here(self) -> set[str]:
        workspaces = list(self._workspaces)
        keys = (key for owner in workspaces for key in self.jobs.keys(owner))
        return {key.partition(":")[2] for key in keys if kind_of(key) == ANSWERS}

    def _tick(self) -> None:
        left = owners_with_work(self.database) if self.database.together else []
        owners = {*owners_with_sources(self.database), *left, *self._in_step.copy()}
        owners -= set(self.people.marked())
        expire = partial(self.audit_trail.expire, self.settings.audit_days)
        discarded = partial(delete_discarded, self.database)
        others: list[Callable[[], object]] = [self.rest, self.backups.start_due, expire, discarded]
        run_all([*(partial(self._tend, owner) for owner in sorted(owners)), *others])

    def _tend(self, owner: str) -> None:
        try:
            with self._lock:
                there = self._made(owner)
            if self.database.together:  # another process may have been killed
                there.syncing.recover()
                there.grid_runs.recover()
            there.syncing.start_due()
            in_step = owner in self._in_step
            upkeep = in_step and self.database.queue.turn(owner, self._upkeep, TICK_SECONDS / 2)
        except AccountClosed:  # removed by another process
            self._forget(owner)
            return
        if upkeep:
            there.ingest.try_again()
        if upkeep or (in_step and there.library.indexes.words_damaged):
            self.database.confirm()  # an index is not made anew in a directory that was moved away
            there.ingest.scrub_if_due()

    def _forget(self, owner: str) -> None:
        """Keep nothing of a removed person here, also where another process has removed them."""
        with self._lock:
            there = self._workspaces.pop(owner, None)
            self._used.pop(owner, None)
            self._in_step.discard(owner)
        if there is not None:
            there.library.drop_copies()

    def _use_own(self, name: str) -> None:
        if not self.settings.connected and "local_model" not in config.fixed_fields():
            self.apply({"local_model": name})

    def _reconnect(self) -> None:
        wanted, previous = make_llm(self.settings), self.llm
        if wanted is not None and previous is not None and wanted.settings == previous.settings:
            return
        self.llm = wanted
        self._close_models(previous)

    def _close_models(self, llm: LLM | LocalModel | None) -> None:
        with self._lock:
            others, self._other_models = self._other_models, {}
        for model in (llm, *others.values()):
            if model is not None:
                model.close()

    def announce(self, url: str) -> None:
        """Tell this computer's commands where the HTTP interface answers, and the token to show there."""
        self._announced = LocalServer(url, self.local_token)
        self._announced.announce(self.database.directory)

    def begin_stop(self) -> float:
        """Tell that this process is going to stop; return the seconds in which it still serves."""
        self.stopping = True
        log.info("Told to stop: serving for %g more seconds", self.settings.drain_seconds)
        return self.settings.drain_seconds

    def close(self) -> None:
        """Stop the jobs and close the data directory.

        Answers in progress may end by themselves within `shutdown_seconds`; then they are interrupted.
        """
        answers = sum(kind == ANSWERS for kind, _ in self.jobs.standing())
        for workspace in self._workspaces.values():
            workspace.deletions.finish()
        log.info("Stopping: %d answers may go on for %g seconds", answers, self.settings.shutdown_seconds)
        self.page_images.close()
        self._schedule.close()
        self._sending.close()
        self._taking.close()
        if self._ending is not None:
            self._ending.close()
        if self._announced is not None:
            self._announced.withdraw(self.database.directory)
        self.jobs.close(patience=self.settings.shutdown_seconds)
        self._close_models(self.llm)
        for workspace in self._workspaces.values():
            workspace.library.close()
        self.database.close()


def _differs(settings: Settings, name: str, value: object) -> bool:
    """Return True where a setting has another value; a key is compared as the text that it is."""
    held = getattr(settings, name, None)
    return (held.get_secret_value() if isinstance(held, SecretStr) else held) != value


def libraries_to_close(
    used: Mapping[str, float],
    now: float,
    busy: Collection[str],
    *,
    most: int = MAX_IDLE_LIBRARIES,
    idle: float = IDLE_SECONDS,
) -> list[str]:
    """Return the owners whose libraries to close: the least recently used of too many.

    `used` has the time of the last use of each open library, `busy` the owners with jobs.

    >>> libraries_to_close({"ann": 10, "bob": 20, "eve": 30, "joe": 990}, 1000, ["ann"], most=2)
    ['bob', 'eve']
    """
    surplus = len(used) - most
    closable = [owner for owner in used if owner not in busy and now - used[owner] > idle]
    return sorted(closable, key=used.__getitem__)[: max(0, surplus)]


def run_all(work: Iterable[Callable[[], object]]) -> None:
    """Run every piece of work, even if others fail; raise the first failure at the end."""
    failures: list[FootnoteError] = []
    for one in work:
        try:
            one()
        except FootnoteError as error:
            failures.append(error)
    if failures:
        raise failures[0]
