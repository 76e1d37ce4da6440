"""A turn asked otherwise, corrected, answered anew: what was there before stays reachable."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from storage.answers import Trace
from tests.rag.fake_llm import FakeLLM
from tests.ui.conftest import passage, tell, words
from ui.server import services

Page = Callable[..., AppTest]


def press(at: AppTest, key: str) -> AppTest:
    return at.button(key=key).click().run()


def done(here: Workspace, chat: str) -> list[str]:
    """Wait until nothing of a chat is on its way; returns what it shows."""
    while (pending := here.conversations.pending(chat)) is not None:
        job = here.answering(pending)
        if job is not None:
            job.wait(30)
    return [message.content for message in here.conversations.messages(chat)]


@pytest.fixture
def follow_up(here: Workspace) -> tuple[str, str]:
    """A chat whose second question was completed, and its answer."""
    first = tell(here, "Who built the castle?", "Ann did.")
    chat = first.conversation_id
    turn = tell(here, "And the moat?", "Bob did.", standalone="And the moat? (about castle)", chat=chat)
    return chat, turn.answer_id


def test_a_question_is_searched_as_it_was_typed(page: Page, here: Workspace, follow_up: tuple[str, str]):
    chat, answer = follow_up
    at = page(chat=chat)
    press(at, f"as-typed-{answer}")
    *_, asked, _ = done(here, chat)
    again = here.conversations.messages(chat)[-1]
    assert (asked, again.standalone_question) == ("And the moat?", "And the moat?")
    at = page(chat=chat)
    shown = words(at)
    assert "Searched as typed." in shown and "Version 2 of 2" in shown and "Bob did." not in shown
    newest = here.conversations.messages(chat)[2]
    press(at, f"chevron_left-{newest.id}")
    assert here.conversations.messages(chat)[-1].id == answer
    assert "Bob did." in words(page(chat=chat)) and "Version 1 of 2" in words(page(chat=chat))


def test_the_later_questions_under_another_version_are_told_and_shown(page: Page, here: Workspace):
    first = tell(here, "Who built the castle?", "Ann did.")
    chat = first.conversation_id
    tell(here, "Who built the moat?", "Bob did.", chat=chat)
    here.otherwise(first.question_id, "Who built the tower?")
    done(here, chat)
    at, newest = page(chat=chat), here.conversations.messages(chat)[0]
    assert "The later questions are under another version of this one." in words(at)
    press(at, f"show-later-{newest.id}")
    shown = words(page(chat=chat))
    assert "Bob did." in shown and "under another version" not in shown


def test_an_earlier_version_comes_back_with_the_branch_that_was_read_last(page: Page, here: Workspace):
    first = tell(here, "Who built the castle?", "Ann did.")
    chat = first.conversation_id
    second = tell(here, "Who built the moat?", "Bob did.", chat=chat)
    here.otherwise(second.question_id, "Who built the bridge?")
    done(here, chat)
    at = page(chat=chat)
    press(at, f"chevron_left-{here.conversations.messages(chat)[2].id}").run()
    assert "Bob did." in words(at)
    here.otherwise(first.question_id, "Who built the tower?")
    done(here, chat)
    press(at.run(), f"chevron_left-{here.conversations.messages(chat)[0].id}").run()
    assert "Bob did." in words(at) and "bridge" not in words(at)


def test_an_answer_that_could_not_be_made_shorter_says_so(page: Page, here: Workspace):
    first = tell(here, "Who built the castle?", "Ann did.")
    chat = first.conversation_id
    tell(here, "Make it shorter.", "Ann did.", chat=chat)
    assert words(page(chat=chat)).count("It could not be made shorter") == 1
    tell(here, "Who built the tower?", "Ann did.", chat=chat)
    assert words(page(chat=chat)).count("It could not be made shorter") == 1


def test_an_answer_is_made_again_beside_the_one_there_is(page: Page, here: Workspace):
    turn = tell(here, "Who built the castle?", "Ann did.", passages=[passage()])
    at = page(chat=turn.conversation_id)
    press(at, f"again-{turn.answer_id}")
    shown = done(here, turn.conversation_id)
    assert shown[0] == "Who built the castle?" and shown[1] != "Ann did."
    assert here.conversations.message(turn.answer_id).content == "Ann did."


def test_an_answer_is_made_again_with_a_search_that_is_chosen_for_it(page: Page, here: Workspace):
    here.library.add("castle.md", b"The castle was built by Ann.")
    trace = Trace({"retriever": "ensemble-cc"})
    turn = tell(here, "Who built the castle?", "Ann did.", passages=[passage()], trace=trace)
    at = press(page(chat=turn.conversation_id), f"other-{turn.answer_id}")
    mode = at.radio(key=f"other-mode-{turn.answer_id}")
    assert "Words" in mode.options and "Hybrid" not in mode.options, "not the one it was made with"
    assert not any(name.startswith("Summary tree") for name in mode.options)
    mode.set_value("bm25")
    next(b for b in at.button if b.label == "Answer again" and b.form_id).click().run()
    done(here, turn.conversation_id)
    again = here.conversations.messages(turn.conversation_id)[-1]
    kept = here.traces.get(again.id)
    assert again.id != turn.answer_id and kept is not None and kept.settings["retriever"] == "bm25"
    assert here.conversations.message(turn.answer_id).content == "Ann did."
    assert services.services().settings.retriever == "ensemble-cc"


def test_an_answer_is_made_again_with_another_model_and_a_retry_repeats_it(page: Page, here: Workspace):
    record, _ = here.library.add("castle.md", b"The castle was built by Ann.")
    list(here.library.read(record.id))
    with FakeLLM(keeps_questions=True) as fake:
        fake.say("Ann built it [1].")
        services.services().apply({"llm_base_url": fake.url, "llm_model": "small"})
        turn = here.ask(None, "Who built the castle?")
        shown = done(here, turn.conversation_id)
        at = press(page(chat=turn.conversation_id), f"model-{turn.answer_id}")
        model = at.selectbox(key=f"other-model-{turn.answer_id}")
        assert model.options == ["fake"]
        model.set_value("fake")
        next(b for b in at.button if b.label == "Answer again" and b.form_id).click().run()
        done(here, turn.conversation_id)
        again = here.conversations.messages(turn.conversation_id)[-1]
        here.retry(again.id)
        done(here, turn.conversation_id)
        answers = [one.body["model"] for one in fake.requests if one.path.endswith("/chat/completions")]
        assert answers == ["small", "fake", "fake"] and again.model == "fake"
        assert shown[1] == "Ann built it [1]."
        assert services.services().settings.llm_model == "small"


def test_an_answer_that_ended_early_can_go_on_only_with_a_model(page: Page, here: Workspace):
    turn = tell(here, "Who?", "Ann d", passages=[passage()], state="stopped")
    labels = [b.label for b in page(chat=turn.conversation_id).button]
    assert "Retry" in labels and "Continue" not in labels


def test_the_menu_of_a_chat_copies_its_link_and_says_who_can_open_it(page, here):
    chat = tell(here, "When?", "In 1432.").conversation_id
    at = page("chat", chat=chat)
    (link,) = [one.proto.json for one in at.get("bidi_component") if f"copy-chat-link-{chat}" in one.proto.id]
    assert f"?chat={chat}" in link and "Copy link" in link
    assert "Only you can open it; for others, send a file." in words(at)
