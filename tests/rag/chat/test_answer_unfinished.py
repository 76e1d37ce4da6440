import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chat.answer import Done, Sources, Token, answer, joined, whole_sentences
from rag.chat.prompts import CONTINUE
from tests.rag.chat.test_answer import PASSAGES, model

__all__ = ["model"]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It rained [1]. Then the ri", "It rained [1]. "),
        ("It rained [1]. It stopped. [2]", "It rained [1]. It stopped. [2]"),
        ("비가 왔다 [1]. 그리고 해", "비가 왔다 [1]. "),
        ("雨が降った。そして", "雨が降った。"),
        ("- One. [1]\n- Tw", "- One. [1]\n"),
        ("비가 왔다。]1", "비가 왔다。]"),
        ("One word", ""),
        ("", ""),
    ],
)
def test_what_ended_is_kept_and_a_broken_sentence_is_written_again(text, kept):
    assert whole_sentences(text) == kept


@given(st.text(alphabet="ab .!?。\n[1]가-", max_size=80))
def test_what_is_kept_is_a_beginning_and_is_kept_whole_the_next_time(text):
    kept = whole_sentences(text)
    assert text.startswith(kept)
    assert whole_sentences(kept) == kept


def test_the_rest_is_joined_without_a_second_space():
    assert "".join(joined("It rained. ", ["Then", " sun."])) == "It rained. Then sun."
    assert "".join(joined("It rained [1].", ["Then", "3.", "5."])) == "It rained [1]. Then3.5."
    assert "".join(joined("雨だ。", ["晴れた。"])) == "雨だ。晴れた。"


def test_a_model_goes_on_after_the_last_whole_sentence(fake_llm, model):
    fake_llm.say("It carries 48,500 vehicles a day [1]. See [9].")
    so_far = "The Alder Bridge opened on 4 May 1932 [1]. It carr"
    first, *tokens, done = list(answer("Tell me.", PASSAGES, llm=model, so_far=so_far))
    assert first == Sources(tuple(PASSAGES))
    assert tokens[0] == Token("The Alder Bridge opened on 4 May 1932 [1]. ")
    assert isinstance(done, Done)
    whole = "The Alder Bridge opened on 4 May 1932 [1]. It carries 48,500 vehicles a day [1]. See."
    assert done.text == whole
    assert [citation.status for citation in done.citations[:2]] == ["verified", "verified"]
    *_, said, asked = fake_llm.requests[-1].messages
    assert said == {"role": "assistant", "content": "The Alder Bridge opened on 4 May 1932 [1]. "}
    assert asked == {"role": "user", "content": CONTINUE}


def test_with_no_whole_sentence_the_answer_is_asked_for_anew(fake_llm, model):
    fake_llm.say("It opened in 1932 [1].")
    *_, done = answer("Tell me.", PASSAGES, llm=model, so_far="The Ald")
    assert done.text == "It opened in 1932 [1]."
    assert len(fake_llm.requests[-1].messages) == 2
