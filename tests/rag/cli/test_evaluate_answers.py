import json
from pathlib import Path

import pytest

from rag import cli
from rag.settings import default_model_cache

CORPUS = {
    "castle": "The castle of Aldenburg was built in 1432. Its moat is nine metres deep.",
    "harbour": "The harbour of Brunnstad is eleven metres deep and freezes in January.",
    "light": "등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.",
}
QUESTIONS = [
    ("built", "When was the castle of Aldenburg built?", ["1432"], "castle"),
    ("oil", "등불은 무엇으로 탔나요?", ["고래기름"], "light"),
    ("cold", "When does the harbour of Brunnstad freeze?", ["in March"], "harbour"),
]


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOOTNOTE_MODEL_CACHE", str(default_model_cache()))
    monkeypatch.setenv("FOOTNOTE_RETRIEVER", "bm25")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = tmp_path / "made"
    folder.mkdir()
    passages = [{"_id": id_, "title": "", "text": text} for id_, text in CORPUS.items()]
    asked = [{"_id": id_, "text": text, "answers": answers} for id_, text, answers, _ in QUESTIONS]
    for name, entries in (("corpus", passages), ("queries", asked)):
        lines = [json.dumps(entry, ensure_ascii=False) for entry in entries]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    judged = "".join(f"{id_}\t{passage}\t1\n" for id_, _, _, passage in QUESTIONS)
    (folder / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    return folder


def test_answers_are_measured_by_what_they_cite(dataset: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["eval", "answers", str(dataset), "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["dataset"], line["questions"], line["abstained"], line["sentences_verified"]) == (
        "made",
        3,
        0,
        1,
    )
    assert line["first_holds_answer"] == line["any_holds_answer"] == 0.6667
    assert 0 < line["p50_s"] <= line["p95_s"]


def test_fewer_questions_may_be_asked(dataset: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["eval", "answers", str(dataset), "--limit", "1"]) == 0
    assert "any_holds_answer     1" in capsys.readouterr().out


def test_a_set_without_answers_is_one_sentence(dataset: Path, capsys: pytest.CaptureFixture[str]):
    queries = (dataset / "queries.jsonl").read_text().replace('"answers"', '"replies"')
    (dataset / "queries.jsonl").write_text(queries)
    assert cli.main(["eval", "answers", str(dataset)]) == 2
    assert "no question with answers" in capsys.readouterr().err


def test_what_documents_do_not_answer_is_counted(dataset: Path, capsys: pytest.CaptureFixture[str]):
    kinds = [(QUESTIONS[0][1], "ANSWERABLE"), ("Which cats purr in Norwegian?", "UNANSWERABLE")]
    tasks = [{"text": t, "history": [], "enrichments": {"Answerability": [kind]}} for t, kind in kinds]
    (dataset / "all_tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)), encoding="utf-8")
    assert cli.main(["eval", "answers", str(dataset), "--unanswerable", "--json"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert (line["refused"], line["falsely_refused"], line["balanced_accuracy"]) == (1, 0, 1)
    assert cli.main(["eval", "answers", str(dataset), "--unanswerable"]) == 0
    assert "threshold 0.50  refused 1.00  falsely_refused 0.00" in capsys.readouterr().out
