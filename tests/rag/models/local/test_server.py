"""The real 0.5B model in llama.cpp: it answers, is alone on its port, and its failures are sentences."""

import subprocess
import sys
import threading
from pathlib import Path

import httpx
import psutil
import pytest

from rag.chat.rewrite import make_standalone
from rag.errors import Cancelled, LLMError, OwnModelUnusable
from rag.jobs import never
from rag.models.local import server as runtime
from rag.models.local.catalog import read_head
from rag.models.local.server import LocalModel
from rag.models.protocol import yes_against_no

ROOT = Path(__file__).parents[4]


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def children() -> set[int]:
    """The processes of this one that serve a model."""
    found = psutil.Process().children()
    return {child.pid for child in found if "rag.models.local.worker" in " ".join(child.cmdline())}


@pytest.fixture
def file(own_model: LocalModel) -> Path:
    """The real model's file."""
    del own_model
    from rag.models.local.catalog import QWEN_0_5B
    from rag.settings import default_model_cache

    return QWEN_0_5B.path(default_model_cache())


def test_it_answers_in_pieces(own_model: LocalModel):
    pieces = list(own_model.stream(said("What is the capital of Korea?"), max_tokens=8))
    assert len(pieces) > 1 and "Seoul" in "".join(pieces)  # what arrives together is one piece
    assert own_model.ready


def test_it_tells_the_odds_of_yes_and_no(own_model: LocalModel):
    asked = "Is Seoul the capital of Korea? Answer Yes or No."
    logprobs = own_model.logprobs(said(asked))
    assert logprobs is not None and (yes_against_no(logprobs) or 0) > 0.5


def test_it_is_told_how_much_it_can_read(own_model: LocalModel, file: Path):
    assert own_model.settings.context_tokens == 4096 and own_model.settings.brief
    assert LocalModel(file, name="small", context_tokens=10**9).settings.context_tokens == 32768


def test_a_follow_up_is_rewritten_or_completed_by_rule(own_model: LocalModel):
    history = [("user", "Who is Albert Einstein?"), ("assistant", "Albert Einstein was a physicist.")]
    standalone = make_standalone("Where was he born?", history, llm=own_model, seconds=60)
    assert "Einstein" in standalone.text


def test_a_stopped_answer_ends_at_once_and_the_next_one_comes(own_model: LocalModel):
    stop = threading.Event()
    with pytest.raises(Cancelled):
        for _ in own_model.stream(said("Count to a thousand."), max_tokens=900, cancelled=stop.is_set):
            stop.set()
    assert own_model.complete(said("Say yes."), max_tokens=1)


def test_a_question_that_is_too_long_is_a_sentence(own_model: LocalModel):
    with pytest.raises(LLMError, match=r"127\.0\.0\.1"):
        own_model.complete(said("word " * 6000), max_tokens=1)


def test_many_who_ask_first_start_one_server_which_is_started_anew_when_it_dies(file: Path):
    before = children()
    with LocalModel(file, name="small", context_tokens=512) as model:
        model.warm()
        assert children() == before and not model.ready, "nothing runs before it is asked"
        answers: list[str] = []
        asking = [
            threading.Thread(target=lambda: answers.append(model.complete(said("Say yes."), max_tokens=1)))
            for _ in range(4)
        ]
        for thread in asking:
            thread.start()
        for thread in asking:
            thread.join(100)
        (ours,) = children() - before
        assert len(answers) == 4 and all(answers)
        dying = psutil.Process(ours)
        dying.kill()
        dying.wait(60)
        assert model.complete(said("Say yes."), max_tokens=1)
        (anew,) = children() - before
        assert anew != ours
    assert children() == before


def test_only_holders_of_its_key_are_answered_and_no_one_sees_it(file: Path):
    with LocalModel(file, name="small", context_tokens=512) as model:
        address = model._client(never).settings
        (connection,) = {
            place.laddr.ip
            for child in psutil.Process().children()
            for place in child.net_connections("tcp")
            if place.status == psutil.CONN_LISTEN and str(place.laddr.port) in address.base_url
        }
        assert connection == "127.0.0.1"
        for key, status in {"guessed": 401, address.api_key: 200}.items():
            headers = {"authorization": f"Bearer {key}"}
            assert httpx.get(f"{address.base_url}/models", headers=headers).status_code == status
        told = " ".join(" ".join(child.cmdline()) for child in psutil.Process().children())
        assert address.api_key not in told + repr(address)


def test_it_does_not_outlive_the_app(file: Path):
    code = (
        "import sys, time; from pathlib import Path; from rag.models.local.server import LocalModel\n"
        f"model = LocalModel(Path({str(file)!r}), name='small', context_tokens=512)\n"
        "model._client(lambda: False); print(model._child.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT) as app:
        assert app.stdout is not None
        served = psutil.Process(int(app.stdout.readline()))
        app.kill()
    assert psutil.wait_procs([served], timeout=60)[1] == []


def test_a_file_that_is_cut_off_is_said(file: Path, tmp_path: Path):
    cut = tmp_path / "cut.gguf"
    with file.open("rb") as whole:
        cut.write_bytes(whole.read(20_000_000))
    with (
        LocalModel(cut, name="cut", context_tokens=512) as model,
        pytest.raises(OwnModelUnusable, match=r"cannot read cut.gguf, which is damaged, not whole"),
    ):
        model.complete(said("Hello"), max_tokens=1)


def test_a_file_that_is_no_model_or_is_gone_is_said(tmp_path: Path):
    (tmp_path / "letter.gguf").write_text("Dear reader")
    for name, sentence in {"letter": "is not a GGUF model", "gone": "No such file"}.items():
        with (
            LocalModel(tmp_path / f"{name}.gguf", name=name, context_tokens=512) as model,
            pytest.raises(OwnModelUnusable, match=sentence),
        ):
            model.complete(said("Hello"), max_tokens=1)


def test_too_little_memory_is_said_before_it_is_taken(file: Path):
    with pytest.raises(OwnModelUnusable, match=r"vast needs about 12\d{3}\.\d GB of memory, and .* are free"):
        runtime.require_memory(file, "vast", 10**9 * read_head(file).token_bytes)


def test_a_start_can_be_stopped_and_nothing_is_left_running(file: Path):
    before = children()
    model = LocalModel(file, name="small", context_tokens=512)
    with pytest.raises(Cancelled):
        model.complete(said("Hello"), max_tokens=1, cancelled=lambda: True)
    assert children() == before and not model.ready


def test_without_llama_cpp_it_says_how_to_install_it(file: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runtime, "installed", lambda: False)
    with (
        LocalModel(file, name="small", context_tokens=512) as model,
        pytest.raises(OwnModelUnusable, match=r"needs the package xllamacpp\. Install it with"),
    ):
        model.complete(said("Hello"), max_tokens=1)


def test_the_version_that_is_installed_is_the_one_that_was_tested():
    pinned = f"{runtime.PACKAGE}=={runtime.VERSION}\n"
    assert pinned in (ROOT / "constraints.txt").read_text()
