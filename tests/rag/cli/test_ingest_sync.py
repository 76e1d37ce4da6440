import json

import pytest

from rag.cli import main
from rag.connectors.base import Item
from rag.connectors.folder import FolderSettings, FolderSource
from storage.database import Database
from storage.records import Listing
from storage.sources import SourceItems, SourceStore


@pytest.fixture
def reports(tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "castle.md").write_text("The castle of Aldenburg was built in 1432.")
    return folder


@pytest.fixture
def data(tmp_path, reports):
    database = Database.open(tmp_path / "data")
    SourceStore(database, "local").create("folder", "Reports", {"path": str(reports)})
    SourceStore(database, "local").create("folder", "Gone", {"path": str(tmp_path / "gone")})
    database.close()
    return ["--data", str(tmp_path / "data")]


def test_a_source_is_read_from_the_command_line_and_can_be_asked(capsys, data):
    assert main([*data, "sync", "Reports"]) == 0
    assert "Reports: 1 new, 0 changed, 0 unchanged, 0 removed, 0 failed" in capsys.readouterr().out
    assert main([*data, "ask", "When was the castle built?"]) == 0
    assert "1432" in capsys.readouterr().out
    assert main([*data, "sync", "Reports", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["name"], found["new"], found["unchanged"], found["reason"]) == ("Reports", 0, 1, None)


def test_what_could_not_be_had_is_told_and_the_rest_is_read(capsys, data):
    assert main([*data, "sync"]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "Reports: 1 new, 0 changed, 0 unchanged, 0 removed, 0 failed"
    assert out[1].startswith("Gone: There is no folder")


def test_a_folder_that_was_emptied_loses_its_documents_only_where_that_is_said(capsys, data, reports):
    assert main([*data, "sync", "Reports"]) == 0
    (reports / "castle.md").unlink()
    assert main([*data, "sync", "Reports"]) == 1
    assert "nothing was removed" in capsys.readouterr().out
    assert main([*data, "sync", "Reports", "--may-be-empty"]) == 0
    assert "Reports: 0 new, 0 changed, 0 unchanged, 1 removed, 0 failed" in capsys.readouterr().out


def test_what_waits_for_its_next_try_is_tried_at_once_where_that_is_asked(capsys, data, tmp_path, reports):
    database = Database.open(tmp_path / "data")
    items = SourceItems(database, "local")
    (source,) = [one for one in SourceStore(database, "local").list() if one.name == "Reports"]
    (found,) = [
        one for one in FolderSource(FolderSettings(path=str(reports))).list() if isinstance(one, Item)
    ]
    items.fail(source.id, Listing(found.id, found.name, found.version), "It broke off.", tries=9)
    database.close()
    assert main([*data, "sync", "Reports"]) == 1
    assert "0 new, 0 changed, 0 unchanged, 0 removed, 1 failed" in capsys.readouterr().out
    assert main([*data, "sync", "Reports", "--again"]) == 0
    assert "1 new, 0 changed, 0 unchanged, 0 removed, 0 failed" in capsys.readouterr().out


def test_a_name_that_no_source_has_is_refused(capsys, data):
    assert main([*data, "sync", "Wiki"]) == 2
    assert "There are: Gone, Reports." in capsys.readouterr().err
