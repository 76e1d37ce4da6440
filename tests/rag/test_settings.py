import json
import stat
from pathlib import Path

import pytest

from rag import settings as config
from rag.errors import SettingsError


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch, tmp_path):
    for name in (
        "OPENAI_BASE_URL",
        "OPENAI_API_KEY",
        "OPENAI_MODEL",
        "DATABASE_URL",
        "FOOTNOTE_KOREAN_JAPANESE_ANALYZERS",
        "FOOTNOTE_LLM_REPHRASE_TIMEOUT",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path))


def test_without_anything_set_no_model_is_connected():
    settings = config.load()
    assert not settings.connected
    assert settings.retriever == "ensemble-cc"


def test_a_key_in_the_environment_alone_connects_nothing(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-marked")
    assert not config.load().connected


def test_environment_comes_before_secrets_before_the_saved_page(monkeypatch, tmp_path):
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('[footnote]\nllm_model = "from-secrets"\nk = 9\n')
    config.save(tmp_path, {"llm_model": "from-page", "k": 3, "retriever": "bm25"})
    assert config.load(secrets=secrets).llm_model == "from-secrets"
    assert config.load(secrets=secrets).retriever == "bm25"
    monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "from-environment")
    assert config.load(secrets=secrets).llm_model == "from-environment"
    assert config.load(secrets=secrets).k == 9
    assert config.fixed_fields(secrets=secrets) == {"llm_model", "k", "data"}


def test_lists_are_written_with_commas_or_as_arrays(monkeypatch, tmp_path):
    assert config.load().private_hosts == config.load().allowed_folders == ()
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('[footnote]\nprivate_hosts = ["wiki.corp"]\nfolder_roots = ["/srv/a,b"]\n')
    assert config.load(secrets=secrets).private_hosts == ("wiki.corp",)
    assert config.load(secrets=secrets).allowed_folders == ("/srv/a,b",)
    monkeypatch.setenv("FOOTNOTE_PRIVATE_HOSTS", " 10.0.0.0/8, ::1,")
    monkeypatch.setenv("FOOTNOTE_ALLOWED_FOLDERS", "/srv/papers,~/notes")
    assert config.load().private_hosts == ("10.0.0.0/8", "::1")
    assert config.load().allowed_folders == ("/srv/papers", "~/notes")


def test_an_argument_comes_before_the_environment(tmp_path):
    assert config.load({"data": tmp_path / "other", "k": None}).data == tmp_path / "other"


def test_what_the_page_saves_is_for_its_owner_only_and_merges(tmp_path):
    config.save(tmp_path, {"llm_model": "m", "llm_api_key": "sk-marked"})
    config.save(tmp_path, {"k": 4, "data": "elsewhere"})
    saved = tmp_path / config.SAVED
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    assert json.loads(saved.read_text()) == {"llm_model": "m", "llm_api_key": "sk-marked", "k": 4}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FOOTNOTE_K", "0"),
        ("FOOTNOTE_K", "many"),
        ("FOOTNOTE_LLM_BASE_URL", "localhost:8080"),
        ("FOOTNOTE_LLM_TIMEOUT", "-1"),
        ("FOOTNOTE_RETRIEVER", "magic"),
        ("FOOTNOTE_EMBEDDING_MODEL", ""),
        ("FOOTNOTE_VECTOR_STORE", "faiss"),
        ("FOOTNOTE_VECTOR_STORE", "a.b:C()"),
        ("FOOTNOTE_KOREAN_JAPANESE_ANALYZERS", "perhaps"),
        ("FOOTNOTE_PRIVATE_HOSTS", "http://wiki.corp"),
        ("FOOTNOTE_ALLOWED_FOLDERS", "papers"),
    ],
)
def test_a_wrong_value_is_refused_naming_key_and_value(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=name) as refused:
        config.load()
    assert repr(value) in str(refused.value)


RENAMED_VALUES = {
    "own_model": "qwen",
    "best_outside": True,
    "folder_roots": ("/srv/papers",),
    "recognition_minutes": 7.0,
    "stop_seconds": 3.0,
    "admitted": ("@example.org",),
    "morphemes": "off",
}


def test_every_renamed_setting_has_a_value_to_try():
    assert config.RENAMED.keys() == RENAMED_VALUES.keys()


