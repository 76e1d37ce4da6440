"""Two servers of the page behind haproxy: a browser stays with one, and goes over when it stops."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import serving
from tests.e2e.visitor import Visitor
from tests.faults.haproxy import COOKIE, HAPROXY, MISSING, proxy
from tests.faults.replicas import cluster
from tests.rag.fake_llm import Reply
from tests.storage import postgres
from tests.storage.conftest import WITHOUT_SERVER

pytestmark = pytest.mark.slow(
    reason="walks in a browser through what tests/faults/test_proxy.py asks over HTTP"
)


def test_a_browser_adds_and_asks_by_one_server_and_goes_on_by_the_other_once_that_was_drained(
    visit: Callable[..., Visitor], tmp_path: Path
):
    if HAPROXY is None:
        pytest.skip(MISSING)
    if WITHOUT_SERVER:
        pytest.skip(postgres.MISSING)
    note = tmp_path / "castle.md"
    note.write_text("# Castle\n\nThe moat of the castle is nine metres deep.\n")
    with postgres.running() as database, cluster(tmp_path, database, drain_seconds=5.0) as made:
        given = made.settings("").model_dump(include=made.settings("").model_fields_set - {"data"})
        settings = {f"FOOTNOTE_{name.upper()}": str(value) for name, value in given.items()}
        with (
            serving(tmp_path / "one", **settings) as one,
            serving(tmp_path / "two", **settings) as two,
            proxy(tmp_path, [one.url, two.url]) as url,
        ):
            made.llm.reply(Reply("The moat is nine metres deep [1]."))
            visitor = visit(f"{url}/library")
            visitor.add(note)
            expect(visitor.row(note.name)).to_contain_text("Ready")
            visitor.go("Chat")
            visitor.ask("How deep is the moat?")
            expect(visitor.answers()).to_contain_text("nine metres deep")
            (mine,) = (it["value"] for it in visitor.page.context.cookies() if it["name"] == COOKIE)

            stopped = {"serve-1": one, "serve-2": two}[mine]
            stopped.stop()
            visitor.ask("Who dug it?")
            expect(visitor.answers()).to_have_count(2)
            expect(visitor.answers().last).to_contain_text("nine metres deep")
            (other,) = (it["value"] for it in visitor.page.context.cookies() if it["name"] == COOKIE)
            assert other != mine
