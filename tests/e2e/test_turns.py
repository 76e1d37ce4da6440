"""Follow-ups corrected, questions edited, answers made again, stopped and gone on with, in a browser."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, expect

from tests.e2e.conftest import Server, Visitor
from tests.rag.fake_llm import FakeLLM, Reply, Request

Visit = Callable[..., Visitor]
SLOW = Reply("The harbour handled 4.1 million containers [1]. " + "It went on and on. " * 80, pause=0.25)


def answering(request: Request) -> str:
    """Rephrase or answer as a scripted model does, saying what it was asked."""
    if "Standalone question:" in request.prompt:
        return "And how many tonnes does the second crane lift?"
    asked = request.messages[1]["content"].rsplit("Question: ", 1)[1].strip()
    return f"You asked: {asked} The second crane was built in Kobe and lifts 80 tonnes [1]."


def press(page: Locator, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).last.click()


@pytest.mark.timeout(240)
def test_a_follow_up_is_corrected_and_every_version_stays(with_model: Server, visit: Visit, fake: FakeLLM):
    fake.reply(Reply(answering))
    visitor = visit(with_model.url)
    page = visitor.page
    visitor.ask("Where was the first crane built?")
    visitor.finished(1)
    visitor.ask("And the second one?")
    visitor.finished(2)
    last = visitor.answers().last
    expect(last).to_contain_text("Understood as: And how many tonnes does the second crane lift?")

    typed = last.get_by_role("button", name="Search as I typed it")
    visitor.press(typed, last.get_by_text("Searched as you typed it."))
    expect(last).to_contain_text("You asked: And the second one?")
    expect(page.get_by_text("Version 2 of 2")).to_be_visible()

    last.get_by_role("button", name="Correct").click()
    box = page.get_by_role("dialog").get_by_role("textbox", name="Search for")
    expect(box).to_have_value("And the second one?")
    box.fill("Where was the second crane built?")
    page.get_by_role("dialog").get_by_role("button", name="Search for this").click()
    expect(last).to_contain_text("Searched for: Where was the second crane built?")
    expect(last).to_contain_text("You asked: Where was the second crane built?")

    page.get_by_role("button", name="Earlier version").last.click()
    expect(last).to_contain_text("Searched as you typed it.")
    page.get_by_role("button", name="Earlier version").last.click()
    expect(last).to_contain_text("Understood as: And how many tonnes")
    page.reload()
    expect(page.get_by_text("Version 1 of 3")).to_be_visible()
    expect(page.get_by_role("button", name="Earlier version")).to_have_count(0)

    page.get_by_role("button", name="Edit", exact=True).first.click()
    page.get_by_role("dialog").get_by_role("textbox", name="Your question").fill("Who sails the ferry?")
    page.get_by_role("dialog").get_by_role("button", name="Ask this").click()
    expect(visitor.answers()).to_have_count(1)
    expect(visitor.answers()).to_contain_text("You asked: Who sails the ferry?")
    page.get_by_role("button", name="Earlier version").click()
    expect(visitor.answers()).to_have_count(2)
    expect(page.get_by_text("And the second one?").first).to_be_visible()
    assert visitor.errors == []


@pytest.mark.timeout(240)
def test_a_stopped_answer_goes_on_and_an_answer_is_made_again(
    with_model: Server, visit: Visit, fake: FakeLLM
):
    fake.reply(SLOW)
    visitor = visit(with_model.url)
    page = visitor.page
    visitor.ask("How many containers were handled?")
    expect(visitor.answers().last).to_contain_text("It went on")
    expect(page.get_by_role("button", name="Edit", exact=True)).to_have_count(0)
    page.get_by_role("button", name="Stop", exact=True).click()
    expect(visitor.answers().last).to_contain_text("Stopped. What was written until then is kept.")

    fake.reply(Reply("The first crane was built in Busan [1]."))
    page.get_by_role("button", name="Continue").click()
    expect(visitor.answers().last).to_contain_text("first crane was built in Busan")
    expect(visitor.answers().last).to_contain_text("4.1 million containers")
    expect(page.get_by_role("button", name="Continue")).to_have_count(0)
    asked = fake.requests[-1].messages
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "user"]

    fake.reply(Reply("Four million [1]."))
    page.get_by_role("button", name="Answer again").click()
    expect(page.get_by_text("Version 2 of 2")).to_be_visible()
    expect(visitor.answers().last).to_contain_text("Four million")
    page.get_by_role("button", name="Earlier version").click()
    expect(visitor.answers().last).to_contain_text("first crane was built in Busan")
    assert visitor.errors == []
