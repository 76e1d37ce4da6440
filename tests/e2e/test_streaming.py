"""An answer belongs to the server: stop, refresh, tabs that come and go while it is written."""

import re
import sqlite3
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Server
from tests.e2e.visitor import PATIENCE, Visitor, again, click, close, gone, press
from tests.rag.fake_llm import FakeLLM, Reply, Request

Visit = Callable[..., Visitor]
LARGER = pytest.mark.slow(reason="the same on a larger screen")
LONG = Reply(" ".join(f"word{number}" for number in range(300)) + " [1].", hold_after=10)
SHORT = "The harbour handled 4.1 million containers in 2024 [1]. " * 3 + "Nobody objected."
START = "Ask your documents"
HELD = Reply(SHORT, hold_after=15)  # goes on when the test says so


def rephrased_or_held(request: Request) -> str:
    """Rephrase a follow-up at once; an answer goes on when the test says so."""
    return "In which year was it?" if "Standalone question:" in request.prompt else SHORT


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


@pytest.mark.slow(reason="tests/faults/test_tabs.py does it without a browser")
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


FORGET_STOP = """async (stop) => {
  const server = document.querySelector('[class*="st-key-stop-"] button');
  server.addEventListener('click', (event) => event.stopPropagation(), { capture: true, once: true });
  stop.click();
  const around = document.querySelector('.st-key-answering'), sign = document.createElement('i');
  around.classList.remove('st-key-answering');
  document.body.append(sign);
  await new Promise((done) => setTimeout(done));
  around.classList.add('st-key-answering');
  sign.remove();
  await new Promise((done) => setTimeout(done));
  return stop.textContent;
}"""


def test_one_press_on_stop_is_enough_though_streamlit_forgets_it(visitor: Visitor, fake: FakeLLM):
    fake.reply(LONG)
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("word5 ")
    expect(visitor.page.locator('[class*="st-key-stop-"] button')).to_be_attached()
    stop = visitor.page.get_by_role("button", name="Stop", exact=True)
    assert stop.evaluate(FORGET_STOP) == "Stopping…"
    expect(visitor.answer("Stopped.").first).to_be_visible()
    expect(stop).to_have_count(0)


def test_a_turn_stands_there_once_while_the_page_comes_around_it(visitor: Visitor, fake: FakeLLM):
    page, welcome = visitor.page, visitor.page.get_by_text("Add documents", exact=True)
    for count, question in enumerate(("How many containers?", "And in which year?"), 1):
        fake.released.clear()
        fake.reply(Reply(rephrased_or_held, hold_after=15))
        visitor.ask(question)
        expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
        expect(visitor.answers().last).to_contain_text("The harbour")
        expect(visitor.answers()).to_have_count(count)
        expect(page.locator('[class*="st-key-question-"]')).to_have_count(count)
        expect(welcome).to_be_hidden()
        fake.released.set()
        visitor.finished(count)


def test_an_answer_that_is_left_is_marked_among_the_chats_and_its_seconds_go_on(
    visitor: Visitor, fake: FakeLLM
):
    page, chats = visitor.page, visitor.page.locator(".st-key-chats")
    fake.say(SHORT)
    visitor.ask("How many containers were handled?")
    visitor.finished(1)
    click(page.get_by_role("button", name="New chat"), then=page.get_by_text("Add documents", exact=True))
    fake.reply(Reply(SHORT, hold_after=0))
    visitor.ask("Who lifts eighty tonnes?")
    waited = page.locator(".st-key-answering").get_by_text(re.compile(r" \d+ s$"))
    expect(waited).to_have_text(re.compile(r" ([7-9]|\d\d+) s$"))
    first, second = (
        chats.get_by_role("button", name=name) for name in (re.compile(r"^How many"), "Who lifts")
    )
    click(first, then=visitor.answer("Nobody objected"))
    expect(chats.get_by_text("Being answered")).to_have_count(1)
    click(second, then=waited)
    assert int(waited.inner_text().split()[-2]) >= 7

    search = page.get_by_placeholder("Search chats")
    again(lambda _: search.fill("eighty"), gone(first))
    expect(second).to_be_visible()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    fake.released.set()
    visitor.finished(1)
    search.fill("")
    expect(first).to_be_visible()
    expect(chats.get_by_text("Being answered")).to_have_count(0)


@pytest.mark.slow(reason="tests/faults/test_tabs.py does it without a browser")
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


COUNT_SHIFTS = """() => {
  window.shifted = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.shifted += entry.value;
  }).observe({ type: 'layout-shift' });
}"""


RESTS = """() => {
  const top = document.querySelector('[class*="st-key-question-"]').getBoundingClientRect().top;
  if (top !== window.restsAt) [window.restsAt, window.restsSince] = [top, performance.now()];
  return performance.now() - window.restsSince > 2000;
}"""


def test_nothing_moves_while_an_answer_grows_or_when_it_ends(visitor: Visitor, fake: FakeLLM):
    page = visitor.page
    fake.reply(Reply("Begin [1]. " + SHORT, hold_after=4))
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("Begin")
    expect(page.locator('[class*="st-key-stop-"] button')).to_be_attached()  # the page is drawn around it
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_function(RESTS, polling=100)
    page.evaluate(COUNT_SHIFTS)
    fake.released.set()
    visitor.finished(1)
    assert page.evaluate("window.shifted") < 0.01


