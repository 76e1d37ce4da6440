import logging
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from rag.errors import Cancelled, LLMBusy, LLMError, LLMGarbled, LLMRejected, LLMUnreachable
from rag.models.llm import ANSWER_CHARS, LLM
from rag.models.protocol import LLMSettings
from tests.rag.fake_llm import FakeLLM, Reply

KEY = "sk-very-secret-mark-1234567890"
CHAT = [{"role": "user", "content": "Hello"}]


def settings(url: str, **changes: float) -> LLMSettings:
    times = {"timeout": 5.0, "idle_timeout": 1.0, **changes}
    return LLMSettings(url, "fake-model", api_key=KEY, **times)  # type: ignore[arg-type]


@pytest.fixture
def model(fake_llm: FakeLLM) -> Iterator[LLM]:
    with LLM(settings(fake_llm.url)) as llm:
        yield llm


def collect(llm: LLM) -> tuple[str, LLMError | None]:
    """Return what came, and the error that ended it."""
    said: list[str] = []
    try:
        said.extend(llm.stream(CHAT, max_tokens=100))
    except LLMError as error:
        return "".join(said), error
    return "".join(said), None


def test_an_answer_comes_in_pieces(fake_llm, model):
    fake_llm.reply(Reply("서울은 한국의 수도이다. 東京は首都です。", hold_after=2))
    pieces = model.stream(CHAT, max_tokens=7)
    begun = next(pieces)
    assert "서울은 한국의".startswith(begun)
    fake_llm.released.set()
    assert begun + "".join(pieces) == "서울은 한국의 수도이다. 東京は首都です。"
    (request,) = fake_llm.requests
    assert request.messages == CHAT
    assert (request.body["model"], request.body["max_tokens"], request.body["temperature"]) == (
        "fake-model",
        7,
        0.0,
    )
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_complete_returns_the_whole(fake_llm, model):
    fake_llm.say("One two three")
    assert model.complete(CHAT, max_tokens=100) == "One two three"


def test_a_model_is_shared_between_threads(fake_llm, model):
    fake_llm.reply(Reply(lambda request: request.messages[0]["content"] * 3, pause=0.01))
    said: dict[int, str] = {}

    def ask(number: int) -> None:
        said[number] = model.complete([{"role": "user", "content": f"<{number}>"}], max_tokens=100)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert said == {number: f"<{number}>" * 3 for number in range(8)}


def test_a_server_that_does_not_stream_is_understood(fake_llm, model):
    body = b'{"choices": [{"message": {"content": "All at once."}, "finish_reason": "stop"}]}'
    fake_llm.reply(Reply(body=body, content_type="application/json"))
    assert model.complete(CHAT, max_tokens=100) == "All at once."


# --- A1: the server cannot be reached, or refuses


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "refused the request"),
        (401, "API key"),
        (403, "does not let this API key"),
        (404, "has no model fake-model"),
        (413, "too long"),
        (422, "refused the request"),
    ],
)
def test_what_cannot_get_better_is_not_tried_again(fake_llm, model, status, words):
    fake_llm.reply(Reply(status=status))
    said, error = collect(model)
    assert said == ""
    assert isinstance(error, LLMRejected)
    assert words in str(error)
    assert "http://127.0.0.1" in str(error)
    assert len(fake_llm.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529])
def test_what_may_get_better_is_tried_again(fake_llm, model, status):
    fake_llm.reply(Reply(status=status), Reply("Better now."))
    assert collect(model) == ("Better now.", None)
    assert len(fake_llm.requests) == 2


@pytest.mark.parametrize("status", [429, 500, 529])
def test_trying_again_has_an_end(fake_llm, model, status):
    fake_llm.reply(Reply(status=status))
    _, error = collect(model)
    assert isinstance(error, LLMRejected)
    assert len(fake_llm.requests) == 3


def test_a_server_s_wish_to_wait_is_honoured(fake_llm, model):
    fake_llm.reply(Reply(status=429, headers={"retry-after": "1"}), Reply("Thanks."))
    started = time.monotonic()
    assert collect(model) == ("Thanks.", None)
    assert time.monotonic() - started >= 1


def test_a_long_wish_to_wait_is_told_at_once(fake_llm, model):
    fake_llm.reply(Reply(status=429, headers={"retry-after": "600"}))
    started = time.monotonic()
    _, error = collect(model)
    assert isinstance(error, LLMBusy) and error.wait == 600
    assert "Wait 600 seconds" in str(error)
    assert time.monotonic() - started < 60
    assert len(fake_llm.requests) == 1


