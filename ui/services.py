"""What a server holds once, for all its pages: the only shared state of the application."""

import logging
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from functools import partial
from typing import Any

import streamlit as st

from rag import config, ingest, lab
from rag.assembly import make_embedder, make_library, make_llm, make_store
from rag.config import LOCAL_OWNER
from rag.embedders.opened import OpenedModels
from rag.embeddings import Embedder
from rag.errors import EmbeddingError, EntryRefused, FootnoteError
from rag.jobs import ANSWERS, Cancel, Jobs
from rag.library import Library
from rag.llm import LLM
from rag.observing.metrics import Metrics
from rag.observing.watch import Watch
from rag.own_model.model import OwnModel
from rag.sources import scheduler
from rag.sources.scheduler import Schedule
from storage.accounts import Account
from storage.conversations import interrupt_pending
from storage.database import Database
from storage.pending import owners_with_sources, owners_with_work
from storage.people import People
from storage.runs import stop_running
from ui import visiting
from ui.entrance import Alone, Visitor, read_entrance
from ui.first_words import FirstWords
from ui.installs import Installs
from ui.removals import Removals
from ui.resting import IDLE, MOST, to_rest
from ui.sessions import Sessions
from ui.tending import do_all
from ui.workspace import Workspace

FOR_ADMINISTRATORS = "The settings are everyone's: only administrators change them."
RECOVER = "recover"  # bringing a library in step when its owner comes

log = logging.getLogger(__name__)