ENDS = """last => document.querySelector('[data-testid="stBottom"]').getBoundingClientRect().top
  - last.getBoundingClientRect().bottom"""


def test_the_question_is_at_the_top_and_the_answer_read_from_its_beginning(visitor: Visitor, fake: FakeLLM):
    fake.reply(Reply("\n\n".join([f"Begin {SHORT}", *[SHORT] * 12])))
    page = visitor.page
    question = page.locator('[class*="st-key-question-"]').last
    for count in (1, 2):
        visitor.ask("How many containers were handled?")
        visitor.finished(count)
        expect(question).to_be_in_viewport()
        expect(visitor.answers().last.get_by_text("Begin The harbour")).to_be_in_viewport()
    visitor.answers().last.hover()
    page.mouse.wheel(0, 900)
    expect(visitor.answers().last.get_by_text("Begin The harbour")).not_to_be_in_viewport()
    expect(question).to_be_in_viewport()
    page.evaluate("document.querySelector('.stMain').scrollTop = 1e6")
    assert page.locator('[class*="st-key-rating-"]').last.evaluate(ENDS) < 60  # no empty screen below


PINNED = """() => {
  const questions = [...document.querySelectorAll('[class*="st-key-question-"]')];
  const at = document.elementFromPoint(questions[0].getBoundingClientRect().x + 40, 72);
  return questions.find((question) => question.contains(at))?.innerText ?? '';
}"""


@pytest.mark.parametrize(
    ("width", "height"),
    [(390, 844), *(pytest.param(*size, marks=LARGER) for size in ((1440, 900), (1440, 1400)))],
)
def test_a_new_question_takes_the_place_of_the_one_before(
    with_model: Server, visit: Visit, fake: FakeLLM, width: int, height: int
):
    fake.released.clear()
    visitor = visit(with_model.url, width=width, height=height)
    fake.reply(Reply("\n\n".join([SHORT] * 8)))
    visitor.ask("How many containers were handled?")
    visitor.finished(1)
    fake.reply(HELD)
    visitor.ask("Who objected to the second crane of the harbour?")
    expect(visitor.page.locator('[class*="st-key-question-"]')).to_have_count(2)
    visitor.page.wait_for_function(f"({PINNED})().includes('second crane')")
    fake.released.set()
    visitor.finished(2)
    visitor.page.wait_for_function(f"({PINNED})().includes('second crane')")


HEIGHT = "element => element.getBoundingClientRect().top"
PASSAGES = "The authority employed 1,204 people at the end of the year, forty of them apprentices [1]. " * 24


def seen_at_rest(visitor: Visitor, what: Locator, patience: float) -> None:
    visitor.rested()
    expect(what).to_be_in_viewport(timeout=patience)


def test_what_was_pressed_stays_where_it_is_beside_the_panel(visitor: Visitor, fake: FakeLLM):
    fake.reply(Reply(PASSAGES))
    panel = visitor.page.locator(".st-key-source-panel")
    for number in (1, 2):
        visitor.ask(f"How many people are employed, asked for the {number}. time?")
        visitor.finished(number)
    last = visitor.answers().last
    marker, how = last.locator('a[href^="#cite-"]').nth(8), last.get_by_role("button", name="How was this")
    for pressed in (marker, how):
        # What was scrolled to where the panel closed may be scrolled back a moment later.
        again(
            lambda _, pressed=pressed: pressed.evaluate("one => one.scrollIntoView({ block: 'center' })"),
            lambda patience, pressed=pressed: seen_at_rest(visitor, pressed, patience),
        )
        height = pressed.evaluate(HEIGHT)
        stays = f"element => Math.abs(({HEIGHT})(element) - {height}) < 3"
        click(pressed, then=panel)
        visitor.rested()
        assert pressed.evaluate(stays)
        close(panel)
        visitor.rested()
        assert pressed.evaluate(stays)


def test_the_next_question_waits_in_the_input_until_the_answer_has_ended(visitor: Visitor, fake: FakeLLM):
    fake.reply(HELD)
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("The harbour")
    box = visitor.page.get_by_placeholder("Ask your documents")
    box.fill("And in which year?")
    box.press("Enter")
    expect(visitor.page.get_by_text("Your question will be sent next.")).to_be_visible()
    expect(box).to_have_value("And in which year?")
    fake.released.set()
    expect(visitor.page.locator('[class*="st-key-question-"]').last).to_contain_text("And in which year?")
    visitor.finished(2)
    expect(box).to_have_value("")


