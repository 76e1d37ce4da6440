"""Whatever Ann has, Bob gets the answer he would get for an id that does not exist.

The methods are found by reflection: a new one without a case here fails the first test.
"""

import inspect
import shutil
from contextlib import closing
from datetime import UTC, datetime

import pytest
from sqlalchemy import select

from storage.accounts import Account
from storage.answers import Feedback, SentRecord, Standings, Trace, Traces
from storage.audit_log import AuditLog
from storage.choices import Choices, Chosen
from storage.collections import Collections, Tags
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.errors import NotFound
from storage.figures import Figures
from storage.files import Files
from storage.grids import FoundCell, GridScope, GridStore
from storage.idempotency import IdempotentRequests
from storage.keys import ApiKeys
from storage.lab import QuestionSets, Runs
from storage.records import (
    AskedRecord,
    ChunkSpan,
    CitationRecord,
    FigureSpan,
    Listing,
    MarkedPassage,
    PageSpan,
    SearchedRecord,
)
from storage.sources import SourceItems, SourceStore
from storage.tables import Base
from storage.trees import NodeRecord, Trees
from storage.webhooks import Webhooks

# For each method that takes an id, how it is called; for the others, None: they show or make only one's own.
DOCUMENTS = {
    "add": None,
    "count": None,
    "list": None,
    "unfinished": None,
    "chunk_ids": None,
    "chunk_ids_in": None,
    "strays": None,
    "has_content": None,
    "index_version": None,
    "raise_index_version": None,
    "index_state": None,
    "set_index_state": None,
    "chunks_by_id": None,
    "chunks_of": None,
    "of_chunks": None,
    "all_facts": None,
    "without_facts": None,
    "revision": None,
    "facts": lambda my, ids: my.facts(ids["document"]),
    "save_facts": lambda my, ids: my.save_facts(ids["document"], []),
    "get": lambda my, ids: my.get(ids["document"]),
    "exists": None,
    "text": lambda my, ids: my.text(ids["document"]),
    "pages": lambda my, ids: my.pages(ids["document"]),
    "chunks": lambda my, ids: my.chunks(ids["document"]),
    "chunk_batches": lambda my, ids: list(my.chunk_batches(ids["document"])),
    "indexed_batches": lambda my, ids: list(my.indexed_batches(ids["document"])),
    "chunk_ids_of": lambda my, ids: my.chunk_ids_of(ids["document"]),
    "set_state": lambda my, ids: my.set_state(ids["document"], "refused", "mine now"),
    "save_chunks": lambda my, ids: my.save_chunks(
        ids["document"], "x", [PageSpan(1, 0, 1)], [ChunkSpan(0, 1)]
    ),
    "promote": lambda my, ids: my.promote(ids["replacement"]),
    "delete": lambda my, ids: my.delete(ids["document"]),
}
FIGURES = {
    "due": None,
    "stop_due": None,
    "of": lambda my, ids: my.of(ids["document"]),
    "put": lambda my, ids: my.put(ids["document"], 0, FigureSpan(1, "Figure 1", 0, 0, 5), "mine", "mine"),
    "reading": lambda my, ids: my.reading(ids["document"]),
    "set_reading": lambda my, ids: my.set_reading(ids["document"], "stopped"),
}
CONVERSATIONS = {
    "create": None,
    "list": None,
    "open": lambda my, ids: my.open(ids["conversation"]),
    "messages": lambda my, ids: my.messages(ids["conversation"]),
    "message": lambda my, ids: my.message(ids["question"]),
    "turn": lambda my, ids: my.turn(ids["answer"]),
    "rename": lambda my, ids: my.rename(ids["conversation"], "mine now"),
    "delete": lambda my, ids: my.delete(ids["conversation"]),
    "discard": lambda my, ids: my.discard(ids["conversation"]),
    "restore": lambda my, ids: my.restore(ids["conversation"]),
    "discarded": None,
    "begin_turn": lambda my, ids: my.begin_turn(ids["conversation"], "mine?"),
    "opening": lambda my, ids: my.opening(ids["answer"]),
    "pending": lambda my, ids: my.pending(ids["conversation"]),
    "being_answered": None,
    "begin_version": lambda my, ids: my.begin_version(ids["question"], "mine?"),
    "show_version": lambda my, ids: my.show_version(ids["question"], ids["answer"]),
    "version_that_goes_on": lambda my, ids: my.version_that_goes_on(ids["question"]),
    "begin_retry": lambda my, ids: my.begin_retry(ids["answer"]),
    "begin_continuation": lambda my, ids: my.begin_continuation(ids["stopped"]),
    "answering": lambda my, ids: held(my, ids["pending"]),
    "stop_answer": lambda my, ids: my.stop_answer(ids["pending"]),
    "interrupt": lambda my, ids: my.interrupt(ids["pending"]),
    "answers_elsewhere": None,
    "is_written_elsewhere": lambda my, ids: my.is_written_elsewhere(ids["answer"]),
    "checkpoint": lambda my, ids: my.checkpoint(ids["pending"], "mine"),
    "finish": lambda my, ids: my.finish(ids["pending"], "complete", "mine"),
    "revise": lambda my, ids: my.revise(ids["answer"], "", "mine", []),
    "rate": lambda my, ids: my.rate(ids["answer"], "down"),
    "rated": None,
}
TRACES = {"get": lambda my, ids: my.get(ids["answer"])}
STANDINGS = {"of": None, "present": None}
FEEDBACK = {
    "mark": lambda my, ids: my.mark(ids["answer"], 0, "wrong"),
    "explain": lambda my, ids: my.explain(ids["answer"], "wrong", "mine"),
    "answers": None,
}
QUESTION_SETS = {
    "create": None,
    "list": None,
    "get": lambda my, ids: my.get(ids["set"]),
    "rename": lambda my, ids: my.rename(ids["set"], "mine now"),
    "delete": lambda my, ids: my.delete(ids["set"]),
    "add": lambda my, ids: my.add(ids["set"], "mine?", [MARKED]),
    "extend": lambda my, ids: my.extend(ids["set"], [("mine?", [MARKED])]),
    "questions": lambda my, ids: my.questions(ids["set"]),
    "remove_question": lambda my, ids: my.remove_question(ids["set question"]),
}
RUNS = {
    "list": lambda my, ids: my.list(ids["set"]),
    "begin": lambda my, ids: begin(my, ids["set"]),
    "keep": lambda my, ids: my.keep(ids["run"], [], []),
    "finish": lambda my, ids: my.finish(ids["run"], "complete"),
    "get": lambda my, ids: my.get(ids["run"]),
    "asked": lambda my, ids: my.asked(ids["run"]),
    "findings": lambda my, ids: my.findings(ids["run"]),
}
TREES = {
    "list": None,
    "branch": None,
    "drop": None,
    "drop_stale": None,
    "reopen": None,
    "node_ids": None,
    "nodes_by_id": None,
    "parents": None,
    "levels": None,
    "leaves_at": None,
    "characters": None,
    "tops": lambda my, ids: my.tops(ids["branch"]),
    "begin": lambda my, ids: my.begin(ids["document"], {"model": "mine"}, "contents"),
    "keep": lambda my, ids: my.keep(ids["branch"], [NodeRecord("mine", 0, "words", end=5)]),
    "finish": lambda my, ids: my.finish(ids["branch"], ["mine"]),
    "nodes": lambda my, ids: my.nodes(ids["branch"]),
}
SOURCES = {
    "create": None,
    "list": None,
    "get": lambda my, ids: my.get(ids["source"]),
    "change": lambda my, ids: my.change(ids["source"], "mine now", {}, None),
    "begin": lambda my, ids: my.begin(ids["source"]),
    "mark": lambda my, ids: my.mark(ids["source"], "mine"),
    "end": lambda my, ids: my.end(ids["source"], "idle"),
    "delete": lambda my, ids: my.delete(ids["source"], keep_documents=False),
}
SOURCE_ITEMS = {
    "orphans": None,
    "tallies": None,
    "origins": None,
    "page": lambda my, ids: my.page(ids["source"], 0, 25),
    "retry": lambda my, ids: my.retry(ids["source"], datetime(2026, 5, 4, tzinfo=UTC)),
    "list": lambda my, ids: my.list(ids["source"]),
    "keep": lambda my, ids: my.keep(ids["source"], Listing("mine", "mine.md", "1"), "b" * 64, 1),
    "seen": lambda my, ids: my.seen(ids["source"], [Listing("page", "Mine")]),
    "fail": lambda my, ids: my.fail(ids["source"], Listing("page", "Mine"), "mine"),
    "drop": lambda my, ids: my.drop(ids["source"], ["page"]),
    "unseen": lambda my, ids: my.unseen(ids["source"]),
}
COLLECTIONS = {
    "create": None,
    "list": None,
    "named": None,
    "documents_of": None,
    "splitting_of": None,
    "due": None,
    "get": lambda my, ids: my.get(ids["collection"]),
    "rename": lambda my, ids: my.rename(ids["collection"], "mine now"),
    "delete": lambda my, ids: my.delete(ids["collection"]),
    "put": lambda my, ids: my.put([], ids["collection"]),
    "set_splitting": lambda my, ids: my.set_splitting(ids["collection"], None),
    "instruct": lambda my, ids: my.instruct(ids["collection"], "Be brief."),
    "instructions_for": None,
}
CHOICES = {
    "of": lambda my, ids: my.of(ids["conversation"]),
    "choose": lambda my, ids: my.choose(ids["conversation"]),
    "drop": lambda my, ids: my.drop(ids["conversation"], Chosen("document", ids["document"], "a")),
    "add": lambda my, ids: my.add(ids["conversation"], []),
    "documents": lambda my, ids: my.documents(ids["conversation"]),
    "would_be": None,
}
TAGS = {
    "list": None,
    "of_documents": None,
    "documents_of": None,
    "add": None,
    "remove": None,
}
ACCOUNT = {
    "enter": None,
    "language": None,
    "choose_language": None,
    "leave": None,
    "confirm": None,
    "email": None,
    "limits": None,
    "holds": None,
    "has": None,
    "passages": None,
    "count": None,
    "used": None,
}
AUDIT_LOG = {"record": None, "list": None}
FILES = {
    "save": None,
    "sweep": None,
    "destroy": None,
    "drop_copies": None,
    "delete": None,
    "size": None,
    "verify": None,
    "confirm": lambda my, ids: my.confirm(ids["sha256"]),
    "opened": lambda my, ids: my.opened(ids["sha256"]).close(),
    "path": lambda my, ids: my.path(ids["sha256"]),
}
API_KEYS = {
    "create": lambda my, ids: my.create("mine", collections=[ids["collection"]]),
    "list": None,
    "revoke": lambda my, ids: my.revoke(ids["key"]),
}
WEBHOOKS = {
    "create": None,
    "list": None,
    "get": lambda my, ids: my.get(ids["webhook"]),
    "remove": lambda my, ids: my.remove(ids["webhook"]),
    "enable": lambda my, ids: my.enable(ids["webhook"]),
    "next_delivery": lambda my, ids: my.next_delivery(ids["webhook"], datetime(2100, 1, 1, tzinfo=UTC)),
    "delivered": lambda my, ids: my.delivered(ids["webhook"], ids["delivery"]),
    "failed": lambda my, ids: my.failed(ids["webhook"], ids["delivery"], "mine", None),
}
GRIDS = {
    "create": None,
    "list": None,
    "to_run": None,
    "to_read_again": None,
    "ask_again": lambda my, ids: my.ask_again(ids["grid"], (ids["document"], "c1")),
    "forget_again": lambda my, ids: my.forget_again(ids["grid"]),
    "get": lambda my, ids: my.get(ids["grid"]),
    "change": lambda my, ids: my.change(ids["grid"], name="mine now"),
    "delete": lambda my, ids: my.delete(ids["grid"]),
    "scope": lambda my, ids: my.scope(ids["grid"]),
    "documents": lambda my, ids: my.documents(ids["grid"]),
    "cells": lambda my, ids: my.cells(ids["grid"]),
    "cell": lambda my, ids: my.cell(ids["grid"], (ids["document"], "c1")),
    "keep": lambda my, ids: my.keep(ids["grid"], (ids["document"], "c1"), FOUND),
    "correct": lambda my, ids: my.correct(ids["grid"], (ids["document"], "c1"), {"text": "mine"}),
    "lock": lambda my, ids: my.lock(ids["grid"], (ids["document"], "c1"), locked=True),
    "begin_run": lambda my, ids: my.begin_run(ids["grid"]),
    "end_run": lambda my, ids: my.end_run(ids["grid"], "mine"),
}
IDEMPOTENT_REQUESTS = {"answer": None, "keep": None}
FLOOR = {
    Documents: DOCUMENTS,
    Figures: FIGURES,
    Conversations: CONVERSATIONS,
    Files: FILES,
    QuestionSets: QUESTION_SETS,
    Runs: RUNS,
    Traces: TRACES,
    Feedback: FEEDBACK,
    Standings: STANDINGS,
    Trees: TREES,
    SourceStore: SOURCES,
    SourceItems: SOURCE_ITEMS,
    Collections: COLLECTIONS,
    Choices: CHOICES,
    Tags: TAGS,
    Account: ACCOUNT,
    ApiKeys: API_KEYS,
    AuditLog: AUDIT_LOG,
    IdempotentRequests: IDEMPOTENT_REQUESTS,
    Webhooks: WEBHOOKS,
    GridStore: GRIDS,
}
CALLS = [(kind, name) for kind, cases in FLOOR.items() for name, call in cases.items() if call]

