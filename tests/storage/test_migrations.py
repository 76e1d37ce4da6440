import hashlib
import sqlite3
from contextlib import closing

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from storage import migrations, sqlite
from storage.accounts import Account, People
from storage.answers import Feedback, Traces
from storage.choices import Choices
from storage.collections import Collections
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.errors import DatabaseTooNew, StorageError
from storage.grids import GridStore
from storage.tables import ChoiceRow, LabSet, SourceItem, TreeNode, Usage

NEWEST = migrations.revisions()[-1]


def run(path, *statements):
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            found = db.execute(statement).fetchall()
    return found


def before_the_first(directory):
    """A ledger from before the first revision, with one precious row."""
    directory.mkdir(mode=0o700)
    run(directory / "footnote.db", "CREATE TABLE precious (word)", "INSERT INTO precious VALUES ('kept')")
    return directory / "footnote.db"


def test_an_empty_directory_gets_exactly_the_tables_declared(database):
    with database.reading() as session:
        context = MigrationContext.configure(session.connection())
        declared = {table.metadata for table in (LabSet, TreeNode, SourceItem, ChoiceRow, Usage)}
        assert len(declared) == 1
        assert compare_metadata(context, LabSet.metadata) == []


def test_file_names_tell_the_revisions():
    script = ScriptDirectory(str(migrations.HERE))
    assert [step.revision for step in script.walk_revisions()][::-1] == migrations.revisions()


def test_a_new_ledger_needs_no_backup(database):
    assert not (database.directory / "backups").exists()


def test_a_ledger_up_to_date_is_not_backed_up(directory):
    for _ in range(2):
        Database.open(directory).close()
    assert not (directory / "backups").exists()


def test_a_due_migration_is_preceded_by_a_backup_of_the_old_state(directory):
    before_the_first(directory)
    Database.open(directory).close()
    (backup,) = (directory / "backups").iterdir()
    assert run(backup, "SELECT word FROM precious") == [("kept",)]
    assert run(backup, "SELECT name FROM sqlite_master WHERE name = 'users'") == []
    ledger = directory / "footnote.db"
    assert run(ledger, "SELECT word FROM precious") == [("kept",)]
    assert run(ledger, "SELECT version_num FROM alembic_version") == [(NEWEST,)]


def test_a_migration_that_fails_leaves_the_old_state_whole(directory):
    ledger = before_the_first(directory)
    run(ledger, "CREATE TABLE citations (in_the_way)")
    tables = "SELECT name FROM sqlite_master ORDER BY name"
    old = run(ledger, tables)
    with pytest.raises(StorageError, match="citations already exists"):
        Database.open(directory)
    assert run(ledger, tables) == old
    run(ledger, "DROP TABLE citations")
    Database.open(directory).close()


def test_a_migration_leaves_references_enforced(directory):
    before_the_first(directory)
    opened = Database.open(directory)
    with opened.reading() as session:
        assert session.connection().exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
    opened.close()


def at(revision, path):
    """Make a ledger as the version of that revision left it."""
    config = Config()
    config.set_main_option("script_location", str(migrations.HERE))
    engine = sqlite.engine(path)
    with sqlite.migration(engine) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def test_answers_from_before_ratings_are_kept_unrated_and_with_nothing_left_out(directory):
    directory.mkdir(mode=0o700)
    at("0001", directory / "footnote.db")
    run(
        directory / "footnote.db",
        "INSERT INTO users VALUES ('ann', '2026-01-01')",
        "INSERT INTO conversations VALUES ('c', 'ann', 't', 't', '2026-01-01', '2026-01-01')",
        "INSERT INTO messages (id, conversation_id, position, role, content, folded, state, timings_ms,"
        " created) VALUES ('m', 'c', 1, 'assistant', 'because', 'because', 'complete', '{}', '2026-01-01')",
    )
    database = Database.open(directory)
    chats = Conversations(database, "ann")
    (answer,) = chats.messages("c")
    assert (answer.content, answer.rating, answer.left_out) == ("because", None, ())
    chats.rate("m", "up")
    assert [message.id for message in chats.rated("up")] == ["m"]
    database.close()


