"""Right passages found again in documents that were split anew, replaced or removed."""

import pytest

from rag.evaluation.lab import find_quote, locate_passages, overlapping_chunks, prepare_questions
from storage.database import Database
from storage.documents import Documents
from storage.records import ChunkRecord, ChunkSpan, MarkedPassage, QuestionRecord

TEXT = "The castle was built in 1432. Its moat is nine metres deep. The garden has many roses."
MOAT = "Its moat is nine metres deep."


@pytest.fixture
def documents(database: Database) -> Documents:
    return Documents(database, "ann")


def keep(documents: Documents, name: str, text: str, *ends: int, sha256: str = "a" * 64) -> str:
    """Keep a read document whose chunks end at `ends`."""
    record, _ = documents.add(name, sha256, len(text))
    starts = [0, *ends[:-1]]
    documents.save_chunks(record.id, text, [], [ChunkSpan(*span) for span in zip(starts, ends, strict=True)])
    documents.set_state(record.id, "ready")
    documents.promote(record.id)
    return record.id


def marked(
    document_id: str, quote: str = MOAT, *, sha256: str = "a" * 64, name: str = "a.md"
) -> MarkedPassage:
    start = TEXT.index(quote)
    return MarkedPassage(document_id, name, sha256, f"{document_id}-00000", start, start + len(quote), quote)


def chunk(id_: str, start: int, end: int) -> ChunkRecord:
    return ChunkRecord(id_, "d", "a.md", "a" * 64, 0, start, end, None, "", "")


def ids(documents: Documents, passage: MarkedPassage) -> list[int]:
    """Return the numbers of the chunks that hold a passage today."""
    found = locate_passages(documents, [passage])
    return [int(id_[-5:]) for id_ in found[passage].chunk_ids] if found else []


def test_after_splitting_anew_the_chunks_that_hold_the_words_are_right(documents):
    document_id = keep(documents, "a.md", TEXT, len(TEXT))
    passage = marked(document_id)
    assert ids(documents, passage) == [0]
    documents.save_chunks(document_id, TEXT, [], [ChunkSpan(0, 29), ChunkSpan(30, 59), ChunkSpan(60, 86)])
    assert ids(documents, passage) == [1]


def test_in_a_replaced_document_the_words_are_looked_for(documents):
    passage = marked(keep(documents, "a.md", TEXT, len(TEXT)))
    newer = "A new first sentence.\n" + TEXT.replace("moat is", "moat\nis")
    keep(documents, "a.md", newer, 22, 52, len(newer), sha256="b" * 64)
    assert ids(documents, passage) == [2]
    without = "The castle is gone."
    keep(documents, "a.md", without, len(without), sha256="c" * 64)
    assert ids(documents, passage) == []


def test_the_same_contents_under_another_name_are_the_same_document(documents):
    keep(documents, "other name.md", TEXT, len(TEXT))
    assert ids(documents, marked("gone")) == [0]


def test_a_replacement_that_waits_is_not_searched_yet(documents):
    passage = marked(keep(documents, "a.md", TEXT, len(TEXT)))
    waiting, _ = documents.add("a.md", "b" * 64, 1)
    documents.save_chunks(waiting.id, "Nothing.", [], [ChunkSpan(0, 8)])
    documents.set_state(waiting.id, "searchable_by_words")
    assert ids(documents, passage) == [0]


def test_of_equal_words_the_nearest_are_meant():
    text = "Yes. No. Yes. No. Yes."
    passage = MarkedPassage("d", "a.md", "a" * 64, "c", 10, 14, "Yes.")
    assert find_quote(text, passage) == (9, 13)
    assert find_quote("No.", passage) is None
    assert find_quote(text, MarkedPassage("d", "a.md", "a" * 64, "c", 5, 6, "  ")) is None


def test_a_passage_on_the_border_of_chunks_is_held_by_each_that_has_half_of_it():
    chunks = [chunk("a", 0, 100), chunk("b", 90, 190), chunk("c", 180, 300)]
    assert overlapping_chunks(chunks, 92, 98) == ("a", "b")
    assert overlapping_chunks(chunks, 50, 99) == ("a",)
    assert overlapping_chunks(chunks, 0, 300) == ("a", "b", "c")
    assert overlapping_chunks(chunks, 400, 410) == ()
    assert overlapping_chunks([], 0, 10) == ()


def test_words_that_three_chunks_share_are_held_by_the_best_of_them():
    chunks = [chunk("a", 0, 104), chunk("b", 104, 204), chunk("c", 204, 308)]
    assert overlapping_chunks(chunks, 100, 108) == ("a", "b")
    assert overlapping_chunks([chunk("a", 0, 103), chunk("b", 104, 204)], 100, 110) == ("b",)


def test_a_passage_counts_once_whichever_of_its_chunks_is_found(documents):
    document_id = keep(documents, "a.md", TEXT, 40, len(TEXT))
    question = QuestionRecord("q", "How deep?", (marked(document_id), marked(document_id, "The garden")))
    (prepared,) = prepare_questions(documents, [question])
    assert prepared.status == "asked"
    assert len(prepared.targets) == len(set(prepared.targets))
    documents.save_chunks(document_id, TEXT, [], [ChunkSpan(0, 50), ChunkSpan(40, 62), ChunkSpan(60, 86)])
    (prepared,) = prepare_questions(documents, [question])
    names = {id_[-1]: of[-1] for id_, of in prepared.targets.items()}
    assert names == {"0": "0", "1": "0", "2": "2"}
    assert prepared.judgements == {f"{document_id}-00000": 1.0, f"{document_id}-00002": 1.0}


def test_a_question_is_asked_while_one_of_its_passages_is_among_the_chosen_documents(documents):
    first, second = keep(documents, "a.md", TEXT, len(TEXT)), keep(documents, "b.md", "x", 1, sha256="b" * 64)
    gone = MarkedPassage("gone", "gone.md", "c" * 64, "gone-00000", 0, 5, "words")
    questions = [
        QuestionRecord("1", "?", (marked(first), gone)),
        QuestionRecord("2", "?", (gone,)),
        QuestionRecord("3", "?", ()),
    ]
    assert [one.status for one in prepare_questions(documents, questions)] == ["asked", "gone", "gone"]
    assert [one.status for one in prepare_questions(documents, questions, [second])] == [
        "outside",
        "gone",
        "gone",
    ]
    assert [one.status for one in prepare_questions(documents, questions, [first])] == [
        "asked",
        "gone",
        "gone",
    ]
    assert prepare_questions(documents, questions, [second])[0].targets == {}


def test_a_strangers_document_holds_nothing(database, documents):
    passage = marked(keep(Documents(database, "bob"), "a.md", TEXT, len(TEXT)))
    assert locate_passages(documents, [passage]) == {}
