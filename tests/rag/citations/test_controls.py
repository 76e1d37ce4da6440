"""Control statements: made of the passages' own sentences, true and false, in any language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.citations.checker import Checker
from rag.citations.controls import MOST_CONTROLS, Control, make_controls
from rag.evaluation.answers import as_passages
from rag.text.facts import negations

ENGLISH = (
    "The harbour of Lindow was dredged in 1911. Its lighthouse stands on the eastern pier. "
    "Where do the ferries land? The keeper Maud Ellery lived there until 1938. Nobody lives there now."
)
KOREAN = (
    "청람시립도서관은 2003년에 문을 열었다. 열람실은 본관 이층에 있다. 회원은 책을 다섯 권까지 빌릴 수 있다."
)
JAPANESE = "青嵐図書館は2003年に開館した。閲覧室は本館の二階にある。会員は図書を五冊まで借りられる。"


def controls(*texts: str, about: str = "") -> list[Control]:
    passages = as_passages(texts)
    checker = Checker(passages)
    return make_controls([about], passages, lambda said: checker.check(said).status == "verified")


@pytest.mark.parametrize("text", [ENGLISH, KOREAN, JAPANESE])
def test_the_passages_say_the_first_control_and_none_of_the_others(text: str):
    made = controls(text)
    assert [one.holds for one in made] == [True, False, False]
    checker = Checker(as_passages([text]))
    assert [checker.check(one.text).status == "verified" for one in made] == [True, False, False]
    true, denied, _ = (one.text for one in made)
    assert true in text and not negations(true) and negations(denied)


def test_controls_are_made_of_what_the_statements_speak_of():
    made = controls(ENGLISH, about="Maud Ellery kept the light until 1938")
    assert made[0].text == "The keeper Maud Ellery lived there until 1938."


def test_questions_denials_and_headings_make_no_control():
    assert (
        controls("# The harbour of Lindow\n\nWhere do the ferries land? Nobody has ever lived on the pier.")
        == []
    )


def test_rows_make_controls_where_there_is_no_prose():
    made = controls("# Piers\n\n| Pier | Built |\n|---|---|\n| East pier | 1911 |\n| West pier | 1924 |")
    assert [(one.text, one.holds) for one in made] == [
        ("East pier 1911", True),
        ("It is not true that “West pier 1924”.", False),
        ("West pier 1911", False),
    ]


def test_a_single_sentence_is_denied_too():
    made = controls("The harbour of Lindow was dredged in 1911.")
    assert made[:2] == [
        Control("The harbour of Lindow was dredged in 1911.", holds=True),
        Control("It is not true that “The harbour of Lindow was dredged in 1911”.", holds=False),
    ]


def test_an_exchange_that_the_passages_state_elsewhere_is_no_false_control():
    made = controls("The east pier was built in 1911. The west pier was built in 1911.", about="east pier")
    assert "The west pier was built in 1911." not in [one.text for one in made if not one.holds]


@given(st.lists(st.text(alphabet="The pier 1911. 다리는 橋が 港\n|#?“”", max_size=120), max_size=4))
def test_whatever_the_passages_are_no_false_control_is_a_sentence_of_theirs(texts: list[str]):
    made = controls(*texts)
    assert len(made) <= MOST_CONTROLS
    bare = [" ".join(text.replace("|", " ").split()) for text in texts]
    assert all(any(" ".join(one.text.split()) in text for text in bare) == one.holds for one in made)