def test_answers_from_before_traces_keep_their_citations_and_can_be_marked(directory):
    directory.mkdir(mode=0o700)
    at("0002", directory / "footnote.db")
    run(
        directory / "footnote.db",
        "INSERT INTO users VALUES ('ann', '2026-01-01')",
        "INSERT INTO conversations VALUES ('c', 'ann', 't', 't', '2026-01-01', '2026-01-01')",
        "INSERT INTO messages (id, conversation_id, position, role, content, folded, state, timings_ms,"
        " created, rating) VALUES ('m', 'c', 1, 'assistant', 'so [1]', 'so', 'complete', '{\"total\": 9}',"
        " '2026-01-01', 'up')",
        "INSERT INTO citations VALUES ('m', 0, 1, 0, 6, 'verified', 40, 42, '말')",
    )
    database = Database.open(directory)
    chats = Conversations(database, "ann")
    (answer,) = chats.messages("c")
    (citation,) = answer.citations
    assert (answer.timings_ms, answer.rating) == ({"total": 9}, "up")
    assert (citation.quote, citation.quote_start, citation.feedback) == ("말", 40, None)
    assert Traces(database, "ann").get("m") is None
    Feedback(database, "ann").mark("m", 0, "wrong")
    assert chats.message("m").citations[0].feedback == "wrong"
    database.close()


def test_a_ledger_of_a_later_version_is_refused_and_left_alone(directory):
    Database.open(directory).close()
    ledger = directory / "footnote.db"
    run(ledger, "UPDATE alembic_version SET version_num = '9999'")
    before = hashlib.sha256(ledger.read_bytes()).digest()
    with pytest.raises(DatabaseTooNew, match="9999"):
        Database.open(directory)
    assert hashlib.sha256(ledger.read_bytes()).digest() == before


def test_migrating_prints_nothing(directory, capfd):
    Database.open(directory).close()
    assert capfd.readouterr() == ("", "")


def test_conversations_from_before_branches_are_one_path(directory):
    directory.mkdir(mode=0o700)
    at("0003", directory / "footnote.db")
    message = (
        "INSERT INTO messages (id, conversation_id, position, role, content, folded, state, timings_ms,"
        " created, question_id)"
        " VALUES ('{0}', '{1}', {2}, '{3}', '{0}', '{0}', 'complete', '{{}}', '2026-01-01', {4})"
    )
    run(
        directory / "footnote.db",
        "INSERT INTO users VALUES ('ann', '2026-01-01')",
        "INSERT INTO conversations VALUES ('c', 'ann', 't', 't', '2026-01-01', '2026-01-01')",
        "INSERT INTO conversations VALUES ('d', 'ann', 't', 't', '2026-01-01', '2026-01-01')",
        message.format("q1", "c", 1, "user", "NULL"),
        message.format("a1", "c", 2, "assistant", "'q1'"),
        message.format("x", "d", 1, "user", "NULL"),
        message.format("q2", "c", 5, "user", "NULL"),
        message.format("a2", "c", 6, "assistant", "'q2'"),
    )
    database = Database.open(directory)
    chats = Conversations(database, "ann")
    assert [message.id for message in chats.messages("c")] == ["q1", "a1", "q2", "a2"]
    assert [message.id for message in chats.messages("d")] == ["x"]
    assert all(message.versions == () for message in chats.messages("c"))
    assert chats.opening("a2").id == "q1"
    turn = chats.begin_version("q2", "and otherwise?")
    assert [message.id for message in chats.messages("c")] == ["q1", "a1", turn.question_id, turn.answer_id]
    database.close()


