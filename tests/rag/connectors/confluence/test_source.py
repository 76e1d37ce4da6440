"""Confluence as a source, against a local wiki that speaks both versions of its REST API."""

import base64
from collections.abc import Callable, Iterator
from datetime import timedelta
from ipaddress import ip_address
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rag.connectors.base import Checkpoint, Credentials, Item, Listed, Unreadable
from rag.connectors.confluence.client import ConfluenceSettings
from rag.connectors.confluence.source import ConfluenceSource
from rag.connectors.http import MAX_REDIRECTS, Fetcher
from rag.connectors.rest import TRIES
from rag.errors import Cancelled, ItemFailed, SourceError
from rag.ingest.parsers import LoadedDocument, load
from tests.rag.connectors.confluence_server import EPOCH, ConfluenceServer
from tests.rag.connectors.service import Fault

TOKEN = "hunter2-token"
CREDENTIALS = Credentials({"FOOTNOTE_SECRET_WIKI": TOKEN}, Path("none"))
LATER = EPOCH + timedelta(days=30)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
Open = Callable[..., ConfluenceSource]


@pytest.fixture(params=["cloud", "server"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def wiki(kind: str) -> Iterator[ConfluenceServer]:
    pair = base64.b64encode(f"ada@example.com:{TOKEN}".encode()).decode()
    accepts = f"Basic {pair}" if kind == "cloud" else f"Bearer {TOKEN}"
    context = "/wiki" if kind == "cloud" else "/confluence"
    with ConfluenceServer(context=context, accepts=accepts) as wiki:
        wiki.space("DOCS")
        wiki.space("OPS")
        wiki.page("1", "Home", "<p>Welcome</p>", "DOCS")
        wiki.page("2", "항구 안내", "<p>벨담 항구</p>", "DOCS", parent="1", labels=("public",))
        wiki.page("3", "港の案内", "<p>ベルダム港</p>", "DOCS", parent="2", labels=("public", "old"))
        wiki.page("4", "Runbook", "<p>Restart it</p>", "OPS", labels=("public",))
        wiki.page("5", "Notes", "<p>Notes</p>", "OPS", parent="4")
        yield wiki


@pytest.fixture
def opened(kind: str, wiki: ConfluenceServer) -> Open:
    def open_source(
        *, at: timedelta = timedelta(0), cheap: int = 0, most: int = 50_000_000, **wanted: Any
    ) -> ConfluenceSource:
        given = {"spaces": ["DOCS"]} if not {"spaces", "pages"} & wanted.keys() else {}
        settings = ConfluenceSettings(
            url=wiki.home,
            email="ada@example.com" if kind == "cloud" else "",
            credential="wiki",
            **{**given, **wanted},
        )
        fetcher = Fetcher(private=["127.0.0.1"])
        return ConfluenceSource(
            settings,
            CREDENTIALS,
            fetcher,
            max_bytes=most,
            now=lambda: LATER + at,
            cheap=cheap,
            first_wait=0.01,
        )

    return open_source


def items(listed: list[Listed]) -> list[Item]:
    return [each for each in listed if isinstance(each, Item)]


def ids(source: ConfluenceSource, cursor: str | None = None) -> list[str]:
    return [item.id for item in items(list(source.list(cursor)))]


def mark(listed: list[Listed]) -> Checkpoint:
    assert isinstance(listed[-1], Checkpoint)
    return listed[-1]


def read(source: ConfluenceSource, item: Item, tmp_path: Path) -> LoadedDocument:
    path = tmp_path / "original"
    path.write_bytes(b"".join(source.fetch(item)))
    return load(path, item.name)


def test_a_space_is_listed_page_after_page_with_the_pages_own_addresses(wiki: ConfluenceServer, opened: Open):
    listed = list(opened().list())
    assert [(item.id, item.name, item.version) for item in items(listed)] == [
        ("1", "Home.html", "1"),
        ("2", "항구 안내.html", "1"),
        ("3", "港の案内.html", "1"),
    ]
    assert items(listed)[0].url == f"{wiki.home}/spaces/DOCS/pages/1/Home"
    assert mark(listed).whole


def test_a_server_of_an_old_version_is_listed_as_well(wiki: ConfluenceServer, opened: Open):
    wiki.scans = False
    wiki.space("~ada")
    wiki.page("6", "Mine", "<p>x</p>", "~ada")
    assert ids(opened(spaces=["DOCS", "~ada"])) == ["1", "2", "3", "6"]
    assert ids(opened(pages=["2"], labels=["old"])) == ["3"]


def test_the_whole_way_ends_as_text_with_headings_tables_and_names(
    kind: str, wiki: ConfluenceServer, opened: Open, tmp_path: Path
):
    wiki.people["557058:ab"] = "김민수"
    mention = "ri:account-id" if kind == "cloud" else "ri:userkey"
    wiki.edit(
        "2",
        "<h1>역사</h1><p>벨담 항구는 1887년에 문을 열었다.</p><table><tbody><tr><th>배</th><th>담당</th></tr>"
        f'<tr><td>Alma</td><td><ac:link><ri:user {mention}="557058:ab" /></ac:link></td></tr>'
        f'<tr><td>Berta</td><td><ac:link><ri:user {mention}="gone" /></ac:link></td></tr></tbody></table>',
    )
    source = opened()
    document = read(source, items(list(source.list()))[1], tmp_path)
    assert [(level, heading) for _, level, heading in document.headings] == [(1, "항구 안내"), (2, "역사")]
    assert "벨담 항구는 1887년에 문을 열었다." in document.text
    assert "| 배 | 담당 |\n| --- | --- |\n| Alma | @김민수 |\n| Berta | @unknown |" in document.text
    assert "ベルダム港" in read(source, items(list(source.list()))[2], tmp_path).text


def test_a_person_is_asked_for_once(wiki: ConfluenceServer, opened: Open):
    wiki.people["ab"] = "Ada"
    mentions = '<ac:link><ri:user ri:userkey="ab" /></ac:link>' * 3
    for page in "123":
        wiki.edit(page, mentions)
    source = opened()
    for item in items(list(source.list())):
        assert b'content="Ada"' in b"".join(source.fetch(item))
    assert len([call for call in wiki.asked("/rest/api/user") if call.query]) == 1


def test_a_tree_is_its_page_with_all_that_is_below_it(kind: str, wiki: ConfluenceServer, opened: Open):
    wiki.page("20", "A folder", "", "DOCS", parent="3", type="folder" if kind == "cloud" else "page")
    chain = [str(number) for number in range(20, 33)]
    for above, below in pairwise(chain):
        wiki.page(below, f"Page {below}", "<p>x</p>", "DOCS", parent=above)
    found = ids(opened(pages=[f"{wiki.home}/spaces/DOCS/pages/2/Title"]))
    assert set(found) == {"2", "3", *chain[kind == "cloud" :]}
    assert ids(opened(pages=["5"], spaces=["DOCS"]))[-1] == "5"


def test_only_pages_with_one_of_the_labels_are_read(opened: Open):
    assert ids(opened(labels=["old", "public"])) in (["2", "3"], ["3", "2"])
    assert ids(opened(labels=["Old"], spaces=["DOCS", "OPS"])) == ["3"]
    assert ids(opened(labels=["public"], pages=["3", "4"])) == ["3", "4"]
    assert ids(opened(labels=["nobody-has-it"])) == []


def test_attached_files_come_with_their_pages_and_pictures_do_not(
    wiki: ConfluenceServer, opened: Open, tmp_path: Path
):
    table = wiki.attach("2", "표 1.csv", "배,해\nAlma,1890\n".encode(), "text/csv")
    wiki.attach("2", "photo.png", b"\x89PNG", "image/png")
    wiki.attach("4", "other.csv", b"a,b", "text/csv")
    source = opened(attachments=True)
    listed = items(list(source.list()))
    assert [item.id for item in listed] == ["1", "2", table, "3"]
    assert listed[2].url == f"{wiki.home}/pages/viewpageattachments.action?pageId=2&preview=%2F{table}"
    assert "| Alma | 1890 |" in read(source, listed[2], tmp_path).text


def test_a_file_that_is_too_large_is_said_and_not_fetched(wiki: ConfluenceServer, opened: Open):
    wiki.attach("2", "large.csv", b"x" * 1001, "text/csv")
    listed = list(opened(attachments=True, most=1000).list())
    (failed,) = [each for each in listed if isinstance(each, Unreadable)]
    assert failed.name == "large.csv"
    assert "FOOTNOTE_MAX_UPLOAD_MB" in failed.reason
    assert mark(listed).whole


@pytest.mark.parametrize("zone", [-12, 0, 14])
def test_afterwards_only_what_changed_is_listed_whatever_the_time_zone(
    wiki: ConfluenceServer, opened: Open, zone: int
):
    wiki.zone = zone
    table = wiki.attach("3", "a.csv", b"a,b", "text/csv")
    wiki.attach("4", "of another space.csv", b"a,b", "text/csv")
    cursor = mark(list(opened(attachments=True).list())).cursor
    assert ids(opened(attachments=True, at=HOUR), cursor) == []
    wiki.now = LATER + 2 * HOUR
    wiki.edit("2", "<p>New</p>")
    wiki.edit("4", "<p>Elsewhere</p>")
    wiki.edit(table)
    listed = list(opened(attachments=True, at=3 * HOUR).list(cursor))
    assert [(item.id, item.version) for item in items(listed)] == [("2", "2"), (table, "2")]
    assert not mark(listed).whole
    assert ids(opened(attachments=True, at=4 * HOUR), mark(listed).cursor) == ["2", table]  # known versions
    assert ids(opened(attachments=True, at=20 * HOUR), mark(listed).cursor) == ["2", table]


def test_changes_keep_to_trees_and_labels(wiki: ConfluenceServer, opened: Open):
    wanted: dict[str, Any] = {"pages": ["2"], "labels": ["old"], "attachments": True}
    inside = wiki.attach("3", "in.csv", b"a", "text/csv")
    outside = wiki.attach("2", "out.csv", b"a", "text/csv")
    cursor = mark(list(opened(**wanted).list())).cursor
    wiki.now = LATER + HOUR
    for id_ in ("1", "2", "3", "4", inside, outside):
        wiki.edit(id_)
    assert ids(opened(at=2 * HOUR, **wanted), cursor) == ["3", inside]


def test_what_was_deleted_moved_or_lost_its_label_is_no_longer_there_a_day_later(
    wiki: ConfluenceServer, opened: Open
):
    wanted: dict[str, Any] = {"spaces": ["DOCS"], "labels": ["public"]}
    cursor = mark(list(opened(**wanted).list())).cursor
    wiki.trash("2")
    assert ids(opened(at=HOUR, **wanted), cursor) == []
    listed = list(opened(at=DAY, **wanted).list(cursor))
    assert [item.id for item in items(listed)] == ["3"]
    assert mark(listed).whole
    wiki.change("3", space="OPS")
    assert ids(opened(at=2 * DAY, **wanted), mark(listed).cursor) == []


def test_a_small_wiki_is_listed_whole_every_time(wiki: ConfluenceServer, opened: Open):
    cursor = mark(list(opened(cheap=25).list())).cursor
    wiki.trash("2")
    listed = list(opened(cheap=25, at=HOUR).list(cursor))
    assert [item.id for item in items(listed)] == ["1", "3"]
    assert mark(listed).whole


def test_a_thousand_unchanged_pages_take_few_requests(wiki: ConfluenceServer, opened: Open):
    wiki.size = 250
    for number in range(1000):
        wiki.page(f"1{number:04}", f"Page {number}", "<p>x</p>", "DOCS")
    source = opened()
    assert len(ids(source)) == 1003
    assert len(wiki.calls) <= 8


@pytest.mark.parametrize("cursor", ["", "x", "{}", '{"since": 1}', "null"])
def test_a_cursor_that_says_nothing_begins_anew(opened: Open, cursor: str):
    assert mark(list(opened().list(cursor))).whole


def test_other_settings_begin_anew_another_secret_does_not(opened: Open):
    cursor = mark(list(opened().list())).cursor
    assert mark(list(opened(spaces=["DOCS", "OPS"]).list(cursor))).whole
    assert not mark(list(opened().list(cursor))).whole


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(429, {"Retry-After": "0"})] * 3,
        [Fault(503, {"Retry-After": "0"})] * 2,
        [Fault(500), Fault(502, {}, b"<html>"), Fault(504)],
    ],
    ids=["too many requests", "unavailable", "server errors"],
)
def test_what_passes_is_waited_for(wiki: ConfluenceServer, opened: Open, faults: list[Fault]):
    source = opened()
    wiki.fail(*faults, at="pages" if wiki.context == "/wiki" else "/content")
    listed = list(source.list())
    assert [item.id for item in items(listed)] == ["1", "2", "3"]
    wiki.fail(*faults, at="/1")
    assert b"Welcome" in b"".join(source.fetch(items(listed)[0]))


