from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.ui.conftest import words

Page = Callable[..., AppTest]


def test_a_deleted_chat_is_restored_in_the_settings(page: Page, here: Workspace):
    chat, kept = (here.conversations.create(title).id for title in ("A *harbour*", "Kept"))
    here.remove_conversation(chat, "A *harbour*")
    here.deletions.finish()  # its undo is over
    at = page("settings")
    assert "A *harbour*, kept until" in words(at)
    at.button(key=f"restore-{chat}").click().run()
    assert {one.id for one in here.conversations.list()} == {chat, kept}
    assert "No chat was deleted in the last 7 days." in words(at)


def test_a_deleted_chat_is_deleted_permanently_after_a_question(page: Page, here: Workspace):
    chat = here.conversations.create("About the harbour").id
    here.conversations.discard(chat)
    at = page("settings")
    at.button(key=f"delete-{chat}").click().run()
    assert len(here.conversations.discarded()) == 1
    at.button(key=f"really-delete-{chat}").click().run()
    assert not at.exception and here.conversations.discarded() == []