MARKED = MarkedPassage("d", "report.pdf", "a" * 64, "d-00000", 0, 5, "words")


FOUND = FoundCell("verified", {"text": "words"}, [], 1, 1, calculated=False, note="", basis="b")


def held(conversations, answer_id):
    """Hold an answer's lease for a moment."""
    with conversations.answering(answer_id):
        pass


def begin(runs, set_id):
    """Begin a run that asks one question."""
    return runs.begin(
        set_id,
        retrievers=["bm25"],
        k=10,
        embedding="e5",
        mixture="",
        searched=SearchedRecord(every=True, count=1, names=("report.pdf",), fingerprint="f", chunks=1),
        asked=[AskedRecord(1, "q", "why?", "asked", ("d-00000",))],
    )


def belongings(database, owner):
    """Give an owner one of everything; returns the ids."""
    documents, chats = Documents(database, owner), Conversations(database, owner)
    hooks = Webhooks(database, owner)
    webhook = hooks.create("https://example.org/hook")[0].id
    sha256, size = Files(database.directory, owner).save(f"original of {owner}".encode())
    document, _ = documents.add("report.pdf", sha256, size)
    documents.save_chunks(document.id, "words", [PageSpan(1, 0, 5)], [ChunkSpan(0, 5)])
    documents.set_state(document.id, "ready")
    figure = FigureSpan(1, "words", 0, 0, 5)
    Figures(database, owner).put(document.id, 0, figure, f"drawn by {owner}", "eye")
    Figures(database, owner).set_reading(document.id, "due")
    documents.set_index_state("vectors", {"model": owner})
    delivery = hooks.next_delivery(webhook, datetime(2100, 1, 1, tzinfo=UTC))
    replacement, _ = documents.add("report.pdf", "a" * 64, 1)
    conversation, waiting, cut = chats.create("title"), chats.create("waiting"), chats.create("cut")
    turn = chats.begin_turn(conversation.id, "why?")
    citation = CitationRecord(1, 0, 7, "verified", 0, 5, "words")
    trace = Trace({"k": 6}, (SentRecord("answer", (("user", f"why, {owner}?"),)),))
    chats.finish(turn.answer_id, "complete", "because", citations=[citation], trace=trace)
    chats.rate(turn.answer_id, "up")
    stopped = chats.begin_turn(cut.id, "why?")
    chats.finish(stopped.answer_id, "stopped", "bec")
    sets, runs = QuestionSets(database, owner), Runs(database, owner)
    question_set = sets.create("title", "typed")
    source = SourceStore(database, owner).create("folder", "Reports", {"path": "/reports"})
    SourceItems(database, owner).keep(source.id, Listing("page", "Page", "1"), "c" * 64, 1)
    collection = Collections(database, owner).create("Reports")
    Collections(database, owner).put([document.id], collection.id)
    Tags(database, owner).add([document.id], "Reports")
    Choices(database, owner).choose(conversation.id, [collection.id], [document.id])
    return {
        "grid": with_grid(database, owner, document.id),
        "source": source.id,
        "collection": collection.id,
        "webhook": webhook,
        "delivery": delivery.id,
        "key": ApiKeys(database, owner).create("Notebook")[0].id,
        "branch": with_tree(database, owner, document.id),
        "set": question_set.id,
        "set question": sets.add(question_set.id, "why?", [MARKED]).id,
        "run": begin(runs, question_set.id).id,
        "sha256": sha256,
        "document": document.id,
        "replacement": replacement.id,
        "conversation": conversation.id,
        "question": turn.question_id,
        "answer": turn.answer_id,
        "stopped": stopped.answer_id,
        "pending": chats.begin_turn(waiting.id, "how?").answer_id,
    }


