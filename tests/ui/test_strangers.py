"""Above the ledger, too, Bob gets for Ann's ids what he gets for ids that do not exist, and changes nothing.

The methods are found by reflection: a new one without a case here fails the first test.
"""

import inspect
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from sqlalchemy import select

from rag.chat.conversation import Conversation
from rag.chat.scope import Scope
from rag.connectors.sync import Syncing
from rag.evaluation.lab import Lab
from rag.grid.cells import CellResult, Words
from rag.grid.grids import Grids
from rag.grid.run import GridRuns
from rag.ingest.library import Library
from rag.ingest.queue import Ingest, Reindexing
from rag.jobs import Jobs
from rag.quota import Quota
from rag.settings import load
from rag.workspace import Workspace
from storage.database import Database
from storage.jobs import Lease
from storage.records import FigureSpan, Message, Role, TurnRecord
from storage.tables import Base
from tests.storage.test_owners import belongings


def said(id_: str, role: Role) -> Message:
    """Return a message of an id, as one would make it up."""
    return Message(id_, role, "mine?", "pending", None, None, None, None, {}, datetime.now(UTC))


def checked(my: Workspace, **among: list[str]) -> object:
    """Return what comes of checking a text against documents and collections of these ids."""
    job = my.check_text("a.md", b"The first words of the report.", **among)
    job.wait()
    return job.error or job.latest


