import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chat.extractive import DOUBTFUL
from rag.chat.followup import MAX_MESSAGES, context_need, with_terms
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


@pytest.mark.parametrize("code", DOUBTFUL)
def test_neither_a_doubt_nor_a_marker_of_an_answer_names_a_subject(code: str):
    asked = {"en": "How deep is it?", "ko": "그건 얼마나 깊어?", "ja": "それはどのくらい深い?"}[code]
    told = {"en": "The moat is dry [1].", "ko": "해자는 말랐다 [1].", "ja": "外堀は乾いている[1]。"}[code]
    doubted = f"{DOUBTFUL[code]}\n\n{told}"
    completed = with_terms(asked, [("user", "?"), ("assistant", doubted)])
    assert completed == with_terms(asked, [("user", "?"), ("assistant", told.replace("[1]", ""))])
    assert completed != asked and "1" not in completed


def test_neighbouring_words_are_carried_as_one():
    asked = with_terms("And predators?", [("user", "Where do guinea pigs sleep?")])
    assert asked == "And predators? (about guinea pigs)"


def test_a_word_between_two_carried_ones_is_carried_with_them():
    rarity = {"total": 5.0, "sale": 5.0}
    history = [("user", "What were the total net sales?")]
    asked = with_terms("And from iPhone?", history, lambda token: rarity.get(token, 0.1))
    assert asked == "And from iPhone? (about total net sales)"


@pytest.mark.parametrize(
    ("asked", "answer", "question", "completed"),
    [
        (
            "What was the profit?",
            "It was 4 million in 2024, and rose by 12 percent.",
            "And the costs?",
            "And the costs? (about profit, rose)",
        ),
        ("Profit in 2024?", "It was 4.", "And the costs?", "And the costs? (about Profit, 2024)"),
        ("What does clause 4 say?", "Nothing.", "And why?", "And why? (about clause 4)"),
        ("What does the 737 MAX cost?", "Nothing.", "And why?", "And why? (about 737 MAX)"),
        ("入館者数は？", "| 入館者数 | 371,205 | 397,570 |", "なぜですか", "なぜですか（入館者数）"),
        (
            "이익은 얼마인가요?",
            "2024년에는 41억 원, 2023년에는 37억 원입니다.",
            "비용은요?",
            "비용은요? (이익)",
        ),
    ],
)
def test_a_number_is_carried_only_with_the_word_it_belongs_to(
    asked: str, answer: str, question: str, completed: str
):
    assert with_terms(question, [("user", asked), ("assistant", answer)], period=True) == completed


def test_of_two_thousand_turns_the_first_question_and_the_newest_messages_count():
    turn = [("user", "What about topic {} of the report?"), ("assistant", "A long answer on {}. " * 50)]
    history = [(role, text.replace("{}", str(number))) for number in range(2000) for role, text in turn]
    completed = with_terms("And why?", history)
    assert completed != "And why?"
    assert completed == with_terms("And why?", [history[0], *history[-MAX_MESSAGES:]])


@pytest.mark.parametrize(
    ("asked", "question", "completed"),
    [
        (
            "What were the net sales in Q3 2023?",
            "And how much of it came from iPhone?",
            "And how much of it came from iPhone? (about net sales, Q3 2023)",
        ),
        ("What were the sales in Q3 2023?", "And in 2022?", "And in 2022? (about sales)"),
        ("2023년 3분기 매출은 얼마인가요?", "그중 서비스는요?", "그중 서비스는요? (매출, 2023년 3분기)"),
        (
            "2023年第3四半期の売上高は?",
            "そのうちサービスは?",
            "そのうちサービスは?（売上高、2023年第3四半期）",
        ),
    ],
)
def test_the_period_of_the_last_question_is_carried_as_a_whole(asked: str, question: str, completed: str):
    assert with_terms(question, [("user", asked)], period=True) == completed


LEASE = [("user", "敷金はいくらですか"), ("assistant", "敷金は賃料の3か月分とする。 [1]")]
STANDALONE = [
    (ENGLISH, "How do I claim travel expenses for a train journey to a customer?"),
    (KOREAN, "이순신 장군이 태어난 곳은 어디이고 언제 태어났나요?"),
    (JAPANESE, "徳川家康はいつどこで江戸幕府を開いたのですか?"),
    (LEASE, "社長の趣味は何ですか"),
    (LEASE, "事故のときはどこに連絡しますか?"),
]
SALES = [("user", "What was the total net sales in Q3 2023?"), ("assistant", "It was $81,797 million [1].")]
ELLIPTIC = [
    (SALES, "And how much of it came from iPhone?"),
    (ENGLISH, "And in 2023?"),
    (ENGLISH, "why?"),
    (KOREAN, "왜요?"),
    (JAPANESE, "理由は?"),
    (LEASE, "いつ返ってきますか?"),
]


@pytest.mark.parametrize(("history", "question"), STANDALONE)
def test_a_question_about_something_else_needs_no_context(history, question: str, embedder: Embedder):
    assert context_need(question, with_terms(question, history), embedder) == "none"


@pytest.mark.parametrize(("history", "question"), ELLIPTIC)
def test_a_question_that_says_too_little_needs_context(history, question: str, embedder: Embedder):
    assert context_need(question, with_terms(question, history), embedder) != "none"


def test_terms_are_always_carried_without_a_model_of_known_scale():
    history, question = STANDALONE[0]
    completed = with_terms(question, history)
    assert context_need(question, completed) == "sure"
    assert context_need(question, completed, WordVectors("other")) == "sure"
    assert context_need(question, question) == "none"


def test_terms_are_carried_where_the_embedding_model_fails():
    class Failing(WordVectors):
        def _vectors(self, texts: object, role: str) -> Floats:
            raise EmbeddingError("The server did not answer.")

    class Zero(WordVectors):
        def _vectors(self, texts: object, role: str) -> Floats:
            return np.zeros((1, self.dimension), np.float32)

    for model in (Failing("multilingual-e5-small"), Zero("multilingual-e5-small")):
        assert context_need("Why?", "Why? (about refunds)", model) == "sure"


@given(
    st.text(max_size=60), st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=80)))
)
def test_a_question_only_ever_gains_terms(question: str, history: list[tuple[str, str]]):
    assert with_terms(question, history).startswith(question)


@pytest.mark.parametrize(
    ("history", "question"),
    [
        (ENGLISH, "What is it called outside of the USA?"),
        (KOREAN, "그 사람은 누구인가요?"),
        (JAPANESE, "その人は誰ですか"),
    ],
)
def test_a_question_with_a_pronoun_is_sure_to_need_context(history, question: str, embedder: Embedder):
    assert context_need(question, with_terms(question, history), embedder) == "sure"


def test_a_short_question_that_names_its_subject_is_unsure(embedder: Embedder):
    question = "What is the rent?"
    assert context_need(question, with_terms(question, ENGLISH), embedder) == "unsure"
