import pytest

from rag.errors import Cancelled
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest, resplit
from rag.jobs import Jobs
from rag.models.embeddings import Embedder
from storage.database import Database
from storage.errors import NotFound

SHORT = {"size": 120, "overlap": 0, "minimum": 0}
TEXT = "# Castle\n\n" + " ".join(
    f"Room {n} of the castle of Aldenburg has {n * 7} candles and a chest of oak." for n in range(12)
)


@pytest.fixture
def library(database: Database, embedder: Embedder) -> Library:
    return Library(database, "ann", lambda: embedder)


@pytest.fixture
def short(library: Library) -> str:
    return library.collections.create("short", SHORT).id


def put(library: Library, name: str, text: str = TEXT, collection: str | None = None) -> str:
    record, _ = library.add(name, text.encode())
    library.collections.put([record.id], collection)
    for _ in library.index(record.id):
        pass
    return record.id


def in_step(library: Library) -> bool:
    expected = library.documents.chunk_ids()
    return library.indexes.words.ids() == expected == library.indexes.vectors.ids()


def longest(library: Library, document_id: str) -> int:
    return max(len(chunk.text) for chunk in library.documents.chunks(document_id))


def found(library: Library, question: str) -> set[str]:
    return {passage.metadata["document"] for passage in library.retriever("ensemble-cc", 3).invoke(question)}


def test_a_document_is_split_as_its_collection_says(library, short):
    usual, other = put(library, "usual.md"), put(library, "short.md", TEXT + " End.", short)
    assert longest(library, other) <= 120 < longest(library, usual)
    assert library.collections.due() == [] and in_step(library)


def test_a_change_splits_and_embeds_anew_and_keeps_the_indexes_in_step(library, short):
    document, other = put(library, "castle.md"), put(library, "other.md", "# Moat\n\nThe moat is dry.")
    library.collections.put([document], short)
    before = {chunk.id for chunk in library.documents.chunks(document)}
    steps = list(resplit(library))
    assert {step.document for step in steps} == {"castle.md"}
    assert (steps[-1].done, steps[-1].total) == (0, 1)
    assert longest(library, document) <= 120
    assert before.isdisjoint(chunk.id for chunk in library.documents.chunks(document))
    assert library.documents.get(document).state == "ready"
    assert in_step(library) and library.collections.due() == []
    assert "castle.md" in found(library, "How many candles has room 11?")
    library.collections.put([document], None)
    list(resplit(library))
    assert {chunk.id for chunk in library.documents.chunks(document)} == before
    assert in_step(library) and len(library.documents.chunks(other)) == 1


def test_what_is_split_anew_is_found_as_it_was_until_then(library, short):
    document = put(library, "castle.md", collection=None)
    before = {chunk.id for chunk in library.documents.chunks(document)}
    library.collections.put([document], short)
    for _ in resplit(library):
        for name in ("ensemble-cc", "ensemble-rrf", "bm25", "similarity", "mmr"):
            passages = library.retriever(name, 4).invoke("How many candles has room 11?")
            assert passages and {passage.id for passage in passages} <= before
    assert not before & library.documents.chunk_ids()


def test_a_stop_in_the_middle_leaves_what_there_was(library, short):
    document = put(library, "castle.md")
    before = library.documents.chunks(document)
    library.collections.put([document], short)
    running = resplit(library, cancelled=lambda: True)
    with pytest.raises(Cancelled):
        list(running)
    assert library.documents.chunks(document) == before and in_step(library)
    going = resplit(library)
    next(step for step in going if step.step.stage == "meaning")
    going.close()
    assert library.documents.chunks(document) == before and in_step(library)
    assert library.collections.due() == [document]


def test_what_a_killed_server_left_half_done_is_taken_back_at_the_next_start(library, short):
    document = put(library, "castle.md")
    library.collections.put([document], short)
    going = resplit(library)
    next(step for step in going if step.step.stage == "meaning")
    library.indexes.forget = lambda _: None  # dead before it could
    going.close()
    del library.indexes.forget
    assert not in_step(library)
    library.recover()
    assert in_step(library)
    list(resplit(library))
    assert longest(library, document) <= 120 and in_step(library)


def test_a_document_that_cannot_be_read_any_more_stays_and_says_so_and_the_others_go_on(library, short):
    broken, whole = put(library, "broken.md"), put(library, "whole.md", TEXT + " End.")
    library.files.delete(library.documents.get(broken).sha256)
    library.collections.put([broken, whole], short)
    list(resplit(library))
    record = library.documents.get(broken)
    assert record.state == "ready" and "could not be split anew" in (record.reason or "")
    assert longest(library, broken) > 120 >= longest(library, whole)
    assert in_step(library)


def test_a_document_removed_while_it_is_split_leaves_nothing(library, short):
    document = put(library, "castle.md")
    library.collections.put([document], short)
    for step in resplit(library):
        if step.step.stage == "meaning" and library.documents.exists(document):
            library.remove(document)
    with pytest.raises(NotFound):
        library.documents.get(document)
    assert library.documents.chunk_ids() == set() and in_step(library)


def test_words_that_are_split_as_before_are_not_embedded_again(library, short, embedder, monkeypatch):
    put(library, "small.md", "# Moat\n\nThe moat is dry.", None)
    library.collections.put([record.id for record in library.documents.list()], short)
    embedded = []
    real = embedder.embed_batches
    monkeypatch.setattr(
        embedder, "embed_batches", lambda texts, **kwargs: embedded.extend(texts) or real(texts, **kwargs)
    )
    list(resplit(library))
    assert embedded == [] and in_step(library) and library.collections.due() == []


def test_the_server_splits_what_is_due_at_a_change_and_after_a_restart(library, short):
    document = put(library, "castle.md")
    library.collections.put([document], short)
    for begin in (Ingest.recover, Ingest.split_if_due):
        jobs = Jobs(LANES)
        ingest = Ingest(library, jobs)
        begin(ingest)
        job = ingest.splitting()
        assert job is not None and job.wait(60)
        assert library.collections.due() == [] and in_step(library)
        jobs.close()
        library.collections.set_splitting(short, {**SHORT, "size": 200})
    assert ingest.splitting() is None
