"""The lab on a real ledger, library and embedding model: small documents in three languages."""

import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from rag.errors import QuestionRefused, RetrievalError, SettingsError
from rag.evaluation.lab import LANES, Lab, differences
from rag.ingest.library import Library
from rag.jobs import Jobs
from rag.models.embeddings import Embedder
from rag.retrieval.registry import NAMES
from rag.retrieval.weights import HybridWeights, describe_weights
from storage.conversations import Conversations
from storage.database import Database
from storage.errors import NotFound
from storage.lab import stop_running
from storage.records import CitationRecord, PassageRecord

CASTLE = (
    "# Castle\n\nThe castle of Aldenburg was built in 1432 by Count Otto. Its moat is nine metres deep.\n\n"
    "# Garden\n\nThe rose garden behind the castle was planted by the gardener Emma Vogel in 1870.\n"
)
KOREAN = "# 등대\n\n부산항의 등대지기는 해질녘마다 고래기름 등불을 밝혔다. 등대의 높이는 삼십 미터이다.\n"
JAPANESE = "# 灯台\n\n横浜港の灯台守は夕暮れに鯨油のランプを灯した。灯台の高さは三十メートルである。\n"
QUESTIONS = [
    ("Who built the fortress?", "Count Otto"),
    ("Who planted the flowers?", "Emma Vogel"),
    ("등불은 무엇으로 탔나요?", "고래기름"),
    ("ランプは何で燃えましたか。", "鯨油"),
]


class Bookshelf(Library):
    """A library whose searches a test may slow down or break."""

    through: Callable[[str, BaseRetriever], BaseRetriever] | None = None

    def retriever(self, name: str, k: int, **rest) -> BaseRetriever:
        found = super().retriever(name, k, **rest)
        return found if self.through is None else self.through(name, found)


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Path:
    """A data directory with the three documents, embedded once for all tests."""
    directory = tmp_path_factory.mktemp("ingested")
    database = Database.open(directory)
    library = Library(database, "ann", lambda: embedder)
    for name, text in (("castle.md", CASTLE), ("ko.md", KOREAN), ("ja.md", JAPANESE)):
        put(library, name, text)
    library.close()
    database.close()
    return directory


@pytest.fixture
def database(ingested: Path, tmp_path: Path) -> Iterator[Database]:
    opened = Database.open(Path(shutil.copytree(ingested, tmp_path / "data")))
    yield opened
    opened.close()


@pytest.fixture
def library(database: Database, embedder: Embedder) -> Iterator[Bookshelf]:
    library = Bookshelf(database, "ann", lambda: embedder)
    yield library
    library.close()


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    jobs = Jobs(LANES)
    yield jobs
    jobs.close()


@pytest.fixture
def lab(database: Database, library: Library, jobs: Jobs) -> Lab:
    return Lab(database, library, jobs, lambda: None)


def put(library: Library, name: str, text: str) -> str:
    record, _ = library.add(name, text.encode())
    for _ in library.index(record.id):
        pass
    return record.id


def named(library: Library, name: str) -> str:
    return next(record.id for record in library.documents.list() if record.name == name)


def holding(library: Library, words: str) -> str:
    """Return the chunk that has these words."""
    chunks = [chunk for record in library.documents.list() for chunk in library.documents.chunks(record.id)]
    return next(chunk.id for chunk in chunks if words in chunk.text)


def typed(lab: Lab, library: Library) -> str:
    """Make a set of the four questions."""
    set_id = lab.sets.create("Mine", "typed").id
    for question, words in QUESTIONS:
        lab.add_typed(set_id, question, [holding(library, words)])
    return set_id


def finished(job):
    assert job.wait(60)
    return job.since(0)


class Gate(BaseRetriever):
    """A retriever that waits at its second question until it is let through."""

    inner: BaseRetriever
    reached: threading.Event
    open: threading.Event
    asked: int = 0

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def _get_relevant_documents(self, query: str, *, run_manager) -> list[Document]:
        self.asked += 1
        if self.asked == 3:  # the first was for warming up
            self.reached.set()
            assert self.open.wait(30)
        return self.inner.invoke(query)


