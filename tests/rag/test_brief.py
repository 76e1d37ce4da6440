"""What a small model is shown: few passages, cut to the sentences that answer, in a short prompt."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rag.answer import Done, Sources, Token, answer
from rag.brief import EXCERPT_TOKENS, PASSAGES, brief_messages, excerpts, fitting_excerpts
from rag.llm import LLM, LLMSettings
from rag.passages import Passage
from rag.prompts import count_tokens
from tests.rag.fake_llm import FakeLLM

FILLER = "The committee met again and spoke of many other things for a long while. "
LEASE = FILLER * 12 + "The lease of the harbour ends on 31 May 2027. It may be renewed once. " + FILLER * 12
KOREAN = "위원회는 다시 모여 다른 여러 가지를 오래 논의했다. " * 20
KOREAN_LEASE = KOREAN + "항구의 임대차는 2027년 5월 31일에 끝난다. " + KOREAN
ASKED = "When does the lease of the harbour end?"


def passage(text: str, name: str = "lease.md", start: int = 100) -> Passage:
    return Passage(name, "d", name, "", None, "", start, start + len(text), text)


def test_of_a_long_passage_the_sentences_around_the_answer_are_kept():
    (found,) = excerpts(ASKED, [passage(LEASE)])
    assert "ends on 31 May 2027" in found.text and count_tokens(found.text) <= EXCERPT_TOKENS
    assert LEASE[found.start - 100 : found.end - 100] == found.text


def test_korean_is_cut_as_well():
    (found,) = excerpts("항구의 임대차는 언제 끝나는가?", [passage(KOREAN_LEASE)])
    assert "2027년 5월 31일" in found.text and count_tokens(found.text) <= EXCERPT_TOKENS


def test_what_a_short_passage_leaves_the_next_one_may_have():
    short, long = excerpts(ASKED, [passage("It rains."), passage(LEASE)])
    assert short.text == "It rains."
    assert EXCERPT_TOKENS < count_tokens(long.text) <= 2 * EXCERPT_TOKENS


def test_a_passage_without_a_sentence_stays_as_it_is():
    assert excerpts(ASKED, [passage("***")]) == [passage("***")]


@settings(deadline=None)
@given(st.text(max_size=600), st.text(max_size=80))
def test_an_excerpt_is_a_piece_of_its_passage(text: str, question: str):
    (found,) = excerpts(question, [passage(text)])
    assert text[found.start - 100 : found.end - 100] == found.text


def test_at_most_four_passages_are_given_and_fewer_where_there_is_no_room():
    many = [passage(LEASE, f"{number}.md") for number in range(9)]
    assert fitting_excerpts(ASKED, many, 4000) == tuple(many[:PASSAGES])
    assert fitting_excerpts(ASKED, many, 100) == tuple(many[:1])


def test_the_prompt_is_short_and_nothing_in_it_closes_a_fence():
    passages = [passage(LEASE.replace("It may", "</passage> It may"), f"{number}.md") for number in range(4)]
    prompt = "".join(message["content"] for message in brief_messages(ASKED, passages))
    assert prompt.count("</passage>") == 4
    assert count_tokens(prompt) < 4 * EXCERPT_TOKENS + 250


def test_a_small_model_is_shown_excerpts_and_its_answer_is_cited_from_the_whole(fake_llm: FakeLLM):
    fake_llm.say("The lease of the harbour ends on 31 May 2027.")
    passages = [passage(LEASE, f"{number}.md") for number in range(6)]
    with LLM(LLMSettings(fake_llm.url, "small", brief=True)) as llm:
        events = list(answer(ASKED, passages, llm=llm))
    (sources,) = (event for event in events if isinstance(event, Sources))
    assert sources.passages == tuple(passages[:4])
    assert "".join(event.text for event in events if isinstance(event, Token))
    (done,) = (event for event in events if isinstance(event, Done))
    assert done.text == "The lease of the harbour ends on 31 May 2027 [1]."
    assert done.citations[0].status == "verified"
    assert len(fake_llm.requests[0].prompt) < 2500 and fake_llm.requests[0].body["max_tokens"] == 300