class Services:
    """The data directory, the running jobs and the connected model of one server."""

    def __init__(self, settings: config.Settings):
        make_store(settings)  # before anything is opened: one that cannot be had is said on every page
        self.settings = settings
        self.entrance, self.sessions = read_entrance(settings, st.secrets), Sessions()
        self.database = Database.open(settings.data, url=settings.database_url)
        interrupt_pending(self.database)
        stop_running(self.database)
        self.metrics = Metrics()
        self._models = OpenedModels(self.metrics.embedding)
        self._held: Embedder | None = None
        self.jobs = Jobs({**ingest.LANES, **lab.LANES, **scheduler.LANES}, Watch(self.metrics))
        self.llm: LLM | OwnModel | None = make_llm(settings)
        self.people = People(self.database)
        self.removals = Removals(self.people, self.jobs, self._library_of, self._forget)
        self.installs = Installs(self.jobs, settings.model_cache, self._use_own)
        self.first_words = FirstWords()
        self.warm = False
        """Whether all that goes on by itself was begun, and every library that is open is in step."""
        self.looking = threading.Lock()
        """Held by who looks into libraries that are open, and by who closes them."""
        self._schedule = Schedule(self._tick)
        self._workspaces: dict[str, Workspace] = {}
        self._used: dict[str, float] = {}
        self._in_step: set[str] = set()
        self._lock = threading.Lock()

    @property
    def model_starts(self) -> bool:
        """Whether the next answer has to wait until a model of one's own is started."""
        return isinstance(self.llm, OwnModel) and not self.llm.ready

    def visitor(self) -> Visitor | None:
        """Return who is at the page that is being drawn; None where nobody has signed in, or EntryRefused."""
        return visiting.visitor(self.entrance, self.settings)

    def administers(self) -> bool:
        """Tell whether who is at this page may change what is everyone's."""
        there = self.visitor()
        return there is not None and there.admin

    def knows_people(self) -> bool:
        """Tell whether who is at this page may see who else there is: administrators, where any sign in."""
        return not isinstance(self.entrance, Alone) and self.administers()

    def account(self, owner: str) -> Account:
        """Return what is known of `owner`."""
        return Account(self.database, owner)

    def workspace(self, owner: str) -> Workspace:
        """Return what `owner` may see and do; raises AccountClosed for one who was removed.

        The first time after a start their library is brought in step meanwhile.
        """
        with self._lock:
            self._used[owner] = time.monotonic()
            there = self._made(owner)
        if self.warm and not self.jobs.closed:
            self._bring_in_step(owner)
        return there

    def _made(self, owner: str) -> Workspace:
        """Return a workspace, whose library opens what it needs by itself."""
        if owner not in self._workspaces:
            self.account(owner).confirm()
            self.jobs.welcome(owner)
            self._workspaces[owner] = Workspace(
                self.database, owner, self.jobs, lambda: (self.settings, self.llm), self._models
            )
        return self._workspaces[owner]

    def remove(self, owner: str) -> None:
        """Remove a person with all they own; raises EntryRefused where no administrator asks for it."""
        if not self.knows_people():
            raise EntryRefused("Only administrators remove people.")
        self.sessions.end(owner)
        self.removals.start(owner)

    def libraries(self) -> list[Library]:
        """Return the libraries that are open; hold `looking` while they are looked into."""
        with self._lock:
            return [one.library for one in self._workspaces.values() if one.library.indexes.opened]

    def warm_up(self) -> None:
        """Go on with what was cut off, and open what answers need; other libraries wait for their owners."""
        local = {LOCAL_OWNER} if isinstance(self.entrance, Alone) else set()
        self.removals.recover()
        for owner in sorted({*owners_with_work(self.database), *local} - set(self.people.marked())):
            self._recover(owner)
        self._hold_model()
        self.warm = True
        for owner in list(self._workspaces):
            self._bring_in_step(owner)
        self._schedule.start()
        if self.llm is not None:
            self.llm.warm()

    def _recover(self, owner: str) -> None:
        """Go on with what was cut off; where that fails, a job tries once more when all is open."""
        try:
            self.workspace(owner).recover()
            self._in_step.add(owner)
            self.rest()
        except FootnoteError as error:
            log.warning("%s", error)

    def _hold_model(self) -> None:
        """Have the embedding model open before anyone comes; where it cannot be had, each answer says so."""
        try:
            self._held = make_embedder(self.settings, opened=self._models)
        except EmbeddingError as error:
            log.warning("%s", error)

    def rest(self, *, most: int = MOST, idle: float = IDLE) -> None:
        """Close libraries that were not used for a while, where more than so many are open."""
        with self.looking, self._lock:
            self.jobs.while_idle(lambda busy: self._close_idle(busy, most, idle))

    def _close_idle(self, busy: Collection[str], most: int, idle: float) -> None:
        open_now = {owner: there for owner, there in self._workspaces.items() if there.library.indexes.opened}
        used = {owner: self._used.get(owner, 0.0) for owner in open_now}
        for owner in to_rest(used, time.monotonic(), busy, most=most, idle=idle):
            open_now[owner].library.close()

    def _bring_in_step(self, owner: str) -> None:
        """Bring a library in step with the ledger in a job, once after each start.

        Never while documents are split anew: the ledger does not know the passages of that yet.
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

    def change(self, changes: Mapping[str, Any]) -> None:
        """Keep settings that an administrator changed and work by them from now on.

        Raises SettingsError, or EntryRefused for anyone else, and changes nothing.
        """
        if not self.administers():
            raise EntryRefused(FOR_ADMINISTRATORS)
        self._change(changes)

    def _change(self, changes: Mapping[str, Any]) -> None:
        config.check(self.settings, changes)
        config.save(self.settings.data, changes)
        before, self.settings = self.settings, config.load({"data": self.settings.data})
        self._reconnect()
        if self.settings.embedding_model != before.embedding_model:
            self._held = None
            for workspace in list(self._workspaces.values()):
                workspace.embed_anew()
        if self.settings.raptor != before.raptor:
            for workspace in list(self._workspaces.values()):
                workspace.ingest.follow_setting()

    def _tick(self) -> None:
        """Have done whose time has come: sources read, documents tried again, what nobody uses closed."""
        owners = {*owners_with_sources(self.database), *self._in_step.copy()} - set(self.people.marked())
        do_all([*(partial(self._tend, owner) for owner in sorted(owners)), self.rest])

    def _tend(self, owner: str) -> None:
        with self._lock:
            there = self._made(owner)
        there.syncing.start_due()
        if owner in self._in_step:
            there.ingest.try_again()

    def _library_of(self, owner: str) -> Library:
        """Return the library of someone who leaves, which is opened where it is not open."""
        with self._lock:
            there = self._workspaces.get(owner)
        return make_library(self.settings, self.database, owner) if there is None else there.library

    def _forget(self, owner: str) -> None:
        with self._lock:
            self._workspaces.pop(owner, None)
            self._used.pop(owner, None)
            self._in_step.discard(owner)

    def _use_own(self, name: str) -> None:
        """Have a model that was just installed write the answers, where no server is connected."""
        if not self.settings.connected and "own_model" not in config.fixed_fields():
            self._change({"own_model": name})

    def _reconnect(self) -> None:
        """Use the model of the settings; the one in use goes on where it is the same."""
        wanted, previous = make_llm(self.settings), self.llm
        if wanted is not None and previous is not None and wanted.settings == previous.settings:
            return
        self.llm = wanted
        if previous is not None:
            previous.close()

    def close(self) -> None:
        """Stop the jobs, each putting its things in order, and give the data directory back.

        Answers that are being written may end by themselves for `stop_seconds`; then they are interrupted.
        """
        answers = sum(kind == ANSWERS for kind, _ in self.jobs.standing())
        log.info("Stopping: %d answers may go on for %g seconds", answers, self.settings.stop_seconds)
        self._schedule.close()
        self.jobs.close(patience=self.settings.stop_seconds)
        if self.llm is not None:
            self.llm.close()
        for workspace in self._workspaces.values():
            workspace.library.close()
        self.database.close()


_opened: Services | None = None
_opening = threading.Lock()


def services() -> Services:
    """Return the server's services, opened at the first call; raises FootnoteError when they cannot be."""
    global _opened
    with _opening:
        if _opened is None:
            _opened = Services(config.load())
        return _opened


def workspace() -> Workspace:
    """Return what the person at this page may see and do; raises EntryRefused where nobody has signed in."""
    there = services().visitor()
    if there is None:
        raise EntryRefused("Sign in first.")
    return services().workspace(there.id)


def owner_of(session_id: str) -> str | None:
    """Return whose a browser session is that was let in; opens nothing."""
    return None if _opened is None else _opened.sessions.owner_of(session_id)


def close() -> None:
    """Close the server's services; the next call of `services` opens them anew."""
    global _opened
    with _opening:
        if _opened is not None:
            _opened.close()
        _opened = None
