"""A chat answered by the app, exported by the command line, and verified against what was added."""

import json
from pathlib import Path

import pytest

from rag import cli
from rag.chat.conversation import Conversation
from rag.factory import make_library, make_pipeline
from rag.jobs import never
from rag.settings import LOCAL_OWNER, load
from storage.answers import Feedback
from storage.conversations import Conversations
from storage.database import Database

CASTLE = "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "castle.md").write_text(CASTLE, "utf-8")
    return folder


@pytest.fixture
def chat(tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """A chat about the castle with one answer, of the documents' own sentences, rated up."""
    assert cli.main(["--data", str(tmp_path / "data"), "ingest", str(files)]) == 0
    capsys.readouterr()
    settings = load({"data": tmp_path / "data", "retriever": "bm25"})
    database = Database.open(settings.data)
    try:
        conversations = Conversations(database, LOCAL_OWNER)
        library = make_library(database, LOCAL_OWNER, lambda: (settings, None))
        asked = Conversation(conversations, lambda: make_pipeline(settings, library, None))
        made = conversations.create("성 castle")
        turn = asked.begin(made.id, "When was the castle of Aldenburg built?")
        list(asked.run(turn, never))
        conversations.rate(turn.answer_id, "up")
        library.close()
    finally:
        database.close()
    return made.id


def footnote(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: str) -> tuple[int, str, str]:
    status = cli.main(["--data", str(tmp_path / "data"), *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_an_exported_chat_verifies_against_the_files_it_was_made_from(capsys, tmp_path, files, chat):
    path = tmp_path / "chat.json"
    assert footnote(capsys, tmp_path, "export", chat, "--format", "json", "--output", str(path))[0] == 0
    (turn,) = json.loads(path.read_text("utf-8"))["turns"]
    assert turn["quotes"] and turn["quotes"][0]["status"] == "verified"
    status, out, _ = footnote(capsys, tmp_path, "verify", str(path), "--files", str(files))
    assert status == 0 and out.startswith("[1] exact")
    (files / "castle.md").write_text(CASTLE.replace("1432", "1518"), "utf-8")
    status, out, _ = footnote(capsys, tmp_path, "verify", str(path), "--files", str(files))
    assert status == 1 and out.startswith("[1] changed file")


@pytest.mark.parametrize(("form", "opening"), [("md", "# 성 castle"), ("html", "<!DOCTYPE html>")])
def test_a_chat_is_found_by_its_title_and_written_to_the_screen(capsys, tmp_path, chat, form, opening):
    status, out, _ = footnote(capsys, tmp_path, "export", "성 castle", "--format", form)
    assert status == 0 and out.startswith(opening) and "1432" in out


def test_feedback_is_exported_as_cases(capsys, tmp_path, chat):
    status, out, _ = footnote(capsys, tmp_path, "export", "--feedback")
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 0 and lines and all(line["supported"] for line in lines)
    assert set(lines[0]) == {"claim", "passages", "supported"} and "1432" in lines[0]["claim"]
    database = Database.open(tmp_path / "data")
    answer = Conversations(database, LOCAL_OWNER).messages(chat)[-1]
    Feedback(database, LOCAL_OWNER).mark(answer.id, 0, "wrong")
    database.close()
    _, out, _ = footnote(capsys, tmp_path, "export", "--feedback")
    assert json.loads(out.splitlines()[0])["supported"] is False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export", "nobody's"], "There is no chat"),
        (["export"], "Name the chat"),
        (["export", "x", "--feedback"], "one of the two"),
        (["export", "--feedback"], "no feedback"),
    ],
)
def test_what_cannot_be_exported_is_one_sentence(capsys, tmp_path, arguments, said):
    status, out, err = footnote(capsys, tmp_path, *arguments)
    assert status == 2 and out == "" and said in err and len(err.splitlines()) == 1
