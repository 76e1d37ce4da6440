from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from starlette.requests import HTTPConnection

from api.access import authenticate
from rag.errors import KeyRefused, ScopeRefused
from rag.local_server import LocalServer, find_server
from rag.services import Services
from rag.settings import LOCAL_OWNER, load
from storage.accounts import Account, People
from storage.collections import Collections
from storage.errors import AccountClosed
from storage.keys import ApiKeys


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    opened = Services(load({"data": tmp_path / "data"}))
    yield opened
    opened.close()


def connection(*authorization: str, client: str = "10.1.1.1", **headers: str) -> HTTPConnection:
    sent = [(b"authorization", one.encode()) for one in authorization]
    sent += [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return HTTPConnection({"type": "http", "headers": sent, "client": (client, 5000)})


def test_a_key_opens_what_it_was_made_for(services):
    collection = Collections(services.database, "ann").create("HR").id
    _, secret = ApiKeys(services.database, "ann").create("Bot", ["read"], collections=[collection])
    caller = authenticate(connection(f"Bearer {secret}"), services)
    assert (caller.owner, caller.scopes, caller.collections) == ("ann", {"read"}, {collection})
    caller.require("read")
    for refused in (
        lambda: caller.require("write"),
        lambda: caller.require("ask"),
        caller.require_everything,
    ):
        with pytest.raises(ScopeRefused, match="key"):
            refused()


@pytest.mark.parametrize("client", ["10.1.1.1", "127.0.0.1"])
@pytest.mark.parametrize("given", [(), ("",), ("Bearer",), ("Bearer  ",), ("Basic YTpi",), ("Bearer a",)])
def test_nothing_is_opened_without_a_key(services, given, client):
    with pytest.raises(KeyRefused, match="key"):
        authenticate(connection(*given, client=client), services)


def test_two_headers_are_no_key(services):
    _, secret = ApiKeys(services.database, "ann").create("Bot")
    with pytest.raises(KeyRefused):
        authenticate(connection(f"Bearer {secret}", f"Bearer {secret}"), services)


def test_the_local_token_opens_this_computer_only(services):
    token = f"Bearer {services.local_token}"
    assert authenticate(connection(token, client="127.0.0.1"), services).owner == LOCAL_OWNER
    assert authenticate(connection(token, client="::1"), services).owner == LOCAL_OWNER
    for other in (connection(token), connection(token, client="127.0.0.1", x_forwarded_for="127.0.0.1")):
        with pytest.raises(KeyRefused):
            authenticate(other, services)


def test_a_person_who_is_no_longer_admitted_has_no_key(tmp_path):
    services = Services(load({"data": tmp_path / "data", "allowed_users": ("@example.org", "proxy:bob")}))
    for owner, email, admitted in (
        ("https://issuer#1", "ann@example.org", True),
        ("https://issuer#2", "eve@example.com", False),
        ("proxy:bob", "", True),
        ("proxy:eve", "", False),
    ):
        Account(services.database, owner).enter(datetime.now(UTC), email=email)
        _, secret = ApiKeys(services.database, owner).create("Bot")
        if admitted:
            assert authenticate(connection(f"Bearer {secret}"), services).owner == owner
        else:
            with pytest.raises(KeyRefused, match="no account here"):
                authenticate(connection(f"Bearer {secret}"), services)
    services.close()


def test_a_person_who_is_being_removed_has_no_key(services):
    _, secret = ApiKeys(services.database, "ann").create("Bot")
    People(services.database).mark("ann")
    with pytest.raises(AccountClosed):
        authenticate(connection(f"Bearer {secret}"), services)


def test_the_address_and_token_are_for_the_eyes_of_their_user_and_end_with_the_server(tmp_path):
    services = Services(load({"data": tmp_path / "data"}))
    services.announce("http://127.0.0.1:8501")
    file = tmp_path / "data" / "server.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert find_server(tmp_path / "data") == LocalServer("http://127.0.0.1:8501", services.local_token)
    assert services.local_token not in repr(find_server(tmp_path / "data"))
    services.close()
    assert not file.exists()
    file.write_text("[")
    assert find_server(tmp_path / "data") is None


def test_a_server_leaves_the_file_of_its_successor(tmp_path):
    first, second = (LocalServer("http://127.0.0.1:1", token) for token in ("a", "b"))
    first.announce(tmp_path)
    second.announce(tmp_path)
    first.withdraw(tmp_path)
    assert find_server(tmp_path) == second
