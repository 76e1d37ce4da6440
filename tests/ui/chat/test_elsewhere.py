"""An answer that another process writes is shown as it is stored, until it has ended there."""

import threading
import time
from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from storage.conversations import Conversations
from storage.database import Database
from tests.ui.conftest import words

Page = Callable[..., AppTest]


def test_an_answer_written_elsewhere_is_followed_to_its_end(page: Page, here: Workspace):
    ours = here.conversations._database
    other = Database(ours.directory, ours._engine, ours._lock)
    theirs = Conversations(other, here.owner)
    chat = theirs.create("Castle").id
    turn = theirs.begin_turn(chat, "How deep is the moat?")
    written = threading.Event()

    def write() -> None:
        with theirs.answering(turn.answer_id):
            theirs.checkpoint(turn.answer_id, "Nine")
            written.set()
            time.sleep(2)  # in which the page looks several times
            theirs.finish(turn.answer_id, "complete", "Nine metres.")

    writer = threading.Thread(target=write)
    writer.start()
    assert written.wait(10)
    at = page(chat=chat)
    writer.join()
    other.queue.close()
    assert theirs.message(turn.answer_id).state == "complete"
    assert "Nine metres." in words(at)
