"""What becomes of dropped files whose tab goes, that come twice, or by the hundred."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from rag.library import EMBED_BATCH
from tests.e2e.conftest import Server
from tests.faults.conftest import Open
from tests.faults.tab import wait_for
from tests.rag.fake_embeddings import FakeEmbeddings

# Long runs only: beside much other work a tab once never told of a file that was dropped; why is not known.
pytestmark = [pytest.mark.timeout(900), pytest.mark.faults]

TAKEN = "of the journey of ship"


@pytest.fixture(autouse=True)
def _gate(embeddings: FakeEmbeddings) -> Iterator[None]:
    yield
    embeddings.mend()


def states(server: Server, name: str) -> list[str]:
    """The states of the documents whose names are like this, by name."""
    with closing(sqlite3.connect(f"file:{server.data / 'footnote.db'}?mode=ro", uri=True)) as ledger:
        asked = "select state from documents where name like ? order by name, rowid"
        return [state for (state,) in ledger.execute(asked, (name,))]


def book(name: str, passages: int) -> tuple[str, bytes]:
    """A file of so many passages."""
    chapters = (f"## Chapter {n} {TAKEN} {name}\n\n" + f"It was day {n}. " * 30 for n in range(passages))
    return f"{name}.md", f"# {name}\n\n{chr(10).join(chapters)}\n".encode()


def note(number: int) -> tuple[str, bytes]:
    return f"note-{number:03}.txt", f"Note {number} says that crate {number} is full.".encode()


def embedded(embeddings: FakeEmbeddings, name: str) -> int:
    """How many batches of a book are embedded."""
    return sum(f"{TAKEN} {name}" in batch[0] for batch in embeddings.batches)


@pytest.mark.parametrize("back", ["reconnect", "reload"])
def test_an_ingest_goes_on_without_its_tab_and_progress_is_right_on_return(
    open_tab: Open, server: Server, embeddings: FakeEmbeddings, back: str
):
    tab = open_tab(page="documents")
    embeddings.hold()
    tab.drop(book(back, 40))
    tab.until(lambda: "Searchable by words" in tab.text, look=True)
    tab.cut()
    while embedded(embeddings, back) < 2:
        embeddings.let(1)
        time.sleep(0.1)
    embeddings.hold()
    getattr(tab, back)()
    tab.until(lambda: f"meaning, {EMBED_BATCH * embedded(embeddings, back)} of " in tab.text, look=True)
    embeddings.mend()
    tab.until(lambda: "Learning" not in tab.text and "Ready" in tab.text, look=True)
    assert states(server, f"{back}%") == ["ready"]


def test_the_same_file_at_once_from_two_tabs_is_there_once(open_tab: Open, server: Server):
    one, other = open_tab(page="documents"), open_tab(page="documents")
    name, content = book("twice", 2)
    for tab in (one, other):
        tab.drop((name, content), ("again.md", content))
    for tab in (one, other):
        tab.until(lambda tab=tab: "**again.md**: here already, word for word" in tab.text)
        tab.until(lambda tab=tab: "**twice.md**: " in tab.text)
    wait_for(lambda: states(server, "twice%") == ["ready"])
    assert states(server, "again%") == []


def test_until_a_changed_file_is_read_the_old_one_answers(
    open_tab: Open, server: Server, embeddings: FakeEmbeddings
):
    """It is replaced wholly: there is never an answer of both."""
    tab, chat = open_tab(page="documents"), open_tab()
    tab.drop(("crane.md", b"# Crane\n\nThe crane lifts 65 tonnes.\n"))
    wait_for(lambda: states(server, "crane%") == ["ready"])
    embeddings.hold()
    tab.drop(("crane.md", b"# Crane\n\nThe crane lifts 80 tonnes.\n"))
    tab.until(lambda: any("takes the place of its older version" in said for said in tab.shown.told))
    wait_for(lambda: states(server, "crane%") == ["searchable_by_words"])
    tab.cut()
    embeddings.mend()
    chat.ask("How many tonnes does the crane lift?")
    chat.until(lambda: "Written by" in chat.text)
    assert "80 tonnes" in chat.text and "65 tonnes" not in chat.text


@pytest.mark.parametrize("many", [60, pytest.param(200, marks=pytest.mark.faults)])
def test_each_of_many_files_has_its_line_and_what_is_deleted_midway_is_gone(
    open_tab: Open, server: Server, embeddings: FakeEmbeddings, many: int
):
    tab = open_tab(page="documents")
    embeddings.hold()
    tab.drop(*map(note, range(many)), ("none.txt", b""))
    lines = [f"- **{name}**: added" for name, _ in (*map(note, range(many)), ("none.txt", b""))]
    tab.until(lambda: all(line in tab.text for line in lines))
    wait_for(lambda: len(done(server)) >= many // 2)
    tab.until(lambda: tab.drawn)
    for key in tab.shown.ways("ask-")[1:4]:
        delete = key.replace("ask-", "remove-")
        tab.press(key, then=lambda delete=delete: tab.shown.way(delete) is not None)
        tab.press(delete, then=lambda key=key: tab.shown.way(key) is None)
    embeddings.mend()
    wait_for(lambda: states(server, "note-%") == ["ready"] * (many - 3))
    wait_for(lambda: states(server, "none%") == ["refused"])


def done(server: Server) -> list[str]:
    return [state for state in states(server, "note-%") if state not in ("queued", "reading")]