def test_nothing_listens():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with LLM(settings(f"http://127.0.0.1:{port}/v1")) as llm:
        _, error = collect(llm)
    assert isinstance(error, LLMUnreachable)
    assert f"Cannot reach http://127.0.0.1:{port}" in str(error)


def test_no_such_host():
    with LLM(settings("http://no-such-host.invalid/v1")) as llm:
        _, error = collect(llm)
    assert isinstance(error, LLMUnreachable)
    assert "http://no-such-host.invalid" in str(error)


def test_a_certificate_nobody_signed(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_shake_hands, args=(listener, context), daemon=True).start()
        with LLM(settings(f"https://127.0.0.1:{listener.getsockname()[1]}/v1")) as llm:
            _, error = collect(llm)
    assert isinstance(error, LLMUnreachable)
    assert "certificate" in str(error)


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listener.accept()
            with context.wrap_socket(connection, server_side=True):
                pass
        except ssl.SSLError:
            continue
        except OSError:
            return


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "Incorrect API key provided: ' + KEY.encode() + b'"}}',
        b'{"error": {"message": "bad header Bearer ' + KEY.encode() + b' in request"}}',
        KEY.encode(),
    ],
)
@pytest.mark.parametrize("status", [400, 401, 500])
def test_the_key_is_never_shown_or_logged(fake_llm, model, caplog, status, body):
    caplog.set_level(logging.DEBUG)
    fake_llm.reply(Reply(status=status, body=body))
    try:
        model.complete(CHAT, max_tokens=10)
    except LLMError as error:
        logging.getLogger("test").exception("failed: %s", error)
    assert "secret-mark" not in caplog.text
    assert "secret-mark" not in repr(model.settings)


@pytest.mark.parametrize(
    "echo", ["AIzaSecretMark/77", "AIzaSecretMark\\/77", "AIzaSecretMark\\u002f77", "AIzaSecretMark%2F77"]
)
def test_a_key_of_any_form_that_a_server_echoes_is_not_shown(fake_llm, echo):
    said = f'{{"error": {{"message": "No project has {echo}. Make one."}}}}'
    fake_llm.reply(Reply(status=400, body=said.encode()))
    with LLM(replace(settings(fake_llm.url), api_key="AIzaSecretMark/77")) as llm:
        _, error = collect(llm)
    assert "No project has [key]. Make one" in str(error)


@pytest.mark.parametrize("echo", ["key-abc*****mark", "sk_abc...mark", "Bearer abcdefmark"])
def test_what_looks_like_a_key_is_not_shown_though_it_is_not_the_one_that_was_sent(fake_llm, model, echo):
    fake_llm.reply(Reply(status=400, body=f'{{"message": "Refused: {echo}"}}'.encode()))
    _, error = collect(model)
    assert "Refused: [key]" in str(error) and "mark" not in str(error)


def test_user_and_password_of_an_address_are_not_shown(fake_llm):
    fake_llm.reply(Reply(status=404))
    with LLM(settings(fake_llm.url.replace("http://", "http://ann:pass@"))) as llm:
        _, error = collect(llm)
    assert "pass" not in str(error)


def test_options_a_server_does_not_know_are_left_out(fake_llm, model):
    refusals = [
        b'{"error": {"message": "Unsupported parameter: \'max_tokens\'. Use another."}}',
        b'{"error": {"message": "Unsupported value: \'temperature\' does not support 0."}}',
    ]
    fake_llm.reply(*(Reply(status=400, body=body) for body in refusals), Reply("Here you are."))
    assert model.complete(CHAT, max_tokens=9) == "Here you are."
    last = fake_llm.requests[-1].body
    assert last["max_completion_tokens"] == 9
    assert not {"max_tokens", "temperature"} & set(last)


# --- A2: the server hangs


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (Reply("one two three", hang=True), ""),
        (Reply("one two three", hang_after=-1), ""),
        (Reply("one two three", hang_after=2), "one two"),
        (Reply("one two three", trickle=0.5), ""),
    ],
    ids=["before headers", "after headers", "between tokens", "byte by byte"],
)
def test_a_silent_server_is_left_and_what_it_said_is_kept(fake_llm, reply, kept):
    fake_llm.reply(reply)
    with LLM(settings(fake_llm.url, idle_timeout=0.4)) as llm:
        said, error = collect(llm)
    assert said.strip() == kept
    assert isinstance(error, LLMUnreachable)
    assert "sent nothing for 0.4 seconds" in str(error)
    assert fake_llm.hung_up.wait(10)


