"""The judged statements are well-formed and apart by document, and their references lead to text."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from reportlab.pdfgen.canvas import Canvas

from benchmarks.statements import FILES, Sources, UnresolvedReference, resolved, statements

HALVES = ("fit", "report")
BOTH = {half: statements(half) for half in FILES}
SHAPES: list[set[str]] = [
    {"text"},
    {"set", "id"},
    {"set", "id", "start", "end"},
    {"file", "anchor", "until"},
    {"file", "page", "anchor", "until"},
]


def document(reference: dict[str, Any]) -> str:
    """Name the document of a passage; a record's id begins with it in the sets that have several of one."""
    if "text" in reference:
        return str(reference["text"])
    return str(reference.get("file") or f"{reference['set']} {re.split('[-_/]', reference['id'])[0]}")


@pytest.mark.parametrize(
    ("half", "count"),
    [
        ("fit", 150),
        ("second", 158),
        ("third", 98),
        ("fourth-fit", 68),
        ("fifth-fit", 80),
        ("report", 150),
        ("fourth-report", 68),
        ("fifth-report", 80),
    ],
)
def test_a_file_holds_complete_and_different_statements(half: str, count: int):
    assert len({one["claim"] for one in BOTH[half]}) == len(BOTH[half]) == count
    for one in BOTH[half]:
        assert set(one) == {"claim", "passages", "supported", "kind", "lang", "source"}, one["claim"]
        assert one["claim"].strip() == one["claim"] and isinstance(one["supported"], bool)
        assert 1 <= len(one["passages"]) <= 6
        assert all(set(passage) in SHAPES for passage in one["passages"]), one["claim"]


@pytest.mark.parametrize("half", HALVES)
def test_every_kind_and_language_is_true_and_false_in_both_halves(half: str):
    other = BOTH[HALVES[1 - HALVES.index(half)]]
    for field in ("kind", "lang"):
        judged = {(one[field], one["supported"]) for one in BOTH[half]}
        assert judged == {(name, truth) for name, _ in judged for truth in (True, False)}
        assert {name for name, _ in judged} == {one[field] for one in other}


def test_true_and_false_are_about_as_many():
    counts = Counter(one["supported"] for half in HALVES for one in BOTH[half])
    assert (counts[True], counts[False]) == (165, 135)


def test_no_document_of_a_fitting_file_is_reported_on():
    named = {half: {document(ref) for one in BOTH[half] for ref in one["passages"]} for half in FILES}
    reported = {name for half in FILES if half.endswith("report") for name in named[half]}
    assert not reported & {name for half in FILES if not half.endswith("report") for name in named[half]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with one made-up source of each form."""
    for name in ("minutes", "korquad"):
        (tmp_path / name).mkdir()
    record = {"_id": "m1", "text": "Chair: Hello.\u2028Budget: 40 euros."}
    (tmp_path / "minutes" / "corpus.jsonl").write_text(json.dumps(record, ensure_ascii=False) + "\n", "utf-8")
    articles = {"data": [{"title": "한강", "paragraphs": [{"context": "첫 문단"}, {"context": "둘째 문단"}]}]}
    (tmp_path / "korquad" / "KorQuAD_v1.0_dev.json").write_text(json.dumps(articles), "utf-8")
    (tmp_path / "guide.md").write_text("# Guide\n\nOpen the lid.\nClose the lid.\n\nEnd", "utf-8")
    canvas = Canvas(str(tmp_path / "sales.pdf"))
    for number, line in enumerate(["Page head", "Net sales:", "Mac 6,840", "iPad 5,791", "Page foot"]):
        canvas.drawString(72, 700 - 20 * number, line)
    canvas.save()
    return tmp_path


PDF = {"file": "sales.pdf", "page": 1, "anchor": "sales", "until": "iPad"}


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ({"text": "| a |"}, "| a |"),
        ({"set": "minutes", "id": "m1", "start": 14, "end": 33}, "Budget: 40 euros."),
        ({"set": "korquad", "id": "한강/1"}, "둘째 문단"),
        ({"file": "guide.md", "anchor": "Open", "until": "Close"}, "Open the lid.\nClose the lid."),
        (PDF, "Net sales:\nMac 6,840\niPad 5,791"),
    ],
    ids=["typed", "record", "korquad", "text file", "pdf"],
)
def test_each_form_of_reference_is_resolved(folder: Path, reference: dict[str, Any], text: str):
    judged = {"claim": "Mac: 6,840", "supported": True, "kind": "table row", "lang": "en"}
    statement = {**judged, "passages": [reference], "source": "finance"}
    assert resolved(statement, Sources([folder / "nowhere", folder])) == {**judged, "passages": [text]}


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        ({"set": "absent", "id": "1"}, "absent is in none of the folders"),
        ({"set": "minutes", "id": "m2"}, "minutes has no record m2"),
        ({"file": "guide.md", "anchor": "Shut", "until": "End"}, "another version of the file"),
        ({**PDF, "page": 2}, "has no page 2"),
    ],
)
def test_a_reference_that_leads_nowhere_says_so(folder: Path, reference: dict[str, Any], message: str):
    with pytest.raises(UnresolvedReference, match=message):
        Sources([folder]).text(reference)
