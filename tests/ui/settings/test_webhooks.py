from collections.abc import Callable
from datetime import UTC, datetime

from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.ui.conftest import words

Page = Callable[..., AppTest]


def test_a_webhook_is_made_its_secret_shown_once_and_removed(page: Page, here: Workspace):
    at = page("settings")
    at.text_input(key="webhook-url").set_value("https://example.org/hook?token=private")
    at.multiselect(key="webhook-events").set_value(["document.ready"])
    at.button(key="create-webhook").click().run()
    (secret,) = [code.value for code in at.code]
    (record,) = here.webhooks.list()
    assert secret.startswith("whsec_") and record.events == ("document.ready",)
    at.run()
    assert not at.code and "example.org/hook" in words(at) and "private" not in words(at)
    at.button(key=f"remove-{record.id}").click().run()
    at.button(key=f"really-remove-{record.id}").click().run()
    assert here.webhooks.list() == []


def test_what_is_no_url_is_refused_in_words(page: Page, here: Workspace):
    at = page("settings")
    at.text_input(key="webhook-url").set_value("example.org")
    at.button(key="create-webhook").click().run()
    assert "https://" in at.error[0].value and here.webhooks.list() == []


def test_a_disabled_webhook_says_why_and_is_enabled_again(page: Page, here: Workspace):
    record, _ = here.add_webhook("https://example.org/hook", ["document.ready"])
    document, _ = here.library.add("a.md", b"words")
    here.library.documents.set_state(document.id, "ready")
    waiting = here.webhooks.next_delivery(record.id, datetime(2100, 1, 1, tzinfo=UTC))
    here.webhooks.failed(record.id, waiting.id, "example.org has removed this.", None)
    at = page("settings")
    assert "example.org has removed this." in words(at)
    at.button(key=f"enable-{record.id}").click().run()
    assert here.webhooks.get(record.id).disabled is None
