"""The routes for whoever runs the server, over real services, without a browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from api.operations import operation_routes
from rag.index.bm25 import first_damaged
from rag.index.indexes import SCRUB_SECONDS
from rag.ingest.queue import SCRUB
from rag.workspace import Workspace
from tests.rag.fake_llm import FakeLLM, Reply
from tests.rag.ingest.test_queue import wait_until
from ui.server import services

ROUTES = operation_routes(services.services)  # as in app.py
HERE = ("127.0.0.1", 50000)
ELSEWHERE = ("192.0.2.7", 50000)


def client(address: tuple[str, int] = HERE) -> TestClient:
    return TestClient(Starlette(routes=ROUTES), client=address)


@pytest.fixture
def fake() -> Iterator[FakeLLM]:
    with FakeLLM() as server:
        yield server


def checks(expected: int) -> dict[str, dict[str, object]]:
    answer = client().get("/readyz")
    assert answer.status_code == expected, answer.text
    assert answer.json()["ready"] == (expected == 200)
    checks: dict[str, dict[str, object]] = answer.json()["checks"]
    return checks


def test_before_the_libraries_are_in_step_it_is_not_ready_and_then_it_is(here: Workspace):
    assert not checks(503)["index"]["usable"]
    here.library.add("note.md", b"The deposit is three months' rent.")
    services.services().warm_up()
    assert all(one["usable"] for one in checks(200).values())


def test_a_word_index_that_is_damaged_while_it_answers_mends_itself(here: Workspace, tmp_path: Path):
    list(here.library.index(here.library.add("note.md", b"The deposit is three months' rent.")[0].id))
    services.services().warm_up()
    before = here.library.retriever("bm25", 3).invoke("deposit")
    (words,) = tmp_path.glob("data/indexes/*/words")
    for path in words.iterdir():
        if path.suffix in (".fieldnorm", ".term"):
            path.write_bytes(path.read_bytes()[:-9] + b"\x7f" * 9)
    assert first_damaged(words)
    here.ingest.scrub_if_due()
    assert not services.services().jobs.running(here.owner, SCRUB) and first_damaged(words)  # once an hour
    here.library.indexes.words.checked -= 2 * SCRUB_SECONDS
    here.ingest.scrub_if_due()
    assert wait_until(lambda: services.services().jobs.running(here.owner, SCRUB) == 0)
    assert first_damaged(words) is None
    assert here.library.retriever("bm25", 3).invoke("deposit") == before
    assert checks(200)["index"]["usable"]


def test_a_model_that_is_away_is_named(here: Workspace, fake: FakeLLM):
    services.services().warm_up()
    services.services().change({"llm_base_url": fake.url, "llm_model": "fake"})
    assert checks(200)["model"] == {"usable": True, "state": "its server answers"}
    assert fake.requests == []
    services.services().change({"llm_base_url": "http://127.0.0.1:9/v1"})
    assert checks(503)["model"] == {"usable": False, "state": "its server does not answer"}


def test_a_data_directory_that_is_gone_is_named_without_its_path(here: Workspace, tmp_path: Path):
    services.services().warm_up()
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    found = checks(503)
    assert found["database"]["state"] == "StorageError" and found["disk"]["usable"] is False
    assert client().get("/metrics").status_code == 200
    (tmp_path / "elsewhere").rename(tmp_path / "data")
    assert checks(200)["database"]["usable"]


def test_services_that_cannot_be_opened_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FOOTNOTE_K", "many")
    assert checks(503) == {"database": {"usable": False, "state": "SettingsError"}}
    assert client().get("/metrics").status_code == 503
    monkeypatch.setenv("FOOTNOTE_K", "5")
    assert checks(503)["database"]["usable"]
    services.close()


def test_turns_documents_and_failures_are_counted_and_nothing_of_them_is_told(here: Workspace, fake: FakeLLM):
    list(here.library.index(here.library.add("canary.md", b"The canary sings at five.")[0].id))
    fake.reply(Reply("It sings [1]."), Reply(status=401))
    services.services().change({"llm_base_url": fake.url, "llm_model": "fake"})
    for _ in range(2):
        turn = here.ask(here.conversations.create().id, "When does the canary sing?")
        job = here.answering(turn.answer_id)
        assert job is None or job.wait(20)
    told = client().get("/metrics").text
    assert 'footnote_turns_total{outcome="complete"} 1.0' in told
    assert 'footnote_turns_total{outcome="failed"} 1.0' in told
    assert 'footnote_documents{state="ready"} 1.0' in told
    assert "canary" not in told and here.owner not in told and "process_resident_memory_bytes" in told


@pytest.mark.parametrize(
    ("address", "headers"),
    [(ELSEWHERE, {}), (HERE, {"X-Forwarded-For": "192.0.2.7"}), (HERE, {"Forwarded": "for=192.0.2.7"})],
    ids=["elsewhere", "x-forwarded-for", "forwarded"],
)
def test_without_a_token_the_numbers_are_for_this_machine(here: Workspace, address, headers):
    assert client(address).get("/metrics", headers=headers).status_code == 403


def test_where_people_sign_in_nobody_learns_without_a_token_how_much_others_do(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
):
    services.close()
    monkeypatch.setenv("FOOTNOTE_TRUSTED_HEADER", "X-Person")
    monkeypatch.setenv("FOOTNOTE_TRUSTED_PROXIES", "127.0.0.1")
    assert client().get("/metrics").status_code == 403
    services.close()
    monkeypatch.setenv("FOOTNOTE_METRICS_TOKEN", "marked-token")
    right = {"Authorization": "Bearer marked-token"}
    assert client().get("/metrics", headers=right).status_code == 200


def test_with_a_token_they_are_for_who_has_it(here: Workspace, monkeypatch: pytest.MonkeyPatch):
    services.close()
    monkeypatch.setenv("FOOTNOTE_METRICS_TOKEN", "marked-token")
    for wrong in ("", "Bearer ", "Bearer marked-toke", "marked-token", "Basic bWFya2Vk"):
        assert client().get("/metrics", headers={"Authorization": wrong}).status_code == 403
    right = {"Authorization": "Bearer marked-token"}
    answer = client(ELSEWHERE).get("/metrics", headers=right)
    assert answer.status_code == 200 and "marked-token" not in answer.text