def test_a_server_that_sends_only_comments_is_left(fake_llm):
    fake_llm.reply(Reply(body=EVENT + b": wait\n\n" * 10_000, trickle=0.001))
    with LLM(settings(fake_llm.url, timeout=60.0, idle_timeout=0.5)) as llm:
        said, error = collect(llm)
    assert said == "one"
    assert "sent nothing for 0.5 seconds" in str(error)


def test_an_answer_that_takes_too_long_is_stopped(fake_llm):
    fake_llm.reply(Reply("word ", repeat=True, pause=0.05))
    with LLM(settings(fake_llm.url, timeout=0.6)) as llm:
        said, error = collect(llm)
    assert said.startswith("word")
    assert "not done after 0.6 seconds" in str(error)
    assert fake_llm.hung_up.wait(10)


@pytest.mark.parametrize(
    "reply", [Reply(hang=True), Reply("one two three", hang_after=1), Reply("w ", repeat=True)]
)
def test_a_cancel_closes_the_connection_at_once(fake_llm, reply):
    fake_llm.reply(reply)
    stop = threading.Event()
    with LLM(settings(fake_llm.url, timeout=30, idle_timeout=30)) as llm:
        threading.Thread(target=lambda: fake_llm.asked.wait(10) and stop.set()).start()
        with pytest.raises(Cancelled):
            for _ in llm.stream(CHAT, max_tokens=100, cancelled=stop.is_set):
                pass
        assert fake_llm.hung_up.wait(10)


def test_a_stream_that_is_closed_closes_the_connection(fake_llm, model):
    fake_llm.reply(Reply("one two three", hang_after=1))
    pieces = model.stream(CHAT, max_tokens=100)
    assert next(pieces) == "one"
    pieces.close()  # type: ignore[attr-defined]
    assert fake_llm.hung_up.wait(10)


# --- A3: the connection breaks


@pytest.mark.parametrize(("after", "kept"), [(1, "one"), (2, "one two")])
def test_what_came_before_a_break_is_kept(fake_llm, model, after, kept):
    fake_llm.reply(Reply("one two three", drop_after=after))
    said, error = collect(model)
    assert said.strip() == kept
    assert isinstance(error, LLMUnreachable)
    assert "broke off" in str(error)
    assert len(fake_llm.requests) == 1


@pytest.mark.parametrize("reply", [Reply("one two", drop_after=0), Reply("one two", drop_after=-1)])
def test_a_break_before_the_first_token_is_tried_again(fake_llm, model, reply):
    fake_llm.reply(reply, Reply("whole"))
    assert collect(model) == ("whole", None)


EVENT = b'data: {"choices": [{"delta": {"content": "one"}}]}\n\n'


@pytest.mark.parametrize(
    "rest",
    [b"", b"dat", b'data: {"choices": [{"del', 'data: {"choices": [{"delta": {"content": "수'.encode()[:-1]],
)
def test_half_a_line_or_half_a_character_is_a_break(fake_llm, model, rest):
    fake_llm.reply(Reply(body=EVENT + rest))
    said, error = collect(model)
    assert said == "one"
    assert isinstance(error, LLMUnreachable)
    assert "broke off" in str(error)


def test_a_character_split_over_packets_is_whole(fake_llm):
    body = 'data: {"choices": [{"delta": {"content": "수도"}, "finish_reason": "stop"}]}\n\n'.encode()
    fake_llm.reply(Reply(body=body, trickle=0.002))
    with LLM(settings(fake_llm.url, timeout=60.0, idle_timeout=60.0)) as llm:
        assert collect(llm) == ("수도", None)


@pytest.mark.parametrize(
    "end", [b"data: [DONE]\n\n", b"data:[DONE]", b": done\r\ndata: [DONE]\r\n\r\nleft over"]
)
@pytest.mark.parametrize("trickle", [0.0, 0.001])
def test_a_server_may_tell_the_end_in_either_way(fake_llm, end, trickle):
    fake_llm.reply(Reply(body=EVENT + end, trickle=trickle))
    with LLM(settings(fake_llm.url, timeout=60.0, idle_timeout=60.0)) as llm:
        assert collect(llm) == ("one", None)


