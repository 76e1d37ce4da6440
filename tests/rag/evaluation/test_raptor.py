import json

import pytest

from rag.errors import QuestionRefused
from rag.evaluation.metrics import longest_common
from rag.evaluation.raptor import content_recall, evidence_recall, load_document_questions


def write(path, *entries):
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")


def long_set(folder):
    write(
        folder / "dev.docs.jsonl",
        {"_id": "a", "title": "A", "text": "One.\nTwo is here.\nThree."},
        {"_id": "b", "title": "B", "text": "Four."},
    )
    write(
        folder / "dev.queries.jsonl",
        {"_id": "1", "doc": "a", "text": "All of it?", "answers": ["One two three."]},
        {"_id": "2", "doc": "a", "text": "Two?", "answers": ["Two."], "spans": [["1", "1"], ["7", "9"]]},
        {"_id": "3", "doc": "b", "text": "What?", "kind": "specific"},
    )
    return folder


def test_long_documents_come_with_their_questions(tmp_path):
    wholes = load_document_questions(long_set(tmp_path))
    assert list(wholes.documents) == ["a", "b"]
    assert [asked.kind for asked in wholes.questions] == ["general", "specific", "specific"]
    ((name, start, end),) = wholes.questions[1].evidence
    assert wholes.documents[name][start:end] == "Two is here."
    assert [asked.text for asked in load_document_questions(tmp_path, limit=1).questions] == [
        "All of it?",
        "Two?",
    ]


def test_passages_of_one_title_are_a_document(tmp_path):
    passages = [("p1", "A", "One."), ("p2", "A", "Two."), ("p3", "B", "Three.")]
    write(tmp_path / "corpus.jsonl", *({"_id": i, "title": t, "text": x} for i, t, x in passages))
    write(tmp_path / "queries.jsonl", {"_id": "q", "text": "Two?"}, {"_id": "unjudged", "text": "?"})
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp2\t1\nq\tgone\t1\n")
    wholes = load_document_questions(tmp_path)
    (asked,) = wholes.questions
    ((name, start, end),) = asked.evidence
    assert wholes.documents[name][start:end] == "Two."
    assert asked.document is None
    assert load_document_questions(tmp_path, limit=1).questions == wholes.questions


def test_a_question_about_a_document_that_is_not_there_is_refused(tmp_path):
    write(tmp_path / "x.docs.jsonl", {"_id": "a", "text": "One."})
    write(tmp_path / "x.queries.jsonl", {"_id": "1", "doc": "b", "text": "What?"})
    with pytest.raises(QuestionRefused, match="about b"):
        load_document_questions(tmp_path)


def test_order_counts_for_content():
    reference = ["The ship left the harbour before the storm."]
    assert content_recall(reference, ["A ship left its harbour.", "Then came the storm."]) == 1.0
    assert content_recall(reference, ["Then came the storm.", "A ship left its harbour."]) == 0.75
    assert content_recall([*reference, "Grain."], ["Nothing of it."]) == 0.0


def test_evidence_found_twice_counts_once():
    assert evidence_recall([("a", 0, 4), ("a", 2, 6)], [("a", 0, 3), ("a", 0, 3)]) == 0.5
    assert evidence_recall([], [("a", 0, 3)]) == 0.0


@pytest.mark.parametrize(
    ("a", "b", "length"), [("", "abc", 0), ("abc", "", 0), ("abc", "abc", 3), ("aab", "aba", 2)]
)
def test_the_longest_common_subsequence(a, b, length):
    assert longest_common(a, b) == length
