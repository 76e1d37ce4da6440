from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag.text.document import EMPTY, LOCKED, WORDLESS
from rag.workspace import Workspace
from storage.accounts import People
from storage.records import ChunkSpan
from tests.rag.ingest.parsers import makers
from tests.ui.conftest import table, words
from tests.ui.inert import is_inert
from ui.documents.page import ORDER, sorted_records
from ui.documents.selection import SELECTED
from ui.documents.table import Order
from ui.server import services

Page = Callable[..., AppTest]
PNG = b"\x89PNG\r\n\x1a\n"
NAMES = [
    "../../etc/passwd",
    "C:\\CON.txt",
    "a" * 300 + ".txt",
    "two\nlines.txt",
    "<img src=x onerror=alert(1)>.md",
    "**bold** [x](http://evil.test) :smile:.md",
    "보고서 2024.txt",
    "報告書.txt",
    "‮fdp.exe.txt",
    "'; DROP TABLE documents; --.txt",
]


def settle(here: Workspace, at: AppTest) -> AppTest:
    for record in here.library.documents.list():
        for lane in ("read", "embed"):
            job = here._jobs.get(here.owner, f"{lane}:{record.id}")
            if job is not None:
                job.wait(60)
    return at.run()


def test_what_of_a_document_could_not_be_read_is_said(page: Page, here: Workspace) -> None:
    record, _ = here.library.add("scan.md", b"The harbour opened in 1887.")
    list(here.library.index(record.id))
    text = here.library.documents.text(record.id)
    note = "The text of pages 2 to 4 was not recognised."
    here.library.documents.save_chunks(record.id, text, [], [ChunkSpan(0, len(text), None, "")], note=note)
    assert table(page("documents"))[0]["note"] == note


def test_a_document_that_waits_is_tried_again_when_asked_for(page: Page, here: Workspace):
    record, _ = here.library.add("notes.md", b"The harbour opened in 1887.")
    list(here.library.read(record.id))
    here.library.documents.set_state(record.id, "searchable_by_words", "The disk was full.")
    at = page("documents")
    (row,) = table(at)
    assert row["note"] == "The disk was full." and row["retry"]
    here.read_again(record.id)
    (row,) = table(settle(here, at))
    assert (row["status"], row["note"], row["retry"]) == ("Ready", "", False)


def test_a_document_that_was_refused_can_be_read_again(page: Page, here: Workspace):
    record, _ = here.library.add("notes.md", b"The harbour opened in 1887.")
    here.library.documents.set_state(record.id, "refused", "It took too long.")
    at = page("documents")
    (row,) = table(at)
    assert (row["status"], row["note"], row["retry"]) == ("Could not be read", "It took too long.", True)
    here.read_again(record.id)
    (row,) = table(settle(here, at))
    assert (row["status"], row["note"], row["retry"]) == ("Ready", "", False)


@pytest.mark.parametrize("refusal", [EMPTY, WORDLESS, LOCKED])
def test_a_file_that_is_empty_or_locked_is_not_offered_to_be_read_again(
    page: Page, here: Workspace, refusal: str
):
    record, _ = here.library.add("notes.md", b"The harbour opened in 1887.")
    here.library.documents.set_state(record.id, "refused", f"notes.md {refusal}")
    (row,) = table(page("documents"))
    assert (row["status"], row["retry"], row["final"]) == ("Could not be read", False, True)


def test_a_file_that_could_not_be_added_is_named_until_that_is_put_away(page: Page, here: Workspace):
    here.conversations.create()  # who has done nothing yet is not known
    People(services.services().database).set_limits(here.owner, {"documents": 0})
    at = page("documents")
    at.file_uploader[0].set_value([("notes.md", b"The harbour opened in 1887.", "text/markdown")]).run()
    for _ in range(2):
        shown = words(at.run())
        assert "notes.md" in shown and "may have 0" in shown
        assert "File not added" in shown
    at.button(key="close-report").click().run()
    assert "notes.md" not in words(at)


def test_an_empty_library_says_what_to_do(page: Page):
    at = page("documents")
    assert at.title[0].value == "Library" and "No documents yet" in words(at)