# --- A4: the server talks nonsense


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\n\n",
        b"data: [DONE]\n\n",
        b"<!DOCTYPE html><html><body>Login</body></html>",
        b"data: <html>\n\n",
        b"data: not json\n\n",
        b"data: 42\n\n",
        b"data: []\n\n",
        b'data: "text"\n\n',
        b"data: " + b"[" * 5000 + b"]" * 5000 + b"\n\n",
        b'data: {"choices": [{"delta": {"content": 7}}]}\n\n',
        b'data: {"choices": [{"delta": {"content": null}, "finish_reason": "stop"}]}\n\n',
        b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n',
        b'data: {"choices": []}\n\ndata: [DONE]\n\n',
        b'data: {"choices": null}\n\ndata: [DONE]\n\n',
        b'data: {"choices": [null]}\n\ndata: [DONE]\n\n',
        b'data: {"nothing": true}\n\ndata: [DONE]\n\n',
        b'data: {"error": {"message": "overloaded"}}\n\n',
        b'{"error": {"message": "overloaded"}}',
        b'{"choices": []}',
        b"\xff\xfe\x00\x01",
    ],
)
def test_nonsense_is_an_error_in_one_sentence(fake_llm, model, body):
    fake_llm.reply(Reply(body=body))
    said, error = collect(model)
    assert said == ""
    assert isinstance(error, LLMError)
    assert "Traceback" not in str(error)
    assert str(error).endswith(".")


def test_an_answer_without_end_is_cut(fake_llm, model):
    fake_llm.reply(Reply(pieces=("x" * 50_000,), repeat=True))
    said, error = collect(model)
    assert len(said) == ANSWER_CHARS
    assert isinstance(error, LLMGarbled)


def test_ten_megabytes_in_one_piece_are_cut(fake_llm, model):
    fake_llm.reply(Reply(pieces=("x" * 10_000_000,)))
    said, error = collect(model)
    assert len(said) == ANSWER_CHARS
    assert isinstance(error, LLMGarbled)


def test_characters_that_act_unseen_are_taken_out(fake_llm, model):
    fake_llm.reply(
        Reply(pieces=("a\x00b\x1b[31m", "c\u202ed\u2066e", "\U000e0041f\ud800", "g\n\th👩\u200d🔬"))
    )
    said, _ = collect(model)
    assert said == "ab[31mcdef\ufffdg\n\th👩\u200d🔬"


# --- what the server offers


def test_models_are_read(fake_llm):
    with LLM(LLMSettings(fake_llm.url, "fake")) as llm:
        assert llm.models() == ["fake"]


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"data": 3}', b"{}", b""])
def test_a_list_that_makes_no_sense_is_an_error(fake_llm, model, body):
    fake_llm.reply(Reply(body=body, content_type="application/json"))
    with pytest.raises(LLMGarbled, match="did not list its models"):
        model.models()


def test_a_list_that_is_refused_is_an_error(fake_llm, model):
    fake_llm.reply(Reply(status=401))
    with pytest.raises(LLMRejected, match="API key"):
        model.models()


def test_the_fake_server_runs_by_hand():
    script = Path(__file__).parents[1] / "fake_llm.py"
    server = subprocess.Popen([sys.executable, script, "--pause", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        assert httpx.get(f"{url}/models", trust_env=False).json()["data"][0]["id"] == "fake"
        with LLM(LLMSettings(url, "fake")) as llm:
            assert llm.complete(CHAT, max_tokens=10) == "Hello"
    finally:
        server.terminate()
        server.communicate(timeout=5)


HALF_IMPORTED = """
import importlib.machinery, sys, threading, time
import openai
import rag.models.llm_stream
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings

loading = threading.Event()
load = importlib.machinery.SourceFileLoader.exec_module

def slowly(self, module):
    if module.__name__ == "httpx":
        loading.set()
        time.sleep(0.5)
    load(self, module)

for name in [name for name in sys.modules if name.split(".")[0] == "httpx"]:
    del sys.modules[name]
importlib.machinery.SourceFileLoader.exec_module = slowly
threading.Thread(target=__import__, args=("httpx",)).start()
loading.wait()
LLM(LLMSettings("http://127.0.0.1:9/v1", "m")).warm()
"""


def test_a_model_opens_while_another_thread_imports_what_its_sdk_looks_into():
    done = subprocess.run([sys.executable, "-c", HALF_IMPORTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
