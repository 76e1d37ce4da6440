import json
import zipfile

import pytest

from rag import cli

TOWNS = {"aldenburg.md": 3, "bergen.md": 4, "celle.md": 5}


@pytest.fixture
def footnote(capsys, tmp_path):
    """The command line over a data directory, with a folder of three files beside it."""
    for name, metres in TOWNS.items():
        (tmp_path / name).write_text(f"# {name}\n\nThe moat of the castle is {metres} metres deep.\n")

    def call(*arguments: object) -> tuple[int, list[dict], str]:
        paths = [tmp_path / one if one in TOWNS else one for one in arguments]
        status = cli.main(["--data", str(tmp_path / "data"), *map(str, paths), "--json"])
        printed = capsys.readouterr()
        return status, [json.loads(line) for line in printed.out.splitlines()], printed.err

    return call


def found(result: dict) -> set[str]:
    return {passage["document"] for passage in result["passages"]}


def test_files_are_put_into_a_collection_and_a_question_is_asked_of_it(footnote):
    assert footnote("ingest", "aldenburg.md", "--collection", "North")[0] == 0
    footnote("ingest", "bergen.md", "celle.md", "--collection", "South")
    _, (everything,), _ = footnote("ask", "How deep is the moat?")
    assert found(everything) == set(TOWNS) and everything["searched_in"] is None
    _, (north,), _ = footnote("ask", "How deep is the moat?", "--collection", "north")
    assert found(north) == {"aldenburg.md"} and north["searched_in"] == "North (collection)"
    _, (both,), _ = footnote("ask", "How deep is the moat?", "--collection", "North", "--collection", "South")
    assert found(both) == set(TOWNS)
    footnote("ingest", "celle.md", "--collection", "North")
    _, (moved,), _ = footnote("ask", "How deep is the moat?", "--collection", "North")
    assert found(moved) == {"aldenburg.md", "celle.md"}


def test_each_document_of_an_archive_is_put_into_the_collection(footnote, tmp_path):
    with zipfile.ZipFile(tmp_path / "towns.zip", "w") as archive:
        archive.write(tmp_path / "bergen.md", "sea/bergen.md")
        archive.writestr("b.gz", b"\x1f\x8b\x08\0")
    status, results, _ = footnote("ingest", tmp_path / "towns.zip", "--collection", "North")
    assert status == 1
    assert [(result["path"].rpartition(": ")[2], result["status"]) for result in results] == [
        ("towns/sea/bergen.md", "ready"),
        ("towns/b.gz", "refused"),
    ]
    _, (north,), _ = footnote("ask", "How deep is the moat?", "--collection", "North")
    assert found(north) == {"towns/sea/bergen.md"}


def test_a_collection_that_is_not_there_is_named_with_those_that_are(footnote):
    footnote("ingest", "aldenburg.md", "--collection", "North")
    status, out, err = footnote("ask", "How deep is the moat?", "--collection", "West")
    assert (status, out) == (2, [])
    assert "There is no collection 'West'. There are: North." in err
    assert footnote("ingest", "bergen.md", "--collection", " ")[0] == 2
