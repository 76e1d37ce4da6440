"""Ensemble whose members tell ids and scores, score what the others found, and read only the best."""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import RetrievalError
from rag.index.vector_index import Candidates, Ranking
from rag.retrieval.bm25 import DocumentStore
from rag.retrieval.ensemble import EnsembleRetriever
from rag.retrieval.fusion import min_max, theoretical_min_max
from rag.retrieval.registry import boost_by_name

NAMES = {"a": "2022.pdf", "b": "2023.pdf", "c": "notes.md", "d": ""}
WORDS: Ranking = [("a", 9.0), ("b", 3.0), ("c", 0.0)]
MEANING: Ranking = [("b", 0.9), ("d", 0.5), ("c", 0.1)]


def names(ids: Sequence[str]) -> dict[str, str]:
    return {id_: NAMES[id_] for id_ in ids if id_ in NAMES}


def texts(*ids: str) -> DocumentStore:
    documents = [Document(f"text {id_}", id=id_, metadata={"page": 3}) for id_ in ids]
    return DocumentStore({str(document.id): document for document in documents})


class Half(BaseRetriever):
    """Member that tells candidates and never documents."""

    find: Callable[[str], Candidates]

    def candidates(self, query: str) -> Candidates:
        return self.find(query)

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        raise AssertionError("Documents are read after the fusion.")


def hybrid(
    words: Any = WORDS, meaning: Any = MEANING, rated: Mapping[str, Any] | None = None, **options: Any
) -> EnsembleRetriever:
    """Return the two fused as the app fuses them: scores combined by `weights`, or else ranks."""
    rated = rated or {}
    halves = {
        "similarity": answer(meaning, rated.get("similarity", {})),
        "bm25": answer(words, rated.get("bm25", {})),
    }
    given = {
        "names": names,
        "hydrate": texts("a", "b", "c", "d"),
        "normalisers": dict.fromkeys(halves, min_max),
        "inline": lambda: ("bm25",),
    }
    fusing = {"boost": boost_by_name, "method": "cc"} if "weights" in options else {"method": "rrf"}
    return EnsembleRetriever(retrievers=halves, **(given | fusing | options))


def answer(outcome: Any, rated: Any) -> Half:
    """Return a half that finds, or raises, `outcome`, and rates, or raises, what `rated` has by id."""

    def told(what: Any, asked: Any) -> Any:
        if isinstance(what, Exception):
            raise what
        return what(asked) if callable(what) else what

    def rate(ids: Sequence[str]) -> dict[str, float]:
        return {id_: score for id_, score in told(rated, ids).items() if id_ in ids}

    return Half(find=lambda question: Candidates(told(outcome, question), rate))


def halved(question: str) -> dict[str, float]:
    return {"similarity": 0.5, "bm25": 0.5}


def ids(found: Sequence[Document]) -> list[str | None]:
    return [document.id for document in found]


def test_scores_are_combined_and_each_result_says_who_found_it():
    found = hybrid(weights=halved).invoke("q")
    assert [(d.id, round(d.metadata["score"], 3)) for d in found] == [
        ("b", 0.667),
        ("a", 0.5),
        ("d", 0.25),
        ("c", 0.0),
    ]
    assert found[0].page_content == "text b"
    assert found[0].metadata["page"] == 3
    assert found[0].metadata["found_by"] == {
        "similarity": {"rank": 1, "score": 0.9, "normalised": 1.0},
        "bm25": {"rank": 2, "score": 3.0, "normalised": pytest.approx(1 / 3)},
    }
    assert found[1].metadata["found_by"].keys() == {"bm25"}


def test_what_only_one_half_found_is_rated_by_the_other_too():
    rated = {"similarity": {"a": 0.8}, "bm25": {"d": 2.0}}
    found = hybrid(rated=rated, weights=halved).invoke("q")
    assert [(d.id, round(d.metadata["score"], 3)) for d in found] == [
        ("a", 0.938),  # 9 of 0 to 9, and .8 of .1 to .9
        ("b", 0.667),
        ("d", 0.361),
        ("c", 0.0),
    ]
    assert found[0].metadata["found_by"].keys() == {"bm25"}, "rated, not found"


def test_a_rating_below_all_that_was_found_counts_in_what_scores_are_compared_with():
    found = hybrid(rated={"similarity": {"a": -0.7}}, weights=halved).invoke("q")
    assert found[0].metadata["found_by"]["similarity"]["normalised"] == 1.0
    assert {d.id: round(d.metadata["score"], 3) for d in found} == {
        "b": 0.667,
        "a": 0.5,
        "d": 0.375,
        "c": 0.25,
    }