# For each method that takes an id, how it is called; for the others, None: they know only one's own.
LIBRARY = {
    "add": None,
    "add_vectors": None,
    "close": None,
    "destroy": None,
    "drop_copies": None,
    "keep": None,
    "parse": None,
    "profiles": None,
    "rarity": None,
    "texts_about": None,
    "read_missing_facts": None,
    "rebuild_vectors": None,
    "recover": None,
    "scrub": None,
    "scrub_due": None,
    "sweep_originals": None,
    "reindex": None,
    "add_description": lambda my, ids: my.add_description(
        ids["document"], 0, FigureSpan(1, "words", 0, 0, 5), "mine", "eye"
    ),
    "admit_figures": None,
    "figures_of": lambda my, ids: my.figures_of(ids["document"]),
    "embed": lambda my, ids: my.embed(ids["document"]),
    "facts_of": lambda my, ids: my.facts_of(ids["document"]),
    "index": lambda my, ids: my.index(ids["document"]),
    "read": lambda my, ids: my.read(ids["replacement"]),
    "remove": lambda my, ids: my.remove(ids["document"]),
    "retriever": lambda my, ids: my.retriever("bm25", 5, document_ids=[ids["document"]]).invoke("words"),
}
CONVERSATION = {
    "check": lambda my, ids: my.check(ids["answer"]),
    "begin": lambda my, ids: my.begin(ids["conversation"], "mine?"),
    "begin_version": lambda my, ids: my.begin_version(ids["question"], "mine?"),
    "run": lambda my, ids: my.run(
        TurnRecord(ids["conversation"], said(ids["question"], "user"), said(ids["pending"], "assistant")),
        lambda: False,
    ),
}
INGEST = {
    "run": lambda my, ids: my.run(Lease("0" * 16, "ann", "read", ids["document"], 1)),
    "all_running": None,
    "embed_anew": None,
    "describe": lambda my, ids: my.describe(ids["document"]),
    "describe_if_due": None,
    "describing": None,
    "describing_failed": None,
    "stop_describing": None,
    "follow_setting": None,
    "go_on": None,
    "grow": None,
    "growing": None,
    "growing_failed": None,
    "grows": None,
    "recover": None,
    "scrub_if_due": None,
    "split_if_due": None,
    "splitting": None,
    "stop_growing": None,
    "stop_writing": None,
    "try_again": None,
    "weigh": None,
    "weighing": None,
    "progress": lambda my, ids: my.progress(ids["document"]),
    "remove": lambda my, ids: my.remove(ids["document"]),
    "running": lambda my, ids: my.running(ids["document"]),
    "start": lambda my, ids: my.start(ids["document"]),
}
LAB = {
    "from_feedback": None,
    "making": None,
    "add_typed": lambda my, ids: my.add_typed(ids["set"], "mine?", []),
    "candidates": None,
    "delete_set": lambda my, ids: my.delete_set(ids["set"]),
    "prepared": lambda my, ids: my.prepared(ids["set"]),
    "running": lambda my, ids: my.running(ids["set"]),
    "start_making": lambda my, ids: my.start_making("mine", document_ids=[ids["document"]]),
    "start_run": lambda my, ids: my.start_run(ids["set"], ["bm25"]),
}
SYNCING = {
    "recover": None,
    "start_due": None,
    "change": lambda my, ids: my.change(ids["source"], "mine now", {}, None),
    "delete": lambda my, ids: my.delete(ids["source"], keep_documents=False),
    "job": lambda my, ids: my.job(ids["source"]),
    "start": lambda my, ids: my.start(ids["source"]),
    "stop": lambda my, ids: my.stop(ids["source"]),
}
REINDEXING = {"recover": None, "start": None, "stop": None}
JOBS = {
    "has_lane": None,
    "room": None,
    "close": None,
    "keys": None,
    "running": None,
    "standing": None,
    "stop_all": None,
    "welcome": None,
    "while_idle": None,
    "get": lambda my, ids: my.get("bob", f"answer:{ids['pending']}"),
    "start": None,
}
WORKSPACE = {
    "add": None,
    "builds_trees": None,
    "checking": None,
    "embed_anew": None,
    "recover": None,
    "source": None,
    "add_webhook": None,
    "documents": None,
    "introduction": lambda my, ids: my.introduction(ids["document"]),
    "remove_documents": None,
    "read_again": lambda my, ids: my.read_again(ids["document"]),
    "remove_conversation": lambda my, ids: my.remove_conversation(ids["conversation"], "mine"),
    "answer": None,  # it searches by `pipeline_within`, and counts what was used
    "begin_with": lambda my, ids: my.begin_with([("user", "mine?")], ([ids["collection"]], [])),
    "pipeline_within": lambda my, ids: my.pipeline_within(
        Scope(frozenset([ids["document"]])), retriever="bm25"
    ).retriever.invoke("words"),
    "reading": lambda my, ids: my.reading(ids["answer"]),
    "answer_again": lambda my, ids: my.answer_again(ids["answer"]),
    "check_text": lambda my, ids: checked(my, documents=[ids["document"]], collections=[ids["collection"]]),
    "answering": lambda my, ids: my.answering(ids["pending"]),
    "ask": lambda my, ids: my.ask(ids["conversation"], "mine?"),
    "pipeline": lambda my, ids: my.pipeline(ids["conversation"]) and None,
    "delete_conversation": lambda my, ids: my.delete_conversation(ids["conversation"]),
    "restore_conversation": lambda my, ids: my.restore_conversation(ids["conversation"]),
    "ask_grid": None,
    "note": None,
    "original": lambda my, ids: my.original(ids["document"]),
    "exported": lambda my, ids: my.exported(ids["conversation"], "md"),
    "exported_grid": lambda my, ids: my.exported_grid(ids["grid"], "csv"),
    "go_on": lambda my, ids: my.go_on(ids["stopped"]),
    "otherwise": lambda my, ids: my.otherwise(ids["question"], "mine?"),
    "retry": lambda my, ids: my.retry(ids["answer"]),
    "settle": lambda my, ids: my.settle(ids["pending"]),
    "stop": lambda my, ids: my.stop(ids["pending"]),
    "stop_checking": lambda my, ids: my.stop_checking(ids["answer"]),
}
GRIDS = {
    "create": None,
    "list": None,
    "get": lambda my, ids: my.get(ids["grid"]),
    "change": lambda my, ids: my.change(ids["grid"], name="mine now"),
    "remove": lambda my, ids: my.remove(ids["grid"]),
    "scope": lambda my, ids: my.scope(ids["grid"]),
    "documents": lambda my, ids: my.documents(ids["grid"]),
    "rows": lambda my, ids: my.rows(ids["grid"]),
    "row": lambda my, ids: my.row(ids["grid"], ids["document"]),
    "due": lambda my, ids: my.due(ids["grid"]),
    "estimate": lambda my, ids: my.estimate(ids["grid"]),
    "keep": lambda my, ids: my.keep(
        ids["grid"], (ids["document"], "c1"), CellResult("absent"), "mine", (0.0, 0)
    ),
    "correct": lambda my, ids: my.correct(ids["grid"], (ids["document"], "c1"), Words("mine")),
    "ask_again": lambda my, ids: my.ask_again(ids["grid"], (ids["document"], "c1")),
    "lock": lambda my, ids: my.lock(ids["grid"], (ids["document"], "c1")),
}
GRID_RUNS = {
    "recover": None,
    "start": lambda my, ids: my.start(ids["grid"]),
    "read_again": lambda my, ids: my.read_again(ids["grid"], (ids["document"], "c1")),
    "job": lambda my, ids: my.job(ids["grid"]),
    "stop": lambda my, ids: my.stop(ids["grid"]),
    "remove": lambda my, ids: my.remove(ids["grid"]),
}
ALLOWANCE = {
    "answer": None,
    "tokens": None,
    "used": None,
    "passages": None,
    "embedding": None,
    "embedded": None,
    "document": lambda my, ids: my.document(ids["sha256"], 1),
}
FLOOR = {
    Library: LIBRARY,
    Conversation: CONVERSATION,
    Ingest: INGEST,
    Lab: LAB,
    Syncing: SYNCING,
    Reindexing: REINDEXING,
    Jobs: JOBS,
    Workspace: WORKSPACE,
    Quota: ALLOWANCE,
    Grids: GRIDS,
    GridRuns: GRID_RUNS,
}
CALLS = [(kind, name) for kind, cases in FLOOR.items() for name, call in cases.items() if call]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimpleNamespace]:
    """Ann's ids, with jobs that run for her; Bob's parts, over the same jobs. No call may change them."""
    database = Database.open(tmp_path_factory.mktemp("scene") / "data")
    belongings(database, "bob")
    ids = belongings(database, "ann")
    lanes = {"sync": 2, "read": 2, "embed": 1, "split": 1, "trees": 1, "check": 1, "grid": 1}
    jobs, stop = Jobs(lanes), threading.Event()
    settings = load({"data": database.directory})
    bob = Workspace(database, "bob", jobs, lambda: (settings, None))
    bob.library.profiles()  # his own documents are read for their facts once

    def waiting(cancelled):
        while not (cancelled() or stop.is_set()):
            stop.wait(0.01)
        yield "done"

    keys = (f"answer:{ids['pending']}", f"sync:{ids['source']}", f"read:{ids['document']}")
    running = [jobs.start("ann", key, waiting) for key in keys]
    parts = {
        Library: bob.library,
        Conversation: bob._conversation(),
        Ingest: bob.ingest,
        Lab: bob.lab,
        Syncing: bob.syncing,
        Reindexing: bob.reindexing,
        Jobs: jobs,
        Workspace: bob,
        Quota: bob.allowance,
        Grids: bob.grids,
        GridRuns: bob.grid_runs,
    }
    yield SimpleNamespace(database=database, ids=ids, bobs=parts, running=running)
    stop.set()
    jobs.close()
    bob.library.close()
    database.close()


