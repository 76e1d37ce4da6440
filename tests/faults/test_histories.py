"""Invented histories: whatever is added, replaced, asked, stopped and deleted, and wherever it crashes.

Beside the library and the conversations of two people goes a model of them, which is a few dicts. After each
step both must say the same, and so they must after a crash, but for the one thing that was being done then.
"""

import copy
import itertools
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.ingest.library import Library
from rag.jobs import never
from storage.conversations import Conversations, interrupt_pending
from storage.database import Database
from storage.records import DocumentRecord, TurnRecord
from tests.faults.auditing import audit, audit_ledger, audit_originals
from tests.faults.snapshots import Snapshot
from tests.rag.word_vectors import WordVectors

MODEL = WordVectors("model", 32)
OWNERS = ("ann", "bob")
NAMES = ("castle.md", "tower.md")
VERSIONS = (1, 2, 3)
EARLY = ("stopped", "interrupted")  # how an answer ends that is not whole
owners, names, versions = st.sampled_from(OWNERS), st.sampled_from(NAMES), st.sampled_from(VERSIONS)
picks = st.integers(0, 9)
crashes = st.none() | st.none() | st.integers(1, 120)  # after so many calls, the last of them or sooner


def text(owner: str, name: str, version: int) -> str:
    """A file of three chunks, of words that no other file has."""
    words = [f"{owner}{name[:-3]}{version}x{n}" for n in range(36)]
    return "\n\n".join(f"# Part {n}\n\nThe {' '.join(words[n * 12 : n * 12 + 12])}." for n in range(3))


@dataclass
class Held:
    """What one person must have: files by their newest version, chats by their questions, whole answers."""

    files: dict[str, int] = field(default_factory=dict)
    chats: dict[str, list[str]] = field(default_factory=dict)
    answers: dict[str, str] = field(default_factory=dict)


