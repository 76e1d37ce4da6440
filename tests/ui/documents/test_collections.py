from collections.abc import Callable
from contextlib import suppress

import pytest
from streamlit.errors import StreamlitAPIException
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.ui.conftest import table, words
from tests.ui.documents.test_page import NAMES, settle
from tests.ui.inert import is_inert
from ui.documents.selection import SELECTED

Page = Callable[..., AppTest]
TEXT = "# Castle\n\n" + " ".join(f"Room {n} has {n * 7} candles and a chest of oak." for n in range(40))


@pytest.fixture
def three(here: Workspace) -> list[str]:
    """Three documents, the first of them in the collection HR."""
    ids = [here.library.add(f"{name}.txt", f"Text of {name}.".encode())[0].id for name in "abc"]
    here.library.collections.put(ids[:1], here.library.collections.create("HR").id)
    return ids


def rows(at: AppTest) -> set[str]:
    return {row["name"] for row in table(at)}


def notice(at: AppTest) -> str:
    """What the page leaves to be said by the next run, which the pages' entry shows."""
    return at.session_state["notice"][0].replace("\\", "")


def where(here: Workspace) -> dict[str, str | None]:
    names = {one.id: one.name for one in here.library.collections.list()}
    return {r.name: names.get(r.collection_id or "") for r in here.library.documents.list()}


def test_without_collections_the_page_asks_nothing_about_them(page: Page, here: Workspace):
    here.library.add("a.txt", b"Text.")
    at = page("documents")
    assert [box.label for box in at.selectbox] == ["Status"] and rows(at) == {"a.txt"}


def test_a_collection_is_made_shown_and_added_to(page: Page, here: Workspace, three):
    at = page("documents")
    at.text_input(key="documents-new").set_value("  Contracts ").run()
    assert at.selectbox(key="documents-shown").value == here.library.collections.named("contracts").id
    assert "Contracts** is empty" in words(at)
    at.file_uploader[0].set_value([("new.txt", b"A new text.", "text/plain")]).run()
    assert where(here)["new.txt"] == "Contracts"
    assert rows(settle(here, at)) == {"new.txt"}
    at.selectbox(key="documents-add-to").set_value(here.library.collections.named("HR").id).run()
    at.file_uploader[0].set_value([("other.txt", b"Another.", "text/plain")]).run()
    assert where(here)["other.txt"] == "HR"


def test_a_new_collection_takes_the_selected_documents(page: Page, here: Workspace, three):
    at = page("documents")
    assert "selected documents will be put in it" not in words(at)
    at.session_state[SELECTED] = {three[0], three[2]}
    at.run()
    assert "2 selected documents will be put in it." in words(at)
    at.text_input(key="documents-new").set_value("Contracts").run()
    assert where(here) == {"a.txt": "Contracts", "b.txt": None, "c.txt": "Contracts"}
    assert notice(at) == "2 documents added to Contracts."
    assert rows(at) == {"a.txt", "c.txt"} and at.session_state[SELECTED] == set()


def test_a_file_that_is_in_a_collection_already_stays_there(page: Page, here: Workspace, three):
    here.library.collections.create("Contracts")
    at = page("documents")
    at.selectbox(key="documents-add-to").set_value(here.library.collections.named("Contracts").id).run()
    both = [("a.txt", b"Text of a.", "text/plain"), ("b.txt", b"Text of b.", "text/plain")]
    at.file_uploader[0].set_value(both).run()
    assert where(here) == {"a.txt": "HR", "b.txt": "Contracts", "c.txt": None}


def test_the_list_is_narrowed_by_collection_and_by_name(page: Page, here: Workspace, three):
    at = page("documents")
    assert rows(at) == {"a.txt", "b.txt", "c.txt"}
    shown = at.selectbox(key="documents-shown")
    assert shown.options == ["All documents", "HR", "Unsorted"]
    assert rows(shown.set_value(here.library.collections.list()[0].id).run()) == {"a.txt"}
    assert rows(at.selectbox(key="documents-shown").set_value("none").run()) == {"b.txt", "c.txt"}
    assert rows(at.text_input(key="documents-search").set_value("C").run()) == {"c.txt"}


def test_an_empty_collection_is_filled_with_what_is_there_already(page: Page, here: Workspace, three):
    made = here.library.collections.create("Contracts")
    at = page("documents")
    at.selectbox(key="documents-shown").set_value(made.id).run()
    at.session_state[f"fill-{made.id}"] = three[1:]
    at.button(key="collection-fill").click().run()
    at.button(key=f"fill-now-{made.id}").click().run()
    assert where(here) == {"a.txt": "HR", "b.txt": "Contracts", "c.txt": "Contracts"}
    assert rows(at) == {"b.txt", "c.txt"}


def test_selected_documents_are_moved_together(page: Page, here: Workspace, three):
    archive = here.library.collections.create("Archive")
    at = page("documents")
    at.session_state[SELECTED] = set(three[:2])
    at.run()
    assert "2 selected" in words(at)
    at.button(key="selected-move").click().run()
    at.button(key=f"move-now-{three[1]}").click().run()
    assert notice(at) == "Nothing changed: no collection was chosen."
    at.button(key="selected-move").click().run()
    at.radio(key=f"move-to-{three[1]}").set_value(archive.id)
    at.button(key=f"move-now-{three[1]}").click().run()
    assert where(here) == {"a.txt": "Archive", "b.txt": "Archive", "c.txt": None}
    assert notice(at) == "2 documents are now in Archive."
    assert at.session_state[SELECTED] == set()


