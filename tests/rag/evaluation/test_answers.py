# ruff: noqa: E501
import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda

from rag.chat.pipeline import RagPipeline
from rag.errors import QuestionRefused
from rag.evaluation.answers import Answer, ask_answers, quote_contains, summarize_answers
from rag.evaluation.datasets import QuestionSet

CASTLE = "The castle of Aldenburg was built in 1432. Its moat is nine metres deep."
PIPELINE = RagPipeline(retriever=RunnableLambda(lambda _: [Document(CASTLE, id="castle")]))


def made(**answers: tuple[str, ...]) -> QuestionSet:
    questions = {"built": "When was the castle of Aldenburg built?", "cat": "Which cats purr in Norwegian?"}
    asked = {id_: questions[id_] for id_ in answers}
    return QuestionSet("made", (), asked, {id_: {"castle": 1.0} for id_ in asked}, answers=answers)


def test_an_answer_is_right_when_what_it_cites_holds_the_words():
    built, cat = ask_answers(made(built=("in 1432",), cat=("all",)), PIPELINE)
    assert (built.first, built.any, cat.first, cat.any, cat.sentences) == (True, True, False, False, 0)
    assert built.verified == built.sentences >= 1
    assert built.seconds > 0


def test_questions_without_answers_are_refused():
    with pytest.raises(QuestionRefused, match="made has no question with answers"):
        list(ask_answers(made(), PIPELINE))


@pytest.mark.parametrize(
    ("quote", "words", "held"),
    [("高さは約15メートルである。", "約１５ メートル", True), ("It OPENED in\nMay.", "opened in may", True), ("1432", "1423", False)],
)  # fmt: skip
def test_words_are_found_whatever_their_form(quote: str, words: str, held: bool):
    assert quote_contains(quote, words) is held


def test_shares_are_of_all_questions_and_of_all_sentences():
    told = summarize_answers(
        "made",
        [Answer(True, True, 2, 2, 0.1), Answer(False, True, 0, 1, 0.3), Answer(False, False, 0, 0, 0.2)],
    )
    assert told == {
        "dataset": "made", "questions": 3, "first_holds_answer": 0.3333, "any_holds_answer": 0.6667,
        "sentences_verified": 0.6667, "abstained": 0.3333, "p50_s": 0.2, "p95_s": 0.3,
    }  # fmt: skip
