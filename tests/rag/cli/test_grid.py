"""A grid run on the command line: from a specification, again after a change, listed and written to files."""

import json
import shutil
from contextlib import closing
from pathlib import Path

import openpyxl
import pytest

from rag import cli
from rag.ingest.library import Library
from rag.settings import LOCAL_OWNER
from storage.collections import Collections
from storage.database import Database
from tests.rag.grid.test_grids import lease
from tests.rag.word_vectors import WordVectors

SPEC = {
    "name": "Leases",
    "columns": [{"name": "Rent", "kind": "money"}, {"name": "Beginning of the lease", "kind": "date"}],
    "scope": {"collections": ["Leases"]},
}


def put(data: Path, *files: Path, collection: str = "") -> None:
    """Add files to the library as words: grids need no vectors."""
    with closing(Database.open(data)) as database:
        library = Library(database, LOCAL_OWNER, lambda: WordVectors("words"))
        ids = []
        for file in files:
            record, _ = library.add(file.name, file.read_bytes())
            list(library.read(record.id))
            ids.append(record.id)
        if collection:
            collections = Collections(database, LOCAL_OWNER)
            collections.put(ids, collections.create(collection).id)
        library.close()


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with two leases in a collection, and one document outside of it."""
    folder = tmp_path_factory.mktemp("grids")
    (folder / "files").mkdir()
    for number in range(2):
        (folder / "files" / f"{number}.md").write_text(lease(number + 1, f"{900 + number}"))
    (folder / "other.md").write_text("# Castle\n\nThe castle is old.\n")
    put(folder / "data", *sorted((folder / "files").iterdir()), collection="Leases")
    put(folder / "data", folder / "other.md")
    (folder / "spec.json").write_text(json.dumps(SPEC))
    return folder


@pytest.fixture
def folder(filled: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may change."""
    shutil.copytree(filled, tmp_path / "copy")
    return tmp_path / "copy"


def footnote(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: object) -> tuple[int, str, str]:
    status = cli.main(["--data", str(folder / "data"), *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_a_grid_is_run_and_run_again_only_where_something_changed(capsys, folder: Path):
    status, out, err = footnote(capsys, folder, "grid", "run", folder / "spec.json", "--json")
    told = json.loads(out)
    assert (status, "4 cells to read" in err) == (0, True)
    assert [row["document"] for row in told["rows"]] == ["0.md", "1.md"]
    assert [row["cells"][0]["text"] for row in told["rows"]] == ["900 EUR", "901 EUR"]
    _, _, err = footnote(capsys, folder, "grid", "run", folder / "spec.json")
    assert "0 cells to read" in err
    (folder / "files" / "1.md").write_text(lease(2, "5,000"))
    put(folder / "data", folder / "files" / "1.md")
    wider = {**SPEC, "columns": [*SPEC["columns"], {"name": "Pets", "kind": "yes_no"}]}
    (folder / "spec.json").write_text(json.dumps(wider))
    status, out, err = footnote(capsys, folder, "grid", "run", folder / "spec.json")
    assert "4 cells to read" in err  # the changed row, and the new column of the other
    assert "Rent: 5,000 EUR" in out and "Sum of Rent over 2 documents: 5,900 EUR" in out
    status, out, _ = footnote(capsys, folder, "grid", "list", "--json")
    assert [json.loads(line)["name"] for line in out.splitlines()] == ["Leases"]


def test_a_grid_is_written_to_files_and_its_quotes_are_verified(capsys, folder: Path):
    book = folder / "leases.xlsx"
    assert footnote(capsys, folder, "grid", "run", folder / "spec.json", "--out", book)[0] == 0
    assert openpyxl.load_workbook(book).worksheets[0]["A2"].value == "0.md"
    told = folder / "leases.json"
    assert footnote(capsys, folder, "grid", "export", "Leases", "--out", told)[0] == 0
    status, _, err = footnote(capsys, folder, "verify", told, "--files", folder / "files")
    assert (status, "4 of 4 quotes stand" in err) == (0, True)


def test_what_is_wrong_is_said_in_a_sentence(capsys, folder: Path):
    spec = folder / "spec.json"
    for text, said in (
        ("{", "is no JSON"),
        ("[]", "JSON object"),
        ('{"name": "x"}', "needs a column"),
        ('{"name": "x", "template": "novel"}', "no template"),
        ('{"name": "x", "columns": [{"name": "a"}], "rows": 3}', "no field"),
        ('{"name": "x", "columns": [{"name": "a"}], "scope": {"collections": ["Nowhere"]}}', "Nowhere"),
        ('{"name": "x", "columns": [{"name": "a"}], "scope": {"since": "soon"}}', "since"),
    ):
        spec.write_text(text)
        status, _, err = footnote(capsys, folder, "grid", "run", spec)
        assert (status, said in err) == (2, True), err
    assert footnote(capsys, folder, "grid", "run", folder / "none.json")[0] == 2
    assert footnote(capsys, folder, "grid", "export", "None", "--out", folder / "a.csv")[0] == 2
    assert footnote(capsys, folder, "grid", "export", "None", "--out", folder / "a.exe")[0] == 2
