import json
from pathlib import Path

import pytest

from rag import cli
from tests.rag.fake_llm import FakeLLM

QUESTIONS = [
    {"_id": "1", "text": "Who was Ada Lovelace?", "rewrite": "Who was Ada Lovelace?", "history": []},
    {
        "_id": "2",
        "text": "Where did she live?",
        "rewrite": "Where did Ada Lovelace live?",
        "history": [{"role": "user", "content": "Who was Ada Lovelace?"}],
    },
]
KEYS = [
    *("dataset", "by", "turns", "gate_precision", "gate_recall", "unchanged_when_standalone"),
    *("rouge_l_f1", "p50_ms", "noted"),
]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    lines = [json.dumps(question) for question in QUESTIONS]
    (tmp_path / "queries.jsonl").write_text("\n".join(lines), "utf-8")
    return tmp_path


def test_the_rule_is_measured_against_people(dataset: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["eval", "condense", str(dataset), "--json"]) == 0
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert list(line) == KEYS
    assert (line["by"], line["turns"]) == ("rule", 2)
    assert line["gate_precision"] == line["gate_recall"] == line["unchanged_when_standalone"] == 1.0


def test_a_connected_model_has_a_line_of_its_own(
    dataset: Path, capsys: pytest.CaptureFixture[str], fake_llm: FakeLLM, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FOOTNOTE_LLM_BASE_URL", fake_llm.url)
    monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "fake")
    fake_llm.say("Where did Ada Lovelace live?")
    assert cli.main(["eval", "condense", str(dataset), "--json"]) == 0
    rule, model = map(json.loads, capsys.readouterr().out.splitlines())
    assert model["by"] == "model"
    assert rule["rouge_l_f1"] < model["rouge_l_f1"] == 1.0


def test_a_folder_without_questions_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["eval", "condense", str(tmp_path)]) != 0
    assert "queries.jsonl" in capsys.readouterr().err