def with_grid(database, owner, document_id):
    """Make a grid that is to run, with one cell."""
    grids = GridStore(database, owner)
    grid = grids.create("Reports", [{"id": "c1", "name": "Title"}], GridScope(documents=[document_id]))
    grids.keep(grid.id, (document_id, "c1"), FOUND)
    grids.begin_run(grid.id)
    return grid.id


def with_tree(database, owner, document_id):
    """Build a branch of two leaves and a root over a document."""
    trees = Trees(database, owner)
    branch = trees.begin(document_id, {"model": owner}, "contents")
    leaves = [NodeRecord(f"{document_id}-leaf{n}", 0, "word", start=n, end=n + 4) for n in range(2)]
    root = NodeRecord(f"{document_id}-root", 1, "words", tuple(leaf.id for leaf in leaves))
    trees.keep(branch.id, [*leaves, root])
    trees.finish(branch.id, [root.id, *root.children])
    return branch.id


def furnished(database):
    """Give Ann and Bob one of everything; return the ids of Ann's things."""
    belongings(database, "bob")
    return belongings(database, "ann")


@pytest.fixture
def everyone(database):
    return furnished(database)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A data directory with things of Ann and Bob, and the ids of Ann's."""
    directory = tmp_path_factory.mktemp("original") / "data"
    with closing(Database.open(directory)) as database:
        return directory, furnished(database)


