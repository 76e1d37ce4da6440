import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.errors import QuestionRefused
from rag.evaluation.rewriting import load_follow_ups, rewrite_all, rewriting_report, rouge_l

HISTORY = [
    {"role": "user", "content": "Who was Ada Lovelace?"},
    {"role": "assistant", "content": "A countess."},
]


def folder(path: Path, *questions: dict[str, object]) -> Path:
    lines = [json.dumps({"_id": str(at), **question}) for at, question in enumerate(questions)]
    (path / "queries.jsonl").write_text("\n".join(lines), "utf-8")
    return path


def turn(text: str, rewrite: str, history: object = HISTORY) -> dict[str, object]:
    return {"text": text, "rewrite": rewrite, "history": history}


def test_turns_are_counted_by_what_people_did_with_them(tmp_path: Path):
    turns = load_follow_ups(
        folder(
            tmp_path,
            turn("Who was Ada Lovelace?", "who was Ada Lovelace", []),
            turn("Where did she live?", "Where did Ada Lovelace live?"),
            turn("What did the countess write about in London?", "What did Ada Lovelace write about?"),
            turn("What is a Bernoulli number?", "What is a Bernoulli number?"),
        )
    )
    found = rewriting_report(list(rewrite_all(turns)))
    assert (found["turns"], found["gate_precision"], found["gate_recall"]) == (4, 0.6667, 1.0)
    assert found["unchanged_when_standalone"] == 0.5, "without an embedding model terms are always carried"
    assert 0.5 < found["rouge_l_f1"] < 1.0
    assert found["p50_ms"] > 0


def test_nothing_changed_and_nothing_to_change_are_no_errors(tmp_path: Path):
    found = rewriting_report(
        list(rewrite_all(load_follow_ups(folder(tmp_path, turn("Who is Ada?", "Who is Ada?", [])))))
    )
    assert (found["gate_precision"], found["gate_recall"], found["rouge_l_f1"]) == (0.0, 0.0, 1.0)


def test_a_limit_takes_the_first_turns(tmp_path: Path):
    folder(tmp_path, turn("One?", "One?"), turn("Two?", "Two?"))
    assert [found.text for found in load_follow_ups(tmp_path, limit=1)] == ["One?"]


def test_a_set_without_rewrites_is_refused_by_name(tmp_path: Path):
    with pytest.raises(QuestionRefused, match="no question with a rewrite"):
        load_follow_ups(folder(tmp_path, {"text": "Who?"}))


words = st.lists(st.sampled_from(["red", "green", "blue", "서울", "東京"]), min_size=1, max_size=6).map(
    " ".join
)


@given(words, words)
def test_rouge_is_1_for_the_same_0_for_nothing_shared_and_the_same_both_ways(one: str, other: str):
    assert rouge_l(one, one) == 1.0
    assert rouge_l(one, "yellow") == 0.0
    assert rouge_l(one, other) == rouge_l(other, one) <= 1.0
