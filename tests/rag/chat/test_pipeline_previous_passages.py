from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.chat.answer import Sources, Token
from rag.chat.conversation import Conversation
from rag.chat.extractive import DOUBTFUL, NOT_FOUND
from rag.chat.pipeline import PREVIOUS_QUESTION, RagPipeline, prepend_previous
from rag.chat.small_talk import phrase_file
from rag.errors import ModelUnavailable
from rag.factory import make_pipeline
from rag.ingest.library import Library
from rag.jobs import never
from rag.passage import Found, Passage
from rag.settings import Settings
from storage.answers import Feedback
from storage.conversations import Conversations
from storage.database import Database

OFFER = {
    "en": "The lease ends on 31 May 2027 [1]. Shall I list the conditions of a renewal?",
    "ko": "임대차 계약은 2027년 5월 31일에 끝납니다 [1]. 갱신 조건도 알려 드릴까요?",
    "ja": "賃貸借契約は2027年5月31日に終わります[1]。更新の条件も一覧にしましょうか?",
}
CASTLE = "The castle of Aldenburg was built in 1432. It stands on a rock.\n"
OTHERS = {
    f"{word}.md": f"Tell more of the {word}: more and more {word}.\n" for word in ("mill", "ferry", "inn")
}


def passage(id_: str, score: float = 0.0, **found_by: Found) -> Passage:
    return Passage(id_, "d", "a.md", "", None, "", 0, 4, "text", score, found_by)


def ids(passages: Sequence[Passage]) -> list[str]:
    return [one.id for one in passages]


def test_carried_passages_come_first_and_say_where_they_come_from():
    found = [passage("a", 1.3, bm25=Found(1, 7.0, 1.0)), passage("b", 0.5)]
    first, second, third = prepend_previous([passage("c"), passage("a")], found)
    assert ids([first, second, third]) == ["c", "a", "b"]
    assert first.found_by == {PREVIOUS_QUESTION: Found(1, 1.0, 1.0)}
    assert second.found_by == {PREVIOUS_QUESTION: Found(2, 1.0, 1.0), "bm25": Found(1, 7.0, 1.0)}
    assert PREVIOUS_QUESTION not in third.found_by


names = st.lists(st.sampled_from("abcdefg"), max_size=7)


@given(
    carried=names, found=st.lists(st.sampled_from("abcdefg"), max_size=7, unique=True), k=st.integers(1, 9)
)
def test_at_most_k_come_none_twice_and_scores_follow_the_order(carried, found, k):
    ranked = [passage(id_, 2 - rank / 10) for rank, id_ in enumerate(found)]
    together = prepend_previous([passage(id_) for id_ in carried], ranked, k)
    assert ids(together) == list(dict.fromkeys([*carried, *found]))[:k]
    scores = [one.score for one in together]
    assert scores == sorted(scores, reverse=True)


def no_embedder():
    raise ModelUnavailable("There is no embedding model here.")


@pytest.fixture
def library(database: Database) -> Iterator[Library]:
    opened = Library(database, "ann", no_embedder)
    for name, text in {"castle.md": CASTLE, **OTHERS}.items():
        record, _ = opened.add(name, text.encode())
        assert list(opened.read(record.id))
    yield opened
    opened.close()


class Chat:
    """A conversation over the library, without a model."""

    def __init__(self, database: Database, library: Library):
        self.stored = Conversations(database, "ann")
        pipeline = make_pipeline(Settings(retriever="bm25", k=3), library, None)
        self.conversation = Conversation(self.stored, lambda: pipeline)
        self.id = self.stored.create().id

    def ask(self, question: str) -> tuple[Passage, ...]:
        """Return the sources of the answer."""
        events = list(self.conversation.run(self.conversation.begin(self.id, question), never))
        (sources,) = (event for event in events if isinstance(event, Sources))
        return sources.passages

    def read(self, question: str) -> str:
        """Return the text of the answer."""
        self.ask(question)
        return self.stored.messages(self.id)[-1].content


@pytest.fixture
def chat(database: Database, library: Library) -> Chat:
    return Chat(database, library)


@pytest.mark.parametrize("question", ["Tell me more", "why?", "더 자세히 알려줘", "もっと詳しく"])
def test_more_of_the_same_is_answered_from_what_the_last_answer_rests_on(chat: Chat, question: str):
    chat.ask("When was the castle of Aldenburg built?")
    first, *others = chat.ask(question)
    assert (first.document, first.found_by[PREVIOUS_QUESTION].rank) == ("castle.md", 1)
    assert not any(PREVIOUS_QUESTION in other.found_by for other in others)
    stored = chat.stored.messages(chat.id)[-1].passages[0]
    assert stored.found_by[PREVIOUS_QUESTION]["rank"] == 1