@pytest.fixture
def copied(original, directory):
    shutil.copytree(original[0], directory)
    with closing(Database.open(directory)) as database:
        yield database, original[1]


def made(kind, database, owner):
    return kind(database.directory if kind is Files else database, owner)


def stored(database):
    """Every row and every file."""
    with database.reading() as session:
        tables = [session.execute(select(table)).all() for table in Base.metadata.sorted_tables]
    files = {path: path.read_bytes() for path in database.directory.glob("files/*/*")}
    return tables, files


@pytest.mark.parametrize("kind", FLOOR)
def test_every_public_method_has_a_case(kind):
    public = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}
    assert public == set(FLOOR[kind])


def check_refused(database, everyone, kind, name):
    """Let Bob call with ids of Ann's things, and with ids of nothing: one answer, and nothing is changed."""
    call, bob = FLOOR[kind][name], made(kind, database, "bob")
    before = stored(database)
    said = []
    for ids in (everyone, dict.fromkeys(everyone, "0" * 16)):
        with pytest.raises(NotFound) as caught:
            call(bob, ids)
        said.append(str(caught.value))
    asked = next(value for value in everyone.values() if value in said[0])
    assert said[0].replace(asked, "0" * 16) == said[1]
    assert stored(database) == before


LISTS = [kind for kind, cases in FLOOR.items() if cases.get("list", 1) is None]