def rows_of(database: Database) -> dict[str, list[object]]:
    with database.reading() as session:
        tables = [table for table in Base.metadata.sorted_tables if table.name != "ledger"]
        return {table.name: sorted(map(repr, session.execute(select(table)))) for table in tables}


def outcome(call, part, ids) -> tuple[str, str]:
    """What comes of a call: a value, or an error and its sentence, with no id in it."""
    try:
        said = call(part, ids)
        said = list(said) if inspect.isgenerator(said) else said
        kind, text = "value", repr(said)
    except Exception as error:  # noqa: BLE001 - whatever it is, it must be the same for both
        kind, text = type(error).__name__, str(error)
    for id_ in sorted(ids.values(), key=len, reverse=True):
        text = text.replace(id_, "…")
    return kind, text


@pytest.mark.parametrize("kind", FLOOR)
def test_every_public_method_has_a_case(kind):
    public = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    assert public == set(FLOOR[kind])


@pytest.mark.parametrize(("kind", "name"), CALLS)
def test_a_strangers_id_is_an_id_that_does_not_exist(scene, kind, name):
    call, part, before = FLOOR[kind][name], scene.bobs[kind], rows_of(scene.database)
    nobodys = dict.fromkeys(scene.ids, "0" * 16)
    came = outcome(call, part, scene.ids)
    assert came == outcome(call, part, nobodys)
    assert came[0] not in ("AttributeError", "KeyError", "TypeError")  # the case itself would be wrong
    assert rows_of(scene.database) == before
    assert not any(job.done for job in scene.running)


def test_jobs_are_found_counted_and_stopped_by_their_owner_only(scene):  # last: it ends Ann's jobs
    jobs = scene.bobs[Jobs]
    assert (jobs.running("ann", "answer"), jobs.running("bob", "answer")) == (1, 0)
    assert jobs.stop_all("bob", 1.0)
    assert not any(job.done for job in scene.running)
    assert jobs.stop_all("ann", 30.0)
    assert all(job.done for job in scene.running)
