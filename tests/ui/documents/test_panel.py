from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.ui.conftest import words
from ui.documents.introduction import SUMMARISE
from ui.documents.panel import MOST_HITS, find_words, text_parts
from ui.documents.selection import totals

Page = Callable[..., AppTest]
TEXT = "# Castle\n\n" + "\n".join(f"Room {n} has {n * 7} candles and a chest of oak." for n in range(400))


@pytest.fixture
def castle(here: Workspace) -> str:
    record, _ = here.library.add("castle.md", TEXT.encode())
    list(here.library.index(record.id))
    return record.id


def test_words_are_found_in_any_case_and_over_line_ends():
    assert find_words("Net  sales. NET\nSALES", " net sales ") == [(0, 10), (12, 21)]
    assert find_words("a.b", ".") == [(1, 2)]
    assert find_words("anything", " ") == []
    assert len(find_words("a" * 2000, "a")) == MOST_HITS


@pytest.mark.parametrize("text", ["", "short", "a" * 10, "one\ntwo\n\nthree\n" * 9])
def test_the_parts_of_a_text_join_to_the_whole(text: str):
    parts = text_parts(text, 8)
    assert "".join(text[part.start : part.end] for part in parts) == text
    assert [part.number for part in parts] == list(range(1, len(parts) + 1))


def test_a_document_is_opened_turned_over_and_searched(page: Page, here: Workspace, castle: str):
    at = page("documents", document=castle)
    assert "castle.md" in words(at) and "Room 0 has 0 candles" in words(at)
    assert "Part 1 of" in words(at) and "Room 399" not in words(at)
    at.text_input(key=f"document-find-{castle}").set_value("room 399").run()
    assert "1 of 1" in words(at) and ":yellow-background[Room 399]" in words(at)
    at.text_input(key=f"document-find-{castle}").set_value("dragon").run()
    assert "No match" in words(at)


def test_the_address_names_the_part_to_show(page: Page, castle: str):
    assert "Part 3 of" in words(page("documents", document=castle, page="3"))
    assert "Part 1 of" in words(page("documents", document=castle, page="9999"))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (b"SKU,Quantity\nTL-100,24\nTL-104,7\n", "SKU, Quantity"),
        (b"1,2\n3,4\n", "No summary or questions for this document."),
    ],
)
def test_a_table_is_summarised_by_its_columns_and_figures_alone_by_nothing(
    page: Page, here: Workspace, rows: bytes, said: str
):
    record, _ = here.library.add("stock.csv", rows)
    list(here.library.index(record.id))
    here.introduction(record.id).wait(60)
    at = page("documents", document=record.id)
    at.session_state[f"introduction-{record.id}"] = True
    assert said in words(at.run())


def test_a_document_that_is_gone_is_not_opened(page: Page, here: Workspace):
    at = page("documents", document="gone")
    assert any("Document not found" in toast.value for toast in at.toast)
    assert "document" not in at.query_params


def test_a_refused_document_says_why(page: Page, here: Workspace):
    record, _ = here.library.add("notes.md", b"The harbour opened in 1887.")
    here.library.documents.set_state(record.id, "refused", "notes.md is damaged.")
    at = page("documents", document=record.id)
    assert "Could not be read. notes.md is damaged." in words(at)
    assert "document-chat" not in [button.key for button in at.button]


def test_a_list_of_documents_counts_pages_where_all_have_some_and_what_is_unread(
    here: Workspace,
):
    kept = [here.library.add(f"{name}.md", name.encode())[0] for name in "abc"]
    one, other, unread = kept
    read = [replace(one, pages=46, state="ready"), replace(other, state="ready")]
    refused = replace(unread, state="refused")
    assert totals(read) == "2 documents" and totals(read[1:]) == "1 document"
    assert totals(read[:1]) == "1 document · 46 pages"
    assert totals([read[0], refused]) == "2 documents (1 could not be read) · 46 pages"


def test_a_summary_is_asked_for_in_a_chat_over_the_document(page: Page, here: Workspace, castle: str):
    page("documents", document=castle).button(key="document-summarise").click().run()
    (chat,) = here.conversations.list()
    assert here.choices.documents(chat.id) == {castle} and chat.title == "Summary: castle.md"
    assert here.conversations.messages(chat.id, limit=2)[0].content == SUMMARISE