@pytest.mark.parametrize("kind", LISTS)
def test_a_list_has_nothing_of_another_person(copied, kind):
    database, of_ann = copied
    theirs, own = (repr(made(kind, database, owner).list()) for owner in ("ann", "bob"))
    assert theirs != own
    assert [id_ for id_ in of_ann.values() if id_ in own] == []


@pytest.mark.parametrize(("kind", "name"), CALLS)
def test_a_strangers_id_is_an_id_that_does_not_exist(copied, kind, name):
    database, everyone = copied
    check_refused(database, everyone, kind, name)
    FLOOR[kind][name](made(kind, database, "ann"), everyone)


def test_a_strangers_id_does_not_exist_in_either_ledger(database, everyone):
    for kind, name in CALLS:
        check_refused(database, everyone, kind, name)


def test_nothing_listed_or_looked_up_is_a_strangers(database, everyone):
    documents, chats = Documents(database, "bob"), Conversations(database, "bob")
    ids = set(everyone.values())
    shown = [*documents.list(), *documents.unfinished(), *chats.list(), *chats.list("title")]
    shown += [*chats.rated("up"), *QuestionSets(database, "bob").list(), *Runs(database, "bob").list()]
    shown += [*Feedback(database, "bob").answers(), *SourceStore(database, "bob").list()]
    shown += [*Collections(database, "bob").list(), *ApiKeys(database, "bob").list()]
    shown += [*GridStore(database, "bob").list()]
    assert len(shown) == 17
    assert GridStore(database, "bob").to_run() == [GridStore(database, "bob").list()[0].id]
    assert not {item.id for item in shown} & ids
    assert len(chats.being_answered()) == 1 and not chats.being_answered() & ids
    assert len(documents.chunk_ids()) == 2
    assert documents.chunks_by_id(Documents(database, "ann").chunk_ids()) == {}
    assert documents.index_state("vectors") == {"model": "bob"}
    hers = Documents(database, "ann")
    assert documents.strays(hers.chunk_ids()) == hers.chunk_ids()
    assert len(documents.chunk_ids_in(["ready", "searchable_by_words"])) == 2
    hers.add("new.txt", "9" * 64, 1)
    assert hers.has_content("9" * 64) and not documents.has_content("9" * 64)
    before = hers.index_version()
    documents.raise_index_version()
    assert hers.index_version() == before
    assert Conversations(database, "carl").list("why") == []
    held = [item.document_id for item in SourceItems(database, "ann").list(everyone["source"])]
    assert SourceItems(database, "ann").origins(held) == {held[0]: ("Reports",)}
    assert SourceItems(database, "bob").origins(held) == {}
    assert everyone["source"] not in SourceItems(database, "bob").tallies()
    SourceItems(database, "ann").drop(everyone["source"], ["page"])
    assert len(SourceItems(database, "ann").orphans()) == 1
    assert SourceItems(database, "bob").orphans() == []