def test_selected_documents_get_tags_and_are_found_by_them(page: Page, here: Workspace, three):
    here.tags.add(three[:1], "old")
    here.tags.add(three[:2], "both")
    at = page("documents")
    at.session_state[SELECTED] = set(three[:2])
    at.run()
    at.button(key="selected-tag").click().run()
    assert at.session_state[f"tags-{three[1]}"] == ["both"]
    at.session_state[f"tags-{three[1]}"] = []
    at.button(key="selected-tag").click().run()
    at.text_input(key=f"tags-new-{three[1]}").set_value("new")
    at.button(key=f"tags-now-{three[1]}").click().run()
    assert here.tags.of_documents() == {three[0]: ["new", "old"], three[1]: ["new"]}
    at.run()
    assert rows(at.selectbox(key="documents-tag").set_value("old").run()) == {"a.txt"}
    assert rows(at.selectbox(key="documents-tag").set_value(None).run()) == {"a.txt", "b.txt", "c.txt"}
    assert rows(at.text_input(key="documents-search").set_value("NEW").run()) == {"a.txt", "b.txt"}


def test_the_next_chat_searches_the_selection(page: Page, here: Workspace, three):
    at = page("documents")
    at.session_state[SELECTED] = set(three[:2])
    at.run()
    with suppress(StreamlitAPIException):  # the chat page cannot be gone to from here
        at.button(key="selected-chat").click().run()
    assert {*at.session_state["scope-next"][1]} == set(three[:2])


def test_all_that_is_shown_is_selected_at_once_over_all_pages(page: Page, here: Workspace):
    for number in range(60):
        here.library.add(f"file-{number:02d}.txt", f"Text {number}".encode())
    here.library.add("other.txt", b"Other.")
    at = page("documents")
    at.text_input(key="documents-search").set_value("file").run()
    at.button(key="select-all").click().run()
    assert "60 selected" in words(at)
    at.button(key="select-none").click().run()
    assert at.button(key="select-all").label == "Select all 60"


def test_failures_are_found_by_their_status(page: Page, here: Workspace, three):
    here.library.documents.set_state(three[0], "refused", "It is damaged.")
    at = page("documents")
    assert rows(at.selectbox(key="documents-status").set_value("Could not be read").run()) == {"a.txt"}


def test_a_collection_is_renamed_and_deleted_and_its_documents_stay(page: Page, here: Workspace, three):
    (hr,) = here.library.collections.list()
    at = page("documents")
    at.selectbox(key="documents-shown").set_value(hr.id).run()
    at.text_input(key=f"collection-name-{hr.id}").set_value("People").run()
    assert here.library.collections.get(hr.id).name == "People"
    at.button(key="collection-delete").click().run()
    assert len(here.library.collections.list()) == 1 and "Its document stays" in words(at)
    at.button(key=f"collection-remove-{hr.id}").click().run()
    assert here.library.collections.list() == [] and len(here.library.documents.list()) == 3
    assert rows(at) == {"a.txt", "b.txt", "c.txt"}


def test_a_name_that_is_taken_is_refused_in_a_sentence(page: Page, here: Workspace, three):
    at = page("documents")
    at.text_input(key="documents-new").set_value("hr").run()
    assert "There is a collection called HR already" in notice(at)
    assert len(here.library.collections.list()) == 1


def test_sizes_are_changed_and_documents_split_anew(page: Page, here: Workspace):
    record, _ = here.library.add("castle.md", TEXT.encode())
    here.library.collections.put([record.id], here.library.collections.create("Castles").id)
    list(here.library.index(record.id))
    before, (castles,) = len(here.library.documents.chunks(record.id)), here.library.collections.list()
    at = page("documents")
    at.selectbox(key="documents-shown").set_value(castles.id).run()
    assert "1 document will be re-indexed" in words(at)
    at.number_input[0].set_value(200)
    at.number_input[1].set_value(300)
    at.button(key=f"FormSubmitter:splitting-{castles.id}-Change").click().run()
    assert "cannot repeat 300" in notice(at)
    at.number_input[1].set_value(0)
    at.button(key=f"FormSubmitter:splitting-{castles.id}-Change").click().run()
    job = here.ingest.splitting()
    assert job is None or job.wait(60)
    assert here.library.collections.get(castles.id).splitting == {"size": 200, "overlap": 0, "minimum": 0}
    assert len(here.library.documents.chunks(record.id)) > before
    at = page("documents")
    at.selectbox(key="documents-shown").set_value(castles.id).run()
    next(box for box in at.selectbox if box.label == "Method").set_value("markdown")
    at.button(key=f"FormSubmitter:splitting-{castles.id}-Change").click().run()
    job = here.ingest.splitting()
    assert job is None or job.wait(60)
    assert here.library.collections.get(castles.id).splitting["splitter"] == "markdown"
    assert ".200.0.0.markdown-" in here.library.documents.chunks(record.id)[0].id
    at = page("documents")
    at.selectbox(key="documents-shown").set_value(castles.id).run()
    at.button(key=f"FormSubmitter:splitting-{castles.id}-Reset to default").click().run()
    assert here.library.collections.get(castles.id).splitting is None


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_collections_name_is_only_text(page: Page, here: Workspace, name: str):
    record, _ = here.library.add("a.txt", b"Text.")
    made = here.library.collections.create(name)
    here.library.collections.put([record.id], made.id)
    at = page("documents")
    at.selectbox(key="documents-shown").set_value(made.id).run()
    at.button(key="collection-delete").click().run()
    assert not at.exception
    for element in [*at.markdown, *at.caption]:
        if "-badge[:material/" not in element.value:  # our own
            is_inert(element.value)
