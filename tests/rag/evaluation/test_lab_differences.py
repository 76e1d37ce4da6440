from dataclasses import replace
from datetime import UTC, datetime

from rag.evaluation.lab import differences, searched_record
from rag.retrieval.weights import HybridWeights, describe_weights
from storage.records import DocumentRecord, RunRecord

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def document(name: str, sha256: str, chunks: int = 3) -> DocumentRecord:
    return DocumentRecord(name, name, sha256, 1, "ready", None, None, chunks, None, NOW, NOW)


DOCUMENTS = [document("b.md", "2"), document("a.md", "1")]
RUN = RunRecord(
    id="1",
    set_id="s",
    created=NOW,
    state="complete",
    error=None,
    retrievers=("bm25",),
    k=10,
    embedding="e5",
    mixture="meaning 0.4",
    searched=searched_record(DOCUMENTS, every=True),
    asked=8,
    gone=0,
    outside=0,
)


def test_a_run_remembers_names_number_and_contents_of_its_documents():
    assert (RUN.searched.count, RUN.searched.chunks, RUN.searched.names) == (2, 6, ("a.md", "b.md"))
    assert searched_record(DOCUMENTS[::-1], every=True) == RUN.searched
    renamed = searched_record([document("c.md", "2"), document("a.md", "1")], every=True)
    changed = searched_record([document("b.md", "3"), document("a.md", "1")], every=True)
    assert renamed.fingerprint == RUN.searched.fingerprint != changed.fingerprint


def test_runs_made_alike_differ_in_nothing():
    assert differences(replace(RUN, id="2", retrievers=("mmr",), state="stopped"), RUN) == []


def test_whatever_makes_figures_hard_to_compare_is_told():
    changed = searched_record([document("b.md", "3"), document("a.md", "1")], every=True)
    newer = replace(RUN, k=20, asked=10, embedding="", mixture="meaning 0.7", searched=changed)
    assert differences(newer, RUN) == [
        "10 questions in place of 8",
        "20 passages a search in place of 10",
        "other documents, or other contents",
        "embedding model unknown in place of e5",
        "mixture meaning 0.7 in place of meaning 0.4",
    ]


def test_a_mixture_is_said_in_words():
    assert describe_weights(HybridWeights()) == (
        "z-score scores, meaning 0.55 in alphabet, 0.5 in ja, 0.5 in ko, 0.5 in zh"
    )
    assert describe_weights(HybridWeights("z-score", {"ko": 0.25}, 9)) == "z-score scores, meaning 0.25 in ko"
