import json
from pathlib import Path

import pytest

from rag import cli
from rag.evaluation.answers import load_claims

TEXT = "The castle of Aldenburg was built in 1432. Its moat is nine metres deep, and its tower has 214 steps."
CLAIMS = [
    {"claim": "The castle of Aldenburg was built in 1432.", "passages": [TEXT], "supported": True},
    {"claim": "The tower has 214 steps.", "passages": ["Cats sleep.", TEXT], "supported": True},
    {"claim": "The tower has 241 steps.", "passages": [TEXT], "supported": False},
    {"claim": "The king slept badly in the tower.", "passages": [TEXT], "supported": False},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "made.jsonl"
    path.write_text("\n".join(map(json.dumps, CLAIMS)), encoding="utf-8")
    return path


def test_citations_are_measured_by_words_and_by_meaning(file: Path, capsys: pytest.CaptureFixture[str]):
    for more in ([], ["--words"]):
        assert cli.main(["eval", "citations", str(file), "--json", *more]) == 0
        line = json.loads(capsys.readouterr().out)
        assert line["dataset"] == "made"
        assert (line["claims"], line["supported"]) == (len(load_claims(file)), 2)
        assert (line["verified"], line["precision"], line["recall"], line["f1"], line["accuracy"]) == (
            2,
            1,
            1,
            1,
            1,
        )
        assert (line["differs"], line["related"] + line["unsupported"]) == (1, 1)
        assert line["ms_per_claim"] > 0


def test_the_curve_is_printed_for_people_too(file: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["eval", "citations", str(file), "--words", "--curve"]) == 0
    out = capsys.readouterr().out
    assert "precision     1.0" in out
    assert "1.00  precision 1.000  recall 0.500" in out


def test_a_file_that_is_none_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["eval", "citations", str(tmp_path / "none.jsonl"), "--words"]) == 2
    assert "none.jsonl cannot be read" in capsys.readouterr().err
