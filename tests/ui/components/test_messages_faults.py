"""A page whose ledger broke since it was drawn: whatever is pressed, it says so."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.faults.damaging import SAID, damage
from tests.ui.conftest import citation, passage, tell, words

Page = Callable[..., AppTest]
ANSWER = "It employed 1,204 people. [1]"


@pytest.fixture
def at(page: Page, here: Workspace, tmp_path: Path) -> AppTest:
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[citation(1, ANSWER, "1,204")])
    opened = page(chat=turn.conversation_id)
    assert not opened.error
    damage(tmp_path / "data")
    return opened


@pytest.mark.parametrize("key", ["rate-up-", "delete-", "new-chat"])
def test_what_is_pressed_over_a_broken_ledger_is_answered_in_a_sentence(at: AppTest, key: str):
    next(button for button in at.button if (button.key or "").startswith(key)).click().run()
    assert not at.exception
    assert SAID in words(at)


def test_a_page_that_cannot_be_shown_offers_to_try_again_and_is_logged_once(
    at: AppTest, caplog: pytest.LogCaptureFixture
):
    at.run()
    next(button for button in at.button if button.label == "Try again").click().run()
    assert not at.exception and SAID in at.error[0].value
    assert [record.getMessage() for record in caplog.records if record.name == "ui.components.messages"] == [
        f"A page could not be shown: {at.error[0].value.replace(chr(92), '')}"
    ]
