import pytest

from rag.chat.scope import EVERYTHING, LibraryView, Scope
from rag.ingest.library import Library
from rag.passage import Passage
from storage.database import Database
from tests.rag.word_vectors import WordVectors

MODEL = WordVectors("model", 32)


@pytest.fixture
def library(database: Database):
    opened = Library(database, "ann", lambda: MODEL)
    yield opened
    opened.close()


def added(library: Library, name: str, *, read: bool = True, embedded: bool = True) -> str:
    record, _ = library.add(name, f"The castle of {name} has a moat.".encode())
    if read:
        list(library.read(record.id))
    if read and embedded:
        list(library.embed(record.id))
    return record.id


def passages(library: Library, document_id: str) -> list[Passage]:
    chunks = {chunk.id for chunk in library.documents.chunks(document_id)}
    return [
        Passage.from_document(document)
        for document in library.retriever("bm25", 9).invoke("castle moat")
        if document.id in chunks
    ]


def view(library: Library, scope: Scope) -> LibraryView:
    return LibraryView(library.rarity, documents=library.documents, trees=library.forest.trees, scope=scope)


def test_a_shelf_is_empty_then_being_read_then_filled(library):
    everything = view(library, EVERYTHING)
    assert everything.status() == "empty"
    waiting = added(library, "velden.md", read=False)
    assert everything.status() == "reading"
    list(library.index(waiting))
    assert everything.status() == "searchable"


def test_what_was_chosen_and_is_there_no_more_is_gone(library):
    chosen = added(library, "velden.md")
    added(library, "bergen.md")
    library.remove(chosen)
    assert view(library, Scope(frozenset({chosen}), "one")).status() == "gone"


def test_files_that_were_not_wholly_searched_are_named_those_outside_are_not(library):
    waiting = added(library, "velden.md", read=False)
    by_words = added(library, "bergen.md", embedded=False)
    added(library, "celle.md")
    added(library, "dorne.md", read=False)
    inside = Scope(frozenset({waiting, by_words}), "two")
    assert {(one.name, one.state) for one in view(library, inside).unsearched()} == {
        ("velden.md", "queued"),
        ("bergen.md", "searchable_by_words"),
    }


def test_passages_stand_as_long_as_their_words_are_there_and_searched(library):
    first, second = added(library, "velden.md"), added(library, "bergen.md")
    one, other = passages(library, first), passages(library, second)
    assert one
    assert other
    assert view(library, EVERYTHING).still_valid([*one, *other]) == [*one, *other]
    assert view(library, Scope(frozenset({second}), "one")).still_valid([*one, *other]) == other
    library.remove(first)
    assert view(library, EVERYTHING).still_valid([*one, *other]) == other
