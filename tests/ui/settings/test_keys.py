from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from storage.keys import find_key
from tests.ui.conftest import words
from ui.server import services
from ui.settings.programs import key_facts

Page = Callable[..., AppTest]


def test_a_key_is_made_shown_once_and_revoked(page: Page, here: Workspace):
    collection = here.library.collections.create("HR").id
    at = page("settings")
    at.text_input(key="key-name").set_value("Open *WebUI*")
    at.multiselect(key="key-collections").set_value([collection])
    at.button(key="create-key").click().run()
    (secret,) = [code.value for code in at.code]
    found = find_key(services.services().database, secret)
    assert (found.owner, found.scopes, found.collections) == (here.owner, {"read", "ask"}, {collection})
    assert found.expires is not None and "Open *WebUI*" in words(at)
    at.run()
    assert not at.code and secret not in words(at)
    at.button(key=f"revoke-{found.id}").click().run()
    at.button(key=f"really-revoke-{found.id}").click().run()
    assert here.keys.list() == [] and find_key(services.services().database, secret) is None


def test_a_key_without_a_name_is_refused_in_words(page: Page, here: Workspace):
    at = page("settings")
    at.button(key="create-key").click().run()
    assert "needs a name" in at.error[0].value and here.keys.list() == []


def test_a_key_says_what_it_may_and_when_it_ends(here: Workspace):
    now = datetime(2026, 5, 4, tzinfo=UTC)
    record, _ = here.keys.create("Bot", ["read"], expires=now + timedelta(days=1))
    assert key_facts(record, now) == "May search and read · never used · expires 2026-05-05"
    assert "expired 2026-05-05" in key_facts(record, now + timedelta(days=2))