def test_a_connection_that_breaks_off_is_made_again(wiki: ConfluenceServer, opened: Open):
    source = opened()
    wiki.cut(2)
    listed = list(source.list())
    wiki.cut(2)
    assert b"Welcome" in b"".join(source.fetch(items(listed)[0]))
    wiki.cut(4)
    with pytest.raises(SourceError, match="broke off"):
        list(source.list())


def test_what_asking_again_does_not_mend_is_asked_once(wiki: ConfluenceServer, opened: Open):
    circle = Fault(302, {"Location": f"{wiki.home}/rest/api/user/current"})
    wiki.fail(*[circle] * 50, at="/user/current")
    with pytest.raises(SourceError, match="redirects again and again"):
        list(opened().list())
    assert len(wiki.asked("/user/current")) == MAX_REDIRECTS + 1


def test_an_expired_token_is_said_and_never_shown(wiki: ConfluenceServer, opened: Open):
    wiki.accepts = "Bearer another"
    for doing in (opened().test, lambda: list(opened().list())):
        with pytest.raises(SourceError, match=r"does not accept the token.* the secret 'wiki'") as refused:
            doing()
        assert TOKEN not in str(refused.value)


def test_a_token_that_counts_for_nobody_does_not_make_pages_seem_gone(wiki: ConfluenceServer, opened: Open):
    wiki.anonymous = True
    with pytest.raises(SourceError, match="does not accept the token"):
        list(opened().list())


