import time

import pytest

from rag.errors import Cancelled
from rag.ingest.library import Library
from rag.ingest.queue import LANES, Ingest
from rag.jobs import Jobs
from rag.models.embeddings import Embedder
from rag.retrieval.weights import FEWEST, HybridWeights
from storage.database import Database
from tests.rag.word_vectors import WordVectors

RIVERS = ["Aare", "Bug", "Cher", "Don", "Ebro", "Foyle", "Göta", "Havel", "Isar", "Jihlava", "Kama", "Loire"]


def chapters(count: int, about: str = "river") -> bytes:
    """Return a document of `count` chapters, a chunk each, of three sentences."""
    return "\n\n".join(
        f"# Chapter {n}\n\nThe {about} {RIVERS[n % 12]} carries {n * 7} barges a day past lock {n}. "
        f"Its keeper writes down each barge by hand. In the flood of {1900 + n} lock {n} broke."
        for n in range(count)
    ).encode()


@pytest.fixture
def embedder() -> Embedder:
    return WordVectors("words")


@pytest.fixture
def library(database: Database, embedder: Embedder) -> Library:
    return Library(database, "ann", lambda: embedder)


def add(library: Library, name: str, content: bytes) -> None:
    record, _ = library.add(name, content)
    for _ in library.index(record.id):
        pass


def weighed(library: Library) -> HybridWeights:
    for _ in library.weighing.find():
        pass
    assert library.weighing.latest is not None
    return library.weighing.latest.mixture


def test_a_small_library_searches_with_the_usual_mixture(library):
    assert not library.weighing.due()
    add(library, "short.md", chapters(3))
    assert not library.weighing.due()
    assert library.weighing.mixture == HybridWeights()
    assert library.weighing.latest is None


def test_what_was_found_is_kept_and_used_and_found_again_when_the_library_has_changed_much(library):
    add(library, "rivers.md", chapters(FEWEST + 10))
    assert library.weighing.due()
    mixture = weighed(library)
    assert set(mixture.weights) == {"alphabet"}
    assert library.weighing.mixture == mixture
    assert not library.weighing.due()
    add(library, "note.md", chapters(2, "canal"))
    assert not library.weighing.due()
    add(library, "canals.md", chapters(FEWEST + 10, "canal"))
    assert library.weighing.due()


def test_another_embedding_model_starts_with_the_usual_mixture(library, embedder):
    add(library, "rivers.md", chapters(FEWEST + 10))
    weighed(library)
    made_with = library.documents.index_state("vectors")
    library.documents.set_index_state("vectors", {**made_with, "fingerprint": "another"})
    assert library.weighing.mixture == HybridWeights()
    assert library.weighing.due()


def test_what_an_earlier_version_found_is_used_until_it_is_found_anew(library):
    add(library, "rivers.md", chapters(FEWEST + 10))
    before = weighed(library)
    state = library.documents.index_state("mixture")
    library.documents.set_index_state("mixture", {**state, "rule": state["rule"] - 1})
    assert library.weighing.due()
    assert library.weighing.mixture == before
    weighed(library)
    assert not library.weighing.due()


def test_one_that_is_stopped_keeps_what_was_found_before(library):
    add(library, "rivers.md", chapters(FEWEST + 10))
    before = weighed(library)
    with pytest.raises(Cancelled):
        list(library.weighing.find(lambda: True))
    assert library.weighing.mixture == before


def test_another_owner_has_their_own(library, database, embedder):
    add(library, "rivers.md", chapters(FEWEST + 10))
    weighed(library)
    assert Library(database, "bob", lambda: embedder).weighing.latest is None


def test_it_is_found_by_itself_once_documents_are_embedded(library):
    jobs = Jobs(LANES)
    ingest = Ingest(library, jobs)
    record, _ = library.add("rivers.md", chapters(FEWEST + 10))
    ingest.start(record.id)
    deadline = time.monotonic() + 90
    while library.weighing.latest is None and time.monotonic() < deadline:
        time.sleep(0.05)
    jobs.close()
    assert library.weighing.latest is not None
    assert library.weighing.latest.chunks >= FEWEST
    assert ingest.weighing() is None
