import pytest
from sqlalchemy import func, select, text

from storage.documents import Documents
from storage.errors import NotFound
from storage.lab import QuestionSets, Runs
from storage.records import ChunkSpan, MarkedPassage
from storage.tables import LabPassage, LabQuestion, LabRun, LabSet
from tests.storage.test_lab_runs import begin

MOAT = MarkedPassage("d", "성.md", "a" * 64, "d-00000", 3, 8, "moat\x00")


@pytest.fixture
def sets(database):
    return QuestionSets(database, "ann")


def test_a_set_is_found_again_with_its_questions_in_their_order(sets):
    made = sets.create("Castle", "typed")
    first = sets.add(made.id, "How deep is the moat?", [MOAT])
    second = sets.add(made.id, "해자는 얼마나 깊나요?", [MOAT, MOAT])
    assert [question.id for question in sets.questions(made.id)] == [first.id, second.id]
    assert sets.questions(made.id)[1].text == "해자는 얼마나 깊나요?"
    assert [len(question.passages) for question in sets.questions(made.id)] == [1, 2]
    assert sets.questions(made.id)[0].passages[0].quote == "moat\ufffd"
    assert (sets.get(made.id).name, sets.get(made.id).origin, sets.get(made.id).questions) == (
        "Castle",
        "typed",
        2,
    )


def test_sets_are_listed_newest_first_with_their_sizes(sets):
    old, new = sets.create("old", "typed"), sets.create("new", "made")
    sets.add(old.id, "why?", [MOAT])
    assert [(record.name, record.questions) for record in sets.list()] == [("new", 0), ("old", 1)]
    sets.rename(new.id, "n" * 1000)
    assert sets.get(new.id).name == "n" * 120


def test_a_question_taken_out_leaves_the_others_and_their_order(sets):
    made = sets.create("Castle", "typed")
    ids = [sets.add(made.id, f"question {number}?", [MOAT]).id for number in range(3)]
    sets.remove_question(ids[1])
    assert [question.id for question in sets.questions(made.id)] == [ids[0], ids[2]]
    added = sets.add(made.id, "another?", [MOAT])
    assert [question.id for question in sets.questions(made.id)] == [ids[0], ids[2], added.id]
    with pytest.raises(NotFound):
        sets.remove_question(ids[1])


def test_right_passages_outlive_their_document(database, sets):
    documents = Documents(database, "ann")
    record, _ = documents.add("castle.md", "b" * 64, 10)
    documents.save_chunks(record.id, "the moat", [], [ChunkSpan(0, 8)])
    (chunk,) = documents.chunks(record.id)
    made = sets.create("Castle", "typed")
    marked = MarkedPassage(record.id, record.name, record.sha256, chunk.id, 0, 8, chunk.text)
    sets.add(made.id, "What is there?", [marked])
    documents.delete(record.id)
    assert sets.questions(made.id)[0].passages == (marked,)


def test_a_deleted_set_takes_its_questions_and_runs_along(database, sets):
    made = sets.create("Castle", "typed")
    sets.add(made.id, "why?", [MOAT])
    begin(Runs(database, "ann"), made.id)
    sets.delete(made.id)
    assert counts(database) == [0, 0, 0, 0]


def test_everything_goes_with_its_owner(database, sets):
    made = sets.create("Castle", "typed")
    sets.add(made.id, "why?", [MOAT])
    begin(Runs(database, "ann"), made.id)
    assert counts(database) == [1, 1, 1, 1]
    with database.writing() as session:
        session.execute(text("DELETE FROM users WHERE id = 'ann'"))
    assert counts(database) == [0, 0, 0, 0]


def counts(database):
    with database.reading() as session:
        tables = (LabSet, LabQuestion, LabPassage, LabRun)
        return [session.scalar(select(func.count()).select_from(table)) for table in tables]