def test_what_is_wanted_and_not_there_is_an_error_before_anything_is_listed(
    wiki: ConfluenceServer, opened: Open
):
    with pytest.raises(SourceError, match="no space GONE in this wiki"):
        list(opened(spaces=["DOCS", "GONE"]).list())
    wiki.trash("4")
    with pytest.raises(SourceError, match=r"Page 4 cannot be read: .*Take it out of the page trees"):
        list(opened(pages=["4"]).list())


@pytest.mark.parametrize(
    ("status", "said", "whole_after"),
    [(500, "could not answer just now", HOUR), (403, "does not let this account read it", DAY)],
)
def test_files_that_cannot_be_listed_take_nothing_away(
    wiki: ConfluenceServer, opened: Open, status: int, said: str, whole_after: timedelta
):
    held = wiki.attach("3", "a.csv", b"a", "text/csv")
    wiki.fail(*[Fault(status)] * (TRIES if status == 500 else 1), at="/2/")
    listed = list(opened(attachments=True).list())
    assert [item.id for item in items(listed)] == ["1", "2", "3", held]
    (failed,) = [each for each in listed if isinstance(each, Unreadable)]
    assert failed.name == "Files attached to 항구 안내"
    assert said in failed.reason
    assert not mark(listed).whole
    again = [list(opened(attachments=True, at=at).list(mark(listed).cursor)) for at in (HOUR, DAY)]
    assert [mark(each).whole for each in again] == [whole_after <= HOUR, True]


