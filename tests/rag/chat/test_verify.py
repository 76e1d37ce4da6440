"""Quotes of an export are checked against the very files, read anew."""

import hashlib
import json
from pathlib import Path

import pytest

from rag import cli
from rag.chat.verify import read_export, verify
from rag.errors import ExportRefused, QuestionRefused
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import Placed

CASTLE = "# Castle\n\nThe castle was built in 1432. Its moat is nine\nmetres deep.\n\n성은 오래되었다.\n"


def quote(path: Path, text: str, start: int, **changes: object) -> dict[str, object]:
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    told = {"number": 1, "text": text, "document": path.name, "sha256": sha256, "start": start}
    return {**told, "end": start + len(text), "status": "verified", **changes}


def exported(folder: Path, *quotes: dict[str, object]) -> Path:
    path = folder.parent / "export.json"
    told = {"form": "footnote-chat", "version": 1, "turns": [{"quotes": list(quotes)}]}
    path.write_text(json.dumps(told), "utf-8")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "originals"
    (made / "deep").mkdir(parents=True)
    (made / "deep" / "castle.md").write_text(CASTLE, "utf-8")
    return made


@pytest.fixture
def castle(folder: Path) -> Path:
    return folder / "deep" / "castle.md"


def verdicts(folder: Path, *quotes: dict[str, object]) -> list[tuple[str, str]]:
    checked = list(verify(read_export(exported(folder, *quotes)), folder))
    return [(one.verdict, one.reason) for one in checked]


def test_a_quote_at_its_place_is_exact_whatever_the_file_is_called_now(folder: Path, castle: Path):
    words = "The castle was built in 1432."
    told = quote(castle, words, CASTLE.index(words))
    castle.rename(folder / "renamed.md")
    assert verdicts(folder, told) == [("exact", "")]


def test_a_quote_elsewhere_in_its_file_has_moved_however_its_lines_break(folder: Path, castle: Path):
    assert (
        verdicts(
            folder,
            quote(castle, "Its moat is nine metres deep.", 3),
            quote(castle, "성은 오래되었다.", 0),
        )
        == [("moved", "")] * 2
    )


@pytest.mark.parametrize(
    "words",
    ["The castle was built in 1431.", "The castle was not built in 1432.", "built in 1432. metres deep", "x"],
)
def test_words_that_are_not_in_the_file_do_not_stand(folder: Path, castle: Path, words: str):
    assert verdicts(folder, quote(castle, words, CASTLE.index("The"))) == [("not there", "")]


def test_a_changed_file_is_told_with_whether_its_words_are_still_in_it(folder: Path, castle: Path):
    built, moat = (
        quote(castle, words, CASTLE.index(words))
        for words in ("The castle was built in 1432.", "moat is nine")
    )
    castle.write_text(CASTLE.replace("1432", "1518"), "utf-8")
    assert verdicts(folder, built, moat) == [
        ("changed file", "its words are not in it"),
        ("changed file", "its words are in it"),
    ]


def test_a_file_that_is_gone_is_missing(folder: Path, castle: Path):
    told = quote(castle, "The castle", CASTLE.index("The castle"))
    castle.unlink()
    assert verdicts(folder, told) == [("missing file", "")]


def test_a_file_that_cannot_be_read_any_more_says_why(folder: Path):
    broken = folder / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7\nnothing")
    ((verdict, reason),) = verdicts(folder, quote(broken, "words", 0))
    assert verdict == "unreadable file" and "broken.pdf" in reason


def test_the_pages_of_a_pdf_are_checked_too(folder: Path):
    path = makers.pdf(
        folder / "a.pdf", [[Placed("The words to find.", 30, 400)], [Placed("Second page.", 30, 400)]]
    )
    assert verdicts(folder, quote(path, "words to find", 4), quote(path, "Second page.", 20)) == [
        ("exact", ""),
        ("exact", ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"form": "footnote-chat", "version": 2, "turns": []}',
        '{"form": "footnote-chat", "version": 1, "turns": [{"quotes": [{"number": 1}]}]}',
        '{"form": "footnote-chat", "version": 1, "turns": [{"quotes": [{"number": true, "text": "a", '
        '"document": "a", "sha256": "", "start": 0, "end": 1}]}]}',
        '{"form": "footnote-chat", "version": 1, "turns": [{"quotes": [{"number": 1, "text": "a", '
        '"document": "a", "sha256": "", "start": -1, "end": 1}]}]}',
        "[" * 100_000,
        "\x00\xff",
    ],
)
def test_a_file_that_is_no_export_is_refused_by_name(tmp_path: Path, text: str):
    (tmp_path / "bad.json").write_text(text, "latin-1")
    with pytest.raises(ExportRefused, match=r"bad\.json"):
        read_export(tmp_path / "bad.json")


def test_an_export_or_a_folder_that_is_not_there_is_said_so(tmp_path: Path, folder: Path, castle: Path):
    with pytest.raises(ExportRefused, match="cannot be read"):
        read_export(tmp_path / "none.json")
    path = exported(folder, quote(castle, "The castle", CASTLE.index("The castle")))
    with pytest.raises(QuestionRefused, match="no file or folder"):
        list(verify(read_export(path), tmp_path / "nowhere"))


def test_a_quote_without_words_claims_nothing(folder: Path, castle: Path):
    assert verdicts(folder, quote(castle, "", 0, status="unsupported")) == []


@pytest.mark.parametrize(("words", "status"), [("The castle", 0), ("The palace", 1)])
def test_the_command_prints_a_line_on_each_quote_and_ends_with_0_only_where_all_stand(
    capsys: pytest.CaptureFixture[str], folder: Path, castle: Path, words: str, status: int
):
    at = CASTLE.index("The castle")
    hostile = quote(castle, "Its moat", CASTLE.index("Its moat"), document="\x1b[31mcastle.md", number=2)
    path = exported(folder, quote(castle, words, at), hostile)
    assert cli.main(["verify", str(path), "--files", str(folder)]) == status
    out, err = capsys.readouterr()
    first, second = out.splitlines()
    assert first.startswith("[1] exact" if status == 0 else "[1] not there") and words in first
    assert second.startswith("[2] exact") and "\x1b" not in out
    assert f"{2 - status} of 2 quotes stand" in err
    assert cli.main(["verify", str(path), "--files", str(folder), "--json"]) == status
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["stands"] for line in lines] == [status == 0, True]
