from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from storage.accounts import People
from storage.records import ChunkSpan
from tests.rag.ingest.parsers import makers
from tests.ui.conftest import words
from tests.ui.inert import is_inert
from ui.server import services

Page = Callable[..., AppTest]
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
    assert note in words(page("documents"))


def test_a_document_that_waits_is_tried_again_when_asked_for(page: Page, here: Workspace):
    record, _ = here.library.add("notes.md", b"The harbour opened in 1887.")
    list(here.library.read(record.id))
    here.library.documents.set_state(record.id, "searchable_by_words", "The disk was full.")
    at = page("documents")
    assert "The disk was full." in words(at)
    at.button(key=f"try-again-{record.id}").click().run()
    at = settle(here, at)
    assert here.library.documents.get(record.id).state == "ready"
    assert "The disk was full." not in words(at) and not any(b.label == "Try again" for b in at.button)


def test_a_file_that_could_not_be_added_is_named_until_that_is_put_away(page: Page, here: Workspace):
    here.conversations.create()  # who has done nothing yet is not known
    People(services.services().database).set_limits(here.owner, {"documents": 0})
    at = page("documents")
    at.file_uploader[0].set_value([("notes.md", b"The harbour opened in 1887.", "text/markdown")]).run()
    for _ in range(2):
        shown = words(at.run())
        assert "notes.md" in shown and "may have 0" in shown
        assert at.expander[0].label == "File not added"
    at.button(key="close-report").click().run()
    assert "notes.md" not in words(at)


def test_an_empty_library_says_what_to_do(page: Page):
    at = page("documents")
    assert at.title[0].value == "Documents" and "No documents yet" in words(at)


def test_each_of_many_files_gets_a_row_with_its_own_result(page: Page, here: Workspace):
    at = page("documents")
    at.file_uploader[0].set_value(
        [
            ("notes.md", b"# Travel\n\nReceipts are due within thirty days.", "text/markdown"),
            ("empty.txt", b"", "text/plain"),
            ("photo.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "image/png"),
        ]
    ).run()
    shown = words(settle(here, at))
    assert "3 documents" in shown
    for name in ("notes.md", "empty.txt", "photo.png"):
        assert f"**{name}**" in shown
    assert "empty.txt is empty" in shown and "photo.png is damaged" in shown
    states = {record.name: record.state for record in here.library.documents.list()}
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


def test_a_document_is_deleted_with_its_original(page: Page, here: Workspace):
    record, _ = here.library.add("notes.md", b"Receipts are due.")
    path = here.library.files.path(record.sha256)
    at = page("documents")
    at.button(key=f"ask-{record.id}").click().run()
    assert path.exists()
    at.button(key=f"remove-{record.id}").click().run()
    assert here.library.documents.list() == [] and not path.exists()
    assert "No documents yet" in words(at)


def test_a_long_list_comes_in_pages(page: Page, here: Workspace):
    for number in range(30):
        here.library.add(f"file-{number:02d}.txt", f"Text {number}".encode())
    at = page("documents")
    assert sum("file" in m.value for m in at.markdown) == 25
