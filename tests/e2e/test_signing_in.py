"""People who sign in by OpenID, in a real browser, at a provider of our own."""

import json
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ROOT, START, Server, serving
from tests.e2e.openid import CLIENT, Provider, provider
from tests.e2e.visitor import Visitor, click
from tests.faults.tab import Tab, wait_for
from ui.settings.fields import URL

COOKIE = "_streamlit_user"
OTHER_PAGES = pytest.mark.slow(reason="other pages behind the same door")
Enter = Callable[..., Page]
ComeIn = Callable[[str], Tab]


@pytest.fixture(scope="module")
def known() -> Iterator[Provider]:
    with provider() as running:
        yield running


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, known: Provider) -> Iterator[Server]:
    """The application where people sign in; Ada administers it."""
    folder = tmp_path_factory.mktemp("guarded")

    def secrets(port: int) -> None:
        auth = {
            "redirect_uri": f"http://127.0.0.1:{port}/oauth2callback",
            "cookie_secret": "a secret of this test, long enough to be one",
            "client_id": CLIENT[0],
            "client_secret": CLIENT[1],
            "server_metadata_url": f"{known.url}/.well-known/openid-configuration",
        }
        (folder / ".streamlit").mkdir()
        lines = [f"{name} = {json.dumps(value)}" for name, value in auth.items()]
        (folder / ".streamlit" / "secrets.toml").write_text("\n".join(["[auth]", *lines]))

    with serving(
        folder, before=secrets, cwd=folder, FOOTNOTE_ADMINS="ada@example.org", FOOTNOTE_USER_DOCUMENTS="1"
    ) as running:
        yield running


@pytest.fixture
def enter(visit: Callable[..., Visitor], guarded: Server, known: Provider) -> Enter:
    """Open a browser of someone's own and sign in there; without a name, only open it."""

    def go(name: str = "", path: str = "", **claims: object) -> Page:
        page = visit(guarded.url + path).page
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        if name:
            sign_in(page, known, name, **claims)
        return page

    return go


def sign_in(page: Page, known: Provider, name: str, **claims: object) -> None:
    email = f"{name.lower()}@example.org"
    known.who = {"sub": name.lower(), "name": name, "email": email, "email_verified": True, **claims}
    click(page.get_by_role("button", name="Sign in"), then=page.get_by_text(f"Signed in as {name}"))


@pytest.fixture
def come_in(guarded: Server, known: Provider) -> Iterator[Callable[[str], Tab]]:
    """Open a tab of someone's own without a browser, and sign in there."""
    with ExitStack() as stack:

        def go(name: str) -> Tab:
            tab = Tab.open(guarded.url)
            stack.callback(tab.close)
            sign_in_again(tab, guarded, known, name)
            return tab

        yield go


def sign_in_again(tab: Tab, guarded: Server, known: Provider, name: str) -> None:
    email = f"{name.lower()}@example.org"
    known.who = {"sub": name.lower(), "name": name, "email": email, "email_verified": True}
    tab.cookies = led_through(tab, guarded)
    tab.reload()
    tab.until(lambda: f"Signed in as **{name}**" in tab.text)


def led_through(tab: Tab, guarded: Server) -> dict[str, str]:
    """Press on Sign in, go where it leads, to the provider and back, and return the cookies."""
    tab.press("sign-in-", then=lambda: bool(tab.led_to))
    with httpx.Client(base_url=guarded.url, follow_redirects=True) as client:
        client.get(tab.led_to)
        client.get("/_stcore/health")
        return dict(client.cookies)


def shut_out(tab: Tab) -> None:
    """A tab without a browser shows the way to sign in, and nothing of the application."""
    tab.until(lambda: tab.drawn and tab.shown.way("sign-in-") is not None)
    assert not any(tab.shown.way(key) for key in ("question", "new-chat", "uploader"))