def test_each_half_is_asked_for_what_it_lacks_and_nothing_else():
    asked: dict[str, Sequence[str]] = {}

    def rating(name: str) -> Any:
        return lambda ids: asked.update({name: ids}) or {}

    rated = {name: rating(name) for name in ("similarity", "bm25")}
    hybrid(rated=rated, weights=halved).invoke("q")
    assert asked == {"similarity": ["a"], "bm25": ["d"]}
    asked.clear()
    hybrid(rated=rated).invoke("q")
    hybrid(words=MEANING, rated=rated, weights=halved).invoke("q")
    hybrid(words=[], meaning=[], rated=rated, weights=halved).invoke("q")
    assert not asked
    hybrid(words=[], rated=rated, weights=halved).invoke("q")
    assert not asked, "where nothing shares a word, words have no say"


@pytest.mark.parametrize("failing", [{"bm25"}, {"similarity"}, {"bm25", "similarity"}])
def test_a_half_that_cannot_rate_counts_with_what_it_found(
    failing: set[str], caplog: pytest.LogCaptureFixture
):
    told: list[str] = []
    rated: dict[str, Any] = {"similarity": {"a": 0.9}, "bm25": {"d": 9.0}} | dict.fromkeys(
        failing, OSError("gone")
    )
    retriever = hybrid(rated=rated, weights=halved, on_failure=lambda name, _: told.append(name))
    first = {frozenset({"bm25"}): "a", frozenset({"similarity"}): "d"}.get(frozenset(failing), "b")
    assert ids(retriever.invoke("q"))[0] == first, "the other's rating counts"
    assert not told, "it was searched"
    logged = {r.message.split(" search")[0].removeprefix("The ") for r in caplog.records}
    assert logged == failing


