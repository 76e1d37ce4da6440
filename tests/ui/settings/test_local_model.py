"""The settings page's way to a model of one's own: installed, used, put aside, removed."""

import fcntl
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag.jobs import Jobs
from rag.models.local.catalog import QWEN_0_5B, QWEN_1_5B
from rag.models.local.install import Installs
from rag.models.local.server import LocalModel
from rag.settings import default_model_cache
from rag.workspace import Workspace
from tests.ui.conftest import words
from ui.server import services

Page = Callable[..., AppTest]
USE = f"use-{QWEN_0_5B.name}"
EMBEDDER = "multilingual-e5-small"


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for models in which there is no language model; asked for before `page`."""
    cache = tmp_path / "models"
    monkeypatch.setenv("FOOTNOTE_MODEL_CACHE", str(cache))
    cache.mkdir()
    (cache / EMBEDDER).symlink_to(default_model_cache() / EMBEDDER)  # to make it anew takes five seconds
    return cache


@pytest.fixture
def stocked(own_model: LocalModel, empty: Path) -> None:
    """A folder for models in which the tests' model lies, and no other that the page would offer first."""
    del own_model
    path = QWEN_0_5B.path(empty)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(QWEN_0_5B.path(default_model_cache()))


def lay(cache: Path) -> Path:
    """Lay a file where the model's would be."""
    path = QWEN_1_5B.path(cache)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    return path


def press(at: AppTest, key: str) -> AppTest:
    return next(button for button in at.button if button.key == key).click().run()


def offered(at: AppTest, name: str) -> AppTest:
    return at.selectbox(key="own-model-en").set_value(name).run()


def test_what_it_costs_is_said_before_it_is_installed(empty: Path, page: Page):
    at = page("settings")
    assert "Install qwen2.5-1.5b (1.1 GB to download)" in [button.label for button in at.button]
    assert "From Qwen/Qwen2.5-1.5B-Instruct-GGUF on huggingface.co. Licence: Apache 2.0." in words(at)
    at = offered(at, QWEN_1_5B.name)
    assert "Not installed: 1.1 GB to download (" in words(at)
    assert "about 1.9 GB of memory" in words(at)
    assert f"Install {QWEN_1_5B.name} (1.1 GB to download)" in [button.label for button in at.button]


def test_a_model_that_is_there_is_offered_to_be_used_on_the_start_page(empty: Path, page: Page):
    def ways() -> str:
        return " ".join(page().segmented_control(key="first-model-way").options)

    assert "Install a model" in ways()
    lay(empty)
    assert "Use an installed model" in ways() and "Install a model" not in ways()


def test_what_is_left_of_a_download_is_said(empty: Path, page: Page):
    coming = lay(empty).rename(QWEN_1_5B.path(empty).with_suffix(".partial"))
    with coming.open("r+b") as file:
        file.truncate(524_288_000)
    at = page("settings")
    assert f"Continue installing {QWEN_1_5B.name} (593 MB to download)" in [
        button.label for button in at.button
    ]


def test_a_model_that_is_here_is_used_and_put_aside(stocked: None, page: Page):
    at = press(page("settings"), USE)
    model = services.services().llm
    assert isinstance(model, LocalModel) and not model.ready, "it is not started before it is asked"
    assert "Answers are written by **qwen2.5-coder-0.5b**, on this computer." in words(at).replace("\\", "")
    told, _icon = at.session_state["notice"]
    assert told.replace("\\", "") == "Answers are now written by qwen2.5-coder-0.5b."
    at = press(at, "own-none")
    assert services.services().llm is None and "No model is connected" in words(at)


def test_a_connected_server_wins_until_one_switches(stocked: None, page: Page):
    services.services().change({"local_model": QWEN_0_5B.name, "llm_model": "gpt"})
    assert not isinstance(services.services().llm, LocalModel)
    at = page("settings")
    assert "written by **gpt**" in words(at)
    at = press(at, USE)
    assert isinstance(services.services().llm, LocalModel) and services.services().settings.llm_model == ""


