import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chat.followup import MAX_MESSAGES, needs_context, with_terms
from rag.errors import EmbeddingError
from rag.models.embeddings import Embedder, Floats
from tests.rag.word_vectors import WordVectors

ENGLISH = [("user", "What is the refund policy of Acme Cloud?"), ("assistant", "Refunds take 14 days [1].")]
KOREAN = [("user", "삼성전자의 2022년 매출은 얼마인가요?"), ("assistant", "매출은 302조 원입니다 [1].")]
JAPANESE = [("user", "トヨタの2022年の売上高はいくらですか?"), ("assistant", "売上高は37兆円です[1]。")]


@pytest.mark.parametrize(
    ("history", "question", "begins", "term"),
    [
        (ENGLISH, "And how long does it take?", "And how long does it take? (about ", "refund"),
        (KOREAN, "그럼 2023년은?", "그럼 2023년은? (", "매출"),
        (JAPANESE, "2023年は?", "2023年は?（", "売上高"),
    ],
)
def test_terms_of_the_conversation_are_carried_in_brackets(history, question, begins, term):
    completed = with_terms(question, history)
    assert completed.startswith(begins) and term in completed


def test_recent_terms_come_before_old_ones():
    history = [
        ("user", "Who founded Microsoft?"),
        ("assistant", "Gates."),
        ("user", "Describe photosynthesis."),
        ("assistant", "Light."),
    ]
    assert "photosynthesis" in with_terms("Why does it matter?", history)


def test_rare_terms_come_before_common_ones():
    rarity = {"quasar": 9.0}
    history = [("user", "Is a bright quasar ever visible to us?")]
    assert "quasar" in with_terms("Is it far away?", history, lambda token: rarity.get(token, 0.1))


def test_a_continuation_names_no_subject():
    history = [*ENGLISH, ("user", "더 자세히 알려줘"), ("assistant", "Refunds take 14 days [1].")]
    assert "자세히" not in with_terms("もっと詳しく", history)


def test_neighbouring_words_are_carried_as_one():
    asked = with_terms("And predators?", [("user", "Where do guinea pigs sleep?")])
    assert asked == "And predators? (about guinea pigs)"


def test_of_two_thousand_turns_the_first_question_and_the_newest_messages_count():
    turn = [("user", "What about topic {} of the report?"), ("assistant", "A long answer on {}. " * 50)]
    history = [(role, text.replace("{}", str(number))) for number in range(2000) for role, text in turn]
    completed = with_terms("And why?", history)
    assert completed != "And why?"
    assert completed == with_terms("And why?", [history[0], *history[-MAX_MESSAGES:]])


STANDALONE = [
    (ENGLISH, "How do I claim travel expenses for a train journey to a customer?"),
    (KOREAN, "이순신 장군이 태어난 곳은 어디이고 언제 태어났나요?"),
    (JAPANESE, "徳川家康はいつどこで江戸幕府を開いたのですか?"),
]
ELLIPTIC = [(ENGLISH, "And in 2023?"), (ENGLISH, "why?"), (KOREAN, "왜요?"), (JAPANESE, "理由は?")]


@pytest.mark.parametrize(("history", "question"), STANDALONE)
def test_a_question_about_something_else_needs_no_context(history, question: str, embedder: Embedder):
    assert not needs_context(question, with_terms(question, history), embedder)


@pytest.mark.parametrize(("history", "question"), ELLIPTIC)
def test_a_question_that_says_too_little_needs_context(history, question: str, embedder: Embedder):
    assert needs_context(question, with_terms(question, history), embedder)


def test_terms_are_always_carried_without_a_model_of_known_scale():
    history, question = STANDALONE[0]
    completed = with_terms(question, history)
    assert needs_context(question, completed) and needs_context(question, completed, WordVectors("other"))
    assert not needs_context(question, question)


def test_terms_are_carried_where_the_embedding_model_fails():
    class Failing(WordVectors):
        def _vectors(self, texts: object, role: str) -> Floats:
            raise EmbeddingError("The server did not answer.")

    class Zero(WordVectors):
        def _vectors(self, texts: object, role: str) -> Floats:
            return np.zeros((1, self.dimension), np.float32)

    for model in (Failing("multilingual-e5-small"), Zero("multilingual-e5-small")):
        assert needs_context("Why?", "Why? (about refunds)", model)


@given(
    st.text(max_size=60), st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=80)))
)
def test_a_question_only_ever_gains_terms(question: str, history: list[tuple[str, str]]):
    assert with_terms(question, history).startswith(question)
