import json
import subprocess
import sys
from pathlib import Path

import pytest

from rag import cli

CASTLE = "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n"
KOREAN = "# 등대\n\n등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    (folder / "castle.md").write_text(CASTLE)
    (folder / "deep" / "등대.md").write_text(KOREAN)
    (folder / ".hidden.md").write_text("hidden")
    return folder


def footnote(capsys: pytest.CaptureFixture[str], tmp_path: Path, *arguments: object) -> tuple[int, str, str]:
    try:
        status = cli.main(["--data", str(tmp_path / "data"), *map(str, arguments)])
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_a_folder_is_walked_and_each_file_has_its_line(capsys, tmp_path, files):
    status, out, _ = footnote(capsys, tmp_path, "ingest", files, "--json")
    lines = [json.loads(line) for line in out.splitlines()]
    assert status == 0
    assert [(Path(line["path"]).name, line["status"]) for line in lines] == [
        ("castle.md", "ready"),
        ("등대.md", "ready"),
    ]
    assert set(lines[0]) == {"path", "status", "document_id", "pages", "chunks", "reason"}


def test_again_is_unchanged_and_a_change_is_a_replacement(capsys, tmp_path, files):
    footnote(capsys, tmp_path, "ingest", files, "--json")
    (files / "castle.md").write_text(CASTLE.replace("1432", "1518"))
    _, out, err = footnote(capsys, tmp_path, "ingest", files, "--json")
    assert err == ""
    assert [json.loads(line)["status"] for line in out.splitlines()] == ["replaced", "unchanged"]


def test_a_refused_file_ends_with_1_and_its_reason(capsys, tmp_path, files):
    (files / "empty.txt").write_text("")
    status, out, _ = footnote(capsys, tmp_path, "ingest", files / "empty.txt", files / "castle.md", "--json")
    refused, ready = (json.loads(line) for line in out.splitlines())
    assert status == 1
    assert refused["status"] == "refused" and "empty.txt" in refused["reason"]
    assert ready["status"] == "ready"


@pytest.mark.parametrize("retriever", ["ensemble-cc", "bm25"])
def test_an_answer_quotes_the_document_exactly(capsys, tmp_path, files, retriever):
    footnote(capsys, tmp_path, "ingest", files, "--json")
    question = "When was the castle of Aldenburg built?"
    status, out, _ = footnote(capsys, tmp_path, "ask", question, "--json", "--k", 2, "--retriever", retriever)
    answer = json.loads(out)
    assert status == 0
    assert answer["question"] == answer["standalone_question"] == question
    assert "1432" in answer["answer"] and answer["model"] is None
    first = answer["citations"][0]
    assert (first["document"], first["status"]) == ("castle.md", "verified")
    assert CASTLE[first["start"] : first["end"]] == first["quote"]
    assert "1432" in first["quote"]
    assert set(answer["passages"][0]) == {"id", "document", "page", "heading", "text", "score", "found_by"}
    assert answer["passages"][0]["heading"] == "Castle"


def test_a_follow_up_is_asked_with_its_history(capsys, tmp_path, files):
    footnote(capsys, tmp_path, "ingest", files, "--json")
    history = tmp_path / "history.json"
    history.write_text(
        json.dumps(
            [
                {"role": "user", "content": "When was the castle of Aldenburg built?"},
                {"role": "assistant", "content": "In 1432 [1]."},
            ]
        )
    )
    _, out, _ = footnote(capsys, tmp_path, "ask", "And how deep is its moat?", "--history", history, "--json")
    answer = json.loads(out)
    assert "Aldenburg" in answer["standalone_question"]
    assert "nine metres" in answer["answer"]


def test_a_file_that_cannot_be_read_does_not_stop_the_rest(capsys, tmp_path, files):
    (files / "gone.md").symlink_to("/proc/self/mem")
    status, out, _ = footnote(capsys, tmp_path, "ingest", files / "gone.md", files / "castle.md", "--json")
    assert status == 1
    assert [json.loads(line)["status"] for line in out.splitlines()] == ["refused", "ready"]


def test_a_name_cannot_command_the_terminal(capsys, tmp_path, files):
    (files / "a\x1b[2J\x9b1mb\rready.txt").write_text("Words.", "utf-8")
    cli.main(["--data", str(tmp_path / "data"), "ingest", str(files)])
    captured = capsys.readouterr()
    assert "a\ufffd[2J\ufffd1mb\ufffdready.txt" in captured.out
    assert not {"\x1b", "\x9b", "\r"} & set(captured.out + captured.err)


