"""Webhooks against a real receiver on loopback, which the setting `private_hosts` opens."""

import json
import select
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from rag.jobs import Jobs
from rag.settings import Settings, load
from rag.webhooks import LANES, WEBHOOK, WebhookSender, signature
from storage.database import Database
from storage.documents import Documents
from storage.webhooks import Webhooks

OPEN = load({"private_hosts": "127.0.0.1"})


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database.open(tmp_path / "data")) as opened:
        yield opened


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    running = Jobs(LANES)
    yield running
    running.close()


@pytest.fixture
def took(httpserver: HTTPServer) -> list[Request]:
    """Requests that the receiver got."""
    return []


def receive(httpserver: HTTPServer, took: list[Request], *answers: Response) -> str:
    """Return the address of a receiver that answers so, and then takes all."""
    left = list(answers)

    def take(request: Request) -> Response:
        request.get_data()
        took.append(request)
        return left.pop(0) if left else Response(status=204)

    httpserver.expect_request("/hook", method="POST").respond_with_handler(take)
    return httpserver.url_for("/hook")


def ready(database: Database, *names: str, owner: str = "ann") -> list[str]:
    documents = Documents(database, owner)
    ids = [documents.add(f"{name}.md", name * 64, 1)[0].id for name in names]
    for id_ in ids:
        documents.set_state(id_, "ready")
    return ids


def send(sender: WebhookSender, until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not until():
        assert time.monotonic() < deadline
        sender.start_due()
        time.sleep(0.01)


def sender(database: Database, jobs: Jobs, settings: Settings = OPEN, waits=(0, 0)) -> WebhookSender:
    return WebhookSender(database, jobs, lambda: settings, waits=waits)


def test_an_event_is_signed_and_says_no_word_of_the_document(database, jobs, httpserver, took):
    hook, secret = Webhooks(database, "ann").create(receive(httpserver, took))
    (document,) = ready(database, "a")
    send(sender(database, jobs), lambda: len(took) == 1)
    headers, body = took[0].headers, took[0].get_data()
    assert headers["Content-Type"] == "application/json"
    id_, at = headers["webhook-id"], int(headers["webhook-timestamp"])
    assert headers["webhook-signature"] == signature(secret, id_, at, body)
    assert abs(time.time() - at) < 60
    fields = json.loads(body)
    shown = {"api": f"/api/documents/{document}", "page": f"/?document={document}"}
    assert fields["type"] == "document.ready"
    assert fields["data"] == {"document_id": document, "links": shown}
    assert b".md" not in body
    send(sender(database, jobs), lambda: Webhooks(database, "ann").get(hook.id).waiting == 0)


@pytest.mark.parametrize("status", [302, 404, 429, 500, 503])
def test_an_event_that_was_not_taken_comes_again_with_the_same_id(database, jobs, httpserver, took, status):
    refusal = Response(status=status, headers={"Location": httpserver.url_for("/elsewhere")})
    hook, _ = Webhooks(database, "ann").create(receive(httpserver, took, refusal))
    ready(database, "a", "b")
    send(sender(database, jobs), lambda: len(took) == 3)
    first, *_ = ids = [one.headers["webhook-id"] for one in took]
    assert ids.count(first) == 2 and len(set(ids)) == 2
    assert httpserver.log[-1][0].path == "/hook"  # a redirect is not followed
    send(sender(database, jobs), lambda: Webhooks(database, "ann").get(hook.id).waiting == 0)


def test_a_receiver_that_stays_dead_is_disabled_and_says_so(database, jobs, httpserver, took):
    hook, _ = Webhooks(database, "ann").create(
        receive(httpserver, took, *(Response(status=500) for _ in range(9)))
    )
    ready(database, "a")
    send(sender(database, jobs), lambda: Webhooks(database, "ann").get(hook.id).disabled is not None)
    assert len(took) == 3  # the first, and one after each wait
    assert "status 500" in Webhooks(database, "ann").get(hook.id).reason


def test_a_receiver_that_is_gone_is_disabled_at_once(database, jobs, httpserver, took):
    hook, _ = Webhooks(database, "ann").create(receive(httpserver, took, Response(status=410)))
    ready(database, "a")
    send(sender(database, jobs), lambda: Webhooks(database, "ann").get(hook.id).disabled is not None)
    assert len(took) == 1


def test_a_private_address_is_not_connected_to(database, jobs, httpserver, took):
    hook, _ = Webhooks(database, "ann").create(receive(httpserver, took))
    ready(database, "a")
    closed = load({})
    send(
        sender(database, jobs, closed, waits=()),
        lambda: Webhooks(database, "ann").get(hook.id).disabled is not None,
    )
    assert took == [] and "private network" in Webhooks(database, "ann").get(hook.id).reason


def test_what_was_queued_before_a_kill_is_sent_after_it(tmp_path, jobs, httpserver, took):
    with closing(Database.open(tmp_path / "data")) as before:
        Webhooks(before, "ann").create(receive(httpserver, took))
        ready(before, "a")
    with closing(Database.open(tmp_path / "data")) as after:
        send(sender(after, jobs), lambda: len(took) == 1)


def test_one_receiver_that_hangs_does_not_hold_up_the_others(database, jobs, httpserver, took):
    with socket.create_server(("127.0.0.1", 0)) as hung:  # takes connections, and never answers
        Webhooks(database, "ann").create(f"http://127.0.0.1:{hung.getsockname()[1]}/hook")
        ready(database, "a", owner="ann")
        waiting = select.poll()  # unlike select, for connections of any number
        waiting.register(hung, select.POLLIN)
        send(sender(database, jobs), lambda: bool(waiting.poll(0)))
        Webhooks(database, "bob").create(receive(httpserver, took))
        ready(database, "b", owner="bob")
        send(sender(database, jobs), lambda: len(took) == 1)
        assert jobs.running("ann", WEBHOOK)