def test_thanks_in_between_are_passed_over(chat: Chat):
    chat.ask("When was the castle of Aldenburg built?")
    assert chat.ask("Thanks!") == ()
    assert chat.ask("Tell me more")[0].found_by[PREVIOUS_QUESTION].rank == 1


def test_a_turn_that_asks_for_something_is_searched_only(chat: Chat):
    chat.ask("When was the castle of Aldenburg built?")
    assert not any(PREVIOUS_QUESTION in one.found_by for one in chat.ask("And more of the mill?"))


def test_what_was_removed_since_is_not_used_again(chat: Chat, library: Library):
    first, *_ = chat.ask("When was the castle of Aldenburg built?")
    library.remove(first.document_id)
    assert all(one.document != "castle.md" for one in chat.ask("Tell me more"))


def test_a_source_marked_as_wrong_is_not_used_again(chat: Chat, database: Database):
    chat.ask("When was the castle of Aldenburg built?")
    answer = chat.stored.messages(chat.id)[-1]
    for number in range(len(answer.citations)):
        Feedback(database, "ann").mark(answer.id, number, "wrong")
    assert not any(PREVIOUS_QUESTION in one.found_by for one in chat.ask("Tell me more"))


@pytest.mark.parametrize(("code", "yes"), [("en", "Yes"), ("ko", "네"), ("ja", "はい")])
def test_yes_takes_up_an_offer_and_is_small_talk_without_one(library: Library, code: str, yes: str):
    pipeline = make_pipeline(Settings(retriever="bm25", k=3), library, None)
    kept = [Passage.from_document(one) for one in library.retriever("bm25", 1).invoke("castle Aldenburg")]
    asked = ("user", "When was the castle of Aldenburg built?")
    taken = list(pipeline.ask(yes, [asked, ("assistant", OFFER[code])], never, carried=kept))
    (sources,) = (event for event in taken if isinstance(event, Sources))
    assert sources.passages[0].found_by[PREVIOUS_QUESTION].rank == 1
    for history in ([], [asked, ("assistant", "In 1432 [1].")]):
        said = list(pipeline.ask(yes, history, never, carried=kept))
        assert Sources(()) in said and any(isinstance(event, Token) for event in said)


def test_a_pipeline_over_any_retriever_carries_what_it_is_given(library: Library):
    pipeline = RagPipeline(library.retriever("bm25", 2))
    events = pipeline.ask("why?", [("user", "a"), ("assistant", "b")], never, carried=[passage("given")])
    (sources,) = (event for event in events if isinstance(event, Sources))
    assert ids(sources.passages)[0] == "given"


FERRY = "The ferry carries 300 people. Its deposit was 40 crowns.\n"
LEASE = "The rent is 1,200 crowns. The kitchen is repaired by the landlord.\n"


@pytest.fixture
def files(library: Library) -> None:
    for name, text in {"fares.md": FERRY, "lease.md": LEASE}.items():
        assert list(library.read(library.add(name, text.encode())[0].id))


def test_a_new_question_is_not_answered_by_words_of_the_chat_alone(chat: Chat, files: None):
    assert "300 people" in chat.read("How many people does the ferry carry?")
    doubted = chat.read("Where is the dental insurance?")
    assert doubted.startswith(("I found no clear answer.", "Your documents do not seem"))
    assert "landlord" in chat.read("Who repairs the kitchen?").split("[1]")[0]


@pytest.mark.parametrize(("code", "asked"), [("ja", "その翌年は？"), ("ko", "그 다음 해는?")])
def test_a_short_follow_up_is_answered_in_its_own_language(chat: Chat, files: None, code: str, asked: str):
    chat.read("Which year had the lowest operating profit in the ferry's fares, and what was its deposit?")
    assert chat.read(asked).startswith((DOUBTFUL[code], NOT_FOUND[code]))


@pytest.mark.parametrize(
    ("code", "asked"),
    [("en", "Summarise that."), ("en", "tldr"), ("ko", "요약해줘"), ("ja", "それを要約してください。")],
)
def test_what_the_last_answer_said_is_summed_up_and_not_the_documents(
    chat: Chat, files: None, code: str, asked: str
):
    chat.read("Who repairs the kitchen?")
    assert chat.read(asked).startswith(phrase_file(code)["replies"]["rework"])


def test_a_named_document_is_summed_up_and_not_the_last_answer(chat: Chat, files: None):
    chat.read("How many people does the ferry carry?")
    told = chat.read("Summarise lease.md")
    assert "landlord" in told and "ferry" not in told
