"""What becomes of dropped files whose tab goes, that come twice, or by the hundred."""

import hashlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from rag.ingest.library import EMBED_BATCH
from tests.e2e.conftest import Server
from tests.faults.conftest import Open
from tests.faults.tab import Tab, wait_for
from tests.rag.fake_embeddings import FakeEmbeddings

pytestmark = pytest.mark.timeout(900)

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


def ids(server: Server, name: str) -> list[str]:
    """The ids of the documents whose names are like this, by name."""
    with closing(sqlite3.connect(f"file:{server.data / 'footnote.db'}?mode=ro", uri=True)) as ledger:
        asked = "select id from documents where name like ? order by name"
        return [id_ for (id_,) in ledger.execute(asked, (name,))]


def book(name: str, passages: int) -> tuple[str, bytes]:
    """A file of so many passages."""
    chapters = (f"## Chapter {n} {TAKEN} {name}\n\n" + f"It was day {n}. " * 30 for n in range(passages))
    return f"{name}.md", f"# {name}\n\n{chr(10).join(chapters)}\n".encode()


def notes(many: int) -> list[tuple[str, bytes]]:
    """So many files of a sentence; none of them is among fewer or more."""
    said = "Note {number} of {many} says that crate {number} is full."
    return [
        (f"note-{many}-{number:03}.txt", said.format(number=number, many=many).encode())
        for number in range(many)
    ]


def embedded(embeddings: FakeEmbeddings, name: str) -> int:
    """How many batches of a book are embedded."""
    return sum(f"{TAKEN} {name}" in batch[0] for batch in embeddings.batches)


def waiting(tab: Tab) -> int:
    """How many documents of the table wait for their embeddings."""
    return tab.text.count("Searchable by words") + tab.text.count("Indexing meaning")


@pytest.mark.parametrize("back", ["reconnect", "reload"])
def test_an_ingest_goes_on_without_its_tab_and_progress_is_right_on_return(
    open_tab: Open, server: Server, embeddings: FakeEmbeddings, back: str
):
    tab = open_tab(page="library")
    embeddings.hold()
    tab.drop(book(back, 40))
    tab.until(lambda: waiting(tab) == 1, look=True)
    tab.cut()
    while embedded(embeddings, back) < 2:
        embeddings.let(1)
        time.sleep(0.1)
    embeddings.hold()
    getattr(tab, back)()
    tab.until(lambda: f"meaning, {EMBED_BATCH * embedded(embeddings, back)} of " in tab.text, look=True)
    embeddings.mend()
    tab.until(lambda: "indexing" not in tab.text.lower() and "Ready" in tab.text, look=True)
    assert states(server, f"{back}%") == ["ready"]


def test_the_same_file_at_once_from_two_tabs_is_there_once(open_tab: Open, server: Server):
    one, other = open_tab(page="library"), open_tab(page="library")
    name, content = book("twice", 2)
    for tab in (one, other):
        tab.drop((name, content), ("again.md", content))
    for tab in (one, other):
        tab.until(lambda tab=tab: any("again.md: already in your library" in said for said in tab.shown.told))
    wait_for(lambda: states(server, "twice%") == ["ready"])
    assert states(server, "again%") == []


def interrupted(server: Server, tab: Tab, send: Callable[[], None], content: bytes) -> None:
    """Do something else in a tab while a file that it sends is taken: its row waits for the ledger meanwhile.

    Streamlit ends the run of the page that is at it as soon as that run speaks to Streamlit.
    """
    tab.until(lambda: tab.drawn)
    original = f"files/*/{hashlib.sha256(content).hexdigest()}"
    with closing(sqlite3.connect(server.data / "footnote.db", isolation_level=None)) as ledger:
        ledger.execute("begin immediate")
        send()
        wait_for(lambda: any(server.data.glob(original)))
        tab.go("")
        tab.until(lambda: "Adding files: 0 so far." in tab.text)


def test_files_are_all_taken_and_told_of_where_something_else_is_done_meanwhile(
    open_tab: Open, server: Server
):
    tab = open_tab(page="library")
    first, second = book("meanwhile", 1), book("between", 1)
    interrupted(server, tab, lambda: tab.drop(first, second), first[1])
    tab.until(lambda: any("2 files added" in said for said in tab.shown.told), look=True)
    wait_for(lambda: states(server, "meanwhile.md") == states(server, "between.md") == ["ready"])


def test_a_question_sent_with_a_file_is_kept_where_something_else_is_done_meanwhile(
    open_tab: Open, server: Server
):
    tab = open_tab()
    file, question = book("asked", 1), "What is said of the journey?"
    interrupted(server, tab, lambda: tab.ask(question, file), file[1])
    with closing(sqlite3.connect(f"file:{server.data / 'footnote.db'}?mode=ro", uri=True)) as ledger:
        asked = "select count(*) from messages where role = 'user' and content = ?"
        wait_for(lambda: ledger.execute(asked, (question,)).fetchone() == (1,))
    wait_for(lambda: states(server, file[0]) == ["ready"])


def test_until_a_changed_file_is_read_the_old_one_answers(
    open_tab: Open, server: Server, embeddings: FakeEmbeddings
):
    """It is replaced wholly: there is never an answer of both."""
    tab, chat = open_tab(page="library"), open_tab()
    tab.drop(("crane.md", b"# Crane\n\nThe crane lifts 65 tonnes.\n"))
    wait_for(lambda: states(server, "crane%") == ["ready"])
    embeddings.hold()
    tab.drop(("crane.md", b"# Crane\n\nThe crane lifts 80 tonnes.\n"))
    tab.until(lambda: any("replaces its older version" in said for said in tab.shown.told))
    wait_for(lambda: states(server, "crane%") == ["searchable_by_words"])
    tab.cut()
    embeddings.mend()
    chat.ask("How many tonnes does the crane lift?")
    chat.until(lambda: "Written by" in chat.text)
    assert "80 tonnes" in chat.text and "65 tonnes" not in chat.text


@pytest.mark.parametrize("many", [8, pytest.param(200, marks=pytest.mark.slow(reason="adds 200 files"))])
def test_many_files_are_counted_and_what_is_deleted_midway_is_gone(
    open_tab: Open, server: Server, embeddings: FakeEmbeddings, many: int
):
    tab = open_tab(page="library")
    embeddings.hold()
    files = [*notes(many), (f"none-{many}.txt", b"")]
    tab.drop(*files)
    tab.until(lambda: any(f"{many + 1} files added" in said for said in tab.shown.told))
    wait_for(lambda: begun(server, many) >= many // 2)
    tab.until(lambda: tab.drawn)
    for document in ids(server, f"note-{many}-%")[1:4]:
        tab.go(f"document={document}")
        tab.press("document-delete", then=lambda: tab.shown.way("document-delete") is None)
    embeddings.mend()
    wait_for(lambda: states(server, f"note-{many}-%") == ["ready"] * (many - 3))
    wait_for(lambda: states(server, f"none-{many}%") == ["refused"])


def begun(server: Server, many: int) -> int:
    """How many of so many notes have been read."""
    return sum(state not in ("queued", "reading") for state in states(server, f"note-{many}-%"))