class Person:
    """One person's library and conversations, as they were just opened."""

    def __init__(self, database: Database, owner: str):
        self.owner = owner
        self.library = Library(database, owner, lambda: MODEL)
        self.chats = Conversations(database, owner)
        self.conversation = Conversation(
            self.chats, lambda: RagPipeline(self.library.retriever("ensemble-cc", 3)), lambda: "stopped"
        )
        self.begun: dict[str, TurnRecord] = {}  # by conversation: asked, and not answered yet

    def finish_reading(self) -> None:
        for document_id in self.library.recover():
            list(self.library.index(document_id))

    def files(self) -> list[DocumentRecord]:
        return self.library.documents.list()

    def unread(self) -> list[DocumentRecord]:
        return self.library.documents.unfinished()

    def waiting(self) -> list[str]:
        """The chats in which an answer is waited for."""
        return sorted(self.begun)

    def quiet(self) -> list[str]:
        """Those in which none is."""
        return sorted(chat.id for chat in self.chats.list() if chat.id not in self.begun)

    def ended_early(self) -> list[str]:
        """Answers that can be asked for again."""
        last = [message for chat in self.quiet() for message in self.chats.messages(chat, limit=1)]
        return [message.id for message in last if message.state in EARLY]

    def held(self, known: Held) -> Held:
        """What this person has, in the terms of the model; `known` tells the versions of contents apart."""
        found = Held()
        standing = self.library.documents.list()
        replaced = {record.replaces for record in standing}
        for record in standing:
            if record.id not in replaced:
                assert record.name not in found.files
                found.files[record.name] = self.version(record)
        for chat in self.chats.list():
            messages = self.chats.messages(chat.id, limit=1000)
            assert [message.role for message in messages] == ["user", "assistant"] * (len(messages) // 2)
            found.chats[chat.id] = [message.content for message in messages[::2]]
            for answer in messages[1::2]:
                if answer.id in known.answers and answer.state == "complete":
                    found.answers[answer.id] = answer.content
                pending = chat.id in self.begun and self.begun[chat.id].answer_id == answer.id
                assert (answer.state == "pending") == pending
        return found

    def version(self, record: DocumentRecord) -> int:
        content = self.library.files.path(record.sha256).read_text()
        (version,) = (number for number in VERSIONS if content == text(self.owner, record.name, number))
        return version


def any_can(can: Callable[[Person], object]) -> Callable[["Histories"], bool]:
    return lambda histories: any(map(can, histories.people.values()))


class Histories(RuleBasedStateMachine):
    """Each rule does one thing that is acknowledged at its end, and then the model does it, too."""

    def __init__(self, begun: Path) -> None:
        super().__init__()
        self.base = Path(tempfile.mkdtemp())
        self.lives = itertools.count()
        self.asked = itertools.count()
        self.held = {owner: Held() for owner in OWNERS}
        self.directory = shutil.copytree(begun, self.base / f"{next(self.lives)}")
        self.open()

    def open(self) -> None:
        """Start as the app does."""
        self.database = Database.open(self.directory)
        interrupt_pending(self.database)
        self.people = {owner: Person(self.database, owner) for owner in OWNERS}

    def close(self) -> None:
        for person in self.people.values():
            person.library.close()
        self.database.close()

    def do(
        self, owner: str, crash: int | None, act: Callable[[], object], change: Callable[[Held], None]
    ) -> None:
        """Do one thing, and the same to the model; or crash meanwhile, and see whether it was done."""
        if crash is None:
            act()
            change(self.held[owner])
            return
        target, finished = self.base / f"{next(self.lives)}", []
        with Snapshot(self.directory, target, crash, lambda: finished.append(done)):
            done = False
            act()
            done = True
        self.crash(target)
        self.find(owner, change, surely=finished[0])

    def crash(self, target: Path) -> None:
        """Leave all that is open as it is, and start with the directory as it was at that moment."""
        self.close()
        shutil.rmtree(self.directory)
        self.directory = target
        self.open()
        for person in self.people.values():
            person.library.recover()

    def find(self, owner: str, change: Callable[[Held], None], *, surely: bool) -> None:
        """After a crash what was being done is done or not: tell the model which."""
        changed = copy.deepcopy(self.held[owner])
        change(changed)
        if surely or self.people[owner].held(changed) == changed:
            self.held[owner] = changed

    def who(self, owner: str, can: Callable[[Person], object]) -> Person:
        """That person, or the other one where only they can."""
        person = self.people[owner]
        return person if can(person) else next(filter(can, self.people.values()))

    @rule(owner=owners, name=names, version=versions, crash=crashes)
    def add(self, owner: str, name: str, version: int, crash: int | None) -> None:
        content = text(owner, name, version).encode()

        def change(held: Held) -> None:
            held.files[name] = version

        self.do(owner, crash, lambda: self.people[owner].library.add(name, content), change)

    @precondition(any_can(Person.unread))
    @rule(owner=owners, steps=st.sampled_from((1, 2, 3, 4, 5, 99)), crash=crashes)
    def index(self, owner: str, steps: int, crash: int | None) -> None:
        """Read and embed the file that waits longest, to its end, or for some steps, and be stopped."""
        person = self.who(owner, Person.unread)
        reading = person.library.index(person.unread()[0].id)

        def act() -> None:
            for _ in itertools.islice(reading, steps):
                pass
            reading.close()

        self.do(person.owner, crash, act, lambda _: None)

    @rule(owner=owners, name=names, version=versions, crash=crashes)
    def put(self, owner: str, name: str, version: int, crash: int | None) -> None:
        """Add a file and have it read and embedded, as people mostly do."""
        self.add(owner, name, version, None)
        if any_can(Person.unread)(self):
            self.index(owner, 99, crash)

    @precondition(any_can(Person.files))
    @rule(owner=owners, pick=picks, crash=crashes)
    def remove(self, owner: str, pick: int, crash: int | None) -> None:
        """Delete a file; where one waits to replace it, only the other is left."""
        person = self.who(owner, Person.files)
        there = person.files()
        record = there[pick % len(there)]
        others = {person.version(other) for other in there if other.name == record.name and other != record}

        def change(held: Held) -> None:
            del held.files[record.name]
            held.files.update((record.name, version) for version in others)

        self.do(person.owner, crash, lambda: person.library.remove(record.id), change)

    @rule(owner=owners, pick=picks, crash=crashes)
    def begin(self, owner: str, pick: int, crash: int | None) -> None:
        """Ask, in a new chat or in one that there is; the answer waits."""
        person, question = self.people[owner], f"Where is number {next(self.asked)}?"
        chats = [*person.quiet(), None]
        chat = chats[pick % len(chats)] or self.create_chat(owner)

        def act() -> None:
            person.begun[chat] = person.conversation.begin(chat, question)

        self.do(owner, crash, act, lambda held: held.chats[chat].append(question))

    def create_chat(self, owner: str) -> str:
        chat = self.people[owner].chats.create("Chat").id
        self.held[owner].chats[chat] = []
        return chat

    @precondition(any_can(Person.waiting))
    @rule(owner=owners, pick=picks, events=st.sampled_from((1, 2, 3, 4, 5, 99)), crash=crashes)
    def answer(self, owner: str, pick: int, events: int, crash: int | None) -> None:
        """Answer what waits to its end, or stop it after some events."""
        person = self.who(owner, Person.waiting)
        turn = person.begun[person.waiting()[pick % len(person.waiting())]]
        whole: list[str] = []

        def act() -> None:
            running = person.conversation.run(turn, never)
            for _ in itertools.islice(running, events):
                pass
            running.close()
            del person.begun[turn.conversation_id]
            answer = person.chats.message(turn.answer_id)
            assert answer.state in ("complete", *EARLY)
            whole.extend([answer.content] if answer.state == "complete" else [])

        def change(held: Held) -> None:
            held.answers.update((turn.answer_id, content) for content in whole)

        self.do(person.owner, crash, act, change)

    @rule(owner=owners, pick=picks, events=st.sampled_from((1, 2, 3, 4, 5, 99)), crash=crashes)
    def ask(self, owner: str, pick: int, events: int, crash: int | None) -> None:
        """Ask and answer, as people mostly do."""
        self.begin(owner, pick, None)
        self.answer(owner, pick, events, crash)

    @precondition(any_can(Person.ended_early))
    @rule(owner=owners, pick=picks, crash=crashes)
    def retry(self, owner: str, pick: int, crash: int | None) -> None:
        """Ask for an answer again that ended early."""
        person = self.who(owner, Person.ended_early)
        answer = person.ended_early()[pick % len(person.ended_early())]

        def act() -> None:
            turn = person.chats.begin_retry(answer)
            person.begun[turn.conversation_id] = turn

        self.do(person.owner, crash, act, lambda _: None)

    @precondition(any_can(Person.quiet))
    @rule(owner=owners, pick=picks, crash=crashes)
    def delete_chat(self, owner: str, pick: int, crash: int | None) -> None:
        person = self.who(owner, Person.quiet)
        self.delete(person, person.quiet()[pick % len(person.quiet())], crash)

    @precondition(any_can(Person.waiting))
    @rule(owner=owners, pick=picks, crash=crashes)
    def delete_waiting_chat(self, owner: str, pick: int, crash: int | None) -> None:
        person = self.who(owner, Person.waiting)
        self.delete(person, person.waiting()[pick % len(person.waiting())], crash)

    def delete(self, person: Person, chat: str, crash: int | None) -> None:
        answers = {message.id for message in person.chats.messages(chat, limit=1000)}

        def act() -> None:
            person.chats.delete(chat)
            person.begun.pop(chat, None)

        def change(held: Held) -> None:
            del held.chats[chat]
            held.answers = {id_: said for id_, said in held.answers.items() if id_ not in answers}

        self.do(person.owner, crash, act, change)

    @rule()
    def restart(self) -> None:
        self.close()
        self.open()
        for person in self.people.values():
            person.library.recover()

    @invariant()
    def the_model_is_right(self) -> None:
        for owner, person in self.people.items():
            assert person.held(self.held[owner]) == self.held[owner]

    @invariant()
    def ledger_and_indexes_agree(self) -> None:
        audit_ledger(self.database)
        everyones: set[str] = set()
        for person in self.people.values():
            documents, indexes = person.library.documents, person.library.indexes
            chunks = documents.chunk_ids()
            ready = [record.id for record in documents.list() if record.state == "ready"]
            embedded = indexes.vectors.ids() if documents.index_state("vectors") else set()
            assert indexes.words.ids() == chunks >= embedded
            assert {chunk.id for id_ in ready for chunk in documents.chunks(id_)} <= embedded
            assert not everyones & chunks
            everyones |= chunks

    def teardown(self) -> None:
        """Start once more, finish what is unfinished, and audit all of it."""
        self.restart()
        for person in self.people.values():
            person.finish_reading()
            audit_originals(person.library, self.database)
            if person.library.documents.list():
                audit(person.library, self.database)
        self.the_model_is_right()
        self.close()
        shutil.rmtree(self.base)


SHORT = pytest.mark.timeout(600)  # here: a mark on the function would count in place of the long one's own
LONG = [pytest.mark.slow(reason="invents 5,000 histories"), pytest.mark.timeout(6 * 3600)]
QUICKLY = (Phase.generate,)  # to make a history shorter that fails takes minutes: it is told as it was


@pytest.mark.parametrize("histories", [pytest.param(2, marks=SHORT), pytest.param(5000, marks=LONG)])
def test_ledger_indexes_and_chats_are_what_was_acknowledged_whatever_happens(tmp_path: Path, histories: int):
    Database.open(tmp_path).close()
    run_state_machine_as_test(
        lambda: Histories(tmp_path),
        settings=settings(
            max_examples=histories,
            stateful_step_count=24,
            phases=QUICKLY,
            suppress_health_check=list(HealthCheck),
        ),
    )