def test_each_of_many_files_gets_a_row_with_its_own_result(page: Page, here: Workspace):
    at = page("documents")
    at.file_uploader[0].set_value(
        [
            ("notes.md", b"# Travel\n\nReceipts are due within thirty days.", "text/markdown"),
            ("empty.txt", b"", "text/plain"),
            ("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "image/png"),
        ]
    ).run()
    at = settle(here, at)
    assert "3 documents" in words(at)
    notes = {row["name"]: row["note"] for row in table(at)}
    assert notes.keys() == {"notes.md", "empty.txt", "photo.png"}
    assert "empty.txt is empty" in notes["empty.txt"] and "photo.png is damaged" in notes["photo.png"]
    states = {record.name: record.state for record in here.library.documents.list()}
    offers = {row["name"]: (row["retry"], row["final"]) for row in table(at)}
    assert offers["empty.txt"] == (False, True)
    assert states["empty.txt"] == states["photo.png"] == "refused"
    assert states["notes.md"] == "ready"


def test_each_document_of_an_archive_gets_a_row(page: Page, here: Workspace, tmp_path: Path):
    members = {"2023/a.md": b"# Travel\n\nReceipts are due.", "b.gz": b"\x1f\x8b\x08\0"}
    content = makers.zipped(tmp_path / "x", members).read_bytes()
    at = page("documents")
    broken = content[: len(content) // 2]
    archives = [("all.zip", content, "application/zip"), ("cut.zip", broken, "application/zip")]
    at.file_uploader[0].set_value(archives).run()
    shown = words(settle(here, at))
    assert "cut.zip is damaged" in shown
    states = {record.name: record.state for record in here.library.documents.list()}
    assert states == {"all/2023/a.md": "ready", "all/b.gz": "refused"}


def test_the_same_content_again_makes_no_second_copy(page: Page, here: Workspace):
    here.library.add("notes.md", b"Receipts are due.")
    at = page("documents")
    at.file_uploader[0].set_value([("notes.md", b"Receipts are due.", "text/markdown")]).run()
    assert len(here.library.documents.list()) == 1
    assert any("already in your library" in toast.value for toast in at.toast)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_file_name_is_only_text(page: Page, here: Workspace, name: str):
    here.library.add(name, b"Receipts are due.")
    at = page("documents")
    assert not at.exception
    for element in [*at.markdown, *at.caption]:
        if "-badge[:material/" not in element.value:  # our own
            is_inert(element.value)
    originals = here.library.files.path(here.library.documents.list()[0].sha256).parent
    assert [len(path.name) for path in originals.iterdir()] == [64]


def test_a_deletion_is_undone_and_without_that_takes_the_original(page: Page, here: Workspace):
    ids = [here.library.add(f"{name}.md", f"Receipts of {name}.".encode())[0].id for name in "abc"]
    path = here.library.files.path(here.library.documents.get(ids[0]).sha256)
    at = page("documents")
    at.session_state[SELECTED] = set(ids[:2])
    at.run()
    assert "2 selected" in words(at)
    at.button(key="selected-delete").click().run()
    assert [row["name"] for row in table(at)] == ["c.md"] and path.exists()
    waiting = here.deletions.undo()
    assert waiting is not None and waiting.said == "2 documents"
    assert {row["name"] for row in table(at.run())} == {"a.md", "b.md", "c.md"}
    at.session_state[SELECTED] = set(ids[:1])
    at.run()
    at.button(key="selected-delete").click().run()
    here.deletions.finish()
    assert {row["name"] for row in table(at.run())} == {"b.md", "c.md"} and not path.exists()


def test_a_long_list_comes_in_pages_and_in_any_order(page: Page, here: Workspace):
    for number in range(60):
        here.library.add(f"file-{number:02d}.txt", f"Text {number}".encode())
    at = page("documents")
    assert len(table(at)) == 50 and table(at)[0]["name"] == "file-59.txt"
    at.session_state[ORDER] = Order("name", descending=False)
    assert table(at.run())[0]["name"] == "file-00.txt"


def test_a_press_on_a_header_sorts_by_it_and_a_second_press_turns_the_order():
    order = Order("added", descending=True)
    assert order.by("name") == Order("name", descending=False)
    assert order.by("name").by("name") == Order("name", descending=True)
    assert order.by("name").by("added") == Order("added", descending=True)


def test_the_rows_are_sorted_by_every_column(here: Workspace):
    for name in ("b.pdf", "C.md", "a.txt"):
        here.library.add(name, name.encode())
    records = here.library.documents.list()
    a, b, c = sorted(records, key=lambda record: record.name.casefold())
    collections, tags = {"x": "Alpha"}, {c.id: ["draft"]}
    inside = [replace(b, collection_id="x"), a, c]

    def names(column: str, *, descending: bool = False) -> list[str]:
        ordered = sorted_records(inside, Order(column, descending=descending), collections, tags)
        return [record.name for record in ordered]

    assert names("name") == ["a.txt", "b.pdf", "C.md"]
    assert names("kind") == ["C.md", "b.pdf", "a.txt"]
    assert names("collection", descending=True)[0] == "b.pdf"
    assert names("tags", descending=True)[0] == "C.md"
    assert set(names("unknown")) == set(names("pages")) == set(names("status")) == set(names("name"))


def test_a_file_that_fails_again_is_said_to_on_the_chat_page(page: Page, here: Workspace):
    empty = [("empty.txt", b"  ", "text/plain")]
    at = page()
    at.file_uploader[0].set_value(empty).run()
    settle(here, at)
    here.library.add("good.txt", b"The tower was built in 1910.")
    at = page()
    at.file_uploader[0].set_value(empty).run()
    shown = words(settle(here, at))
    assert "File not added" in shown and "empty.txt holds no text" in shown
    assert not any("added" in toast.value for toast in at.toast)


def test_the_chat_page_says_what_became_of_each_file(page: Page, here: Workspace):
    at = page()
    both = [
        ("tower.md", b"The tower was built in 1910.", "text/markdown"),
        ("photo.png", PNG + bytes(100), "image/png"),
    ]
    at.file_uploader[0].set_value(both).run()
    shown = words(settle(here, at))
    assert "1 of 2 files ready, 1 could not be read" in shown
    assert "tower.md · " not in shown and shown.count("photo.png is damaged") == 1
    assert "introduction-summarise" in [button.key for button in at.button]  # of the one that was read
    at.button(key="close-report").click().run()
    assert "1 of 2 files ready" not in words(at)