def test_a_strangers_documents_are_neither_moved_nor_chosen_nor_told_of(database, everyone):
    collections, choices = Collections(database, "bob"), Choices(database, "bob")
    mine, chat = collections.list()[0], Conversations(database, "bob").create()
    assert collections.put([everyone["document"]], mine.id) == 0
    assert collections.put([everyone["document"]], None) == 0
    assert collections.documents_of([everyone["collection"]]) == set()
    assert collections.splitting_of(everyone["document"]) is None
    for chosen in ({"collections": [everyone["collection"]]}, {"documents": [everyone["document"]]}):
        with pytest.raises(NotFound):
            choices.choose(chat.id, **chosen)
    assert choices.would_be([everyone["collection"]], [everyone["document"]]) == ()
    grids = GridStore(database, "bob")
    for scope in (GridScope([everyone["collection"]]), GridScope(documents=[everyone["document"]])):
        with pytest.raises(NotFound):
            grids.create("Mine", [], scope)
    with pytest.raises(NotFound):
        grids.keep(grids.list()[0].id, (everyone["document"], "c1"), FOUND)
    choices.choose(chat.id, [mine.id])
    with pytest.raises(NotFound):
        choices.add(chat.id, [everyone["document"]])
    assert Documents(database, "ann").get(everyone["document"]).collection_id == everyone["collection"]


def test_a_message_of_a_stranger_is_no_place_to_page_from(database, everyone):
    chats = Conversations(database, "bob")
    with pytest.raises(NotFound):
        chats.messages(chats.list()[0].id, before=everyone["question"])


def test_what_one_owner_adds_forgets_or_sweeps_is_theirs_alone(database, everyone):
    documents, files = Documents(database, "bob"), Files(database.directory, "bob")
    anns = Documents(database, "ann").list()
    _, outcome = documents.add("other.pdf", everyone["sha256"], 1)
    assert outcome == "new"
    documents.set_index_state("vectors", None)
    files.delete(everyone["sha256"])
    files.sweep(set())
    assert Documents(database, "ann").list() == anns
    assert Documents(database, "ann").index_state("vectors") == {"model": "ann"}
    assert Files(database.directory, "ann").path(everyone["sha256"]).read_bytes() == b"original of ann"


def test_owners_whose_names_look_alike_are_different_people(database):
    for number, owner in enumerate(["ann", "Ann", "ann ", "ａnn", "an%", "a_n", "", "'; --"]):
        Documents(database, owner).add("same.pdf", "b" * 64, number)
        assert [record.size for record in Documents(database, owner).list()] == [number]