def rows(server: Server, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{server.data / 'footnote.db'}?mode=ro", uri=True)) as ledger:
        return ledger.execute(query).fetchall()


def signed_out(page: Page) -> None:
    """What one who has not signed in sees: the way to do so, and nothing of the application."""
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    expect(page.get_by_placeholder("Ask your documents")).to_have_count(0)
    expect(page.get_by_role("button", name="New chat")).to_have_count(0)
    expect(page.locator('[data-testid="stFileUploader"]')).to_have_count(0)
    expect(page.get_by_role("link", name="Library")).to_have_count(0)


def ask(page: Page, question: str) -> str:
    """Ask a question and return the address of the chat."""
    Visitor(page).ask(question)
    expect(page.get_by_role("group", name="Chat message from assistant")).to_have_count(1)
    page.wait_for_url("**chat=*")
    return page.url


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("", "chat=x"),
        ("library", ""),
        *(
            pytest.param(*path, marks=OTHER_PAGES)
            for path in (("library", "view=Sources"), ("lab", ""), ("settings", ""), ("people", ""))
        ),
    ],
)
def test_who_has_not_signed_in_is_shown_nothing_at_any_address(guarded: Server, page: str, query: str):
    with closing(Tab.open(guarded.url, query, page)) as tab:
        shut_out(tab)
        assert tab.pages == []


def test_who_has_not_signed_in_leaves_nothing(guarded: Server):
    before = rows(guarded, "SELECT id FROM users")
    with closing(Tab.open(guarded.url)) as tab:
        session = "00000000-0000-4000-8000-000000000000"
        address = f"{guarded.url}/_stcore/upload_file/{session}/file"
        request = urllib.request.Request(address, data=b"x", method="PUT")  # noqa: S310
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)  # noqa: S310
        assert caught.value.code == 403
        assert "Sign in first" in caught.value.read().decode()
        caught.value.close()
        shut_out(tab)
    assert rows(guarded, "SELECT id FROM users") == before


def test_each_sees_what_is_theirs(come_in: ComeIn, guarded: Server, known: Provider):
    ann = come_in("Ann")
    ann.ask("What of the harbour?")
    ann.until(lambda: ann.drawn and bool(ann.chat) and ann.text.count("What of the harbour?") > 1)
    bob = come_in("Bob")
    bob.until(lambda: bob.drawn and bob.shown.way("question") is not None)
    assert "What of the harbour?" not in bob.text
    bob.query = ann.query
    bob.reload()
    bob.until(lambda: bob.drawn and "This chat was not found" in bob.text)
    assert "What of the harbour?" not in bob.text
    owners = rows(guarded, "SELECT DISTINCT owner FROM conversations WHERE title LIKE '%harbour%'")
    assert owners == [(f"{known.url}#ann",)]


@pytest.mark.slow(reason="walks in a browser through what tests/ui does without one")
def test_a_name_and_an_address_do_not_make_one_the_same_person(enter: Enter):
    ask(enter("Cleo"), "What of the moat?")
    namesake = enter("Cleo", sub="another")
    expect(namesake.get_by_text("What of the moat?")).to_have_count(0)


def test_a_token_that_another_key_signed_lets_nobody_in(guarded: Server, known: Provider):
    known.who, known.stranger = {"sub": "eve", "name": "Eve"}, True
    with closing(Tab.open(guarded.url)) as tab:
        try:
            tab.cookies = led_through(tab, guarded)
        finally:
            known.stranger = False
        assert known.forged
        tab.reload()
        shut_out(tab)
    assert rows(guarded, "SELECT 1 FROM users WHERE id LIKE '%#eve'") == []


def test_a_forged_or_altered_cookie_lets_nobody_in(come_in: ComeIn, guarded: Server):
    tab = come_in("Dora")
    real = tab.cookies[COOKIE]
    forged = json.dumps({"sub": "dora", "is_logged_in": True, "origin": guarded.url})
    for value in (forged.replace('"', "'").replace(",", ""), real[:-2] + "xx", ""):
        tab.cookies[COOKIE] = value
        tab.reload()
        shut_out(tab)
    tab.cookies[COOKIE] = real
    tab.reload()
    tab.until(lambda: "Signed in as **Dora**" in tab.text)