@pytest.mark.parametrize(("earlier", "value"), RENAMED_VALUES.items(), ids=RENAMED_VALUES)
def test_the_earlier_name_of_a_setting_keeps_working(monkeypatch, tmp_path, earlier, value):
    name = config.RENAMED[earlier]
    given = list(value) if isinstance(value, tuple) else value
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(f"[footnote]\n{earlier} = {json.dumps(given)}\n")
    assert getattr(config.load(secrets=secrets), name) == value
    assert name in config.fixed_fields(secrets=secrets)
    if name in config.EDITABLE:
        (tmp_path / config.SAVED).write_text(json.dumps({earlier: given}))
        assert getattr(config.load(), name) == value
        assert config.shareable(tmp_path) == {name: value}
    monkeypatch.setenv(f"FOOTNOTE_{earlier.upper()}", given[0] if isinstance(given, list) else str(given))
    assert getattr(config.load(), name) == value
    assert name in config.fixed_fields()


def test_the_present_name_of_a_setting_wins_over_its_earlier_one(monkeypatch, tmp_path):
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('[footnote]\nlocal_model = "new"\nown_model = "old"\n')
    assert config.load(secrets=secrets).local_model == "new"
    monkeypatch.setenv("FOOTNOTE_OWN_MODEL", "old-environment")
    assert config.load(secrets=secrets).local_model == "old-environment"
    monkeypatch.setenv("FOOTNOTE_LOCAL_MODEL", "new-environment")
    assert config.load(secrets=secrets).local_model == "new-environment"


def test_saving_a_renamed_setting_replaces_its_earlier_value(tmp_path):
    (tmp_path / config.SAVED).write_text('{"own_model": "old", "k": 3}')
    config.save(tmp_path, {"local_model": ""})
    assert json.loads((tmp_path / config.SAVED).read_text()) == {"local_model": "", "k": 3}


def test_a_wrong_value_under_an_earlier_name_is_refused_by_that_name(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_STOP_SECONDS", "-1")
    with pytest.raises(SettingsError, match="FOOTNOTE_STOP_SECONDS"):
        config.load()


def test_a_key_is_never_shown(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_LLM_API_KEY", "sk-marked")
    assert "sk-marked" not in repr(config.load())


@pytest.mark.parametrize("content", ["k = [", "[footnote]\nnonsense = 1\n", b"\xff\xfe\x00"])
def test_an_unreadable_secrets_file_is_refused_by_name(tmp_path: Path, content):
    secrets = tmp_path / "secrets.toml"
    secrets.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(SettingsError, match=r"secrets\.toml"):
        config.load(secrets=secrets)


def test_the_arguments_of_a_vector_store_are_a_json_object_or_a_table(monkeypatch, tmp_path):
    monkeypatch.setenv("FOOTNOTE_VECTOR_STORE", "langchain_qdrant:QdrantVectorStore")
    monkeypatch.setenv("FOOTNOTE_VECTOR_STORE_ARGUMENTS", '{"path": "x", "timeout": 3}')
    assert config.load().vector_store_arguments == {"path": "x", "timeout": 3}
    monkeypatch.delenv("FOOTNOTE_VECTOR_STORE_ARGUMENTS")
    secrets = tmp_path / "secrets.toml"
    secrets.write_text('[footnote.vector_store_arguments]\npath = "y"\n')
    assert config.load(secrets=secrets).vector_store_arguments == {"path": "y"}
    assert config.load().vector_store_arguments == {}


@pytest.mark.parametrize("arguments", ["{", "[1]", '"marked"', '{"api_key": "marked"'])
def test_arguments_that_are_none_are_refused_without_being_shown(monkeypatch, arguments):
    monkeypatch.setenv("FOOTNOTE_VECTOR_STORE_ARGUMENTS", arguments)
    with pytest.raises(SettingsError, match="FOOTNOTE_VECTOR_STORE_ARGUMENTS") as refused:
        config.load()
    assert "marked" not in str(refused.value)


def test_the_page_cannot_name_a_vector_store(tmp_path):
    config.save(tmp_path, {"vector_store": "os:system", "vector_store_arguments": {"path": "x"}})
    assert config.load().vector_store == "chroma"


def test_the_arguments_of_a_vector_store_are_never_shown(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_VECTOR_STORE_ARGUMENTS", '{"api_key": "marked"}')
    assert "marked" not in repr(config.load())