def test_one_page_or_file_that_cannot_be_had_concerns_no_other(wiki: ConfluenceServer, opened: Open):
    held = wiki.attach("3", "a.csv", b"a,b", "text/csv")
    source = opened(attachments=True)
    first, second, third, file = items(list(source.list()))
    wiki.trash("1")
    with pytest.raises(ItemFailed):
        list(source.fetch(first))
    wiki.fail(*[Fault(500)] * 4, at="/2")
    with pytest.raises(ItemFailed, match="could not answer"):
        list(source.fetch(second))
    wiki.cut(at="/download/")
    with pytest.raises(ItemFailed, match="only in part"):
        list(source.fetch(file))
    assert b"".join(source.fetch(file)) == b"a,b"
    wiki.fail(Fault(403), Fault(403), at="/download/")
    with pytest.raises(ItemFailed, match="does not let this account read it"):
        list(source.fetch(file))
    assert file.id == held
    assert list(source.fetch(third))


@pytest.mark.parametrize(
    "body", [b"<html>Log in</html>", [], {"results": "none"}, {"results": [{"id": {}}]}, {}]
)
def test_an_answer_that_makes_no_sense_is_said(wiki: ConfluenceServer, opened: Open, body: object):
    wiki.fail(Fault(200, {}, body), at="space")
    with pytest.raises(SourceError, match="Check the address"):
        list(opened().list())


