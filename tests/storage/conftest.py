"""A real ledger, in a fresh directory or on a PostgreSQL server, and a second process to compete with it."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text

from storage.database import Database
from storage.tables import Base, Ledger
from tests.faults.forks import Fork, run_source
from tests.storage import postgres
from tests.storage.postgres import Postgres

Run = Callable[..., "Program"]
# About the ledger's own file, its lock or its copies: these run on SQLite alone.
OF_SQLITE = {"test_backup", "test_damage", "test_backup_drill", "test_faults", "test_lock", "test_migrations"}
WITHOUT_SERVER = postgres.programs() is None or importlib.util.find_spec("psycopg") is None
EMPTY = "; ".join(
    [
        "SET LOCAL session_replication_role = replica",  # without triggers, and in any order
        *(f'DELETE FROM "{name}"' for name in Base.metadata.tables if name != Ledger.__tablename__),  # noqa: S608
        "SELECT setval(pg_get_serial_sequence('audit_log', 'id'), 1, false)",
    ]
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is tested with a ledger on SQLite and on PostgreSQL, but where it says which."""
    said = any(mark.args[0] == "ledger" for mark in metafunc.definition.iter_markers("parametrize"))
    if "ledger" in metafunc.fixturenames and not said and metafunc.definition.path.stem not in OF_SQLITE:
        metafunc.parametrize("ledger", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture(scope="session")
def started_server() -> Iterator[Postgres]:
    if WITHOUT_SERVER:
        pytest.skip(postgres.MISSING)
    with postgres.running() as running:
        yield running


@pytest.fixture
def server(started_server: Postgres) -> Postgres:
    """Return a running server without the rows of other tests."""
    engine = create_engine(started_server.url)
    with engine.begin() as connection:
        if inspect(connection).has_table(Ledger.__tablename__):
            connection.execute(text(EMPTY))
    engine.dispose()
    return started_server


@pytest.fixture
def ledger(request: pytest.FixtureRequest) -> str | None:
    """Return the URL of an empty ledger; None for SQLite in the data directory."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return None
    url: str = request.getfixturevalue("server").url
    return url


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
def database(directory: Path, ledger: str | None) -> Iterator[Database]:
    opened = Database.open(directory, url=ledger)
    yield opened
    opened.close()


class Program(Fork):
    """Python source at work in a process of its own; `ready` is the first line that it said."""

    def __init__(self, source: str, *arguments: object) -> None:
        super().__init__(run_source, source, *map(str, arguments))
        self.ready = self.said.readline().strip()


@pytest.fixture
def start() -> Iterator[Run]:
    """Start Python source in another process and wait for its first line, which says that it is ready."""
    running: list[Program] = []

    def run(source: str, *arguments: object) -> Program:
        running.append(Program(source, *arguments))
        return running[-1]

    yield run
    for process in running:
        process.kill()
