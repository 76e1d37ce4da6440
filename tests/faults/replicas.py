"""Several processes on one ledger: PostgreSQL, a folder of originals and indexes, and models of ours."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import create_engine, text

from rag.settings import Settings
from tests.faults.forks import ForkedProcess, forked_command
from tests.rag.fake_embeddings import MODEL, FakeEmbeddings
from tests.rag.fake_llm import FakeLLM
from tests.storage.postgres import Postgres

SECONDS = 180.0  # for what a busy machine does in a moment
SERVE = ("serve", "--no-ui", "--workers", "0", "--port", "0")
WORK = ("work",)
BEGUN = {"serve": "Footnote answers at ", "work": " wait"}


def until(true: Callable[[], Any], what: str = "", seconds: float = SECONDS) -> Any:
    """Wait for a state; return what is then true."""
    deadline = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < deadline, what or "it does not come true"
        time.sleep(0.05)
    return found


@dataclass
class Member:
    """One process, which writes to a log."""

    command: Sequence[str]
    process: ForkedProcess
    log: Path

    @property
    def url(self) -> str:
        """Address of one that serves."""
        return self.log.read_text().split(BEGUN["serve"])[1].split("/api")[0]

    def kill(self) -> None:
        """Kill it as the kernel would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        """Stop it in order."""
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        self.process.wait(SECONDS)

    def freeze(self) -> None:
        """Let it do nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        self.process.send_signal(signal.SIGCONT)


@dataclass
class Cluster:
    """Processes that share everything, and what they share."""

    folder: Path
    postgres: Postgres
    llm: FakeLLM
    embeddings: FakeEmbeddings
    given: dict[str, Any] = field(default_factory=dict)
    members: list[Member] = field(default_factory=list)

    def settings(self, name: str) -> Settings:
        """Return the settings of a process, which has its own data directory."""
        return Settings(
            data=self.folder / name,
            database_url=self.postgres.url,
            objects=f"file://{self.folder}/shared",
            vector_store="lance-objects",
            embedding_model=MODEL,
            embedding_base_url=self.embeddings.url,
            llm_base_url=self.llm.url,
            llm_model="fake",
            llm_idle_timeout=600,  # answers are held for as long as a test takes
            raptor="off",
            citation_judge="off",
            korean_japanese_analyzers="off",
            **{"shutdown_seconds": 0.0, **self.given},
        )

    def members_of(self, command: Sequence[str], count: int = 1) -> list[Member]:
        """Return running processes of a command, started where there are too few: that takes seconds."""
        running = [one for one in self.members if one.command == command and one.process.poll() is None]
        running += [self.launch(command) for _ in range(count - len(running))]
        for member in running:
            until(lambda member=member: self.has_begun(member), f"{command} does not begin")
        return running[:count]

    def worker_of(self, kind: str) -> Member:
        """Return the process that has the lease of a job of this kind, once there is one."""
        asked = "SELECT worker FROM jobs WHERE kind = :kind AND state = 'running'"
        ((worker,),) = until(lambda: self.rows(asked, kind=kind), f"nobody does {kind}")
        return next(one for one in self.members if str(one.process.pid) == worker.split()[1])

    def launch(self, command: Sequence[str]) -> Member:
        """Start a process without waiting for it."""
        settings = self.settings(f"member-{len(self.members)}")
        given = settings.model_dump(include=settings.model_fields_set)
        environment = {f"FOOTNOTE_{name.upper()}": str(value) for name, value in given.items()}
        environment["DATABASE_URL"] = environment.pop("FOOTNOTE_DATABASE_URL")
        log = self.folder / f"log-{len(self.members)}"
        process = forked_command(command, environment={**os.environ, **environment}, log=log)
        self.members.append(Member(command, process, log))
        return self.members[-1]

    def has_begun(self, member: Member) -> bool:
        """Return whether a process has begun; it must not have ended."""
        assert member.process.poll() is None, member.log.read_text()
        return BEGUN[member.command[0]] in member.log.read_text()

    def rows(self, statement: str, **values: Any) -> list[Any]:
        """Return rows of the ledger, past every process."""
        engine = create_engine(self.postgres.url)
        try:
            with engine.connect() as connection:
                return [tuple(row) for row in connection.execute(text(statement), values)]
        finally:
            engine.dispose()

    def close(self) -> None:
        """Kill every process that still runs."""
        for member in self.members:
            if member.process.poll() is None:
                member.kill()


@contextmanager
def cluster(folder: Path, postgres: Postgres, **given: Any) -> Iterator[Cluster]:
    """Make the shared parts, with the `given` settings, and end what was started with them."""
    with FakeLLM(keeps_questions=True) as llm, FakeEmbeddings() as embeddings:
        made = Cluster(folder, postgres, llm, embeddings, given)
        try:
            yield made
        finally:
            llm.released.set()
            made.close()


def client(member: Member, key: str) -> httpx.Client:
    """Return a client of a process that serves."""
    return httpx.Client(base_url=member.url, headers={"Authorization": f"Bearer {key}"}, timeout=SECONDS)
