from datetime import UTC, datetime

import pytest

from rag.errors import EntryRefused
from rag.workspace import Workspace
from storage.accounts import Account
from ui.auth.identity import Proxy, Visitor
from ui.server import services


def test_services_are_one_until_they_are_closed(here: Workspace):
    assert services.workspace() is here
    services.close()
    assert services.workspace() is not here


@pytest.mark.parametrize("visitor", [None, Visitor("bob")])
def test_only_an_administrator_makes_fetches_and_deletes_backups(
    here: Workspace, monkeypatch: pytest.MonkeyPatch, visitor: Visitor | None
):
    server = services.services()
    monkeypatch.setattr(server, "visitor", lambda: Visitor("ann", admin=True))
    server.back_up("")
    job = server.backups_on_request.job
    assert job is None or job.wait(60)
    ((_, path),) = server.backups_on_request.list()
    monkeypatch.setattr(server, "visitor", lambda: visitor)
    for refused in (
        lambda: server.back_up(""),
        lambda: server.offer_backup(path),
        lambda: server.delete_backup(path.name),
    ):
        with pytest.raises(EntryRefused, match="administrators"):
            refused()
    assert [there for _, there in server.backups_on_request.list()] == [path]


@pytest.mark.parametrize("visitor", [None, Visitor("bob")])
def test_only_an_administrator_changes_settings(
    here: Workspace, monkeypatch: pytest.MonkeyPatch, visitor: Visitor | None
):
    server = services.services()
    monkeypatch.setattr(server, "visitor", lambda: visitor)
    before = server.settings
    with pytest.raises(EntryRefused, match="administrators"):
        server.change({"llm_model": "bobs"})
    assert server.settings is before and not (before.data / "settings.json").exists()
    monkeypatch.setattr(server, "visitor", lambda: Visitor("ann", admin=True))
    server.change({"llm_model": "anns"})
    assert server.settings.llm_model == "anns"


def test_the_owner_of_a_session_is_known_while_the_services_are_open(here: Workspace):
    services.services().sessions.admit("anns", "ann")
    assert (services.owner_of("anns"), services.owner_of("nobodys")) == ("ann", None)
    services.close()
    assert services.owner_of("anns") is None


def test_only_an_administrator_manages_people_and_only_where_they_sign_in(
    here: Workspace, monkeypatch: pytest.MonkeyPatch
):
    server = services.services()
    monkeypatch.setattr(server, "visitor", lambda: Visitor("ann", admin=True))
    assert not server.knows_people()
    monkeypatch.setattr(server, "auth_mode", Proxy("X-Person", ()))
    carl = Account(server.database, "carl")
    carl.enter(datetime.now(UTC))
    server.set_limits("carl", {"documents": 7})
    assert carl.limits() == {"documents": 7}
    monkeypatch.setattr(server, "visitor", lambda: Visitor("bob"))
    for refused in (lambda: server.set_limits("carl", {}), lambda: server.remove("carl")):
        with pytest.raises(EntryRefused, match="Only administrators can"):
            refused()
