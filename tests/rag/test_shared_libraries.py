"""One person's library in several processes at once, on PostgreSQL, with index and originals in one place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from rag.errors import SettingsError
from rag.factory import make_store
from rag.settings import Settings
from tests import s3
from tests.rag.replica import Replica, two
from tests.s3 import S3Server
from tests.storage import postgres
from tests.storage.conftest import WITHOUT_SERVER

ON_BOTH = pytest.mark.parametrize("objects", ["folder", "store"], indirect=True)
OVER_STORE = pytest.mark.slow(reason="the same over an object store, as the first test does")
MOSTLY_IN_A_FOLDER = pytest.mark.parametrize(
    "objects", ["folder", pytest.param("store", marks=OVER_STORE)], indirect=True
)


@pytest.fixture(scope="module")
def processes(
    tmp_path_factory: pytest.TempPathFactory, s3_server: S3Server
) -> Iterator[tuple[Replica, Replica]]:
    """Two processes on a PostgreSQL server of their own."""
    if WITHOUT_SERVER:
        pytest.skip(postgres.MISSING)
    with postgres.running() as server:
        root, reaching = tmp_path_factory.mktemp("replicas"), s3.environment(s3_server.port)
        with two(root, server.url, reaching) as both:
            yield both


@pytest.fixture
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where originals and index are: a folder, or an object store."""
    if getattr(request, "param", "folder") == "folder":
        return f"file://{tmp_path}/shared"
    return s3.new_address()


@pytest.fixture
def replicas(processes: tuple[Replica, Replica], objects: str) -> Iterator[tuple[Replica, Replica]]:
    """Two processes with the library of a person who is new."""
    owner = f"ann {uuid4()}"
    for replica in processes:
        replica.use(objects, owner)
    yield processes
    for replica in processes:
        replica.close()


@ON_BOTH
def test_what_one_process_makes_ready_the_other_finds_in_its_next_question(replicas: tuple[Replica, Replica]):
    one, other = replicas
    assert other.find("zebra0") == other.find("zebra0", "similarity") == []  # its indexes are open
    for number in range(6):
        adding, asked = (one, other) if number % 2 else (other, one)
        adding.add(f"{number}.txt", f"The zebra{number} lives in the savanna.")
        for retriever in ("bm25", "similarity", "ensemble-cc"):
            assert asked.find(f"zebra{number} lives", retriever)[0] == f"{number}.txt"
    assert one.in_step() and other.in_step()


@MOSTLY_IN_A_FOLDER
def test_what_one_process_removes_or_replaces_the_other_finds_no_more(replicas: tuple[Replica, Replica]):
    one, other = replicas
    removed = [one.add(f"{n}.txt", f"Walrus number {n} swims in the cold sea.") for n in range(4)]
    one.add("kept.txt", "The walrus and the carpenter were walking close at hand.")
    assert len(other.find("walrus", k=9)) == 5
    for document_id in removed:
        one.remove(document_id)
    for retriever in ("bm25", "similarity"):  # among the best two there are none that are gone
        assert other.find("walrus number", retriever, k=2) == ["kept.txt"]
    one.add("kept.txt", "The walrus alone was weeping like anything.")
    assert other.find("walrus carpenter weeping", k=9) == ["kept.txt"]
    assert other.find("carpenter", k=9) == [] != other.find("weeping", k=9)
    assert other.in_step()


@MOSTLY_IN_A_FOLDER
def test_a_start_changes_nothing_of_what_another_process_has_or_does(replicas: tuple[Replica, Replica]):
    one, other = replicas
    for number in range(3):
        one.add(f"{number}.txt", f"The zebra{number} lives in the savanna.")
    one.have_compared(due=False)
    one.keep("queued.txt", "A file that nobody has read yet.")
    assert one.read(one.keep("words.txt", "A file that is being embedded.")) == "searchable_by_words"
    one.have_worker()
    before = one.states(), one.folders(), one.version()
    for _ in range(3):
        assert other.start_again() == 0
    assert (one.states(), one.folders(), one.version()) == before
    assert all(one.originals().values())
    assert other.find("zebra1") == ["1.txt"]


