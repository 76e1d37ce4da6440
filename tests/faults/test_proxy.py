"""Two processes behind haproxy as `deploy/` sets it up: one is drained and stopped, and nothing is lost."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from rag.services import Services
from rag.settings import LOCAL_OWNER
from storage.keys import ApiKeys
from tests.faults.haproxy import COOKIE, HAPROXY, MISSING, proxy
from tests.faults.replicas import SECONDS, SERVE, WORK, Cluster, cluster, until
from tests.rag.fake_llm import Reply
from tests.storage import postgres
from tests.storage.conftest import WITHOUT_SERVER

pytestmark = pytest.mark.timeout(600)
ANSWER = (
    "The moat of the castle is nine metres deep [1]. It is full of cold water, and of carp, and of frogs."
)


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Cluster]:
    if HAPROXY is None:
        pytest.skip(MISSING)
    if WITHOUT_SERVER:
        pytest.skip(postgres.MISSING)
    with postgres.running() as server, cluster(tmp_path, server, drain_seconds=3600.0) as made:
        yield made


class Uploads:
    """A client without a cookie that uploads one document after the other."""

    def __init__(self, client: httpx.Client) -> None:
        self.names: list[str] = []
        self.failed: list[str] = []
        self._client, self._ended = client, threading.Event()
        self._thread = threading.Thread(target=self._upload)
        self._thread.start()

    def _upload(self) -> None:
        while not self._ended.is_set():
            name = f"tower-{len(self.names)}.md"
            self._client.cookies.clear()
            time.sleep(0.3)  # each is read and embedded, too
            answer = self._client.post(
                "/api/documents", files={"file": (name, f"# Tower\n\nThe {name} has a bell.\n".encode())}
            )
            if answer.is_success:
                self.names.append(name)
            else:
                self.failed.append(f"{answer.status_code} {answer.text}")

    def go_on(self, count: int = 3) -> None:
        """Wait until some more have been taken."""
        wanted = len(self.names) + count
        until(lambda: len(self.names) >= wanted)

    def end(self) -> None:
        """Wait for the last one."""
        self._ended.set()
        self._thread.join()


def test_a_process_behind_a_proxy_is_drained_and_stopped_and_nothing_is_lost(
    members: Cluster, tmp_path: Path
):
    with closing(Services(members.settings("first"))) as first:
        secret = ApiKeys(first.database, LOCAL_OWNER).create("Test", ["read", "ask", "write"])[1]
    servers = members.members_of(SERVE, 2)
    members.members_of(WORK)
    headers = {"Authorization": f"Bearer {secret}"}
    with (
        proxy(tmp_path, [one.url for one in servers]) as url,
        httpx.Client(base_url=url, headers=headers, timeout=SECONDS) as person,
        httpx.Client(base_url=url, headers=headers, timeout=SECONDS) as others,
    ):
        castle = {"file": ("castle.md", b"# Castle\n\nThe moat of the castle is nine metres deep.\n")}
        assert person.post("/api/documents", files=castle).is_success
        until(lambda: states(members).get("castle.md") == "ready")
        mine = person.cookies[COOKIE]
        assert person.get("/metrics").status_code == 403
        uploads = Uploads(others)
        members.llm.reply(Reply(ANSWER, pause=0.05, hold_after=8))
        answers: list[httpx.Response] = []
        asked = threading.Thread(target=lambda: answers.append(ask(person)))
        asked.start()
        until(lambda: members.rows("SELECT 1 FROM messages WHERE state = 'pending' AND content <> ''"))

        stopped = servers[int(mine[-1]) - 1]
        stopped.process.terminate()
        with httpx.Client(base_url=url, headers=headers, timeout=SECONDS) as newcomer:
            newcomer.cookies.set(COOKIE, mine)
            until(lambda: moved(newcomer, mine))
        uploads.go_on()
        members.llm.released.set()
        asked.join()
        stopped.stop()
        uploads.go_on()
        uploads.end()

        assert uploads.failed == []
        assert answers[0].json()["text"].endswith("frogs.")
        assert person.get("/api/conversations").is_success and person.cookies[COOKIE] != mine
        until(lambda: {states(members).get(name) for name in uploads.names} == {"ready"})
        complete = "SELECT count(*) FROM messages WHERE role = 'assistant' AND state = 'complete'"
        assert members.rows(complete) == [(1,)]


def ask(person: httpx.Client) -> httpx.Response:
    return person.post("/api/ask", json={"question": "How deep is the moat?", "store": True})


def states(members: Cluster) -> dict[str, str]:
    """Return the state of each document by its name."""
    return dict(members.rows("SELECT name, state FROM documents"))


def moved(person: httpx.Client, server: str) -> bool:
    """Return whether a request whose cookie names a server is answered by another one."""
    given = person.get("/healthz").headers.get("set-cookie", "")
    return bool(re.search(rf"{COOKIE}=(?!{server}\b)", given))
