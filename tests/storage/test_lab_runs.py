import pytest
from sqlalchemy import update

from storage.database import Database
from storage.jobs import JobQueue
from storage.lab import RUN, QuestionSets, Runs, stop_running
from storage.records import AskedRecord, FindingRecord, FoundRecord, ResultRecord, SearchedRecord
from storage.tables import JobRow

ASKED = [
    AskedRecord(1, "q1", "How deep?", "asked", ("d-00000", "d-00001")),
    AskedRecord(2, "q2", "얼마나?", "gone", ()),
    AskedRecord(3, "q3", "Where?", "outside", ("e-00000",)),
]


def begin(runs, set_id, names=("castle.md",)):
    return runs.begin(
        set_id,
        retrievers=["similarity", "bm25"],
        k=10,
        embedding="multilingual-e5-small",
        mixture="bm25 0.2, similarity 0.8",
        searched=SearchedRecord(every=False, count=1, names=tuple(names), fingerprint="f", chunks=7),
        asked=ASKED,
    )


def finding(retriever, position=1, **changes):
    found = (FoundRecord("e-00004", 1, "other.md, page 3", False), FoundRecord("d-00000", 2, "성.md", True))
    made = {"found": found, "first_right": 2, "ms": 1.5, "error": None, **changes}
    return FindingRecord(position=position, retriever=retriever, **made)


def result(retriever, queries=1):
    return ResultRecord(retriever, queries, {"recall@5": 0.5, "mrr@10": 0.25}, 1.5, 2.5, 0)


@pytest.fixture
def runs(database):
    return Runs(database, "ann")


@pytest.fixture
def set_id(database):
    return QuestionSets(database, "ann").create("Castle", "typed").id


def test_a_run_remembers_what_it_searched_and_what_it_could_not_ask(runs, set_id):
    run = begin(runs, set_id)
    assert runs.get(run.id) == run
    assert (run.state, run.k, run.embedding) == ("running", 10, "multilingual-e5-small")
    assert (run.asked, run.gone, run.outside) == (1, 1, 1)
    assert run.searched == SearchedRecord(False, 1, ("castle.md",), "f", 7)
    assert runs.asked(run.id) == ASKED


def test_results_grow_and_findings_stay(runs, set_id):
    run = begin(runs, set_id)
    runs.keep(run.id, [result("bm25", 1)], [finding("bm25")])
    runs.keep(run.id, [result("bm25", 2), result("similarity", 1)], [finding("similarity")])
    kept = runs.get(run.id).results
    assert [(line.retriever, line.queries) for line in kept] == [("similarity", 1), ("bm25", 2)]
    assert kept[0].metrics == {"recall@5": 0.5, "mrr@10": 0.25}
    assert runs.findings(run.id) == [finding("similarity"), finding("bm25")]
    assert runs.findings(run.id, 2) == []


def test_a_run_that_has_ended_stays_as_it_is(runs, set_id):
    run = begin(runs, set_id)
    runs.finish(run.id, "failed", "The disk is full.")
    runs.finish(run.id, "complete")
    runs.keep(run.id, [result("bm25")], [finding("bm25")])
    after = runs.get(run.id)
    assert (after.state, after.error, after.results) == ("failed", "The disk is full.", ())
    assert runs.findings(run.id) == []


def test_runs_of_a_set_come_newest_first(database, runs, set_id):
    other = QuestionSets(database, "ann").create("Other", "typed").id
    first, second, third = (begin(runs, id_) for id_ in (set_id, set_id, other))
    assert [run.id for run in runs.list(set_id)] == [second.id, first.id]
    assert [run.id for run in runs.list()] == [third.id, second.id, first.id]


def test_after_a_restart_a_run_that_was_under_way_is_stopped_with_what_it_has(directory):
    database = Database.open(directory)
    runs = Runs(database, "ann")
    set_id = QuestionSets(database, "ann").create("Castle", "typed").id
    under_way, complete = begin(runs, set_id), begin(runs, set_id)
    runs.keep(under_way.id, [result("bm25")], [finding("bm25")])
    runs.finish(complete.id, "complete")
    database.close()
    database = Database.open(directory)
    assert stop_running(database) == 1
    runs = Runs(database, "ann")
    assert (runs.get(under_way.id).state, len(runs.get(under_way.id).results)) == ("stopped", 1)
    assert runs.get(complete.id).state == "complete"
    database.close()


def test_a_run_that_another_process_works_on_is_stopped_once_its_lease_is_over(database, runs, set_id):
    theirs, run = JobQueue(database), begin(runs, set_id)
    assert theirs.claim("ann", RUN, set_id)
    assert stop_running(database) == 0 and runs.get(run.id).state == "running"
    with database.sharing() as session:
        session.execute(update(JobRow).values(leased_until=JobRow.run_at))
    assert stop_running(database) == 1 and runs.get(run.id).state == "stopped"


def test_what_is_kept_of_a_finding_is_bounded(runs, set_id):
    run = begin(runs, set_id, names=[f"{number}.md" for number in range(1000)])
    many = tuple(FoundRecord(f"d-{rank:05}", rank, "p" * 1000, False) for rank in range(1, 1001))
    runs.keep(run.id, [], [finding("bm25", found=many, error="e" * 9999)])
    (kept,) = runs.findings(run.id)
    assert (len(kept.found), len(kept.found[0].place), len(kept.error)) == (50, 160, 500)
    assert len(runs.get(run.id).searched.names) == 100


def test_text_that_no_database_holds_is_made_storable(runs, set_id):
    run = begin(runs, set_id, names=["a\x00\ud800"])
    place = FoundRecord("d-00000", 1, "a\x00\ud800", True)
    runs.keep(run.id, [], [finding("bm25", found=(place,), error="\x00")])
    (kept,) = runs.findings(run.id)
    assert kept.found[0].place == "a\ufffd\ufffd"
    assert runs.get(run.id).searched.names == ("a\ufffd\ufffd",)
