"""`footnote serve`: what it starts, with which options; a second one is refused."""

import os
import sys
from pathlib import Path

import pytest

from rag import cli
from rag.cli.serve import CONFIG
from rag.sample import sample_in
from storage.lock import DataDirectoryLock

ROOT = Path(__file__).parents[3]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[list[str], dict[str, str]]]:
    """The commands that replaced the process, in a folder and a home without configuration."""
    there: list[tuple[list[str], dict[str, str]]] = []

    def replaced(_: str, command: list[str], environment: dict[str, str]) -> None:
        there.append((command, environment))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", replaced)
    for name in [name for name in os.environ if name.startswith("STREAMLIT_")]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "openai:none")  # the models' cache is in the real home
    monkeypatch.chdir(home)
    return there


def serve(tmp_path: Path, *arguments: str) -> int:
    try:
        return cli.main(["--data", str(tmp_path / "data"), "serve", *arguments])
    except SystemExit as end:
        return int(end.code or 0)


def test_the_application_and_its_options_are_those_of_a_clone(tmp_path: Path, started):
    assert serve(tmp_path) == 0
    (command, environment), *_ = started
    assert command[:4] == [sys.executable, "-m", "streamlit", "run"]
    app = Path(command[4])
    assert app.read_text() == (ROOT / "app.py").read_text()
    assert (app.parent / CONFIG).read_text() == (ROOT / CONFIG).read_text()
    assert command[5:] == []
    assert environment["FOOTNOTE_DATA"] == str(tmp_path / "data")


def test_the_number_of_workers_is_handed_on(tmp_path: Path, started):
    assert serve(tmp_path, "--workers", "0") == 0
    assert serve(tmp_path) == 0
    assert [environment.get("FOOTNOTE_WORKERS") for _, environment in started] == ["0", None]


def test_arguments_files_and_the_environment_of_the_operator_win(
    tmp_path: Path, started, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("STREAMLIT_SERVER_ALLOWED_HOSTS", "notes.example")
    Path(".streamlit").mkdir()
    Path(".streamlit/config.toml").write_text(
        '[server]\nallowedHosts = ["other.example"]\nport = 8500\n[theme.light]\ntextColor = "black"\n'
        '[client]\nshowErrorLinks = false\n[logger]\nlevel = "debug"\n'
    )
    serve(tmp_path, "--port", "8600", "--open")
    assert started[0][0][5:] == [
        "--server.port=8600",
        "--theme.light.textColor=black",  # other options of the file are read from there, or are the same
        "--server.headless=false",
    ]


def test_a_second_server_is_refused_before_anything_starts(tmp_path: Path, started, capsys):
    lock = DataDirectoryLock(tmp_path / "data")
    lock.acquire()
    assert serve(tmp_path) == 2
    lock.release()
    assert "is in use by process" in capsys.readouterr().err
    assert not started


def test_a_broken_configuration_is_one_sentence(tmp_path: Path, started, capsys):
    Path(".streamlit").mkdir()
    Path(".streamlit/config.toml").write_text("[theme")
    assert serve(tmp_path) == 2
    assert "config.toml cannot be read" in capsys.readouterr().err


def test_the_demo_answers_from_its_sample_and_leaves_the_library_alone(tmp_path: Path, capsys):
    for _ in range(2):  # the second finds the sample there
        assert cli.main(["--data", str(tmp_path / "data"), "demo", "--no-page"]) == 0
        said = capsys.readouterr().out
        assert "[1] verified: “" in said
        assert sample_in("en").name in said
    assert not (tmp_path / "data").exists()
    assert (tmp_path / "data-demo" / "footnote.db").exists()