def test_documents_from_before_collections_are_in_none_and_split_as_usual(directory):
    directory.mkdir(mode=0o700)
    at("0006", directory / "footnote.db")
    run(
        directory / "footnote.db",
        "INSERT INTO users VALUES ('ann', '2026-01-01')",
        "INSERT INTO conversations (id, owner, title, folded, created, updated)"
        " VALUES ('c', 'ann', 't', 't', '2026-01-01', '2026-01-01')",
        "INSERT INTO documents (id, owner, name, sha256, size, state, chunk_count, created, updated)"
        " VALUES ('d', 'ann', 'a.md', 'a', 1, 'ready', 1, '2026-01-01', '2026-01-01')",
        'INSERT INTO chunks (id, document_id, position, start, "end", heading, text)'
        " VALUES ('d-00000', 'd', 0, 0, 4, '', 'moat')",
    )
    database = Database.open(directory)
    documents, collections = Documents(database, "ann"), Collections(database, "ann")
    assert documents.get("d").collection_id is None
    assert documents.of_chunks(["d-00000"]) == {"d-00000": ("d", "a.md")}
    assert (collections.list(), collections.due()) == ([], [])
    assert Choices(database, "ann").documents("c") is None
    database.close()


def test_people_from_before_accounts_are_unnamed_unlimited_and_let_in(directory):
    directory.mkdir(mode=0o700)
    at("0007", directory / "footnote.db")
    run(directory / "footnote.db", "INSERT INTO users VALUES ('ann', '2026-01-01')")
    database = Database.open(directory)
    (ann,) = People(database).list()
    assert (ann.id, ann.name, ann.limits, ann.seen, ann.removing) == ("ann", "", {}, None, None)
    Account(database, "ann").enter(ann.created, "Ann")
    assert People(database).get("ann").name == "Ann"
    database.close()


def test_documents_from_before_facts_have_none_yet_and_their_answers_were_not_narrowed(directory):
    directory.mkdir(mode=0o700)
    at("0009", directory / "footnote.db")
    run(
        directory / "footnote.db",
        "INSERT INTO users (id, created) VALUES ('ann', '2026-01-01')",
        "INSERT INTO documents (id, owner, name, sha256, size, state, chunk_count, created, updated)"
        " VALUES ('d', 'ann', 'a.md', 'a', 1, 'ready', 0, '2026-01-01', '2026-01-01')",
        "INSERT INTO document_texts VALUES ('d', 'Date: 3 May 2023')",
        "INSERT INTO conversations (id, owner, title, folded, created, updated)"
        " VALUES ('c', 'ann', 't', 't', '2026-01-01', '2026-01-01')",
        "INSERT INTO messages"
        " (id, conversation_id, position, role, content, folded, state, timings_ms, created)"
        " VALUES ('m', 'c', 1, 'user', 'q', 'q', 'complete', '{}', '2026-01-01')",
    )
    database = Database.open(directory)
    documents = Documents(database, "ann")
    assert (documents.facts("d"), documents.without_facts()) == (None, ["d"])
    assert Conversations(database, "ann").message("m").narrowed_to is None
    database.close()


def test_cells_that_a_note_called_only_searched_are_so_by_their_own_field(directory):
    directory.mkdir(mode=0o700)
    at("0026", directory / "footnote.db")
    run(
        directory / "footnote.db",
        "INSERT INTO users (id, created) VALUES ('ann', '2026-01-01')",
        "INSERT INTO documents (id, owner, name, sha256, size, state, chunk_count, created, updated)"
        " VALUES ('d', 'ann', 'a.md', 'a', 1, 'ready', 0, '2026-01-01', '2026-01-01')",
        "INSERT INTO grids (id, owner, name, columns, created, updated)"
        " VALUES ('g', 'ann', 'n', '[]', '2026-01-01', '2026-01-01')",
        "INSERT INTO grid_cells (column_id, state, note, grid_id, document_id, quotes, read, total,"
        " calculated, basis, seconds, requests, locked, updated)"
        " VALUES ('a', 'absent', 'Not found by search alone. A connected model reads the whole"
        " text.', 'g', 'd', '[]', 1, 1, 0, 'b', 0, 0, 0, '2026-01-01'),"
        " ('b', 'absent', '', 'g', 'd', '[]', 1, 1, 0, 'b', 0, 0, 0, '2026-01-01')",
    )
    database = Database.open(directory)
    cells = GridStore(database, "ann").cells("g")
    assert {cell.column_id: cell.found.only_searched for cell in cells} == {"a": True, "b": False}
    database.close()
