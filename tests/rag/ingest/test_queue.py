import time

import pytest

from rag.errors import EmbeddingError
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.jobs import Jobs
from rag.models.embeddings import Embedder
from storage.database import Database

TEXT = "# Castle\n\nThe castle of Aldenburg was built in 1432.\n"
LONG = "".join(f"# Castle {number}\n\nThe castle of Aldenburg has room {number}.\n" for number in range(800))
"""Text whose chunks all differ, since a repeated one is embedded once."""


@pytest.fixture
def library(database: Database, embedder: Embedder) -> Library:
    return Library(database, "ann", lambda: embedder)


@pytest.fixture
def ingest(library: Library):
    jobs = Jobs(LANES)
    yield Ingest(library, jobs)
    jobs.close()


def wait_until(condition, seconds: float = 30.0) -> bool:
    begun = time.monotonic()
    while (passed := time.monotonic() - begun) < seconds:
        if condition():
            return True
        time.sleep(min(0.02 + passed / 20, 0.25))  # each look at two hundred files takes its time
    return False


def states(library: Library) -> set[str]:
    return {record.state for record in library.documents.list()}


@pytest.mark.parametrize(
    "many", [40, pytest.param(200, marks=pytest.mark.slow(reason="starts a process for each of 200 files"))]
)
def test_many_files_at_once_each_end_with_their_own_result(library, ingest, many):
    for number in range(many):
        text = f"{TEXT}\nNumber {number}." if number % 10 else " " * (number + 1)
        record, _ = library.add(f"{number}.md", text.encode())
        ingest.start(record.id)
    assert wait_until(lambda: states(library) == {"ready", "refused"}, 100)
    by_name = {record.name: record.state for record in library.documents.list()}
    assert all(by_name[f"{n}.md"] == ("ready" if n % 10 else "refused") for n in range(many))


def test_a_long_embedding_does_not_hold_up_the_words_of_the_next_file(library, ingest):
    long, _ = library.add("long.md", LONG.encode())
    ingest.start(long.id)
    assert wait_until(lambda: library.documents.get(long.id).state == "searchable_by_words")
    short, _ = library.add("short.md", TEXT.encode())
    ingest.start(short.id)
    assert wait_until(lambda: library.documents.get(short.id).state != "queued")
    assert wait_until(lambda: library.documents.get(short.id).state == "searchable_by_words")
    assert library.documents.get(long.id).state == "searchable_by_words"


def test_a_removed_document_stops_being_embedded(library, ingest):
    record, _ = library.add("long.md", LONG.encode())
    ingest.start(record.id)
    assert wait_until(
        lambda: ingest.progress(record.id) is not None and ingest.progress(record.id).stage == "meaning"
    )
    ingest.remove(record.id)
    assert wait_until(lambda: not ingest.running(record.id), 5)
    assert library.documents.list() == []
    assert library.indexes.words.ids() == set()
    assert library.indexes.vectors.ids() == set()


def test_recover_goes_on_with_what_was_unfinished(library, ingest):
    library.add("queued.md", TEXT.encode())
    read, _ = library.add("read.md", (TEXT + "More.").encode())
    list(library.read(read.id))
    ingest.recover()
    assert wait_until(lambda: states(library) == {"ready"})


def test_a_change_of_model_in_the_middle_of_an_embedding_mixes_nothing(library, ingest):
    record, _ = library.add("long.md", LONG.encode())
    ingest.start(record.id)
    assert wait_until(
        lambda: ingest.progress(record.id) is not None and ingest.progress(record.id).stage == "meaning"
    )
    before = library.indexes.vectors
    ingest.embed_anew()
    assert wait_until(lambda: states(library) == {"ready"})
    assert library.indexes.vectors is not before
    assert library.indexes.vectors.ids() == library.documents.chunk_ids()


def test_a_replacement_whose_predecessor_is_deleted_meanwhile_is_finished(library):
    old, _ = library.add("castle.md", TEXT.encode())
    list(library.index(old.id))
    new, _ = library.add("castle.md", (TEXT + "New.").encode())
    steps = library.index(new.id)
    next(steps)
    library.remove(old.id)
    list(steps)
    assert library.documents.get(new.id).state == "ready"


def test_a_lost_original_is_a_refusal_with_a_reason(library):
    record, _ = library.add("castle.md", TEXT.encode())
    library.files.path(record.sha256).unlink()
    list(library.index(record.id))
    refused = library.documents.get(record.id)
    assert refused.state == "refused" and "castle.md" in refused.reason


def test_trees_grow_after_the_last_document_is_ready_where_they_are_wanted(library):
    jobs = Jobs(LANES)
    ingest = Ingest(library, jobs, trees=lambda: True)
    for name in ("one", "two"):
        record, _ = library.add(f"{name}.md", f"{TEXT}\nOf {name} more is told here.".encode())
        ingest.start(record.id)
    assert wait_until(lambda: states(library) == {"ready"} and not library.forest.due(), 60)
    assert wait_until(lambda: ingest.growing() is None and library.forest.trees.branch(None) is not None, 60)
    ingest.remove(library.documents.list()[0].id)
    assert wait_until(lambda: library.forest.trees.branch(None) is None, 60)
    ingest.stop_growing()
    jobs.close()


def test_no_tree_grows_unasked(library, ingest):
    record, _ = library.add("one.md", TEXT.encode())
    ingest.start(record.id)
    assert wait_until(lambda: states(library) == {"ready"})
    assert library.forest.trees.list() == []


def test_trees_follow_the_setting_while_the_server_runs(library):
    jobs, wanted = Jobs(LANES), []
    ingest = Ingest(library, jobs, trees=lambda: bool(wanted))
    record, _ = library.add("one.md", TEXT.encode())
    ingest.start(record.id)
    assert wait_until(lambda: states(library) == {"ready"})
    ingest.follow_setting()
    assert not ingest.grows() and library.forest.trees.list() == []
    wanted.append(True)
    ingest.follow_setting()
    assert wait_until(lambda: not library.forest.due() and not ingest.grows())
    assert ingest.growing_failed() is None
    jobs.close()


def test_why_trees_could_not_be_built_is_kept(library, database):
    def lost():
        raise EmbeddingError("The embedding model is not there.")

    jobs = Jobs(LANES)
    without = Library(database, "ann", lost)
    ingest = Ingest(without, jobs)
    ingest.grow()
    assert wait_until(lambda: ingest.growing_failed() is not None)
    assert "not there" in str(ingest.growing_failed())
    jobs.close()


def test_documents_from_before_facts_are_read_for_them_after_a_start(database, library, ingest):
    record, _ = library.add("castle.md", TEXT.encode())
    list(library.read(record.id))
    with database.writing() as session:
        session.connection().exec_driver_sql("DELETE FROM document_facts")
    ingest.recover()
    assert wait_until(lambda: not library.documents.without_facts())
    assert ("title", "Castle") in [(fact.kind, fact.value) for fact in library.facts_of(record.id)]