@pytest.fixture
def gate(library: Bookshelf) -> tuple[threading.Event, threading.Event]:
    """Let every search wait in the middle of a run: reached, and open."""
    reached, opened = threading.Event(), threading.Event()
    library.through = lambda _, inner: Gate(inner=inner, reached=reached, open=opened)
    return reached, opened


def test_retrievers_are_run_side_by_side_and_what_they_found_is_kept(lab, library):
    set_id = typed(lab, library)
    events = finished(lab.start_run(set_id, NAMES))
    (run,) = lab.runs.list(set_id)
    assert (run.state, run.asked, run.retrievers) == ("complete", 4, NAMES)
    assert (events[0].done, events[-1].done, events[-1].total) == (0, 4 * len(NAMES), 4 * len(NAMES))
    assert events[-1].rows == run.results
    assert [(line.retriever, line.queries, line.errors) for line in run.results] == [(n, 4, 0) for n in NAMES]
    for line in run.results:
        # A minimum of relevance may leave nothing.
        assert line.metrics["recall@10"] == 1.0 or line.retriever == "similarity_score_threshold"
        assert 0 < line.p50_ms <= line.p95_ms
    assert (run.embedding, run.mixture) == ("multilingual-e5-small", describe_weights(HybridWeights()))
    assert (run.searched.every, run.searched.count) == (True, 3)
    assert run.searched.chunks == len(library.documents.chunk_ids())


def test_a_question_opens_to_who_found_what_where(lab, library):
    set_id = typed(lab, library)
    finished(lab.start_run(set_id, ["bm25", "similarity"]))
    (run,) = lab.runs.list(set_id)
    asked = lab.runs.asked(run.id)
    assert [question.text for question in asked] == [question for question, _ in QUESTIONS]
    by_words, by_meaning = lab.runs.findings(run.id, position=2)
    assert (by_words.retriever, by_meaning.retriever) == ("bm25", "similarity")
    assert by_meaning.first_right == next(found.rank for found in by_meaning.found if found.right)
    right = by_meaning.found[by_meaning.first_right - 1]
    assert right.chunk_id in asked[1].right_ids
    assert right.place == "castle.md, Garden"


def test_a_run_over_chosen_documents_asks_only_what_they_answer(lab, library):
    set_id = typed(lab, library)
    finished(lab.start_run(set_id, ["bm25"], document_ids=[named(library, "ko.md")]))
    (run,) = lab.runs.list(set_id)
    assert (run.asked, run.outside, run.gone) == (1, 3, 0)
    assert (run.searched.every, run.searched.names) == (False, ("ko.md",))
    (finding,) = lab.runs.findings(run.id)
    assert (finding.position, finding.first_right) == (3, 1)
    assert {found.place for found in finding.found} == {"ko.md, 등대"}


def test_a_set_outlives_the_deletion_of_a_document(lab, library):
    set_id = typed(lab, library)
    library.remove(named(library, "ja.md"))
    assert [one.status for one in lab.prepared(set_id)] == ["asked", "asked", "asked", "gone"]
    finished(lab.start_run(set_id, ["bm25"]))
    (run,) = lab.runs.list(set_id)
    assert (run.asked, run.gone) == (3, 1)
    assert lab.runs.asked(run.id)[3].status == "gone"
    assert lab.sets.questions(set_id)[3].passages[0].quote.endswith("三十メートルである。")


def test_a_replaced_document_is_asked_by_its_words(lab, library):
    set_id = typed(lab, library)
    put(library, "castle.md", "# News\n\nThe castle reopens soon.\n\n" + CASTLE)
    prepared = lab.prepared(set_id)
    assert [one.status for one in prepared] == ["asked"] * 4
    assert set(prepared[1].targets) == {holding(library, "Emma Vogel")}
    finished(lab.start_run(set_id, ["similarity"]))
    assert lab.runs.list(set_id)[0].results[0].metrics["recall@10"] == 1.0