def test_signing_out_ends_every_page_and_every_copy_of_the_cookie(enter: Enter, guarded: Server):
    page = enter("Finn")
    other = page.context.new_page()
    other.goto(guarded.url)
    expect(other.get_by_text("Signed in as Finn")).to_be_visible()
    copied = page.context.cookies()
    click(page.get_by_role("button", name="Sign out"), then=page.get_by_role("button", name="Sign in"))
    signed_out(page)
    click(other.get_by_role("button", name="New chat"), then=other.get_by_role("button", name="Sign in"))
    signed_out(other)
    thief = enter()
    thief.context.add_cookies(copied)
    thief.goto(guarded.url)
    expect(thief.get_by_text("You signed out")).to_be_visible()
    signed_out(thief)


def test_what_is_everyones_is_shown_to_administrators_only(come_in: ComeIn, guarded: Server):
    gus, ada = come_in("Gus"), come_in("Ada")
    assert "people" not in gus.pages and "people" in ada.pages
    for page, query, offered in (("settings", "", URL), ("library", "view=Sources", "source-add")):
        with (
            closing(Tab.open(guarded.url, query, page, gus.cookies)) as his,
            closing(Tab.open(guarded.url, query, page, ada.cookies)) as hers,
        ):
            hers.until(lambda: hers.shown.way(offered) is not None)  # noqa: B023 - called at once
            his.until(lambda: his.drawn and "Only administrators" in his.text)
            assert his.shown.way(offered) is None


@pytest.mark.slow(reason="walks in a browser through what tests/ui does without one")
def test_more_than_one_may_have_is_refused_in_a_sentence(enter: Enter, guarded: Server, tmp_path: Path):
    page = enter("Ivy")
    page.goto(guarded.url + "/library")
    visitor = Visitor(page)
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    for file in (first, second):
        file.write_text(f"The {file.name} of two.")
    visitor.add(first)
    visitor.add(second, then=page.get_by_text("second.txt: You have 1 documents, and may have 1."))
    assert rows(guarded, "SELECT name FROM documents WHERE owner LIKE '%#ivy'") == [("first.txt",)]


def test_who_is_removed_is_shut_out_of_open_pages_and_comes_back_to_nothing(
    come_in: ComeIn, guarded: Server, known: Provider
):
    hal = come_in("Hal")
    hal.ask("What of the vault?")
    hal.until(lambda: bool(hal.chat) and "What of the vault?" in hal.text)
    ada = come_in("Ada")
    remove(f"{known.url}#hal", guarded, ada.cookies)
    wait_for(lambda: not rows(guarded, "SELECT 1 FROM users WHERE id LIKE '%#hal'"))
    # His page may have found out by itself: then there is nothing to press any more.
    hal.until(lambda: any(hal.shown.way(key) for key in ("new-chat", "sign-in-")))
    if hal.shown.way("new-chat"):
        hal.press("new-chat", then=lambda: "This account was removed" in hal.text)
    hal.until(lambda: "This account was removed" in hal.text)
    shut_out(hal)
    assert rows(guarded, "SELECT 1 FROM conversations WHERE owner LIKE '%#hal'") == []
    time.sleep(1.1)  # a token tells the time in seconds
    sign_in_again(hal, guarded, known, "Hal")
    hal.until(lambda: hal.drawn)
    assert "What of the vault?" not in hal.text


def remove(person: str, guarded: Server, cookies: Mapping[str, str]) -> None:
    """Remove someone as an administrator does, on the page of all people."""
    button = f"remove-{person.encode().hex()}"
    with closing(Tab.open(guarded.url, page="people", cookies=cookies)) as people:
        people.press(button, then=lambda: people.shown.way(f"really-{button}") is not None)
        people.press(f"really-{button}", then=lambda: people.shown.way(button) is None)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104 - it must not come to that
        pytest.param("::", marks=pytest.mark.slow(reason="starts a second server from nothing")),
    ],
)
def test_where_nobody_signs_in_no_other_address_is_served(tmp_path: Path, address: str):
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py"), "--server.port=0"]
    ended = subprocess.run(
        [*command, f"--server.address={address}"], cwd=tmp_path, capture_output=True, text=True, timeout=START
    )
    assert ended.returncode != 0
    assert "Footnote was not started" in ended.stderr and "docs/operator/sign-in.md" in ended.stderr
    assert not (tmp_path / "data").exists()
