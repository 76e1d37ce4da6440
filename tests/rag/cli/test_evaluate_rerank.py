import json
from pathlib import Path

import pytest

from rag import cli
from tests.rag.fake_llm import FakeLLM, Reply, Request

TEXTS = {"a": "The mill is old.", "b": "Nobody knows.", "c": "The mill was built in 1432."}
KEYS = [
    *("dataset", "reranker", "queries", "ndcg@1", "ndcg@5", "ndcg@10"),
    *("s_per_query", "requests", "fallbacks"),
]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    folder = tmp_path / "mills"
    folder.mkdir()
    question = {"_id": "1", "text": "And when?", "rewrite": "When was the mill built?"}
    corpus = [json.dumps({"_id": id_, "title": "", "text": text}) for id_, text in TEXTS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(corpus), "utf-8")
    (folder / "queries.jsonl").write_text(json.dumps(question), "utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n1\ta\t0\n1\tb\t0\n1\tc\t1\n", "utf-8")
    return folder


@pytest.fixture
def connected(fake_llm: FakeLLM, monkeypatch: pytest.MonkeyPatch) -> FakeLLM:
    monkeypatch.setenv("FOOTNOTE_LLM_BASE_URL", fake_llm.url)
    monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "fake")
    return fake_llm


def likes_numbers(request: Request) -> dict[str, float]:
    yes = 0.9 if "1432" in request.prompt else 0.2
    return {"Yes": yes, "No": 1 - yes}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, list[dict], str]:
    status = cli.main(["eval", "rerank", *map(str, arguments), "--json"])
    printed = capsys.readouterr()
    return status, [json.loads(line) for line in printed.out.splitlines()], printed.err


def test_each_reranker_has_a_line_beside_the_given_order(dataset, connected, capsys):
    connected.reply(Reply("Yes", odds=likes_numbers))
    status, (given, ordered), _ = run(capsys, dataset, "--rerankers", "none,pointwise-logprob")
    assert status == 0 and list(given) == KEYS
    assert (given["ndcg@10"], ordered["ndcg@10"], ordered["ndcg@1"]) == (0.5, 1.0, 1.0)
    assert (given["requests"], ordered["requests"], ordered["fallbacks"]) == (0, 3, 0)


def test_a_run_file_and_a_person_s_rewrite_are_used(dataset, connected, capsys, tmp_path):
    (tmp_path / "run.tsv").write_text("1\tb\t1\t0.9\n1\tc\t2\t0.8\n", "utf-8")
    connected.say("[2] > [1]")
    asked = (dataset, "--rerankers", "listwise", "--run", tmp_path / "run.tsv", "--queries", "rewrite")
    status, (line,), _ = run(capsys, *asked)
    assert (status, line["ndcg@10"], line["requests"]) == (0, 1.0, 1)
    assert "When was the mill built?" in connected.requests[0].prompt


def test_a_fallback_is_counted_said_and_told_by_the_status(dataset, connected, capsys):
    connected.say("I cannot.")
    status, (line,), said = run(capsys, dataset, "--rerankers", "listwise")
    assert (status, line["fallbacks"], line["ndcg@10"]) == (1, 1, 0.5)
    assert "named no order of the passages" in said


def test_a_remote_reranker_s_requests_are_counted(dataset, fake_llm, capsys, monkeypatch):
    monkeypatch.setenv("FOOTNOTE_RERANK_BASE_URL", fake_llm.url)
    scores = [{"index": at, "relevance_score": at} for at in range(3)]
    fake_llm.reply(Reply(body=json.dumps({"results": scores}).encode()))
    status, (line,), _ = run(capsys, dataset, "--rerankers", "remote:m")
    assert (status, line["ndcg@10"], line["requests"], line["reranker"]) == (0, 1.0, 1, "remote:m")


def test_what_cannot_be_had_is_one_sentence(dataset, capsys):
    status, lines, said = run(capsys, dataset, "--rerankers", "none,listwise")
    assert (status, lines) == (2, []) and "none is connected" in said
    with pytest.raises(SystemExit):
        cli.main(["eval", "rerank", str(dataset), "--rerankers", "magic"])
    assert "there is no reranker 'magic'" in capsys.readouterr().err
