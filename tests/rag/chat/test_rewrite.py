import pytest

from rag.chat.conversation import OLDER, Conversation
from rag.chat.pipeline import RagPipeline, Rephrasing
from rag.chat.prompts import fitting_turns
from rag.chat.rewrite import make_standalone, rewritten
from rag.errors import Cancelled
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from storage.answers import Traces
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.shelf import Shelf

QUESTION = "How long does it take?"
HISTORY = [("user", "What is the refund policy of Acme Cloud?"), ("assistant", "Refunds take 14 days [1].")]
BY_RULE = "The follow-up was completed by rule: "


@pytest.fixture
def model(fake_llm: FakeLLM):
    with LLM(LLMSettings(fake_llm.url, "fake", timeout=5, idle_timeout=5)) as llm:
        llm.warm()  # what a request loads takes longer on a busy machine than a rewrite may
        yield llm


def test_a_sound_rewrite_is_used_and_nothing_is_to_say(fake_llm, model):
    fake_llm.say("How long does a refund take?")
    assert rewritten(QUESTION, HISTORY, model) == ("How long does a refund take?", "")


def test_with_a_history_the_model_always_rewrites_and_may_leave_the_question(fake_llm, model):
    question = "What is the capital of South Korea?"
    fake_llm.say(question)
    assert make_standalone(question, HISTORY, llm=model).text == question
    assert HISTORY[0][1] in fake_llm.requests[0].prompt
    assert make_standalone(question, [], llm=model).text == question
    assert len(fake_llm.requests) == 1, "a first question is left alone"


@pytest.mark.parametrize(
    "strange", ["", "How long do the 30 days take?", "Here it is:\nHow long does it take?"]
)
def test_terms_are_carried_over_where_a_rewrite_is_rejected(fake_llm, model, strange):
    fake_llm.say(strange)
    standalone = make_standalone(QUESTION, HISTORY, llm=model)
    assert standalone.text.startswith(f"{QUESTION} (about ") and standalone.note.startswith(BY_RULE)


def test_the_typed_question_is_searched_beside_a_rewrite(fake_llm, model):
    fake_llm.say("How long does a refund take?")
    first, typed, *_ = make_standalone(QUESTION, HISTORY, llm=model).variants
    assert (first.text, first.weight) == ("How long does a refund take?", 1.0)
    assert typed.text == QUESTION and typed.weight < 1


@pytest.mark.parametrize(
    "said",
    [
        'Standalone question: "How long does a refund take?"',
        "**How long does a refund take?**",
        "<think>It means the refund. Is it Globex?</think>\n\nHow long does a refund take?",
    ],
)
def test_labels_quotes_and_thoughts_are_taken_off(fake_llm, model, said):
    fake_llm.say(said)
    assert rewritten(QUESTION, HISTORY, model)[0] == "How long does a refund take?"


def test_a_strange_rewrite_is_told_of(fake_llm, model):
    fake_llm.say("How long does a refund from Globex take?")
    text, note = rewritten(QUESTION, HISTORY, model)
    assert text == ""
    assert note == (
        f"{BY_RULE}the language model's rewrite was not used, since it names Globex, "
        "of whom or which nothing was said."
    )


@pytest.mark.parametrize(
    "reply", [Reply(hang=True), Reply("How long?", delay=30), Reply("How long? ", repeat=True)]
)
def test_a_slow_model_is_not_waited_for(fake_llm, model, reply):
    fake_llm.reply(reply)
    text, note = rewritten(QUESTION, HISTORY, model, seconds=0.3)
    assert text == ""
    assert note == f"{BY_RULE}the language model took more than 0.3 seconds to rewrite it."
    assert fake_llm.hung_up.wait(5)


@pytest.mark.parametrize("reply", [Reply(status=401), Reply(status=404), Reply(body=b"<html>")])
def test_a_model_that_fails_is_told_of(fake_llm, model, reply):
    fake_llm.reply(reply)
    text, note = rewritten(QUESTION, HISTORY, model)
    assert text == ""
    assert note.startswith(f"{BY_RULE}the language model did not rewrite it. ")


def test_a_reader_who_stops_is_not_taken_for_a_slow_model(fake_llm, model):
    fake_llm.reply(Reply(hang=True))
    with pytest.raises(Cancelled):
        rewritten(QUESTION, HISTORY, model, seconds=0.1, cancelled=lambda: True)


def test_only_whole_turns_are_sent_and_how_many_is_told(fake_llm, model):
    fake_llm.say(QUESTION)
    long = [(role, f"{role} {n}. " + "apples " * 300) for n in range(20) for role in ("user", "assistant")]
    text, note = rewritten(QUESTION, long, model)
    assert text == QUESTION
    assert note == "To rewrite it, the language model was shown the newest 2 of 40 messages."
    prompt = fake_llm.requests[0].prompt
    assert "user 19." in prompt and "assistant 19." in prompt and "assistant 18." not in prompt


def test_a_model_is_not_asked_where_not_even_the_last_turn_fits(fake_llm, model):
    text, note = rewritten(QUESTION, [("user", "What?"), ("assistant", "apples " * 3000)], model)
    assert text == "" and note.startswith(BY_RULE)
    assert fake_llm.requests == []


def test_turns_are_dropped_from_the_oldest_and_never_cut():
    history = [(role, f"{role} {n}") for n in range(9) for role in ("user", "assistant")]
    for tokens in range(0, 400, 7):
        kept = fitting_turns("Why?", history, tokens)
        assert len(kept) % 2 == 0
        assert list(kept) == history[len(history) - len(kept) :]
    assert fitting_turns("Why?", history, 10_000) == history


def test_the_trace_says_why_a_rewrite_was_not_used(database, conversations, fake_llm, model):
    fake_llm.say("In 1432 [1].", "How deep is the moat of Globex?", "Nine metres [1].")
    conversation = Conversation(conversations, lambda: RagPipeline(Shelf(), llm=model, made_with={"k": 2}))
    chat = conversations.create().id
    list(conversation.run(conversation.begin(chat, "When was the castle of Aldenburg built?"), never))
    turn = conversation.begin(chat, "And how deep is its moat?")
    events = list(conversation.run(turn, never))
    (told,) = (event.note for event in events if isinstance(event, Rephrasing))
    trace = Traces(database, "ann").get(turn.answer_id)
    assert trace.settings == {"k": 2, "rephrasing": told}
    assert "Globex" in told
    assert "castle" in conversations.message(turn.answer_id).standalone_question


def test_the_trace_says_that_older_messages_were_not_read(database, conversations):
    conversation = Conversation(conversations, lambda: RagPipeline(Shelf()))
    chat = conversations.create().id
    for number in range(11):
        turn = conversation.begin(chat, f"When was castle number {number} built?")
        list(conversation.run(turn, never))
        settings = Traces(database, "ann").get(turn.answer_id).settings
        assert settings == {}
    turn = conversation.begin(chat, "And why?")
    list(conversation.run(turn, never))
    assert Traces(database, "ann").get(turn.answer_id).settings == {"history": OLDER}


def test_a_small_model_is_shown_less_of_the_conversation(fake_llm: FakeLLM):
    said = [("user", "Who is Ada Lovelace?"), ("assistant", "She wrote of the engine. " * 20)] * 4
    fake_llm.say("Where was Ada Lovelace born?")
    for brief in (False, True):
        with LLM(LLMSettings(fake_llm.url, "model", brief=brief)) as llm:
            rewritten("Where was she born?", said, llm)
    whole, short = (len(request.prompt) for request in fake_llm.requests)
    assert short < whole - 1000
