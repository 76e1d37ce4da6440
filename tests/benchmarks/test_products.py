"""The parts of the comparison that need no product: the task, its scores, the table, and the model server."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import openai
import pytest

from benchmarks.product_steps.model_server import EMBEDDING, SENTENCE, serving
from benchmarks.product_steps.process import ProductFailed, Running, disk, free_port
from benchmarks.product_steps.report import Result, Spent, figures, times
from benchmarks.product_steps.task import Question, draw, hits
from tests.rag.word_vectors import WordVectors

SEARCH = {"type": "function", "function": {"name": "search_documents", "parameters": {}}}


def model() -> WordVectors:
    return WordVectors("words")


@pytest.fixture
def question_set(tmp_path: Path) -> Path:
    passages = [
        {"_id": f"p{n}", "title": f"Port {n}", "text": f"Port {n} has {n} cranes."} for n in range(30)
    ]
    asked = [{"_id": f"q{n}", "text": f"How many cranes has port {n}?"} for n in range(10)]
    judged = ["query-id\tcorpus-id\tscore", *(f"q{n}\tp{n}\t1" for n in range(9)), "q0\tp20\t0"]
    for name, lines in (("corpus.jsonl", passages), ("queries.jsonl", asked)):
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "qrels.tsv").write_text("\n".join(judged))
    return tmp_path


@pytest.fixture
def server() -> Iterator[str]:
    with serving(model) as address:
        yield address


def test_each_question_that_is_drawn_has_its_answer_among_the_documents(question_set: Path, tmp_path: Path):
    task = draw(question_set, documents=12, questions=5, seed=3)
    assert (len(task.documents), len(task.questions)) == (12, 5)
    for question in task.questions:
        (name,) = question.files
        number = question.text.removesuffix("?").split()[-1]
        assert task.documents[name] == f"Port {number}\n\nPort {number} has {number} cranes.\n"
    assert [path.read_text() for path in task.write(tmp_path / "files")] == list(task.documents.values())


def test_a_seed_draws_the_same_task(question_set: Path):
    assert draw(question_set, 12, 5, 3) == draw(question_set, 12, 5, 3) != draw(question_set, 12, 5, 4)
    assert len(draw(question_set, 500, 50, 0).questions) == 9, "one has no answer"


def test_a_hit_is_a_right_file_among_the_first():
    asked = [
        Question("a", frozenset({"1"})),
        Question("b", frozenset({"2"})),
        Question("c", frozenset({"3", "4"})),
    ]
    found = [["1", "2"], ["1", "2"], ["4"]]
    assert [hits(found, asked, depth) for depth in (1, 2)] == [2, 3]


def test_times_are_ratios_and_failures_are_sentences():
    first = Result(
        "Footnote", spent={"add": Spent(9.0, 4.0), "page": Spent(2.0, 1.0)}, among=49, again=49, gone=True
    )
    last = Result("Footnote", spent={"add": Spent(11.0, 4.0), "page": Spent(2.0, 1.0)}, among=49)
    other = Result(
        "Other", "1.2", spent={"add": Spent(25.0, 0.2)}, memory=2_000_000_000, among=40, first=30, again=39
    )
    failed = Result("Third", "3", failed="it does not install: no wheel")
    results = [first, other, failed, last]
    assert list(times(results))[2:] == [
        "| Footnote | 0.9 / 1.0 | none | none | 1.0 / 1.0 | none |",
        "| Other 1.2 | 2.5 / 0.05 | none | none | none | none |",
        "| Footnote | 1.1 / 1.0 | none | none | 1.0 / 1.0 | none |",
    ]
    lines = list(figures(results, 50))
    assert lines[3] == "| Other 1.2 | 40 | 30 | 39 | **no** | 2,000 MB | 0.0 MB |"
    assert lines[-1] == "\nThird 3: it does not install: no wheel"


def test_the_server_embeds_as_its_model_does_in_both_forms(server: str):
    client = openai.OpenAI(base_url=f"{server}/v1", api_key="none")
    texts = ["a harbour", "a crane"]
    expected = model().embed_documents(texts)
    for form in ({}, {"encoding_format": "float"}):  # the package asks for base64 by itself
        made = client.embeddings.create(model=EMBEDDING, input=texts, **form)  # type: ignore[call-overload]
        assert np.allclose([one.embedding for one in made.data], expected, atol=1e-6), form
    refused = httpx.post(f"{server}/v1/embeddings", json={"input": [[1, 2]]})
    assert refused.status_code == 400 and "takes no tokens" in refused.json()["error"]["message"]


def test_the_stand_in_names_the_first_passage_whole_and_as_a_stream(server: str):
    client = openai.OpenAI(base_url=f"{server}/v1", api_key="none")
    asked = [{"role": "user", "content": "From document-0007.txt and document-0002.txt: how many?"}]
    whole = client.chat.completions.create(model="stand-in", messages=asked)  # type: ignore[call-overload]
    pieces = client.chat.completions.create(model="stand-in", messages=asked, stream=True)  # type: ignore[call-overload]
    said = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert whole.choices[0].message.content == said == f"{SENTENCE} document-0007.txt"


def test_the_stand_in_searches_once_with_the_question(server: str):
    client = openai.OpenAI(base_url=f"{server}/v1", api_key="none")
    asked = [{"role": "system", "content": "Search."}, {"role": "user", "content": "How many cranes?"}]
    first = client.chat.completions.create(model="stand-in", messages=asked, tools=[SEARCH])  # type: ignore[call-overload]
    (call,) = first.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == (
        "search_documents",
        {"query": "How many cranes?"},
    )
    given = [*asked, first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "Seven."}]
    second = client.chat.completions.create(model="stand-in", messages=given, tools=[SEARCH])  # type: ignore[call-overload]
    assert second.choices[0].message.content == SENTENCE


def test_processes_that_left_the_tree_are_counted_and_ended(tmp_path: Path):
    port = free_port()
    daemon = f"""
import subprocess, sys
server = [sys.executable, "-m", "http.server", "{port}", "--bind", "127.0.0.1"]
subprocess.Popen(server, start_new_session=True)
import time
time.sleep(600)
"""
    running = Running([sys.executable, "-c", daemon], {}, tmp_path)
    with running:
        took = running.wait_for(f"http://127.0.0.1:{port}/")
        assert took.seconds > 0 and took.processor > 0
        while not running.peak:
            time.sleep(0.05)
    with pytest.raises(httpx.TransportError):
        httpx.get(f"http://127.0.0.1:{port}/")
    assert disk(tmp_path) >= 0


def test_a_product_that_ends_says_its_last_line(tmp_path: Path):
    command = [sys.executable, "-c", "import sys; sys.exit('no database')"]
    with Running(command, {}, tmp_path) as running, pytest.raises(ProductFailed, match="no database"):
        running.wait_for("http://127.0.0.1:9/")