def test_later_runs_are_compared_with_earlier_ones(lab, library):
    set_id = typed(lab, library)
    finished(lab.start_run(set_id, ["bm25"]))
    finished(lab.start_run(set_id, ["bm25", "mmr"]))
    newer, older = lab.runs.list(set_id)
    assert differences(newer, older) == []
    put(library, "more.md", "# More\n\nThe bridge of Aldenburg crosses the river in three arches.\n")
    finished(lab.start_run(set_id, ["bm25"]))
    newest, newer, _ = lab.runs.list(set_id)
    assert differences(newest, newer) == [
        "4 documents in place of 3",
        f"{newest.searched.chunks} chunks in place of {newer.searched.chunks}",
    ]


def test_a_stopped_run_keeps_what_it_has(lab, library, gate):
    reached, opened = gate
    set_id = typed(lab, library)
    job = lab.start_run(set_id, ["bm25", "similarity"])
    assert reached.wait(30)
    assert lab.running(set_id) is job
    job.cancel()
    opened.set()
    assert job.wait(10)
    (run,) = lab.runs.list(set_id)
    assert run.state == "stopped"
    assert [line.queries for line in run.results] == [1, 1]
    assert [finding.position for finding in lab.runs.findings(run.id)] == [1, 1]
    assert lab.running(set_id) is None


def test_a_set_deleted_while_it_is_run_takes_the_run_along(lab, library, gate):
    reached, opened = gate
    set_id = typed(lab, library)
    job = lab.start_run(set_id, ["bm25"])
    assert reached.wait(30)
    lab.delete_set(set_id)
    opened.set()
    assert job.wait(10)
    assert job.error is None
    assert lab.runs.list() == []


def test_a_server_that_dies_in_the_middle_leaves_a_stopped_run(database, lab, library, gate):
    reached, opened = gate
    set_id = typed(lab, library)
    job = lab.start_run(set_id, ["bm25"])
    assert reached.wait(30)
    assert stop_running(database) == 1  # as the next start does
    opened.set()
    assert job.wait(10)
    (run,) = lab.runs.list(set_id)
    assert run.state == "stopped"


def test_while_a_run_is_under_way_the_same_set_is_not_run_twice(lab, library, gate):
    reached, opened = gate
    set_id = typed(lab, library)
    job = lab.start_run(set_id, ["bm25"])
    assert reached.wait(30)
    assert lab.start_run(set_id, ["mmr"]) is job
    opened.set()
    assert job.wait(10)
    assert len(lab.runs.list(set_id)) == 1


def test_a_search_that_fails_counts_and_says_why(lab, library):
    class Broken(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager) -> list[Document]:
            raise RetrievalError("The index is gone.")

    set_id = typed(lab, library)
    library.through = lambda name, inner: Broken() if name == "mmr" else inner
    finished(lab.start_run(set_id, ["mmr", "bm25"]))
    (run,) = lab.runs.list(set_id)
    assert run.state == "complete"
    assert [line.errors for line in run.results] == [4, 0]
    assert lab.runs.findings(run.id, 1)[0].error == "The index is gone."


def test_a_half_that_is_left_out_of_a_fused_search_is_said(lab, library):
    set_id = typed(lab, library)
    library.documents.set_index_state(
        "vectors", {"model": "another", "dimension": 3, "fingerprint": "f", "folder": "vectors-f"}
    )
    library.close()
    finished(lab.start_run(set_id, ["ensemble-cc"]))
    (run,) = lab.runs.list(set_id)
    assert run.results[0].errors == 4
    (finding,) = lab.runs.findings(run.id, 1)
    assert finding.error.startswith("Without similarity: The documents were embedded with another")
    assert finding.found


def test_a_run_without_a_question_that_can_be_asked_fails_and_says_so(lab, library):
    set_id = typed(lab, library)
    finished(
        lab.start_run(set_id, ["bm25"], document_ids=[put(library, "x.md", "# X\n\nNothing else here.")])
    )
    (run,) = lab.runs.list(set_id)
    assert run.state == "failed"
    assert "None of the questions can be asked" in run.error