def test_a_rating_that_is_late_is_done_without(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rag.retrieval.ensemble.RATING", 0.05)
    ends = threading.Event()
    rated = {"similarity": lambda _: ends.wait(30) and {"a": 0.9}}
    assert ids(hybrid(rated=rated, weights=halved).invoke("q")) == ["b", "a", "d", "c"]
    ends.set()


def test_halves_at_hand_rate_in_the_calling_thread_and_others_in_their_own():
    rating: dict[str, threading.Thread] = {}

    def by(name: str) -> Any:
        return lambda _: rating.update({name: threading.current_thread()}) or {}

    rated = {name: by(name) for name in ("similarity", "bm25")}
    hybrid(rated=rated, weights=halved, inline=lambda: ("similarity", "bm25")).invoke("q")
    assert set(rating.values()) == {threading.current_thread()}
    hybrid(rated=rated, weights=halved).invoke("q")
    assert rating["similarity"] is not rating["bm25"] is threading.current_thread()


def test_without_weights_ranks_count():
    found = hybrid().invoke("sales in 2022")
    assert ids(found) == ["b", "c", "a", "d"]
    assert found[0].metadata["score"] == pytest.approx(0.5 / 61 + 0.5 / 62)
    assert "name" not in found[2].metadata["found_by"]


def test_a_passage_whose_document_is_named_is_raised_and_says_so():
    found = hybrid(meaning=[("a", 0.9), ("b", 0.9)], words=[], weights=halved).invoke("sales in 2023")
    assert ids(found) == ["b", "a"]
    assert found[0].metadata["found_by"]["name"] == {"rank": 1, "score": 1.0, "normalised": 1.0}
    assert found[0].metadata["score"] == pytest.approx(0.55)
    assert "name" not in found[1].metadata["found_by"]


def test_what_has_no_name_is_no_candidate_and_counts_in_no_score():
    gone: Ranking = [("gone", 90.0), *WORDS, ("gone too", -9.0)]
    with_gone, without = (hybrid(words=words, weights=halved).invoke("q") for words in (gone, WORDS))
    assert with_gone == without


class Reading(DocumentStore):
    """Documents by id that remember which were read."""

    def __call__(self, ids: Sequence[str]) -> dict[str, Document]:
        self.read = [*getattr(self, "read", []), *ids]
        return super().__call__(ids)


def test_the_best_are_read_and_nothing_else_is():
    shelf = Reading(texts("a", "b", "c", "d"))
    assert ids(hybrid(weights=halved, hydrate=shelf, k=2).invoke("q")) == ["b", "a"]
    assert shelf.read == ["b", "a"]


@pytest.mark.parametrize(("k", "read"), [(0, []), (1, ["a"]), (2, ["a", "c"]), (9, ["a", "c"])])
def test_there_may_be_fewer_or_none(k: int, read: list[str]):
    assert ids(hybrid(weights=halved, hydrate=texts("a", "c"), k=k).invoke("q")) == read


def test_what_is_gone_when_it_is_read_makes_way_for_the_next():
    assert ids(hybrid(weights=halved, hydrate=texts("a", "c"), k=2).invoke("q")) == ["a", "c"]


def test_a_question_may_want_more_or_fewer():
    retriever = hybrid(weights=halved, k=1)
    assert ids(retriever.invoke("q")) == ["b"]
    assert ids(retriever.invoke("q", k=3)) == ["b", "a", "d"]


def test_nothing_found_is_nothing():
    assert hybrid(words=[], meaning=[], weights=halved).invoke("q") == []


def test_what_is_read_is_not_written_into():
    shelf = texts("a", "b")
    hybrid(weights=halved, hydrate=shelf).invoke("q")
    assert shelf["b"].metadata == {"page": 3}


@pytest.mark.parametrize("failing", ["bm25", "similarity"])
def test_a_half_that_fails_is_left_out_and_named(failing: str):
    told: list[tuple[str, str]] = []
    broken = {"bm25": {"words": OSError("broken")}, "similarity": {"meaning": OSError("broken")}}[failing]
    retriever = hybrid(
        **broken, weights=halved, on_failure=lambda name, error: told.append((name, str(error)))
    )
    assert len(retriever.invoke("q")) == 3
    assert told == [(failing, "broken")]


def test_a_half_that_hangs_is_left_out():
    ends, told = threading.Event(), []
    retriever = hybrid(
        meaning=lambda _: ends.wait(30) and MEANING,
        weights=halved,
        timeout=2,
        on_failure=lambda name, error: told.append(f"{name}: {error}"),
    )
    assert ids(retriever.invoke("q")) == ["a", "b", "c"]
    assert told == ["similarity: no answer within 2 seconds"]
    ends.set()


def test_when_both_fail_the_error_names_each():
    with pytest.raises(RetrievalError, match=r"bm25: no words similarity: no model"):
        hybrid(words=OSError("no words"), meaning=OSError("no model"), on_failure=lambda *_: None).invoke("q")


def test_the_half_that_is_here_is_asked_in_the_calling_thread_and_the_other_meanwhile():
    begun, here = threading.Event(), []

    def words(question: str) -> Ranking:
        here.append(threading.current_thread())
        assert begun.wait(30)
        return WORDS

    def meaning(question: str) -> Ranking:
        begun.set()
        return MEANING

    assert ids(hybrid(words=words, meaning=meaning, weights=halved, k=1).invoke("q")) == ["b"]
    assert here == [threading.current_thread()]


def test_a_member_that_tells_documents_only_is_fused_with_one_that_tells_ids():
    class Documents(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document("short", id=id_, metadata={"score": score}) for id_, score in MEANING]

    rated: dict[str, Any] = {"bm25": {"d": 9.0}}
    members = {"similarity": Documents(), "bm25": answer(WORDS, rated["bm25"])}
    normalisers = dict.fromkeys(members, theoretical_min_max(0.0))
    options = {"names": names, "hydrate": texts("a", "b", "c", "d"), "k": 2}
    options |= {"method": "cc", "normalisers": normalisers}
    best, second = EnsembleRetriever(retrievers=members, **options).invoke("q")
    assert (best.id, best.page_content) == ("d", "text d"), "rated by words as high as the best"
    assert best.metadata["found_by"].keys() == {"similarity"}
    assert second.id == "b"


async def test_async_gives_the_same():
    retriever = hybrid(weights=halved)
    assert await retriever.ainvoke("q") == retriever.invoke("q")


def test_callbacks_hear_of_it():
    class Heard(BaseCallbackHandler):
        found: Sequence[Document] = ()

        def on_retriever_end(self, documents: Sequence[Document], **_: Any) -> None:
            self.found = documents

    heard = Heard()
    assert hybrid(weights=halved).invoke("q", {"callbacks": [heard]}) == heard.found


def test_the_ledger_is_asked_of_the_words_hits_and_of_the_weights_while_meaning_still_searches():
    prepared = threading.Event()
    asked_of: list[list[str]] = []

    def slow(question: str) -> Ranking:
        assert prepared.wait(10)
        return MEANING

    def told(ids: Sequence[str]) -> dict[str, str]:
        asked_of.append(list(ids))
        return names(ids)

    def weighed(question: str) -> dict[str, float]:
        prepared.set()
        return halved(question)

    found = hybrid(meaning=slow, names=told, weights=weighed).invoke("q")
    assert ids(found) == ids(hybrid(weights=halved).invoke("q"))
    assert asked_of == [["a", "b", "c"], ["b", "d", "c"]]


def test_weights_are_found_where_the_half_asked_here_fails():
    told: list[str] = []
    options = {"weights": halved, "on_failure": lambda name, _: told.append(name)}
    found = hybrid(words=RetrievalError("The index is damaged."), **options).invoke("q")
    assert (ids(found), told) == (["b", "d", "c"], ["bm25"])
