"""A text checked on the command line, over documents that the command line has read."""

import io
import json
from pathlib import Path

import docx
import pytest

from rag import cli
from rag.ingest.parsers import load

CASTLE = """# Castle

The castle of Aldenburg was built in 1432. Its moat is nine metres deep.

| Building | Visitors |
|---|---|
| Garden | 12,000 |
| Tower | 14,500 |
"""
KOREAN = "# 등대\n\n등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.\n"
JAPANESE = "# 灯台\n\n灯台守は日没に明かりをつけました。油は鯨から取られました。\n"
DRAFT = """# A guide to the castle

The castle of Aldenburg was built in 1432 [3]. The king kept forty dogs there.

| Building | Visitors |
|---|---|
| Garden | 12,000 |
| Tower | 41,500 |

등대지기는 해질녘에 등불을 켰다.

灯台守は日没に明かりをつけました。

Thank you.
"""
FOUND = ["verified", "not found", "verified", "differs", "verified", "verified"]


@pytest.fixture
def ingested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A data directory with three documents; the first is in a collection."""
    files = tmp_path / "files"
    files.mkdir()
    (files / "castle.md").write_text(CASTLE, "utf-8")
    (files / "등대.md").write_text(KOREAN, "utf-8")
    (files / "灯台.md").write_text(JAPANESE, "utf-8")
    data = ["--data", str(tmp_path / "data")]
    cli.main([*data, "ingest", str(files / "castle.md"), "--collection", "Castles"])
    cli.main([*data, "ingest", str(files)])
    capsys.readouterr()
    return tmp_path


def footnote(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: object) -> tuple[int, str, str]:
    status = cli.main(["--data", str(folder / "data"), *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_each_statement_has_its_state_and_the_exact_words(capsys, ingested):
    draft = ingested / "draft.md"
    draft.write_text(DRAFT, "utf-8")
    status, out, err = footnote(capsys, ingested, "check", draft, "--json")
    told = json.loads(out)
    assert status == 1 and "4 of 6 statements verified." in err
    assert [one["status"] for one in told["statements"]] == FOUND
    first, dogs, _, row, *_ = told["statements"]
    assert told["text"][first["start"] : first["end"]] == first["statement"]
    (source,) = first["sources"]
    assert (source["document"], source["page"], source["heading"]) == ("castle.md", None, "Castle")
    assert CASTLE[source["start"] : source["end"]] == source["quote"]
    assert dogs["sources"] == [] and row["note"] == "14,500"


def test_on_the_screen_the_words_stand_below_each_statement(capsys, ingested, monkeypatch):
    written = io.TextIOWrapper(io.BytesIO(b"The castle of Aldenburg was built in 1432."))
    monkeypatch.setattr("sys.stdin", written)
    status, out, err = footnote(capsys, ingested, "check", "-")
    assert status == 0 and "1 of 1 statement verified." in err
    assert out == (
        "✓ The castle of Aldenburg was built in 1432.\n"
        "    castle.md: “The castle of Aldenburg was built in 1432.”\n"
    )


def test_only_the_collection_is_searched(capsys, ingested):
    draft = ingested / "draft.md"
    draft.write_text(DRAFT, "utf-8")
    _, out, _ = footnote(capsys, ingested, "check", draft, "--json", "--in", "Castles")
    told = json.loads(out)
    assert told["searched_in"] == "Castles (collection)"
    assert [one["status"] for one in told["statements"]][-2:] == ["not found", "not found"]


def test_a_text_does_not_prove_itself(capsys, ingested):
    draft = ingested / "draft.md"
    draft.write_text("The king kept forty dogs in the tower.", "utf-8")
    footnote(capsys, ingested, "ingest", draft)
    _, out, _ = footnote(capsys, ingested, "check", draft, "--json")
    told = json.loads(out)
    assert told["statements"][0]["status"] == "not found"
    assert told["searched_in"] == "all documents, without the text itself"


@pytest.mark.parametrize("form", ["md", "html", "json", "docx"])
def test_a_check_is_written_in_each_form(capsys, ingested, form):
    draft, made = ingested / "draft.md", ingested / f"checked.{form}"
    draft.write_text(DRAFT, "utf-8")
    status, out, _ = footnote(capsys, ingested, "check", draft, "--out", made)
    assert status == 1 and out == ""
    text = load(made, made.name).text
    assert "The king kept forty dogs there." in text and "14,500" in text
    assert "not found" in text.lower()


def test_a_word_file_comes_back_with_comments_at_the_words(capsys, ingested):
    document = docx.Document()
    document.add_heading("A guide", 1)
    paragraph = document.add_paragraph("The castle of Alden")
    paragraph.add_run("burg was built").bold = True
    paragraph.add_run(" in 1432. The king kept forty dogs there.")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Building", "Visitors", "Tower", "41,500"], strict=True):
        cell.text = text
    draft, made = ingested / "draft.docx", ingested / "checked.docx"
    document.save(str(draft))
    footnote(capsys, ingested, "check", draft, "--out", made)
    back = docx.Document(str(made))
    assert back.paragraphs[1].text == paragraph.text  # its own words, not ours
    assert [run.bold for run in back.paragraphs[1].runs if "burg" in run.text] == [True]
    assert [(anchored(back, one.comment_id), one.text.partition("\n")[0]) for one in back.comments] == [
        ("The castle of Aldenburg was built in 1432.", "Verified"),
        ("The king kept forty dogs there.", "Not found in your documents"),
        ("Tower41,500", "Source says: 14,500"),
    ]
    (first, *_) = back.comments
    assert first.text.endswith("“The castle of Aldenburg was built in 1432.” — castle.md")
    assert first.author == "Footnote"


def anchored(document: object, number: int) -> str:
    """Return the words between the marks of a comment."""
    words, inside = "", False
    for element in document.element.body.iter():  # type: ignore[attr-defined]
        tag = element.tag.rpartition("}")[2]
        if tag in ("commentRangeStart", "commentRangeEnd") and str(number) in element.values():
            inside = tag == "commentRangeStart"
        elif tag == "t" and inside:
            words += element.text
    return words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "no-such-file"], "There is no file no-such-file"),
        (["check", "draft.md", "--out", "x.pdf"], ".md, .html, .json, .docx"),
        (["check", "draft.md", "--in", "Nowhere"], "no collection 'Nowhere'"),
        (["check", "long.md"], "400,000 is the limit"),
        (["check", "empty.md"], "is empty"),
    ],
)
def test_what_cannot_be_checked_is_one_sentence(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    Path("draft.md").write_text("It is so, and it was so.")
    Path("long.md").write_text("It is so. " * 500_000)
    Path("empty.md").write_text("")
    status, out, err = footnote(capsys, tmp_path, *arguments)
    assert status == 2 and out == "" and said in err and err.count("\n") == 1


def test_a_text_without_statements_or_documents_is_checked_too(capsys, tmp_path):
    draft = tmp_path / "draft.md"
    draft.write_text("# Title\n\nWhy?\n")
    assert footnote(capsys, tmp_path, "check", draft) == (0, "\n", "footnote: 0 of 0 statements verified.\n")
    draft.write_text("The <b>king</b> kept forty dogs <script>alert(1)</script> there.")
    status, out, _ = footnote(capsys, tmp_path, "check", draft)
    assert status == 1 and "Not found" in out
    made = tmp_path / "checked.html"
    footnote(capsys, tmp_path, "check", draft, "--out", made)
    assert "<script" not in made.read_text() and "&lt;b&gt;king" in made.read_text()
