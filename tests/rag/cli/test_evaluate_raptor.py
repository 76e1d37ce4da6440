"""`footnote eval raptor` over a small set of the project's own."""

import json

import pytest

from rag.cli import main
from tests.rag.evaluation.test_raptor import write
from tests.rag.raptor.conftest import story


@pytest.fixture
def voyage(tmp_path, monkeypatch):
    """A folder with two documents and three questions; trees are kept beside it."""
    monkeypatch.setattr("rag.cli.evaluate.default_cache", lambda: tmp_path / "kept")
    ship, port = story(["engine", "storm"], lines=4), story(["harbour"], lines=2)
    write(tmp_path / "v.docs.jsonl", {"_id": "ship", "text": ship}, {"_id": "port", "text": port})
    write(
        tmp_path / "v.queries.jsonl",
        {"_id": "1", "doc": "ship", "text": "What is it about?", "answers": ["The engine, pump and storm."]},
        {
            "_id": "2",
            "doc": "ship",
            "text": "What must be primed?",
            "answers": ["The pump."],
            "spans": [["0", "0"]],
        },
        {"_id": "3", "doc": "port", "text": "When does it close?", "answers": ["At dusk."]},
    )
    return tmp_path


def test_each_kind_of_question_is_measured_for_each_way(voyage, capsys):
    assert main(["eval", "raptor", str(voyage), "--json", "--tokens", "300"]) == 0
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [(line["questions"], line["retriever"], line["count"]) for line in lines] == [
        (kind, way, count)
        for kind, count in (("general", 2), ("specific", 1))
        for way in ("flat", "collapsed", "traversal")
    ]
    assert all(0 < line["content"] <= 1 for line in lines)
    assert [line["content_diff"] for line in lines if line["retriever"] == "flat"] == [0.0, 0.0]
    assert lines[0]["evidence"] is None
    assert lines[3]["evidence"] > 0
    assert "building trees over 2 documents" in err


def test_summaries_of_a_model_want_a_model(voyage, capsys):
    assert main(["eval", "raptor", str(voyage), "--summaries", "model"]) == 2
    assert "FOOTNOTE_LLM_MODEL" in capsys.readouterr().err