def test_the_input_has_the_focus_a_key_leads_to_the_chats_and_the_end_is_read_aloud(
    visitor: Visitor, fake: FakeLLM
):
    fake.reply(Reply("Yes [1]."))
    page = visitor.page
    box = page.get_by_placeholder("Ask your documents")
    expect(box).to_be_focused()
    search = page.get_by_placeholder("Search chats")
    again(
        lambda _: page.keyboard.press("Control+k"),
        lambda patience: expect(search).to_be_focused(timeout=patience),
    )
    visitor.ask("How many containers were handled?")
    visitor.finished(1)
    expect(page.get_by_role("status").filter(has_text="The answer has ended.")).to_have_count(1)
    expect(page.get_by_role("heading", level=1)).to_have_text("How many containers were handled?")
    press(page.get_by_role("button", name="New chat"), then=page.get_by_role("heading", name=START))
    expect(box).to_be_focused()
    visitor.go("Library")
    press(page.get_by_role("button", name="New chat"), then=page.get_by_role("heading", name=START))
    expect(box).to_be_focused()


def test_an_unfinished_question_stays_over_another_page_and_a_reload(visitor: Visitor, fake: FakeLLM):
    fake.reply(Reply("Yes [1]."))
    visitor.ask("How many containers were handled?")
    visitor.finished(1)
    box = visitor.page.get_by_placeholder("Ask your documents")
    box.fill("And in which")
    chat = visitor.page.url
    visitor.go("Library")
    visitor.go("Chat")
    expect(visitor.answers()).to_have_count(1)
    expect(box).to_have_value("And in which")
    visitor.page.reload()
    expect(box).to_have_value("And in which")
    assert visitor.page.url == chat


@pytest.mark.slow(reason="tests/faults/test_tabs.py does it without a browser")
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


@pytest.mark.slow(reason="tests/ui/chat/test_page.py sees it without a browser")
def test_a_model_that_is_away_is_named_and_the_question_kept(visitor: Visitor, fake: FakeLLM):
    fake.reply(Reply(status=401))
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("This answer could not be finished.")
    expect(visitor.answers().last.get_by_role("button", name="Retry")).to_be_visible()
    expect(visitor.page.get_by_text("Traceback", exact=False)).to_have_count(0)


@pytest.mark.slow(reason="tests/faults/test_tabs.py adds a file meanwhile without a browser")
def test_the_end_of_reading_is_seen_while_an_answer_is_written(visitor: Visitor, fake: FakeLLM):
    page = visitor.page
    text = "The pilot boat of pier {number} left at noon, and came back with the mail of two ships.\n\n" * 40
    files = [
        {
            "name": f"pier{number}.md",
            "mimeType": "text/markdown",
            "buffer": text.format(number=number).encode(),
        }
        for number in range(6)
    ]
    clip = page.locator('[data-testid="stChatInput"] input[type=file]').first
    again(lambda patience: clip.set_input_files(files, timeout=patience), page.get_by_text("pier5.md"))
    fake.reply(HELD)
    visitor.ask("What did the pilot boat bring?")
    expect(visitor.answers().last).to_contain_text("The harbour")
    expect(page.locator('[class*="st-key-stop-"] button')).to_be_attached()  # the page is drawn around it
    expect(page.locator('.st-key-ingest [role="progressbar"]')).to_have_count(0)
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    fake.released.set()
    visitor.finished(1)


WIDE = """Here it is [1].

| Year | Containers, millions | Cranes, number | Staff, people | Apprentices, people |
|---|---|---|---|---|
| Year ended 2024 | 4.1 | 1,204,000,000 | 1,204,000,000 | 1,204,000,000 |
"""


def test_on_a_phone_a_table_moves_sideways_and_its_first_column_stays(
    with_model: Server, visit: Visit, fake: FakeLLM
):
    fake.say(WIDE)
    phone = visit(with_model.url, width=390, height=844)
    phone.ask("How many containers were handled?")
    phone.finished(1)
    table = phone.answers().last.locator("table")
    assert table.evaluate("(table) => table.scrollWidth > table.clientWidth + 50")
    assert phone.page.evaluate("document.documentElement.scrollWidth") == 390
    cells = table.get_by_role("cell")
    before = cells.first.bounding_box(), cells.last.bounding_box()
    table.evaluate("(table) => { table.scrollLeft = 60; }")
    after = cells.first.bounding_box(), cells.last.bounding_box()
    assert before[0] and before[1] and after[0] and after[1]
    assert abs(after[0]["x"] - before[0]["x"]) < 1 and before[1]["x"] - after[1]["x"] > 50


def test_an_undo_waits_behind_a_dialog_and_comes_back_after_it(visitor: Visitor, fake: FakeLLM):
    page, undo = visitor.page, visitor.page.get_by_role("button", name="Undo")
    fake.say(SHORT)
    visitor.ask("How many containers were handled?")
    visitor.finished(1)
    click(page.get_by_role("button", name="New chat"), then=page.get_by_text("Add documents", exact=True))
    visitor.ask("To be deleted?")
    visitor.finished(1)
    click(page.get_by_role("button", name="Delete", exact=True), then=undo)
    click(page.locator(".st-key-chats").get_by_role("button").first, then=visitor.answer("Nobody objected"))
    dialog = page.get_by_role("dialog")
    click(page.get_by_role("button", name="Share"), then=dialog)
    expect(page.locator(".st-key-undo").first).to_be_hidden()
    close(dialog)
    expect(undo).to_be_visible()
