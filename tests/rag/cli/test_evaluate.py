import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rag import cli
from rag.evaluation.collection import open_collection
from rag.evaluation.datasets import load
from rag.models.embeddings import Embedder
from rag.settings import default_model_cache
from tests.rag.fake_llm import FakeLLM

KEYS = [
    *("dataset", "retriever", "queries", "ndcg@5", "ndcg@10", "recall@1", "recall@5", "recall@10"),
    *("mrr@10", "p50_ms", "p95_ms", "index_s", "errors"),
]
CORPUS = {
    "castle": ("Castle", "The castle of Aldenburg was built in 1432. Its moat is nine metres deep."),
    "harbour": ("Harbour", "The harbour of Brunnstad is eleven metres deep and freezes in January."),
    "light": ("등대", "등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다."),
    "hanok": ("한옥", "한옥의 온돌은 아궁이에서 데운 공기로 바닥을 따뜻하게 한다."),
    "tea": ("茶", "煎茶は八十度のお湯で一分ほど蒸らすとおいしい。"),
    "train": ("鉄道", "始発の列車は午前五時に駅を出発する。"),
}
BEFORE = [
    {"role": "user", "content": "When was the castle of Aldenburg built?"},
    {"role": "assistant", "content": "In 1432."},
]
QUESTIONS: list[dict[str, Any]] = [
    {"_id": "built", "text": "When was the castle of Aldenburg built?"},
    {"_id": "moat", "text": "And how deep is it?", "history": BEFORE, "rewrite": "How deep is its moat?"},
    {"_id": "oil", "text": "등불은 무엇으로 탔나요?"},
    {"_id": "first", "text": "始発の列車は何時に出発しますか。"},
]
RIGHT = {"built": "castle", "moat": "castle", "oil": "light", "first": "train"}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    return made(tmp_path / "small", QUESTIONS)


def made(folder: Path, questions: list[dict[str, Any]]) -> Path:
    folder.mkdir()
    passages = [{"_id": id_, "title": title, "text": text} for id_, (title, text) in CORPUS.items()]
    for name, entries in (("corpus", passages), ("queries", questions)):
        lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    judged = "".join(f"{question['_id']}\t{RIGHT[question['_id']]}\t1\n" for question in questions)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    return folder


