from datetime import UTC, datetime, timedelta

import pytest

from rag.errors import EntryRefused, SettingsError
from rag.settings import load
from ui.auth.identity import LocalUser, OpenID, Proxy, auth_mode, visitor_from_header, visitor_from_token

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
AUTH = {
    "redirect_uri": "https://docs.example.org/oauth2callback",
    "cookie_secret": "of this test only, and long enough to be one",
    "client_id": "footnote",
    "client_secret": "s",
    "server_metadata_url": "https://id.example.org/.well-known/openid-configuration",
}
PROXY = {"trusted_header": "X-Forwarded-User", "trusted_proxies": ["10.0.0.0/8", "::1"]}
ANN = {
    "iss": "https://id.example.org",
    "sub": "7",
    "iat": int(NOW.timestamp()) - 60,
    "name": "Ann",
    "email": "Ann@Example.org",
    "email_verified": True,
}


def settings(**values):
    return load(values)


def without(name):
    return {key: value for key, value in AUTH.items() if key != name}


def test_where_nothing_is_set_there_is_one_local_user():
    assert auth_mode(settings(), None) == LocalUser()


def test_an_auth_table_has_people_sign_in_at_its_providers():
    assert auth_mode(settings(), AUTH) == OpenID(("",))
    assert auth_mode(settings(), {**AUTH, "cookie_secret": "s" * 32}) == OpenID(("",))
    named = {"redirect_uri": "x", "cookie_secret": AUTH["cookie_secret"], "google": AUTH, "entra": AUTH}
    assert auth_mode(settings(), named) == OpenID(("google", "entra"))


@pytest.mark.parametrize(
    ("auth", "said"),
    [
        (without("redirect_uri"), "redirect_uri"),
        (without("cookie_secret"), "cookie_secret"),
        ({**AUTH, "cookie_secret": "secret"}, "at least 32 characters"),
        (without("client_id"), "names no provider"),
        (without("client_secret"), "lacks client_secret"),
        (
            {**AUTH, "google": {"client_id": "x"}},
            "provider 'google', lacks client_secret, server_metadata_url",
        ),
    ],
)
def test_an_auth_table_that_lacks_something_is_refused_by_its_name(auth, said):
    with pytest.raises(SettingsError, match=said) as caught:
        auth_mode(settings(), auth)
    assert AUTH["cookie_secret"] not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"trusted_header": "X-User"}, "without FOOTNOTE_TRUSTED_PROXIES"),
        ({"trusted_proxies": ["10.0.0.0/8"]}, "FOOTNOTE_TRUSTED_HEADER"),
        ({"trusted_header": "X-User", "trusted_proxies": ["10.0.0.1/8"]}, "has host bits set"),
        ({"trusted_header": "X-User", "trusted_proxies": ["proxy.example.org"]}, "which is no network"),
        ({"trusted_header": "X User", "trusted_proxies": ["10.0.0.1"]}, "no header is called"),
    ],
)
def test_a_proxy_that_cannot_be_told_apart_is_refused(values, said):
    with pytest.raises(SettingsError, match=said):
        auth_mode(settings(**values), None)


def test_two_that_say_who_someone_is_are_refused():
    with pytest.raises(SettingsError, match="only one"):
        auth_mode(settings(**PROXY), AUTH)


@pytest.mark.parametrize(
    ("peer", "believed"),
    [
        ("10.1.2.3", True),
        ("::ffff:10.1.2.3", True),
        ("::1", True),
        ("11.0.0.1", False),
        ("127.0.0.1", False),
        ("10.1.2.3, 11.0.0.1", False),
        ("proxy", False),
        ("", False),
        (None, False),
    ],
)
def test_only_an_address_of_the_proxys_is_believed(peer, believed):
    entrance = auth_mode(settings(**PROXY), None)
    assert isinstance(entrance, Proxy)
    assert entrance.trusts(peer) is believed


def test_networks_are_read_from_the_environment(monkeypatch):
    monkeypatch.setenv("FOOTNOTE_TRUSTED_HEADER", "X-Forwarded-User")
    monkeypatch.setenv("FOOTNOTE_TRUSTED_PROXIES", "10.0.0.0/8, 127.0.0.1")
    assert len(auth_mode(load(), None).networks) == 2


def test_someone_is_who_the_issuer_says_they_are_whatever_their_address_becomes():
    before = visitor_from_token(ANN, settings(), NOW)
    after = visitor_from_token({**ANN, "email": "ann@elsewhere.example", "name": "Ann Ode"}, settings(), NOW)
    assert before.id == after.id == "https://id.example.org#7"
    assert visitor_from_token({**ANN, "iss": "https://other.example"}, settings(), NOW).id != before.id


@pytest.mark.parametrize("lacks", ["iss", "sub", "iat"])
def test_a_token_that_does_not_say_who_is_refused(lacks):
    with pytest.raises(EntryRefused, match="did not identify you"):
        visitor_from_token({key: value for key, value in ANN.items() if key != lacks}, settings(), NOW)


def test_a_sign_in_lasts_as_long_as_is_set():
    visitor_from_token(ANN, settings(sign_in_hours=1), NOW)
    with pytest.raises(EntryRefused, match="Sign in again"):
        visitor_from_token(ANN, settings(sign_in_hours=1), NOW + timedelta(hours=1))


@pytest.mark.parametrize(
    ("named", "admitted"),
    [
        ("https://id.example.org#7", True),
        ("7", True),
        ("ann@example.org", True),
        ("@example.org", True),
        ("@ample.org", False),
        ("example.org", False),
        ("ann", False),
        ("Ann", False),
        ("8", False),
    ],
)
def test_where_some_are_admitted_everyone_else_is_not(named, admitted):
    only = settings(allowed_users=[named])
    if admitted:
        assert visitor_from_token(ANN, only, NOW).name == "Ann"
    else:
        with pytest.raises(EntryRefused, match="has no account here"):
            visitor_from_token(ANN, only, NOW)


def test_an_address_that_nobody_verified_opens_nothing():
    claimed = {**ANN, "email_verified": False}
    assert not visitor_from_token(claimed, settings(admins=["ann@example.org"]), NOW).admin
    with pytest.raises(EntryRefused):
        visitor_from_token(claimed, settings(allowed_users=["@example.org"]), NOW)


def test_administrators_are_admitted_by_being_named():
    only = settings(allowed_users=["@other.example"], admins=["ann@example.org"])
    assert visitor_from_token(ANN, only, NOW).admin
    assert not visitor_from_token(ANN, settings(), NOW).admin


def test_whom_a_proxy_names_is_not_the_local_user():
    assert visitor_from_header("local", settings(), NOW).id == "proxy:local"
    assert visitor_from_header("ann@example.org", settings(admins=["ann@example.org"]), NOW).admin


def test_a_domain_is_that_of_an_address_that_a_proxy_names():
    of_the_domain = settings(allowed_users=["@example.org"])
    assert visitor_from_header("ann@example.org", of_the_domain, NOW).email == "ann@example.org"
    assert visitor_from_header("ann", settings(), NOW).email == ""
    for other in ("ann@example.com", "ann"):
        with pytest.raises(EntryRefused):
            visitor_from_header(other, of_the_domain, NOW)
