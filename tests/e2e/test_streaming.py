"""An answer belongs to the server: stop, refresh, tabs that come and go while it is written."""

import sqlite3
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import PATIENCE, Visitor, click
from tests.rag.fake_llm import FakeLLM, Reply

Visit = Callable[..., Visitor]
LONG = Reply(" ".join(f"word{number}" for number in range(300)) + " [1].", hold_after=10)
SHORT = "The harbour handled 4.1 million containers in 2024 [1]. " * 3 + "Nobody objected."
HELD = Reply(SHORT, hold_after=15)  # goes on when the test says so


@pytest.fixture
def visitor(with_model: Server, visit: Visit, fake: FakeLLM) -> Visitor:
    fake.hung_up.clear()
    fake.released.clear()
    return visit(with_model.url)


def stored(server: Server) -> list[tuple[str, str]]:
    """The state and text of every answer, oldest first."""
    with sqlite3.connect(f"file:{server.data / 'footnote.db'}?mode=ro", uri=True) as database:
        return database.execute(
            "select state, content from messages where role = 'assistant' order by rowid"
        ).fetchall()


def test_stop_ends_the_answer_and_keeps_what_is_there(visitor: Visitor, with_model: Server, fake: FakeLLM):
    fake.reply(LONG)
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("word5 ")
    stop = visitor.page.get_by_role("button", name="Stop", exact=True)
    click(stop, then=visitor.answer("Stopped."))
    assert fake.hung_up.wait(PATIENCE / 1000)
    expect(visitor.answers().last).to_contain_text("word5 ")
    state, text = stored(with_model)[-1]
    assert state == "stopped" and text.startswith("word0 word1 ") and "word299" not in text

    fake.reply(Reply(SHORT, pause=0.01))
    click(visitor.page.get_by_role("button", name="Retry"), then=visitor.answer("Nobody objected"))
    visitor.finished(1)
    expect(visitor.page.get_by_text("Version 2 of 2")).to_be_visible()
    assert len([text for _, text in stored(with_model) if "word0" in text]) == 1


def test_a_turn_stands_there_once_while_the_page_comes_around_it(visitor: Visitor, fake: FakeLLM):
    page, welcome = visitor.page, visitor.page.get_by_text("Add documents", exact=True)
    for count, question in enumerate(("How many containers?", "And in which year?"), 1):
        fake.released.clear()
        fake.reply(HELD)
        visitor.ask(question)
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
        expect(visitor.answers().last).to_contain_text("The harbour")
        expect(visitor.answers()).to_have_count(count)
        expect(page.locator('[class*="st-key-question-"]')).to_have_count(count)
        expect(welcome).to_be_hidden()
        fake.released.set()
        visitor.finished(count)


def test_a_reload_and_a_second_tab_rejoin_the_stream(
    visitor: Visitor, with_model: Server, visit: Visit, fake: FakeLLM
):
    before = len(stored(with_model))
    fake.reply(HELD)
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("The harbour")
    visitor.page.reload()
    expect(visitor.answers().last).to_contain_text("The harbour")
    other = visit(visitor.page.url)
    expect(other.answers().last).to_contain_text("The harbour")
    fake.released.set()
    for tab in (visitor, other):
        tab.finished(1)
        expect(tab.answers().last).to_contain_text("Nobody objected")
    assert [state for state, _ in stored(with_model)[before:]] == ["complete"]


def test_the_newest_words_are_in_view_without_scrolling(visitor: Visitor, fake: FakeLLM):
    fake.reply(Reply("\n\n".join([SHORT] * 12)))
    newest = visitor.page.get_by_role("button", name="Answer again").last
    for count in (1, 2):
        visitor.ask("How many containers were handled?")
        visitor.finished(count)
        expect(newest).to_be_in_viewport()
    visitor.page.reload()
    expect(visitor.answers()).to_have_count(2)
    expect(newest).to_be_in_viewport()


def test_an_answer_goes_on_when_its_tab_is_closed(
    visitor: Visitor, with_model: Server, visit: Visit, fake: FakeLLM
):
    fake.reply(HELD)
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("The harbour")
    address = visitor.page.url
    visitor.page.close()
    fake.released.set()
    again = visit(address)
    again.finished(1)
    expect(again.answers().last).to_contain_text("Nobody objected")
    assert stored(with_model)[-1][0] == "complete"


@pytest.mark.slow(reason="tests/faults/test_tabs.py does it without a browser")
def test_a_second_question_waits_for_the_first_answer(visitor: Visitor, with_model: Server, fake: FakeLLM):
    before = len(stored(with_model))
    fake.reply(HELD)
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("The harbour")
    visitor.ask("And in 2023?", then=visitor.page.get_by_role("alert"))
    fake.released.set()
    visitor.finished(1)
    assert len(stored(with_model)) == before + 1


@pytest.mark.slow(reason="tests/faults/test_tabs.py does it without a browser")
def test_a_chat_deleted_while_it_is_answered_stays_deleted(
    visitor: Visitor, with_model: Server, fake: FakeLLM
):
    before = len(stored(with_model))
    fake.reply(LONG)
    visitor.ask("Which chat will be gone?")
    expect(visitor.answers().last).to_contain_text("word5 ")
    click(
        visitor.page.get_by_role("button", name="Delete", exact=True),
        visitor.page.get_by_role("button", name="Delete permanently"),
        then=visitor.page.get_by_role("heading", name="Ask your documents"),
    )
    assert fake.hung_up.wait(PATIENCE / 1000)
    assert len(stored(with_model)) == before
    expect(visitor.page.get_by_role("button", name="Which chat will be gone?")).to_have_count(0)


@pytest.mark.slow(reason="tests/faults/test_tabs.py does it without a browser")
def test_another_tab_sees_what_this_one_asks(visitor: Visitor, visit: Visit, fake: FakeLLM):
    fake.reply(Reply("Four million [1]."))
    visitor.ask("How many containers were handled?")
    visitor.finished(1)
    other = visit(visitor.page.url)
    other.finished(1)
    visitor.ask("How many people were employed?")
    visitor.finished(2)
    other.finished(2)


def test_a_model_that_is_away_is_named_and_the_question_kept(visitor: Visitor, fake: FakeLLM):
    fake.reply(Reply(status=401))
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("This answer could not be finished.")
    expect(visitor.answers().last.get_by_role("button", name="Retry")).to_be_visible()
    expect(visitor.page.get_by_text("Traceback", exact=False)).to_have_count(0)
