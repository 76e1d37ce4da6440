import json
from pathlib import Path

import pytest

from rag.errors import QuestionRefused
from rag.evaluation.answers import LabelledTurn, RefusalDecision, load_labelled_turns, refusal_report

TASKS = [
    {"text": "When?", "history": [], "enrichments": {"Answerability": ["ANSWERABLE"]}},
    {
        "text": "And where?",
        "history": [{"role": "user", "content": "When?"}],
        "enrichments": {"Answerability": ["UNANSWERABLE"]},
    },
    {"text": "Hi", "history": [], "enrichments": {"Answerability": ["CONVERSATIONAL"]}},
]


def written(folder: Path, *tasks: object) -> Path:
    (folder / "all_tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)), encoding="utf-8")
    return folder


def test_turns_are_read_with_their_conversation(tmp_path: Path):
    assert load_labelled_turns(written(tmp_path, *TASKS)) == [
        LabelledTurn("When?", (), True),
        LabelledTurn("And where?", (("user", "When?"),), False),
    ]


def test_what_is_no_turn_or_only_of_one_kind_is_refused(tmp_path: Path):
    with pytest.raises(QuestionRefused, match="Line 1 of"):
        load_labelled_turns(written(tmp_path, {"text": "When?"}))
    with pytest.raises(QuestionRefused, match="needs turns"):
        load_labelled_turns(written(tmp_path, TASKS[0]))


def test_both_errors_are_told_as_decided_and_along_the_curve():
    told = refusal_report(
        "made",
        [
            RefusalDecision(True, 0.9, True),
            RefusalDecision(False, 0.4, True),
            RefusalDecision(False, 0.3, False),
        ],
    )
    assert (told["refused"], told["falsely_refused"], told["balanced_accuracy"]) == (1.0, 0.5, 0.75)
    assert told["curve"][7] == {
        "threshold": 0.35,
        "refused": 1.0,
        "falsely_refused": 0,
        "balanced_accuracy": 1,
    }
