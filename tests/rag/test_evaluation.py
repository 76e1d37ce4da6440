import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.errors import QuestionRefused, RetrievalError
from rag.evaluation import load, mrr, ndcg, percentile, recall, run
from rag.retrievers.bm25 import BM25Retriever

FOUND = st.lists(st.sampled_from("abcdefgh"), unique=True)
RIGHT = st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([0.0, 1.0, 2.0]), max_size=8)


def ndcg_oracle(found: list[str], right: dict[str, float], k: int) -> float:
    def dcg(gains: list[float]) -> float:
        total = 0.0
        for i in range(min(k, len(gains))):
            total += gains[i] / math.log2(i + 2)
        return total

    best = dcg(sorted(right.values(), reverse=True))
    return dcg([right.get(id_, 0) for id_ in found]) / best if best else 0.0


@given(FOUND, RIGHT, st.integers(1, 10))
def test_metrics_agree_with_their_definitions(found: list[str], right: dict[str, float], k: int):
    wanted = [id_ for id_ in right if right[id_] > 0]
    places = [place for place, id_ in enumerate(found[:k], start=1) if id_ in wanted]
    assert ndcg(found, right, k) == pytest.approx(ndcg_oracle(found, right, k))
    assert recall(found, right, k) == (len(places) / len(wanted) if wanted else 0)
    assert mrr(found, right, k) == (1 / places[0] if places else 0)


@given(FOUND, RIGHT, st.integers(1, 10))
def test_metrics_lie_in_0_to_1_and_the_best_order_has_1(found: list[str], right: dict[str, float], k: int):
    best = sorted((id_ for id_ in right if right[id_] > 0), key=lambda id_: -right[id_])
    for metric in (ndcg, recall, mrr):
        assert 0 <= metric(found, right, k) <= 1 + 1e-12
    if best:
        assert ndcg(best, right, k) == pytest.approx(1)
        assert mrr(best, right, k) == 1


def test_an_id_found_twice_counts_once():
    assert ndcg(["a", "a", "b"], {"a": 1.0, "b": 1.0}, 2) == pytest.approx(1.0)
    assert recall(["x", "x", "a"], {"a": 1.0}, 2) == 1.0


def test_percentiles_are_values_that_occurred():
    assert percentile([4.0, 1.0, 3.0, 2.0], 50) == 2.0
    assert percentile([1.0], 95) == 1.0
    assert percentile([], 95) == 0.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = [
        {"_id": "d1", "title": "고양이", "text": "고양이는 동물이다.\u2028둘째 줄"},
        {"_id": "d2", "text": "Dogs bark."},
        {"_id": "d3", "title": "", "text": "犬がいる。"},
    ]
    questions = [
        {"_id": "q1", "text": "고양이"},
        {"_id": "q2", "text": "dog"},
        {"_id": "unjudged", "text": "?"},
    ]
    write(tmp_path / "corpus.jsonl", corpus)
    write(tmp_path / "queries.jsonl", questions)
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\r\nq2\td3\t0\n")
    return tmp_path


def write(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text(
        "\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n", encoding="utf-8"
    )


def test_a_question_set_is_read_with_its_judged_questions(folder: Path):
    questions = load(folder)
    assert [document.id for document in questions.corpus] == ["d1", "d2", "d3"]
    assert questions.corpus[0].page_content == "고양이\n고양이는 동물이다.\u2028둘째 줄"
    assert questions.corpus[1].page_content == "Dogs bark."
    assert questions.questions == {"q1": "고양이", "q2": "dog"}
    assert questions.judgements["q2"] == {"d2": 2.0, "d3": 0.0}
    assert list(load(folder, limit=1).questions) == ["q1"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("corpus.jsonl", '\n{"_id": "d1"', "Line 2"),
        ("corpus.jsonl", '{"_id": "d1"}', "Line 1"),
        ("corpus.jsonl", "[]", "Line 1"),
        ("qrels.tsv", "header\nq1 d1 1\n", "Line 2"),
        ("queries.jsonl", None, "cannot be read"),
    ],
)
def test_a_damaged_set_is_refused_naming_file_and_line(
    folder: Path, name: str, content: str | None, said: str
):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_text(content)
    with pytest.raises(QuestionRefused, match=said) as refused:
        load(folder)
    assert name in str(refused.value)


class Broken(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager) -> list[Document]:
        raise RetrievalError("The disk is gone.")


def test_a_run_measures_each_retriever_and_counts_its_errors(folder: Path):
    questions = load(folder)
    words, broken = run(
        questions, {"words": BM25Retriever.from_documents(questions.corpus, k=10), "broken": Broken()}
    )
    line = words.as_dict()
    assert (line["retriever"], line["queries"], line["errors"]) == ("words", 2, 0)
    assert line["ndcg@5"] == line["ndcg@10"] == line["recall@1"] == line["recall@5"] == line["mrr@10"] == 1.0
    assert 0 < line["p50_ms"] <= line["p95_ms"]
    assert broken.errors == 2
    assert set(broken.metrics.values()) == {0.0}