def test_a_listing_without_an_end_is_ended(wiki: ConfluenceServer, opened: Open):
    again = {"results": [], "_links": {"next": "/rest/api/next?cursor=c1&start=1"}}
    wiki.fail(*[Fault(200, {}, again)] * 5, at="space")
    with pytest.raises(SourceError, match="no end"):
        list(opened().list())


def test_listing_can_be_stopped(opened: Open):
    with pytest.raises(Cancelled):
        list(opened().list(cancelled=lambda: True))


def test_the_test_names_who_asks_and_what_can_be_read(opened: Open):
    said = opened(spaces=["DOCS"], pages=["5"]).test()
    assert said == "Signed in as Ada Byron. Can be read: All of DOCS, “Notes” with all below it."


def test_by_way_of_the_gateway_pages_still_open_at_the_wikis_own_address():
    with ConfluenceServer(context="/ex/confluence/1a2b/wiki") as wiki:
        wiki.space("DOCS")
        wiki.page("1", "Home", "<p>Welcome</p>", "DOCS")
        wiki.home = "https://acme.atlassian.net/wiki"
        settings = ConfluenceSettings(
            url=f"http://api.atlassian.com:{wiki.port}{wiki.context}",
            email="ada@example.com",
            credential="wiki",
            spaces=("DOCS",),
        )
        here = Fetcher(private=["127.0.0.1"], resolve=lambda *_: [ip_address("127.0.0.1")])
        (page,) = items(list(ConfluenceSource(settings, CREDENTIALS, here).list()))
    assert page.url == "https://acme.atlassian.net/wiki/spaces/DOCS/pages/1/Home"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"url": "https://acme.atlassian.net"}, "https://acme.atlassian.net/wiki"),
        (
            {"url": " https://acme.atlassian.net/wiki/spaces/DOCS/overview "},
            "https://acme.atlassian.net/wiki",
        ),
        ({"url": "https://wiki.corp:8443/confluence/"}, "https://wiki.corp:8443/confluence"),
        (
            {"url": "https://api.atlassian.com/ex/confluence/1a2b"},
            "https://api.atlassian.com/ex/confluence/1a2b/wiki",
        ),
    ],
)
def test_an_address_is_kept_as_paths_are_put_after_it(given: dict[str, Any], said: str):
    assert ConfluenceSettings(credential="wiki", spaces=("A",), **given).url == said


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"url": "wiki.corp"}, "must begin with https://"),
        ({"url": "ftp://wiki.corp"}, "must begin with https://"),
        ({"url": "https://ada:pw@wiki.corp"}, "hold no password"),
        ({"url": "https://[::1"}, "copy it from the browser"),
        ({"spaces": ()}, "name at least one space or one page"),
        ({"spaces": ('A" or type = page',)}, "is no key of a space"),
        ({"pages": ("1 or 2",)}, "is no page"),
        ({"pages": ("https://wiki.corp/x/AbC",)}, "is no page"),
        ({"labels": ("two words",)}, "a label is one word"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_with_a_sentence(given: dict[str, Any], complaint: str):
    usual = {"url": "https://wiki.corp", "credential": "wiki", "spaces": ("A",)}
    with pytest.raises(ValueError, match=complaint):
        ConfluenceSettings(**{**usual, **given})


@pytest.mark.parametrize(
    "page",
    [
        "123456",
        "https://acme.atlassian.net/wiki/spaces/DOCS/pages/123456/A+title?focus=1#x",
        "https://acme.atlassian.net/wiki/spaces/DOCS/pages/edit-v2/123456",
        "https://wiki.corp/pages/viewpage.action?spaceKey=A&pageId=123456",
    ],
)
def test_a_page_is_named_by_its_number_or_its_address(page: str):
    settings = ConfluenceSettings(url="https://wiki.corp", credential="wiki", pages=(page,))
    assert settings.pages == ("123456",)