def test_what_cannot_be_run_is_refused_at_once(lab, library):
    set_id = typed(lab, library)
    empty = lab.sets.create("Empty", "typed").id
    for retrievers in ([], ["colbert"]):
        with pytest.raises(SettingsError):
            lab.start_run(set_id, retrievers)
    with pytest.raises(QuestionRefused, match="no questions"):
        lab.start_run(empty, ["bm25"])
    with pytest.raises(QuestionRefused, match="documents"):
        lab.start_run(set_id, ["bm25"], document_ids=["gone"])
    assert lab.runs.list() == []


def test_a_typed_question_needs_words_and_a_right_passage(lab, library):
    set_id = lab.sets.create("Mine", "typed").id
    for question, chunk_ids in (("  ", [holding(library, "Otto")]), ("Who?", []), ("Who?", ["gone"])):
        with pytest.raises(QuestionRefused):
            lab.add_typed(set_id, question, chunk_ids)
    assert lab.sets.get(set_id).questions == 0


def test_passages_to_mark_come_from_words_and_meaning(lab, library):
    shown = lab.candidates("ランプは何で燃えましたか。")
    assert shown[0].id == holding(library, "鯨油")
    assert set(shown[0].found_by) == {"bm25", "similarity"}


def test_rated_answers_become_a_set_of_questions_as_they_were_understood(database, lab, library):
    chunk = library.documents.chunks_by_id([holding(library, "nine metres")]).popitem()[1]
    start = chunk.start + chunk.text.index("Its moat")
    quote = chunk.text[chunk.text.index("Its moat") :]
    passage = PassageRecord(
        1,
        chunk.id,
        chunk.document_id,
        chunk.document,
        chunk.sha256,
        None,
        "",
        chunk.start,
        chunk.end,
        chunk.text,
        1,
    )
    chats = Conversations(database, "ann")

    def answered(status, rating):
        turn = chats.begin_turn(chats.create().id, "And how deep is it?")
        chats.checkpoint(
            turn.answer_id, "", standalone_question="How deep is the moat of Aldenburg?", passages=[passage]
        )
        citation = CitationRecord(1, 0, 5, status, start, start + len(quote), quote)
        chats.finish(turn.answer_id, "complete", "Nine.", citations=[citation])
        chats.rate(turn.answer_id, rating)

    with pytest.raises(QuestionRefused):
        lab.from_feedback("From feedback")
    answered("verified", "up")
    answered("verified", "up")
    answered("verified", "down")
    answered("related", "up")
    collected, skipped = lab.from_feedback("From feedback")
    assert (collected.origin, collected.questions, skipped) == ("feedback", 1, 1)
    (question,) = lab.sets.questions(collected.id)
    assert question.text == "How deep is the moat of Aldenburg?"
    assert question.passages[0].quote == quote
    assert set(lab.prepared(collected.id)[0].targets) == {chunk.id}


def test_owners_are_apart(database, lab, library, jobs, embedder):
    set_id = typed(lab, library)
    finished(lab.start_run(set_id, ["bm25"]))
    run_id = lab.runs.list(set_id)[0].id
    bob = Lab(database, Library(database, "bob", lambda: embedder), jobs, lambda: None)
    assert (bob.sets.list(), bob.runs.list(), bob.running(set_id)) == ([], [], None)
    for call in (
        lambda: bob.start_run(set_id, ["bm25"]),
        lambda: bob.runs.list(set_id),
        lambda: bob.delete_set(set_id),
        lambda: bob.prepared(set_id),
        lambda: bob.runs.findings(run_id),
    ):
        with pytest.raises(NotFound):
            call()
    own = bob.sets.create("Bob's", "typed").id
    with pytest.raises(QuestionRefused):
        bob.add_typed(own, "Who built it?", [holding(library, "Count Otto")])
    assert lab.sets.get(set_id).questions == 4
