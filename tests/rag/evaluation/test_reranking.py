from collections.abc import Sequence
from pathlib import Path

import pytest
from langchain_core.documents import Document

from rag.errors import QuestionRefused, RerankError
from rag.evaluation.datasets import QuestionSet
from rag.evaluation.runs import (
    candidates_from_run,
    judged_candidates,
    read_run,
    rerank_all,
    reranking_report,
)
from rag.jobs import Cancel
from rag.retrieval.rerank.base import Reranker, RerankScores

SET = QuestionSet(
    name="colours",
    corpus=tuple(Document(text, id=text) for text in ("red", "green", "blue")),
    questions={"1": "first", "2": "second"},
    judgements={"1": {"red": 0.0, "gone": 1.0, "blue": 2.0}, "2": {"green": 1.0}},
)


class Backwards(Reranker):
    """Puts the last first, and fails where there is but one."""

    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> RerankScores:
        if len(documents) < 2:
            raise RerankError("There is nothing to order.")
        return RerankScores(list(range(len(documents))))


def written(folder: Path, *lines: str) -> Path:
    (folder / "run.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "run.tsv"


def test_the_judged_passages_come_as_they_are_judged_and_what_is_gone_cannot_be_ordered():
    assert {id_: [d.id for d in given] for id_, given in judged_candidates(SET).items()} == {
        "1": ["red", "blue"],
        "2": ["green"],
    }


def test_a_reranker_is_measured_on_all_questions_and_its_failures_are_counted():
    given = reranking_report(SET, "none", list(rerank_all(SET, judged_candidates(SET), "none", None)))
    done = list(rerank_all(SET, judged_candidates(SET), "backwards", Backwards()))
    turned = reranking_report(SET, "backwards", done, requests=3)
    assert (given["ndcg@1"], turned["ndcg@1"]) == (0.5, 1.0)
    assert [one.error for one in done] == [None, "There is nothing to order."]
    assert turned.keys() == {
        *("dataset", "reranker", "queries", "ndcg@1", "ndcg@5", "ndcg@10"),
        *("s_per_query", "requests", "fallbacks"),
    }
    assert [turned["queries"], turned["requests"], turned["fallbacks"], given["fallbacks"]] == [2, 3, 1, 0]


@pytest.mark.parametrize(
    "lines",
    [
        ["1\tblue\t2\t0.5", "1\tred\t1\t0.9", "2\tgreen\t1\t0.1", "1\tnowhere\t3\t0.2"],
        ["1 Q0 blue 2 0.5 bm25", "1 Q0 red 1 0.9 bm25", "2 Q0 green 1 0.1 bm25", "1 Q0 nowhere 3 0.2 bm25"],
        ["1\tQ0\tred\t1\t0.9\tmine", "", "1\tQ0\tblue\t2\t0.5\tmine", "2\tQ0\tgreen\t1\t1\tmine"],
    ],
)
def test_a_run_is_read_by_its_ranks_in_either_form(tmp_path: Path, lines: list[str]):
    candidates = candidates_from_run(SET, read_run(written(tmp_path, *lines)))
    assert {id_: [d.id for d in given] for id_, given in candidates.items()} == {
        "1": ["red", "blue"],
        "2": ["green"],
    }


def test_a_question_that_a_run_lacks_has_no_passages(tmp_path: Path):
    assert candidates_from_run(SET, read_run(written(tmp_path, "1\tred\t1\t0.9")))["2"] == []


@pytest.mark.parametrize("line", ["1\tred", "1\tred\tfirst\t0.9", "just words here and more of them", "1"])
def test_a_line_that_is_of_no_run_is_named(tmp_path: Path, line: str):
    with pytest.raises(QuestionRefused, match=r"Line 2 of .*run\.tsv"):
        read_run(written(tmp_path, "1\tred\t1\t0.9", line))


def test_a_run_of_other_questions_is_refused(tmp_path: Path):
    with pytest.raises(QuestionRefused, match="no passage of colours"):
        candidates_from_run(SET, read_run(written(tmp_path, "9\tred\t1\t0.9")))
