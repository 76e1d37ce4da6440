from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from rag.i18n import _, in_language
from rag.workspace import Workspace
from ui.server.services import services
from ui.settings.page import LANGUAGE_KEY

Page = Callable[..., AppTest]


@pytest.mark.parametrize("code", ["ko", "ja"])
def test_a_chosen_language_is_taken_at_once_and_kept(page: Page, here: Workspace, code: str):
    at = page("settings")
    assert at.title[0].value == "Settings"
    at.selectbox(key=LANGUAGE_KEY.format(code="en")).set_value(code).run()
    with in_language(code):
        assert at.title[0].value == _("Settings")
    assert services().account(here.owner).language() == code


def test_a_new_session_begins_with_the_chosen_language(page: Page, here: Workspace):
    services().account(here.owner).choose_language("ko")
    at = page()
    with in_language("ko"):
        assert _("Ask your own documents") in [title.value for title in at.title]


def test_a_choice_can_be_taken_back(page: Page, here: Workspace):
    at = page("settings")
    at.selectbox(key=LANGUAGE_KEY.format(code="en")).set_value("ja").run()
    with in_language("ja"):  # in which the test reads the lists that the page holds
        at.selectbox(key=LANGUAGE_KEY.format(code="ja")).set_value("").run()
    assert at.title[0].value == "Settings"
    assert services().account(here.owner).language() == ""
