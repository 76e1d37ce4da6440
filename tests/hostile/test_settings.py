"""Settings that cannot be meant: refused at the start by key and value, before anything is written.

Through both doors: the command line, and the services that every page asks for. The same settings put
right start at once.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag import settings as config
from rag.cli import main
from rag.errors import SettingsError
from storage.errors import StorageError
from storage.sqlite import LEDGER
from ui.server import services

WRONG = [
    ("FOOTNOTE_K", "0"),
    ("FOOTNOTE_K", "-3"),
    ("FOOTNOTE_K", "51"),
    ("FOOTNOTE_K", "many"),
    ("FOOTNOTE_K", "4.5"),
    ("FOOTNOTE_K", ""),
    ("FOOTNOTE_K", "1e9999"),
    ("FOOTNOTE_FETCH_K", "1"),
    ("FOOTNOTE_MAX_UPLOAD_MB", "0"),
    ("FOOTNOTE_MAX_UPLOAD_MB", "-50"),
    ("FOOTNOTE_LLM_TIMEOUT", "0"),
    ("FOOTNOTE_LLM_TIMEOUT", "soon"),
    ("FOOTNOTE_LLM_TIMEOUT", "nan"),
    ("FOOTNOTE_LLM_TIMEOUT", "inf"),
    ("FOOTNOTE_LLM_IDLE_TIMEOUT", "-1"),
    ("FOOTNOTE_LLM_REPHRASE_TIMEOUT", "0"),
    ("FOOTNOTE_LLM_CONTEXT_TOKENS", "511"),
    ("FOOTNOTE_RERANK_SECONDS", "-0.1"),
    ("FOOTNOTE_RERANK_THRESHOLD", "high"),
    ("FOOTNOTE_RERANK_THRESHOLD", "nan"),
    ("FOOTNOTE_SHUTDOWN_SECONDS", "-1"),
    ("FOOTNOTE_RETRIEVER", "magic"),
    ("FOOTNOTE_RERANKER", "cross_encoder"),
    ("FOOTNOTE_RAPTOR", "on"),
    ("FOOTNOTE_KOREAN_JAPANESE_ANALYZERS", "perhaps"),
    ("FOOTNOTE_LOST_IN_THE_MIDDLE_ORDER", "sometimes"),
    ("FOOTNOTE_EMBEDDING_MODEL", ""),
    ("FOOTNOTE_VECTOR_STORE", "faiss"),
    ("FOOTNOTE_VECTOR_STORE", "os:system('ls')"),
    ("FOOTNOTE_VECTOR_STORE", "../evil:Class"),
    ("FOOTNOTE_LLM_BASE_URL", "localhost:8080"),
    ("FOOTNOTE_LLM_BASE_URL", "file:///etc/passwd"),
    ("FOOTNOTE_LLM_BASE_URL", "http://"),
    ("FOOTNOTE_LLM_BASE_URL", "http://[::1"),
    ("FOOTNOTE_LLM_BASE_URL", "http://host:99999/v1"),
    ("OPENAI_BASE_URL", "gopher://host/"),
    ("FOOTNOTE_EMBEDDING_BASE_URL", "https:///v1"),
    ("FOOTNOTE_RERANK_BASE_URL", "javascript:alert(1)"),
]
# What is hidden is named, and its value is not.
HIDDEN = [
    ("FOOTNOTE_VECTOR_STORE_ARGUMENTS", '{"api_key": "marked"'),
    ("FOOTNOTE_VECTOR_STORE_ARGUMENTS", '["marked"]'),
    ("FOOTNOTE_LLM_BASE_URL", "ftp://ann:marked@host/"),
    ("FOOTNOTE_EMBEDDING_BASE_URL", "ann:marked@host"),
    ("DATABASE_URL", "marked"),
    ("DATABASE_URL", "nosuchdb://ann:marked@host/ledger"),
    ("DATABASE_URL", "sqlite:///marked.db"),
]
FILES = {
    "not TOML": b"k = [",
    "not text": b"\xff\xfe\x00",
    "a setting that there is not": b"[footnote]\nfont = 'large'\n",
    "a table in the place of the table": b"footnote = 3\n",
    "a wrong type": b"[footnote]\nk = 'many'\n",
    "a table for a number": b"[footnote.k]\na = 1\n",
    "a list for a text": b"[footnote]\nllm_model = ['a', 'b']\n",
}
SAVED = {
    "not JSON": b"{",
    "not text": b"\xff\xfe",
    "a wrong value": b'{"k": -1}',
    "a wrong type": b'{"retriever": {"a": 1}}',
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    yield tmp_path
    services.close()


def refusals(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What each door says: a command that would write, and the services."""
    Path("note.md").write_text("The deposit is three months' rent.")
    assert main(["ingest", "note.md"]) == 2
    said = capsys.readouterr().err
    with pytest.raises((SettingsError, StorageError)) as refused:
        services.services()
    return [said, str(refused.value)]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_refused_by_key_and_value_and_nothing_is_written(
    name: str, value: str, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(name, value)
    for said in refusals(capsys):
        assert name in said and value in said, said
        assert said.rstrip().endswith(".") and "Traceback" not in said and said.count("\n") <= 1
    assert not (place / "data" / LEDGER).exists()
    monkeypatch.delenv(name)
    services.services()


@pytest.mark.parametrize(("name", "value"), HIDDEN)
def test_a_secret_in_a_wrong_value_is_not_shown(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv(name, value)
    for said in refusals(capsys):
        assert name in said and "marked" not in said, said


@pytest.mark.parametrize("case", FILES)
def test_a_secrets_file_that_cannot_be_meant_is_refused_by_name(
    case: str, place: Path, capsys: pytest.CaptureFixture[str]
):
    secrets = place / config.SECRETS
    secrets.parent.mkdir()
    secrets.write_bytes(FILES[case])
    for said in refusals(capsys):
        assert "secrets.toml" in said or "FOOTNOTE_" in said, said
    secrets.unlink()
    services.services()


def test_a_secrets_file_that_cannot_be_read_is_refused_by_name(
    place: Path, capsys: pytest.CaptureFixture[str]
):
    (place / config.SECRETS).mkdir(parents=True)
    assert all("secrets.toml" in said for said in refusals(capsys))


@pytest.mark.parametrize("case", SAVED)
def test_what_the_page_has_saved_is_refused_by_name_where_it_was_spoilt(
    case: str, place: Path, capsys: pytest.CaptureFixture[str]
):
    saved = place / "data" / config.SAVED
    saved.parent.mkdir()
    saved.write_bytes(SAVED[case])
    for said in refusals(capsys):
        assert config.SAVED in said or "FOOTNOTE_" in said, said
    saved.write_text(json.dumps({"k": 4}))
    assert services.services().settings.k == 4


def test_more_passages_than_there_are_is_no_mistake(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FOOTNOTE_K", "50")
    here = services.workspace()
    list(here.library.read(here.library.add("note.md", b"The deposit is three months' rent.")[0].id))
    turn = here.ask(here.conversations.create().id, "How much is the deposit?")
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(30)
    assert here.conversations.message(turn.answer_id).state == "complete"