@pytest.mark.parametrize("inside", ["", "/sub"])
def test_a_data_directory_that_is_a_file_is_one_sentence(capsys, tmp_path, inside):
    (tmp_path / "file").write_text("")
    assert cli.main(["--data", f"{tmp_path / 'file'}{inside}", "ask", "What?"]) == 2
    said = capsys.readouterr().err
    assert "is a file, or lies in one. Choose a folder." in said and "Errno" not in said


def test_links_out_of_a_folder_are_refused_by_name(capsys, tmp_path, files):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("The secret is 83.")
    (files / "file.md").symlink_to(outside / "secret.md")
    (files / "folder").symlink_to(outside)
    (files / "same.md").symlink_to("castle.md")
    status, out, _ = footnote(capsys, tmp_path, "ingest", files, "--json")
    told = {Path(line["path"]).name: line for line in map(json.loads, out.splitlines())}
    assert status == 1 and "secret.md" not in told
    assert "leads out of the folder" in told["file.md"]["reason"]
    assert told["folder"]["status"] == "refused" and told["same.md"]["status"] != "refused"
    _, out, _ = footnote(capsys, tmp_path, "ask", "What is the secret?", "--json")
    assert "secret is 83" not in out


def test_without_json_the_answer_and_its_sources_are_for_people(capsys, tmp_path, files):
    status, out, _ = footnote(capsys, tmp_path, "ingest", files)
    assert status == 0 and "ready" in out and "castle.md" in out
    _, out, _ = footnote(capsys, tmp_path, "ask", "When was the castle built?")
    assert "1432" in out and "[1] castle.md" in out


def test_an_answer_about_a_whole_document_says_how_much_was_read(capsys, tmp_path, files):
    footnote(capsys, tmp_path, "ingest", files / "castle.md")
    _, out, _ = footnote(capsys, tmp_path, "ask", "Which documents mention a moat?", "--json")
    assert json.loads(out)["coverage"] == "Read 1 of 1 passages in 1 document"
    _, out, _ = footnote(capsys, tmp_path, "ask", "Which documents mention a moat?")
    assert "\n\nRead 1 of 1 passages in 1 document\n\n[1] castle.md" in out


def test_over_an_empty_library_the_answer_says_so(capsys, tmp_path):
    status, out, _ = footnote(capsys, tmp_path, "ask", "When was the castle built?", "--json")
    answer = json.loads(out)
    assert status == 0
    assert answer["passages"] == answer["citations"] == []
    assert answer["answer"]


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["ask"],
        ["ask", ""],
        ["ask", "x", "--k", "0"],
        ["ask", "x", "--k", "many"],
        ["ask", "x", "--k", "100000000000000000000"],
        ["ask", "x", "--retriever", "magic"],
        ["ask", "x", "--history", "no-such-file"],
        ["ingest", "no-such-file"],
        ["ingest", "x" * 300],
        ["model", "fetch", "openai:"],
        ["restore", "no-such-file"],
    ],
    ids=lambda a: " ".join(a)[:40],
)
def test_bad_input_is_one_sentence_and_2(capsys, tmp_path, arguments):
    status, out, err = footnote(capsys, tmp_path, *arguments)
    assert status == 2
    assert out == ""
    assert err.startswith("footnote: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    "content", ["{", '"text"', '[{"role": "user"}]', "[1]", '[{"role": "user", "content": null}]']
)
def test_a_wrong_history_is_one_sentence_and_2(capsys, tmp_path, content):
    history = tmp_path / "history.json"
    history.write_text(content)
    status, _, err = footnote(capsys, tmp_path, "ask", "x", "--history", history)
    assert status == 2 and "history.json" in err


def test_neither_torch_nor_the_parsers_are_imported_to_ask(tmp_path):
    check = (
        "import sys; from rag.cli import main; "
        f"main(['--data', {str(tmp_path / 'data')!r}, 'ask', 'Why?', '--json']); "
        "unwanted = {'torch', 'sentence_transformers', 'mammoth', 'pptx', 'pypdfium2'}; "
        "sys.exit(bool(unwanted & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", check], capture_output=True).returncode == 0


@pytest.mark.timeout(600)
def test_a_reader_of_its_output_may_leave(capsys, tmp_path, files):
    assert footnote(capsys, tmp_path, "ingest", files)[0] == 0
    command = [sys.executable, "-m", "rag.cli", "--data", str(tmp_path / "data")]
    asked = [*command, "ask", "--retriever", "bm25", "When was the castle built?"]
    with subprocess.Popen(asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 141
