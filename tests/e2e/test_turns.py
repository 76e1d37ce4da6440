"""Follow-ups corrected, questions edited, answers made again, stopped and gone on with, in a browser."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import Server
from tests.e2e.test_accessibility import TALL, violations_of_both_themes
from tests.e2e.visitor import Visitor, again, click, press
from tests.faults.tab import Tab
from tests.rag.fake_llm import FakeLLM, Reply, Request

Visit = Callable[..., Visitor]
BY_TAB = pytest.mark.slow(reason="walks in a browser through what a tab without one does in the tests below")
HELD = Reply("The harbour handled 4.1 million containers [1]. " + "It went on and on. " * 80, hold_after=12)


def answering(request: Request) -> str:
    """Rephrase or answer as a scripted model does, saying what it was asked."""
    if "Standalone question:" in request.prompt:
        return "And how many tonnes does the second crane lift?"
    asked = request.messages[1]["content"].rsplit("Question: ", 1)[1].strip()
    return f"You asked: {asked} The second crane was built in Kobe and lifts 80 tonnes [1]."


@pytest.fixture
def tab(with_model: Server, fake: FakeLLM) -> Iterator[Tab]:
    """A tab without a browser."""
    fake.released.set()
    opened = Tab.open(with_model.url)
    yield opened
    opened.close()


def ask(tab: Tab, question: str, said: str) -> None:
    tab.ask(question)
    answered(tab, said)


def answered(tab: Tab, *said: str) -> None:
    """Wait until the page says something below an answer that has ended."""
    tab.until(
        lambda: tab.drawn and all(one in tab.text for one in said) and bool(tab.shown.ways("again-")),
        look=True,
    )


def last(tab: Tab, start: str) -> str:
    """The key that begins so, of the last answer."""
    tab.until(lambda: bool(tab.shown.ways(start)))
    return tab.shown.ways(start)[-1]


def correct(tab: Tab, form: str, button: str, text: str) -> None:
    """Fill in the form of a dialog: its field and its button are called alike."""
    sends = f"FormSubmitter:form-{form}-"
    tab.until(lambda: bool(tab.shown.ways(sends)))
    (key,) = tab.shown.ways(sends)
    tab.submit(key.removeprefix("FormSubmitter:form-").removesuffix(f"-{button}"), text, key)


def test_a_search_is_corrected_and_every_version_stays(tab: Tab, fake: FakeLLM):
    fake.reply(Reply(answering))
    ask(tab, "Where was the first crane built?", "You asked: Where was the first crane built?")
    ask(tab, "And the second one?", "Searched for: **And how many tonnes does the second crane lift?**")
    typed = last(tab, "as-typed-")
    tab.press(typed, then=lambda: "Searched as typed." in tab.text)
    answered(tab, "You asked: And the second one?", "Version 2 of 2")
    change = last(tab, "correct-")
    tab.press(change, then=lambda: bool(tab.shown.ways("FormSubmitter:form-searched-")))
    correct(tab, "searched", "Search", "Where was the second crane built?")
    answered(tab, "Searched for: **Where was the second crane built?**", "Version 3 of 3")
    for version, seen in ((2, "Searched as typed."), (1, "And how many tonnes")):
        earlier = last(tab, "chevron_left-")
        tab.press(earlier, then=lambda version=version: f"Version {version} of 3" in tab.text)
        answered(tab, seen)
    tab.reload()
    answered(tab, "Version 1 of 3")


def test_an_edited_question_begins_a_branch_and_the_first_one_stays(tab: Tab, fake: FakeLLM):
    fake.reply(Reply(answering))
    ask(tab, "Where was the first crane built?", "You asked: Where was the first crane built?")
    ask(tab, "And the second one?", "You asked: And")
    edit = tab.shown.ways("edit-")[0]
    tab.press(edit, then=lambda: bool(tab.shown.ways("FormSubmitter:form-edited-")))
    correct(tab, "edited", "Ask", "Who sails the ferry?")
    answered(tab, "You asked: Who sails the ferry?")
    tab.until(lambda: len(tab.shown.ways("again-")) == 1 and "And the second one?" not in tab.text)
    earlier = last(tab, "chevron_left-")
    tab.press(earlier, then=lambda: "And the second one?" in tab.text)
    tab.until(lambda: len(tab.shown.ways("edit-")) == 2)


def test_the_steps_of_a_question_are_changed_and_given_up(tab: Tab, fake: FakeLLM):
    fake.reply(Reply(planning))
    ask(tab, "How many tonnes does the second crane lift, and where was it built?", "Searched in 2 steps:")
    change = last(tab, "steps-")
    tab.press(change, then=lambda: bool(tab.shown.ways("FormSubmitter:form-planned-")))
    correct(tab, "planned", "Search", "Where was the first crane built?\nWhat does the second crane lift?")
    answered(
        tab, "1. Where was the first crane built?", "2. What does the second crane lift?", "Version 2 of 2"
    )
    tab.reload()
    answered(tab, "1. Where was the first crane built?")
    one = last(tab, "as-one-")
    tab.press(one, then=lambda: "Version 3 of 3" in tab.text)
    answered(tab, "Searched as typed.")


def test_a_stopped_answer_is_gone_on_with_and_made_again(tab: Tab, fake: FakeLLM):
    fake.released.clear()
    fake.reply(HELD)
    tab.ask("How many containers were handled?")
    tab.until(lambda: "It went on" in tab.text, look=True)
    assert not tab.shown.ways("edit-")
    stop = last(tab, "stop-")
    tab.press(stop, then=lambda: "Stopped." in tab.text)
    fake.released.set()
    fake.reply(Reply("The first crane was built in Busan [1]."))
    go_on = last(tab, "continue-")
    tab.press(go_on, then=lambda: "first crane was built in Busan" in tab.text)
    answered(tab, "4.1 million containers")
    tab.until(lambda: not tab.shown.ways("continue-"))
    roles = [message["role"] for message in fake.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "user"]
    fake.reply(Reply("Four million [1]."))
    anew = last(tab, "again-")
    tab.press(anew, then=lambda: "Version 2 of 2" in tab.text)
    answered(tab, "Four million")
    earlier = last(tab, "chevron_left-")
    tab.press(earlier, then=lambda: "first crane was built in Busan" in tab.text)


@BY_TAB
def test_a_follow_up_is_corrected_and_every_version_stays(with_model: Server, visit: Visit, fake: FakeLLM):
    fake.reply(Reply(answering))
    visitor = visit(with_model.url)
    page = visitor.page
    visitor.ask("Where was the first crane built?")
    visitor.finished(1)
    visitor.ask("And the second one?")
    visitor.finished(2)
    last = visitor.answers().last
    expect(last).to_contain_text("Searched for: And how many tonnes does the second crane lift?")

    typed = last.get_by_role("button", name="Search as typed")
    press(typed, then=last.get_by_text("Searched as typed."))
    expect(last).to_contain_text("You asked: And the second one?")
    expect(page.get_by_text("Version 2 of 2")).to_be_visible()
    visitor.finished(2)

    dialog = page.get_by_role("dialog")
    box = dialog.get_by_role("textbox", name="Search for")
    click(last.get_by_role("button", name="Edit search"), then=box)
    expect(box).to_have_value("And the second one?")

    def correct(patience: float) -> None:
        box.fill("Where was the second crane built?", timeout=patience)
        dialog.get_by_role("button", name="Search").click(timeout=patience)

    again(correct, visitor.answer("Searched for: Where was the second crane built?"))
    expect(last).to_contain_text("You asked: Where was the second crane built?")
    visitor.finished(2)

    earlier = page.get_by_role("button", name="Earlier version")
    click(earlier.last, then=visitor.answer("Searched as typed."))
    click(earlier.last, then=visitor.answer("Searched for: And how many tonnes"))
    page.reload()
    expect(page.get_by_text("Version 1 of 3")).to_be_visible()
    expect(earlier).to_have_count(0)

    def edit(patience: float) -> None:
        if not dialog.is_visible():
            page.get_by_role("button", name="Edit", exact=True).first.click(timeout=patience)
        dialog.get_by_role("textbox", name="Your question").fill("Who sails the ferry?", timeout=patience)
        dialog.get_by_role("button", name="Ask").click(timeout=patience)

    again(edit, visitor.answer("You asked: Who sails the ferry?"))
    visitor.finished(1)
    expect(visitor.answers()).to_have_count(1)
    click(earlier, then=visitor.answers().nth(1))
    expect(visitor.answers()).to_have_count(2)
    second = page.get_by_role("group", name="Chat message from user").last
    expect(second).to_contain_text("And the second one?")
    assert visitor.errors == []


@pytest.mark.slow(reason="tests/rag/chat/test_rework.py does it without a browser")
def test_an_answer_is_reworked_from_its_own_passages(with_model: Server, visit: Visit, fake: FakeLLM):
    fake.say(
        "The first crane was built in Busan [1].", "| Crane | Built in |\n|---|---|\n| first | Busan [1] |"
    )
    visitor = visit(with_model.url)
    page = visitor.page
    visitor.ask("Where was the first crane built?")
    visitor.finished(1)
    visitor.ask("Put that in a table.")
    visitor.finished(2)
    expect(visitor.answers().last.get_by_role("table")).to_contain_text("Busan")
    assert "<answer>\nThe first crane was built in Busan [1]." in fake.requests[-1].prompt
    how = visitor.answers().last.get_by_role("button", name="How was this answered?")
    click(how, then=page.get_by_role("dialog").get_by_text("Worked on the last answer"))
    assert visitor.errors == []


@BY_TAB
def test_a_stopped_answer_goes_on_and_an_answer_is_made_again(
    with_model: Server, visit: Visit, fake: FakeLLM
):
    fake.released.clear()
    fake.reply(HELD)
    visitor = visit(with_model.url)
    page = visitor.page
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("It went on")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(0)
    stop = page.get_by_role("button", name="Stop", exact=True)
    expect(stop).to_be_visible()
    assert stop.evaluate("button => { button.click(); return button.textContent; }") == "Stopping…"
    expect(visitor.answer("Stopped.").first).to_be_visible()

    fake.reply(Reply("The first crane was built in Busan [1]."))
    go_on = page.get_by_role("button", name="Continue")
    click(go_on, then=visitor.answer("first crane was built in Busan"))
    expect(visitor.answers().last).to_contain_text("4.1 million containers")
    visitor.finished(1)
    expect(go_on).to_have_count(0)
    asked = fake.requests[-1].messages
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "user"]

    fake.reply(Reply("Four million [1]."))
    click(page.get_by_role("button", name="Answer again"), then=page.get_by_text("Version 2 of 2"))
    expect(visitor.answers().last).to_contain_text("Four million")
    visitor.finished(1)
    earlier = page.get_by_role("button", name="Earlier version")
    click(earlier, then=visitor.answer("first crane was built in Busan"))
    assert visitor.errors == []


def planning(request: Request) -> str:
    """Plan a question in two steps, and answer it."""
    if "write ONE and nothing else" in request.prompt:
        return "How many tonnes does the second crane lift?\nWhere was the second crane built?"
    return answering(request)


def test_axe_finds_nothing_in_the_steps_of_a_question_and_where_they_are_changed(
    with_model: Server, visit: Visit, fake: FakeLLM
):
    fake.reply(Reply(planning))
    visitor = visit(with_model.url, height=TALL)
    page = visitor.page
    visitor.ask("How many tonnes does the second crane lift, and where was it built?")
    visitor.finished(1)
    last = visitor.answers().last
    expect(last).to_contain_text("Searched in 2 steps:")
    expect(last.get_by_role("listitem").first).to_contain_text("How many tonnes does the second crane lift?")

    assert violations_of_both_themes(page) == []
    dialog = page.get_by_role("dialog")
    box = dialog.get_by_role("textbox", name="Steps, one a line")
    click(last.get_by_role("button", name="Edit steps"), then=box)
    visitor.rested()
    assert violations_of_both_themes(page) == []
    assert visitor.errors == []


def test_axe_finds_nothing_while_a_question_is_planned_and_answered(
    with_model: Server, visit: Visit, fake: FakeLLM
):
    visitor = visit(with_model.url, height=TALL)
    page, stop = visitor.page, visitor.page.get_by_role("button", name="Stop", exact=True)
    box = page.get_by_placeholder("Ask your documents")
    for held, shown in ((Reply(planning, hold_after=0), stop), (HELD, visitor.answer("4.1 million"))):
        fake.released.clear()
        fake.reply(held)
        expect(box).to_be_visible()
        visitor.ask("How many tonnes does the second crane lift, and where was it built?", then=shown)
        found = violations_of_both_themes(page)
        fake.released.set()
        visitor.finished(1)
        assert found == []
        page.goto(with_model.url)


PAPER = """() => {
  const paper = document.createElement('div');
  paper.contentEditable = 'true';
  document.body.append(paper);
  paper.focus();
}"""


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "by plain HTTP"])
def test_an_answer_is_pasted_with_its_bold_words_and_as_plain_words(
    with_model: Server, visit: Visit, fake: FakeLLM, allowed: bool
):
    fake.say("**The second crane** lifts \\$80 [1].\n\n- Kobe")
    visitor = visit(with_model.url)
    page = visitor.page
    if not allowed:
        page.evaluate("delete Navigator.prototype.clipboard")
    visitor.ask("What does the second crane lift?")
    visitor.finished()
    click(page.get_by_role("button", name="Copy with sources"), then=page.get_by_text("Copied", exact=True))
    page.evaluate(PAPER)
    page.keyboard.press("Control+v")
    paper = page.locator("div[contenteditable]")
    expect(paper.locator("b, strong")).to_have_text("The second crane")
    expect(paper.locator("li")).to_have_text("Kobe")
    expect(paper).to_contain_text("lifts $80 [1].")
    expect(paper).to_contain_text("[1] harbour-report.pdf, page 1: “")
    box = page.get_by_placeholder("Ask your documents")
    box.focus()
    page.keyboard.press("Control+v")
    expect(box).to_have_value(re.compile(r"^The second crane lifts \$80 \[1\]\.\n\n- Kobe\n\n\[1\] harbour"))
