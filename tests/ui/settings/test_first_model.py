"""The first step on the start page: install a model, connect a server, or go on with search."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.rag.fake_llm import FakeLLM
from tests.ui.conftest import words
from ui.server import services
from ui.settings.models import CONNECT, INSTALL

Page = Callable[..., AppTest]
WAY = "first-model-way"


def offered(at: AppTest) -> bool:
    return any(button.key == "first-model-no" for button in at.button)


def choose(at: AppTest, way: str) -> AppTest:
    return at.segmented_control(key=WAY).set_value(way).run()


def test_a_model_is_offered_with_its_size_and_memory_before_it_is_installed(page: Page, here: Workspace):
    at = page()
    assert offered(at) and "Search only" in words(at) and "to download" not in words(at)
    choose(at, INSTALL)
    assert not at.exception
    assert "of memory when running" in words(at)


def test_the_offer_stands_in_one_line_above_the_first_document(page: Page, here: Workspace):
    assert "With a language model it writes answers" in words(page())
    here.library.add("a.txt", b"The harbour was built in 1932.")
    at = page()
    said = words(at)
    assert offered(at) and "With a language model it writes answers" not in said
    assert said.index("Search only") < said.index("a.txt")


def test_a_server_is_connected_from_the_start_page(page: Page, here: Workspace):
    with FakeLLM() as fake:
        at = choose(page(), CONNECT)
        at.text_input(key="llm_base_url").set_value(fake.url)
        for name in ("List models", "Test and save"):
            next(button for button in at.button if button.label == name).click().run()
        assert services.services().settings.llm_model == "fake"
    assert not offered(at) and "Search only" not in words(at)


def test_going_on_with_search_is_remembered_and_a_model_can_still_be_connected(page: Page, here: Workspace):
    at = page()
    at.button(key="first-model-no").click().run()
    assert not offered(at) and "Search only" in words(at)
    services.close()
    at = page()
    assert not offered(at) and "Search only" in words(at)


def test_who_does_not_administer_is_offered_none(
    page: Page, here: Workspace, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(services.PageServices, "administers", lambda _: False)
    at = page()
    assert not offered(at) and "Search only" in words(at)
    assert not any("Connect a model" in str(link.proto) for link in at.get("page_link"))