def test_a_server_that_the_environment_names_cannot_be_replaced_here(
    stocked: None, monkeypatch: pytest.MonkeyPatch, page: Page
):
    monkeypatch.setenv("FOOTNOTE_LLM_MODEL", "fixed")
    services.close()
    at = page("settings")
    assert next(button for button in at.button if button.key == USE).disabled


def test_any_gguf_is_taken_by_its_path_and_what_is_none_is_refused(stocked: None, page: Page, tmp_path: Path):
    (tmp_path / "letter.gguf").write_text("Dear reader")
    at = page("settings")
    for path, sentence in {"letter.gguf": "is not a GGUF model", "/nowhere.gguf": "No such file"}.items():
        at.text_input(key="own-file-path").set_value(path)
        next(button for button in at.button if button.label == "Use this file").click().run()
        assert sentence in at.error[0].value.replace("\\", "") and services.services().llm is None
    file = QWEN_0_5B.path(default_model_cache())
    at.text_input(key="own-file-path").set_value(str(file))
    next(button for button in at.button if button.label == "Use this file").click().run()
    assert services.services().settings.local_model == str(file) and not at.error


def test_a_model_is_removed_after_a_question(empty: Path, page: Page):
    file = lay(empty)
    services.services().change({"local_model": QWEN_1_5B.name})
    at = press(page("settings"), f"remove-{QWEN_1_5B.name}")
    assert file.exists()
    at = press(at, f"really-remove-{QWEN_1_5B.name}")
    assert not file.exists() and services.services().settings.local_model == ""


def test_an_installation_is_followed_and_can_be_stopped(empty: Path, page: Page):
    folder = QWEN_1_5B.path(empty).parent
    folder.mkdir(parents=True)
    with (folder / ".lock").open("w") as another:
        fcntl.flock(another, fcntl.LOCK_EX)
        at = press(offered(page("settings"), QWEN_1_5B.name), f"install-{QWEN_1_5B.name}")
        job = services.services().installs.running(QWEN_1_5B)
        assert job is not None and "Continues if you leave this page." in words(at)
        press(at, f"stop-{QWEN_1_5B.name}")
        assert job.wait(100)
    assert services.services().installs.running(QWEN_1_5B) is None
    assert services.services().installs.failure(QWEN_1_5B) == ""


def test_why_an_installation_failed_is_said(empty: Path, page: Page):
    lay(empty)
    installs = services.services().installs
    installs.start(QWEN_1_5B)
    job = installs.running(QWEN_1_5B)
    assert job is None or job.wait(60)
    assert "is not a GGUF model" in installs.failure(QWEN_1_5B)
    assert "is not a GGUF model" in page("settings").error[0].value.replace("\\", "")
    assert services.services().llm is None


def test_what_was_installed_has_been_tried_and_is_ready(stocked: None):
    ready: list[str] = []
    jobs = Jobs()
    installs = Installs(jobs, default_model_cache(), ready.append)
    installs.start(QWEN_0_5B)
    job = installs.running(QWEN_0_5B)
    assert job is None or job.wait(100)
    assert ready == [QWEN_0_5B.name] and installs.failure(QWEN_0_5B) == ""


def test_what_was_installed_writes_the_answers_where_no_server_does(here: Workspace):
    held = services.services()
    held._use_own(QWEN_1_5B.name)
    assert held.settings.local_model == QWEN_1_5B.name
    held.change({"llm_model": "gpt", "local_model": ""})
    held._use_own(QWEN_1_5B.name)
    assert held.settings.local_model == ""


def test_an_answer_that_waits_for_the_model_to_start_says_so(stocked: None, here: Workspace):
    held = services.services()
    assert not held.model_starts
    held.change({"local_model": QWEN_0_5B.name})
    assert held.model_starts
    held.change({"llm_model": "gpt"})
    assert not held.model_starts