@pytest.fixture(autouse=True)
def indexes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where indexes are kept; the embedding model stays where the machine has it."""
    monkeypatch.setenv("FOOTNOTE_MODEL_CACHE", str(default_model_cache()))
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "footnote" / "evaluation"


def evaluate(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[Any], str]:
    try:
        status = cli.main(["eval", "retrieval", *map(str, arguments), "--json"])
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    printed = capsys.readouterr()
    return status, [json.loads(line) for line in printed.out.splitlines()], printed.err


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "rag.cli", "eval", "retrieval", *map(str, arguments)]


@pytest.mark.timeout(300)
def test_every_retriever_has_its_line_and_a_second_run_embeds_no_passage(
    capsys: pytest.CaptureFixture[str], dataset: Path
):
    status, lines, err = evaluate(capsys, dataset)
    assert status == 0
    assert "embedding 6 passages" in err
    assert all(list(line) == KEYS for line in lines)
    assert [line["retriever"] for line in lines] == [
        *("similarity", "mmr", "bm25", "ensemble-rrf", "ensemble-cc")
    ]
    assert {(line["dataset"], line["queries"], line["errors"]) for line in lines} == {("small", 4, 0)}
    assert all(line["recall@5"] >= 0.75 and line["p50_ms"] <= line["p95_ms"] for line in lines)
    status, again, err = evaluate(capsys, dataset)
    assert (status, err) == (0, "")
    assert [line["ndcg@10"] for line in again] == [line["ndcg@10"] for line in lines]


@pytest.mark.timeout(300)
def test_two_at_once_take_turns(dataset: Path, embedder: Embedder, indexes: Path):
    questions = load(dataset)
    with open_collection(
        questions.corpus, lambda: embedder, cache=indexes, waiting=lambda: None, progress=lambda *_: None
    ) as collection:
        second = subprocess.Popen(
            command(dataset, "--retrievers", "similarity", "--json"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert second.stderr is not None
        assert "waiting" in second.stderr.readline()
        collection.retriever("similarity", 1)
    out, err = second.communicate()
    assert (second.returncode, err) == (0, "")
    assert json.loads(out)["recall@5"] >= 0.75


def test_follow_ups_are_searched_as_asked_as_rewritten_or_as_the_app_condenses_them(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
):
    folder = made(tmp_path / "follow-up", QUESTIONS[1:2])
    found = {}
    for queries in ("text", "rewrite", "condensed"):
        _, (line,), _ = evaluate(capsys, folder, "--retrievers", "bm25", "--queries", queries)
        found[queries] = line["recall@1"]
    # "deep" alone is said of the shorter passage; the rewrite names the moat, the conversation the castle
    assert found == {"text": 0.0, "rewrite": 1.0, "condensed": 1.0}


def test_a_connected_model_condenses_as_in_the_app(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, fake_llm: FakeLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FOOTNOTE_LLM_BASE_URL", fake_llm.url)
    monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "fake")
    folder = made(tmp_path / "follow-up", QUESTIONS[1:2])
    evaluate(capsys, folder, "--retrievers", "bm25", "--queries", "text")
    assert fake_llm.requests == []
    evaluate(capsys, folder, "--retrievers", "bm25", "--queries", "condensed")
    assert len(fake_llm.requests) == 1


def test_a_rewrite_that_nobody_wrote_is_missed(capsys: pytest.CaptureFixture[str], dataset: Path):
    status, lines, err = evaluate(capsys, dataset, "--queries", "rewrite")
    assert (status, lines) == (2, [])
    assert "no rewrite of the question built" in err and err.count("\n") == 1


def test_only_so_many_questions_and_passages_as_asked_for(capsys: pytest.CaptureFixture[str], dataset: Path):
    options = ("--retrievers", "bm25,bm25", "--limit", 2, "--k", 1)
    _, (line,), _ = evaluate(capsys, dataset, *options)
    assert (line["queries"], line["recall@1"]) == (2, line["recall@10"])


def test_without_json_there_is_a_table(capsys: pytest.CaptureFixture[str], dataset: Path):
    assert cli.main(["eval", "retrieval", str(dataset), "--retrievers", "bm25"]) == 0
    head, row = capsys.readouterr().out.splitlines()
    assert head.split() == [key for key in KEYS if key != "dataset"]
    assert len(head.split()) == len(row.split()) and len(head) == len(row)
    assert row.startswith("bm25")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--retrievers", "bm25,magic"],
        ["--retrievers", ""],
        ["--queries", "shouted"],
        ["--k", "0"],
        ["--k", "51"],
        ["--k", "many"],
        ["--limit", "0"],
        ["--limit", "-1"],
        ["--retrievers", "similarity", "--model", "openai:of-a-server-that-is-not-there"],
    ],
    ids=" ".join,
)
def test_a_wrong_option_is_one_sentence_and_2(
    capsys: pytest.CaptureFixture[str], dataset: Path, arguments: list[str]
):
    status, lines, err = evaluate(capsys, dataset, *arguments)
    assert (status, lines) == (2, [])
    assert err.startswith("footnote: ") and err.count("\n") == 1


@pytest.mark.parametrize("missing", ["corpus.jsonl", "queries.jsonl", "qrels.tsv", ""])
def test_a_missing_file_is_one_sentence_and_2(
    capsys: pytest.CaptureFixture[str], dataset: Path, missing: str
):
    (dataset / missing).unlink() if missing else dataset.rename(dataset.with_name("elsewhere"))
    status, lines, err = evaluate(capsys, dataset)
    assert (status, lines) == (2, [])
    assert err.startswith("footnote: ") and err.count("\n") == 1
    assert missing in err and os.fspath(dataset) in err
