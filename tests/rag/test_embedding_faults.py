"""An embedding server that fails: documents wait to be embedded, and are found by their words."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag.errors import EmbeddingError, IndexMismatch
from rag.ingest.library import EMBED_BATCH, Library
from rag.ingest.queue import FIRST_WAIT, LANES, Backoff, Ingest
from rag.jobs import Jobs
from rag.models.embeddings import Embedder, open_embedder
from storage.database import Database
from tests.faults.auditing import audit
from tests.rag.fake_embeddings import MODEL, FakeEmbeddings
from tests.rag.ingest.test_queue import wait_until

CRANE = "# Crane\n\nThe crane of the harbour lifts 65 tonnes.\n"
BOOK = "# Voyage\n\n" + "\n\n".join(f"## Day {n}\n\nIsland {n} was sighted. " * 20 for n in range(24))
BATCHES = 2  # that are embedded before the server fails

Change = Callable[[FakeEmbeddings], None]


@pytest.fixture
def server() -> Iterator[FakeEmbeddings]:
    with FakeEmbeddings() as running:
        yield running


def embedder(server: FakeEmbeddings, model: str = MODEL) -> Embedder:
    return open_embedder(model, cache=Path("/nowhere"), base_url=server.url, api_key="k")


def opened(database: Database, server: FakeEmbeddings, model: str = MODEL) -> Library:
    return Library(database, "ann", lambda: embedder(server, model))


@pytest.fixture
def library(database: Database, server: FakeEmbeddings) -> Iterator[Library]:
    """A library in which one document is ready."""
    library = opened(database, server)
    crane, _ = library.add("crane.md", CRANE.encode())
    list(library.index(crane.id))
    yield library
    library.close()


def found(library: Library, question: str) -> set[str]:
    """The names of what words find; a search by meaning, too, finds as much, or says why it cannot."""
    failures: list[str] = []
    searches = (
        library.retriever("bm25", 3),
        library.retriever("ensemble-cc", 3, on_failure=lambda _, error: failures.append(str(error))),
    )
    (names, *others) = [{one.metadata["document"] for one in search.invoke(question)} for search in searches]
    assert all(said.endswith(".") for said in failures)
    return names if all(names <= other for other in others) else set()


def down(server: FakeEmbeddings) -> None:
    server.drop_after = 0


def dies(server: FakeEmbeddings) -> None:
    server.drop_after = BATCHES


def giving(embedding: Callable[[list[float]], object]) -> Change:
    """Let the server put something else in the place of each vector, after some batches."""

    def change(server: FakeEmbeddings) -> None:
        good = len(server.batches) + BATCHES
        server.change = lambda rows: (
            rows
            if len(server.batches) <= good
            else [{**row, "embedding": embedding(row["embedding"])} for row in rows]
        )

    return change


def one_too_few(server: FakeEmbeddings) -> None:
    good = len(server.batches) + BATCHES
    server.change = lambda rows: rows if len(server.batches) <= good else rows[:-1]


FAULTS: dict[str, Change] = {
    "dies in a batch": dies,
    "wrong count": one_too_few,
    "wrong dimension": giving(lambda row: row[:-1]),
    "NaN": giving(lambda row: [float("nan"), *row[1:]]),
    "zeros": giving(lambda row: [0.0] * len(row)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_was_embedded_stays_and_the_rest_follows_once_the_server_is_sound(
    database: Database, library: Library, server: FakeEmbeddings, fault: str
):
    voyage, _ = library.add("voyage.md", BOOK.encode())
    list(library.read(voyage.id))
    FAULTS[fault](server)
    with pytest.raises(EmbeddingError) as caught:
        list(library.embed(voyage.id))
    kept = library.documents.get(voyage.id)
    said = f"{caught.value} It is tried again later."
    assert (kept.state, kept.reason) == ("searchable_by_words", said)
    there = library.indexes.vectors.present([chunk.id for chunk in library.documents.chunks(voyage.id)])
    assert len(there) == BATCHES * EMBED_BATCH < kept.chunks
    assert found(library, "island 7 sighted") == {"voyage.md"}
    assert found(library, "crane of the harbour") == {"crane.md"}

    server.mend()
    before = len(server.batches)
    assert library.recover() == [voyage.id]
    list(library.embed(voyage.id))
    assert sum(map(len, server.batches[before:])) == kept.chunks - len(there)
    assert library.documents.get(voyage.id).reason is None
    audit(library, database)


def test_a_server_that_is_down_at_the_start_leaves_words_to_search(
    database: Database, library: Library, server: FakeEmbeddings
):
    library.close()
    down(server)
    library = opened(database, server)
    assert library.recover() == []
    voyage, _ = library.add("voyage.md", BOOK.encode())
    with pytest.raises(EmbeddingError, match="could not be embedded"):
        list(library.index(voyage.id))
    assert library.documents.get(voyage.id).state == "searchable_by_words"
    assert found(library, "island 7 sighted") == {"voyage.md"}
    assert found(library, "crane of the harbour") == {"crane.md"}
    server.mend()
    list(library.embed(voyage.id))
    assert library.documents.get(voyage.id).state == "ready"
    audit(library, database)
    library.close()


def named_otherwise(server: FakeEmbeddings) -> str:
    return "openai:large"


def exchanged_behind_its_name(server: FakeEmbeddings) -> str:
    server.dimension = 8
    return MODEL


@pytest.mark.parametrize("other", [named_otherwise, exchanged_behind_its_name], ids=lambda one: one.__name__)
def test_another_model_is_named_and_its_vectors_are_not_mixed_in(
    database: Database, library: Library, server: FakeEmbeddings, other: Callable[[FakeEmbeddings], str]
):
    there = library.indexes.vectors.ids()
    library.close()
    changed = opened(database, server, other(server))
    changed.recover()
    voyage, _ = changed.add("voyage.md", BOOK.encode())
    with pytest.raises(IndexMismatch) as caught:
        list(changed.index(voyage.id))
    said = str(caught.value)
    assert (
        said.startswith("The documents were embedded with small (dimension 16") and "footnote reindex" in said
    )
    assert changed.documents.get(voyage.id).state == "searchable_by_words"
    assert found(changed, "island 7 sighted") == {"voyage.md"}
    assert found(changed, "crane of the harbour") == {"crane.md"}
    changed.close()

    server.mend()
    again = opened(database, server)
    assert again.indexes.vectors.ids() == there
    assert again.recover() == [voyage.id]
    list(again.embed(voyage.id))
    audit(again, database)
    again.close()


def test_documents_that_wait_go_on_by_themselves_once_the_server_is_sound(
    database: Database, library: Library, server: FakeEmbeddings
):
    now, jobs = [0.0], Jobs(LANES)
    ingest = Ingest(library, jobs, backoff=Backoff(lambda: now[0]))

    def tried(seconds: float) -> set[str]:
        """What became of all documents once they were tried again at a time, if it was time."""
        now[0] = seconds
        ingest.try_again()
        assert len(ingest.all_running()) <= 1  # one in the place of all
        assert wait_until(lambda: not ingest.all_running())
        return {record.state for record in library.documents.list()}

    down(server)
    for number in range(3):
        record, _ = library.add(f"voyage-{number}.md", f"{BOOK} The {number}th.".encode())
        ingest.start(record.id)
    assert wait_until(lambda: not ingest.all_running())
    assert tried(0.0) == {"ready", "searchable_by_words"}
    before = len(server.batches)
    assert tried(FIRST_WAIT - 1) == {"ready", "searchable_by_words"} and len(server.batches) == before
    assert tried(FIRST_WAIT) == {"ready", "searchable_by_words"}
    server.mend()
    assert tried(3 * FIRST_WAIT - 1) == {"ready", "searchable_by_words"}
    assert tried(3 * FIRST_WAIT) == {"ready"}
    jobs.close()
    audit(library, database)
