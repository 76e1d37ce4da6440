"""The form that connects a model server: on Settings, and as a part of the start page."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.rag.fake_llm import FakeLLM, Reply
from tests.ui.conftest import words
from ui.server import services

Page = Callable[..., AppTest]
KEY = "sk-marked-0123456789"
NOWHERE = "http://127.0.0.1:9/v1"
REFUSED = Reply(status=401, body=b'{"error": {"message": "no"}}')


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    with FakeLLM() as server:
        yield server


def press(at: AppTest, name: str) -> AppTest:
    return next(button for button in at.button if button.label == name).click().run()


def test_the_form_says_what_the_server_is_sent(page: Page):
    assert "the question, the chat before it and the passages found" in words(page("settings"))


def saved(tmp_path: Path) -> Path:
    return tmp_path / "data" / "settings.json"


def at_server(page: Page, url: str) -> AppTest:
    at = page("settings")
    at.text_input(key="llm_base_url").set_value(url)
    return at


def test_the_models_of_a_server_are_listed_and_the_one_that_is_chosen_is_tested_and_kept(
    page: Page, here: Workspace, fake: FakeLLM, tmp_path: Path
):
    at = at_server(page, fake.url)
    assert "No model is connected" in words(at) and at.selectbox(key="llm_model").options == []
    at.text_input(key="llm_api_key").set_value(KEY)
    press(at, "List models")
    assert at.selectbox(key="llm_model").options == ["fake"]
    assert at.selectbox(key="llm_model").value == "fake", "the only one is chosen"
    assert fake.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert not saved(tmp_path).exists()
    press(at, "Test and save")
    assert fake.requests[-1].body["model"] == "fake"
    assert services.services().llm is not None and "Answers are written by **fake**" in words(at)
    kept = json.loads(saved(tmp_path).read_text())
    assert (kept["llm_model"], kept["llm_api_key"]) == ("fake", KEY)


def test_a_server_that_refuses_is_named_until_the_next_attempt_and_nothing_is_kept(
    page: Page, here: Workspace, fake: FakeLLM, tmp_path: Path
):
    fake.reply(REFUSED)
    at = press(at_server(page, fake.url), "List models")
    said = at.error[0].value
    assert "API key" in said or "key" in said
    assert at.run().error[0].value == said, "it stays"
    fake.reply(Reply("Yes."))
    assert not press(at, "List models").error
    fake.reply(REFUSED)
    assert press(at, "Test and save").error and not saved(tmp_path).exists()
    assert services.services().llm is None


def test_a_server_of_this_computer_that_is_off_is_named_before_the_client_is_imported(
    page: Page, here: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "openai", None)
    at = press(at_server(page, NOWHERE), "List models")
    assert at.error[0].value.startswith("Cannot reach `http://127.0.0.1:9`.") and not at.exception


def test_a_server_that_is_off_is_saved_without_a_test_on_request(page: Page, here: Workspace, fake: FakeLLM):
    at = press(at_server(page, fake.url), "List models")
    fake.reply(Reply(status=503))
    press(at, "Test and save")
    assert at.error and services.services().llm is None
    press(at, "Save without a test")
    assert services.services().settings.llm_model == "fake" and not at.error


def test_a_model_has_to_be_chosen(page: Page, here: Workspace):
    at = press(at_server(page, NOWHERE), "Test and save")
    assert at.error[0].value == "Choose a model, or type its name."
    assert not any(button.label == "Save without a test" for button in at.button)


@pytest.mark.parametrize("url", ["ftp://example.org", "nonsense", ""])
@pytest.mark.parametrize("name", ["List models", "Test and save"])
def test_a_wrong_address_is_named_and_nothing_is_kept(
    page: Page, here: Workspace, tmp_path: Path, url: str, name: str
):
    at = press(at_server(page, url), name)
    assert "LLM_BASE_URL" in at.error[0].value.replace("\\", "")
    assert not saved(tmp_path).exists()


def test_a_server_is_disconnected(page: Page, here: Workspace):
    services.services().change({"llm_base_url": NOWHERE, "llm_model": "qwen"})
    at = page("settings")
    assert at.selectbox(key="llm_model").value == "qwen"
    press(at, "Disconnect")
    assert services.services().llm is None and at.selectbox(key="llm_model").value is None


def test_what_the_environment_decides_cannot_be_changed_here(page: Page, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "fixed")
    at = page("settings")
    assert at.text_input(key="llm_model").disabled and not at.text_input(key="llm_base_url").disabled
