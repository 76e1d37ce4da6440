"""Figures in a document's panel: described by a real server when asked, shown as a model's words."""

from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from tests.rag.fake_llm import FakeLLM, seeing
from tests.rag.ingest.test_figure_descriptions import pdf
from tests.rag.ingest.test_queue import wait_until
from tests.ui.conftest import words
from ui.server.services import services

Page = Callable[..., AppTest]
DESCRIBE = "describe-figures"


@pytest.fixture
def eye() -> Iterator[FakeLLM]:
    with FakeLLM() as fake:
        fake.say_by(seeing("A *bar* chart of tar."))
        yield fake


@pytest.fixture
def report(here: Workspace) -> str:
    record, _ = here.library.add("report.pdf", pdf("Figure 1. Tar by year"))
    list(here.library.index(record.id))
    return record.id


def connect(eye: FakeLLM, **others: object) -> None:
    services().change({"llm_base_url": eye.url, "llm_model": "eye", **others})


def opened(page: Page, report: str) -> AppTest:
    at = page("documents", document=report)
    at.session_state[f"figures-{report}"] = True
    return at.run()


def test_nothing_is_offered_without_a_model_that_takes_pictures(page: Page, report: str, eye: FakeLLM):
    assert "1 figure" not in words(opened(page, report))
    connect(eye, describe_figures=False)
    assert "1 figure" not in words(opened(page, report)) and eye.requests == []


def test_figures_are_described_when_asked_and_shown_as_words_of_a_model(
    page: Page, here: Workspace, report: str, eye: FakeLLM
):
    connect(eye)
    at = opened(page, report)
    assert "Figure 1. Tar by year" in words(at) and not at.exception
    (button,) = [one for one in at.button if one.key == DESCRIBE]
    assert button.label.endswith("Describe with eye")
    button.click().run()
    assert wait_until(lambda: here.library.figures.of(report))
    assert wait_until(lambda: here.library.figures.reading(report).state == "done")
    at = opened(page, report)
    assert "Read from a picture by a model (eye)" in words(at)
    assert "A bar chart of tar." in words(at)
    (button,) = [one for one in at.button if one.key == DESCRIBE]
    assert button.label.endswith("Describe again with eye")


def test_a_model_without_eyes_is_named(page: Page, here: Workspace, report: str, eye: FakeLLM):
    eye.say("I cannot see.")
    connect(eye)
    here.ingest.describe(report)
    assert wait_until(lambda: here.library.figures.reading(report).state == "stopped")
    at = opened(page, report)
    assert "eye takes no pictures." in words(at) and not here.describer.available
    eye.say_by(seeing("Bars."))
    next(one for one in at.button if one.key == DESCRIBE).click().run()  # it is asked once more
    assert wait_until(lambda: [one.text for one in here.library.figures.of(report)] == ["Bars."])
