"""The command line while the app runs: by the server, with the same output."""

import json
import re
from pathlib import Path

import pytest

from rag import cli
from rag.chat.check_export import as_json, from_json
from rag.chat.check_text import CheckedStatement, CheckedText, SourceWords, blocks
from rag.chat.event_json import EVENTS, decode, encode
from rag.local_server import LocalServer, find_server
from rag.passage import Found, Passage
from rag.services import Services
from rag.settings import load
from tests.api.conftest import CASTLE, HARBOUR, running
from tests.rag.fake_llm import FakeLLM

KOREAN = "# 등대\n\n등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.\n"


@pytest.fixture
def footnote(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    """Run a command alone, then while a server holds the same documents in another directory."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name, text in (("harbour.md", HARBOUR), ("castle.md", CASTLE), ("등대.md", KOREAN)):
        (folder / name).write_text(text)
    with FakeLLM(keeps_questions=True) as fake:
        fake.say("The castle was built in 1432 [1].")
        monkeypatch.setenv("FOOTNOTE_LLM_BASE_URL", fake.url)
        monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "fake")

        def run(data: str, *arguments: object) -> tuple[int, str, str]:
            status = cli.main(["--data", str(tmp_path / data), *map(str, arguments)])
            printed = capsys.readouterr()
            return status, printed.out, printed.err

        services = Services(load({"data": tmp_path / "there"}))
        with running(services, fake) as server:
            services.announce(server.url)
            yield run
        services.close()


def alike(text: str) -> str:
    """Output without what differs between two runs: times, and the ids of documents."""
    text = re.sub(r'"timings_ms": \{[^}]*\}', "", text)
    return re.sub(r"\b[0-9a-f]{16}\b", "id", text)


def both(footnote, *arguments: object) -> tuple[int, str, str]:
    here, there = footnote("here", *arguments), footnote("there", *arguments)
    assert (here[0], alike(here[1]), here[2]) == (there[0], alike(there[1]), there[2])
    return there


def test_files_are_added_asked_and_checked_as_without_a_server(footnote, tmp_path):
    files = tmp_path / "files"
    status, out, _ = both(footnote, "ingest", files, "--json", "--collection", "A/B 등대")
    assert (status, [json.loads(line)["status"] for line in out.splitlines()]) == (0, ["ready"] * 3)
    assert both(footnote, "ingest", files)[1].count("unchanged") == 3
    (files / "empty.txt").write_text("")
    assert both(footnote, "ingest", files / "empty.txt", "--json")[0] == 1

    asked = json.loads(both(footnote, "ask", "When was the castle built?", "--json", "--k", 2)[1])
    assert asked["citations"][0]["status"] == "verified" and len(asked["passages"]) == 2
    assert "[1] castle.md" in both(footnote, "ask", "When was the castle built?")[1]
    assert both(footnote, "ask", "When?", "--collection", "A/B 등대", "--json")[0] == 0

    text = tmp_path / "text.md"
    text.write_text("The castle was built in 1432. It has a roof of gold.")
    status, out, err = both(footnote, "check", text)
    assert status == 1 and "✓" in out and "1 of 2 statements verified" in err
    both(footnote, "check", text, "--json")


def test_a_grid_is_run_and_listed_as_without_a_server(footnote, tmp_path):
    both(footnote, "ingest", tmp_path / "files" / "castle.md", "--collection", "Castles")
    columns = [{"name": "Moat", "kind": "number", "unit": "m"}, {"name": "Builder"}]
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps({"name": "G", "columns": columns, "scope": {"collections": ["Castles"]}}))
    status, out, err = both(footnote, "grid", "run", spec)
    assert status == 0 and "castle.md" in out and "2 cells to read" in err
    spec.write_text(json.dumps({"name": "G", "columns": [*columns, {"name": "King"}]}))
    assert "1 cells to read" in both(footnote, "grid", "run", spec)[2].replace("1 cell ", "1 cells ")
    assert "G" in both(footnote, "grid", "list")[1]
    for data in ("here", "there"):
        assert footnote(data, "grid", "export", "G", "--out", tmp_path / f"{data}.csv")[0] == 0
    assert (tmp_path / "here.csv").read_bytes() == (tmp_path / "there.csv").read_bytes()


def test_keys_are_made_listed_and_revoked(footnote, tmp_path):
    both(footnote, "ingest", tmp_path / "files" / "castle.md", "--collection", "A/B 등대")
    making = ("keys", "create", "Bot", "--scopes", "ask", "--collection", "A/B 등대", "--days", 9)
    for data in ("here", "there"):
        status, out, err = footnote(data, *making)
        id_ = out.split("_")[1]
        assert status == 0 and out.startswith("fnk_") and id_ in err
        status, out, _ = footnote(data, "keys", "list")
        assert re.fullmatch(rf"{id_} Bot: ask, limited to 1 collections, never used, expires .*\n", out)
        assert set(json.loads(footnote(data, "keys", "list", "--json")[1])["scopes"]) == {"ask"}
        assert footnote(data, "keys", "revoke", id_)[:2] == (0, f"{id_} is revoked.\n")
        assert footnote(data, "keys", "list")[:2] == (0, "")
    both(footnote, "keys", "revoke", "nothing")
    both(footnote, "keys", "create", "Bot", "--collection", "Nowhere")
    both(footnote, "keys", "--owner", "nobody", "list")


def test_what_the_server_refuses_is_said_in_its_words(footnote):
    status, out, err = footnote("there", "ask", "When?", "--collection", "Nowhere")
    assert (status, out) == (2, "") and "There is no collection 'Nowhere'" in err


def test_a_command_that_needs_the_directory_says_who_has_it(footnote):
    status, _, err = footnote("there", "reindex")
    assert status == 2 and "in use by process" in err


def test_a_file_of_a_server_that_is_gone_does_not_mislead(footnote, tmp_path):
    there = find_server(tmp_path / "there")
    LocalServer("http://127.0.0.1:1", there.token).announce(tmp_path / "there")
    status, _, err = footnote("there", "ask", "When?")
    assert status == 2 and "in use by process" in err


def test_events_come_back_as_they_were():
    passage = Passage(
        "c", "d", "등대.md", "0" * 64, 3, "A > B", 5, 9, "words", 0.5, {"bm25": Found(1, 2.0, 1.0)}
    )
    for event in (EVENTS["sources"]((passage,), 2), EVENTS["token"]("비"), EVENTS["timings"]({"total": 1.5})):
        name, fields = encode(event)
        assert decode(name, json.loads(json.dumps(fields))) == event
    assert encode(object()) is None and decode("later", {}) is None


def test_a_checked_text_comes_back_as_it_was():
    passage = Passage("", "", "a.md", "", 2, "Head", 10, 15, "words")
    statement = CheckedStatement(1, "Words.", 0, 6, "verified", "", (SourceWords(passage, 10, 15),))
    checked = CheckedText("a.md", "Words.", tuple(blocks("Words.")), (statement,), "HR", ("A note.",))
    assert from_json(json.loads(json.dumps(as_json(checked)))) == checked
