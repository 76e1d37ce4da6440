import json
from pathlib import Path
from typing import Any

import pytest

from rag.errors import QuestionRefused
from rag.evaluation.datasets import load

TURNS = [{"role": "user", "content": "개는?"}, {"role": "assistant", "content": "짖는다."}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    corpus = [
        {"_id": "d1", "title": "고양이", "text": "고양이는 동물이다.\u2028둘째 줄"},
        {"_id": "d2", "text": "Dogs bark."},
        {"_id": "d3", "title": "", "text": "犬がいる。"},
    ]
    questions = [
        {"_id": "q1", "text": "고양이", "history": [], "rewrite": "고양이는 무엇인가?"},
        {"_id": "q2", "text": "dog", "history": TURNS},
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


def squad(*contexts: str, impossible: bool = False) -> str:
    paragraphs = [
        {
            "context": context,
            "qas": [{"id": f"q{n}", "question": f"{n}?", "is_impossible": impossible, "answers": []}],
        }
        for n, context in enumerate(contexts)
    ]
    return json.dumps({"version": "1", "data": [{"title": "동물", "paragraphs": paragraphs}]})


def test_a_question_set_is_read_with_its_judged_questions(folder: Path):
    questions = load(folder)
    assert questions.name == folder.name
    assert [document.id for document in questions.corpus] == ["d1", "d2", "d3"]
    assert questions.corpus[0].page_content == "고양이\n고양이는 동물이다.\u2028둘째 줄"
    assert questions.corpus[1].page_content == "Dogs bark."
    assert questions.questions == {"q1": "고양이", "q2": "dog"}
    assert questions.judgements["q2"] == {"d2": 2.0, "d3": 0.0}
    assert list(load(folder, limit=1).questions) == ["q1"]


def test_conversations_and_rewrites_come_with_their_questions(folder: Path):
    questions = load(folder)
    assert questions.histories == {"q2": [("user", "개는?"), ("assistant", "짖는다.")]}
    assert load(folder, limit=1).rewritten().questions == {"q1": "고양이는 무엇인가?"}
    with pytest.raises(QuestionRefused, match="no rewrite of the question q2"):
        questions.rewritten()


@pytest.mark.parametrize("inside", [True, False], ids=["folder", "file"])
def test_squads_form_is_read_by_its_file_and_by_its_folder(tmp_path: Path, inside: bool):
    file = tmp_path / "animals.json"
    file.write_text(squad("고양이는 동물이다.", "Dogs bark.", "고양이는 동물이다."))
    (tmp_path / "meta.json").write_text("{}")
    questions = load(tmp_path if inside else file)
    assert questions.name == (tmp_path.name if inside else "animals")
    assert [d.page_content for d in questions.corpus] == ["동물\n고양이는 동물이다.", "동물\nDogs bark."]
    cat, dogs = (document.id for document in questions.corpus)
    assert questions.judgements == {"q0": {cat: 1.0}, "q1": {dogs: 1.0}, "q2": {cat: 1.0}}
    assert questions.questions["q1"] == "1?"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("corpus.jsonl", '\n{"_id": "d1"', "Line 2"),
        ("corpus.jsonl", '{"_id": "d1"}', "Line 1"),
        ("corpus.jsonl", '{"_id": "d1", "text": null}', "Line 1"),
        ("corpus.jsonl", '{"_id": "d1", "title": 1, "text": ""}', "Line 1"),
        ("corpus.jsonl", "[" * 100_000, "Line 1"),
        ("corpus.jsonl", "[]", "Line 1"),
        ("corpus.jsonl", '{"_id": "d", "text": ""}\n{"_id": "d", "text": ""}', "Line 2"),
        ("qrels.tsv", "header\nq1 d1 1\n", "Line 2"),
        ("queries.jsonl", '{"_id": "q1", "text": "?", "history": [1]}', "Line 1"),
        ("queries.jsonl", '{"_id": "q1", "text": "?", "history": "before"}', "Line 1"),
        (
            "queries.jsonl",
            '{"_id": "q1", "text": "?", "history": [{"role": "user", "content": 1}]}',
            "Line 1",
        ),
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


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"data": 1}', '{"data": [{"paragraphs": [{}]}]}', "[" * 100_000]
)
def test_a_file_of_another_form_is_refused_by_name(tmp_path: Path, content: str):
    (tmp_path / "set.json").write_text(content)
    with pytest.raises(QuestionRefused, match=r"set\.json"):
        load(tmp_path / "set.json")


def test_a_set_without_a_right_passage_is_refused(folder: Path, tmp_path: Path):
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t0\n")
    with pytest.raises(QuestionRefused, match="no question with a right passage"):
        load(folder)
    (tmp_path / "set.json").write_text(squad("Dogs bark.", impossible=True))
    with pytest.raises(QuestionRefused, match="no question with a right passage"):
        load(tmp_path / "set.json")


def test_a_path_that_no_file_can_have_is_refused():
    with pytest.raises(QuestionRefused, match="cannot be read"):
        load(Path("x" * 300))