def test_a_start_embeds_nothing_anew_where_it_is_the_first_to_compare(replicas: tuple[Replica, Replica]):
    one, other = replicas
    for number in range(3):
        one.add(f"{number}.txt", f"The zebra{number} lives in the savanna.")
    one.have_compared(due=True)
    assert other.start_again() == 0
    assert set(one.states().values()) == {"ready"} and one.in_step()
    assert all(one.originals().values())


def test_one_process_a_day_finds_what_the_indexes_have_lost_or_should_not_have(
    replicas: tuple[Replica, Replica],
):
    one, other = replicas
    ids = [one.add(f"{n}.txt", f"The zebra{n} lives in the savanna.") for n in range(3)]
    one.have_compared(due=False)
    one.forget_words(ids[0])
    one.forget_vectors(ids[1])
    one.stray("gone-00000")
    assert other.start_again() == 0 and not one.in_step()
    one.have_compared(due=True)
    assert other.start_again() == 1  # text, whose vector was lost
    assert one.in_step() and set(one.states().values()) == {"ready"}
    one.stray("gone-00000")
    assert one.start_again() == 0 and not one.in_step()  # the other one has just compared them


@MOSTLY_IN_A_FOLDER
def test_a_word_index_that_one_process_makes_anew_is_used_by_both(replicas: tuple[Replica, Replica]):
    one, other = replicas
    one.add("a.txt", "The zebra lives in the savanna.")
    assert other.find("zebra") == ["a.txt"]
    one.damage_words()
    assert other.find("zebra") == ["a.txt"]
    other.add("b.txt", "Another zebra.")
    assert set(one.find("zebra")) == {"a.txt", "b.txt"}
    assert one.in_step() and other.in_step()


@MOSTLY_IN_A_FOLDER
def test_the_first_documents_of_a_person_in_two_processes_at_once_are_in_one_index(
    replicas: tuple[Replica, Replica],
):
    one, other = replicas
    for replica, name in ((one, "a"), (other, "b")):
        replica.begin("add", f"{name}.txt", f"The zebra of {name} lives in the savanna.")
    one.wait()
    other.wait()
    for replica in (one, other):
        for retriever in ("bm25", "similarity"):
            assert set(replica.find("zebra", retriever)) == {"a.txt", "b.txt"}
        assert replica.in_step()


@MOSTLY_IN_A_FOLDER
def test_an_original_that_one_process_has_accepted_is_not_deleted_by_another(
    replicas: tuple[Replica, Replica],
):
    one, other = replicas
    one.have_compared(due=False)
    for number in range(6):
        text = f"The same content, round {number}."
        document_id = one.keep("first.txt", text)
        one.begin("remove", document_id)
        other.begin("add_and_sweep", "second.txt", text)
        one.wait()
        other.wait()
        for replica in replicas:
            assert all(replica.originals().values())


def test_a_document_that_is_indexed_while_the_word_index_is_made_anew_is_in_the_new_one(
    replicas: tuple[Replica, Replica],
):
    one, other = replicas
    one.add("a.txt", "The zebra lives in the savanna.")
    document_id = other.keep("b.txt", "Another zebra.")
    other.begin_to_index(document_id)
    one.damage_words()
    other.go_on()
    assert set(one.find("zebra")) == {"a.txt", "b.txt"}
    assert one.in_step() and other.in_step()


def test_a_document_that_is_embedded_while_the_vector_index_is_made_anew_is_in_the_new_one(
    replicas: tuple[Replica, Replica],
):
    one, other = replicas
    one.add("a.txt", "The zebra lives in the savanna.")
    document_id = other.keep("b.txt", "Another zebra.")
    other.read(document_id)
    other.begin_to_index(document_id)
    one.embed_all_anew()
    other.go_on()
    assert set(one.states().values()) == {"ready"}
    assert one.in_step() and other.in_step()


def test_a_shared_folder_is_named_where_the_index_is_to_be_shared(tmp_path: Path):
    settings: dict[str, Any] = {"data": tmp_path, "vector_store": "lance-objects"}
    with pytest.raises(SettingsError, match="FOOTNOTE_OBJECTS is empty"):
        make_store(Settings(**settings))
    store = make_store(Settings(**settings, objects=f"file://{tmp_path}/shared"))
    assert store.shared and store.root == tmp_path / "shared"
