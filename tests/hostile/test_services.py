"""A service that turns against us, or whose answers were tampered with, learns no token for anyone else."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.connectors.base import Credentials, Item
from rag.connectors.confluence.client import ConfluenceSettings
from rag.connectors.confluence.source import ConfluenceSource
from rag.connectors.google_drive.source import DriveSettings, DriveSource
from rag.connectors.http import Fetcher
from rag.errors import ItemFailed, SourceError
from tests.rag.connectors.confluence_server import ConfluenceServer
from tests.rag.connectors.drive_server import DriveServer
from tests.rag.connectors.service import Fault
from tests.rag.connectors.site import Page, Site

HERE = Fetcher(private=["127.0.0.1"])
CREDENTIALS = Credentials({"FOOTNOTE_SECRET_WIKI": "hunter2-token"}, Path("none"))


@pytest.fixture
def elsewhere() -> Iterator[Site]:
    with Site() as site:
        yield site


@pytest.fixture
def wiki() -> Iterator[ConfluenceServer]:
    with ConfluenceServer() as wiki:
        wiki.space("DOCS")
        for number in range(7):
            wiki.page(str(number), f"Page {number}", "<p>Text</p>", "DOCS")
        yield wiki


def source(wiki: ConfluenceServer, email: str = "") -> ConfluenceSource:
    settings = ConfluenceSettings(
        url=wiki.home, email=email, credential="wiki", spaces=("DOCS",), attachments=True
    )
    return ConfluenceSource(settings, CREDENTIALS, HERE, first_wait=0.01)


@pytest.mark.parametrize("email", ["", "ada@example.com"], ids=["server", "cloud"])
def test_a_link_to_the_next_page_on_another_host_is_not_followed(
    wiki: ConfluenceServer, elsewhere: Site, email: str
):
    for host in (elsewhere.url, f"{elsewhere.url}/wiki", f"//127.0.0.1:{elsewhere.port}"):
        wiki.next_host = host
        listed = [item.id for item in source(wiki, email).list() if isinstance(item, Item)]
        assert listed == ["0", "1", "2", "3", "4", "5", "6"]
    assert elsewhere.requests == []


@pytest.mark.parametrize(
    "where", ["{other}/a.csv", "//{host}/a", "/wiki//{host}/a", "\\\\{host}\\a.csv", "@{host}/a.csv", ""]
)
def test_a_file_said_to_be_on_another_host_is_not_asked_for(
    wiki: ConfluenceServer, elsewhere: Site, where: str
):
    link = where.format(other=elsewhere.url, host=f"127.0.0.1:{elsewhere.port}")
    told = {"id": "att1", "title": "a.csv", "_links": {"download": link}}
    wiki.fail(Fault(200, {}, told), at="/att1")
    with pytest.raises(ItemFailed, match="does not say where the file is"):
        list(source(wiki).fetch(Item("att1", "a.csv", "1")))
    assert elsewhere.requests == []


def test_a_download_that_leads_elsewhere_goes_without_the_token(wiki: ConfluenceServer, elsewhere: Site):
    held = wiki.attach("0", "a.csv", b"", "text/csv")
    elsewhere.pages["/media"] = Page(b"a,b")
    wiki.fail(Fault(302, {"Location": f"{elsewhere.url}/media"}), at="/download/")
    assert b"".join(source(wiki).fetch(Item(held, "a.csv", "1"))) == b"a,b"
    (asked,) = elsewhere.requests
    assert "authorization" not in asked.headers
    assert "hunter2" not in str(asked)


@pytest.mark.parametrize("webui", ["javascript:alert(1)", "//evil.example/x", "https://evil.example/x", ""])
def test_the_address_of_a_page_is_always_within_its_wiki(wiki: ConfluenceServer, webui: str):
    page = {"id": "1", "title": "x", "version": {"number": 1}, "_links": {"webui": webui}}
    wiki.fail(Fault(200, {}, {"results": [page], "_links": {"base": "https://evil.example"}}), at="/content")
    (first, *_) = source(wiki).list()
    assert isinstance(first, Item)
    assert first.url == f"{wiki.home}/pages/viewpage.action?pageId=1"


@pytest.fixture
def drive() -> Iterator[DriveServer]:
    with DriveServer(refresh_token="hunter2-lasting") as drive:
        drive.folder("folder-0001", "Papers")
        drive.file("file-000001", "a.csv", b"a,b", "folder-0001")
        yield drive


def drive_source(drive: DriveServer, elsewhere: Site) -> DriveSource:
    secret = {
        "type": "authorized_user",
        "client_id": "c",
        "client_secret": "hunter2-secret",
        "refresh_token": "hunter2-lasting",
        "token_uri": f"{elsewhere.url}/token",
    }
    credentials = Credentials({"FOOTNOTE_SECRET_DRIVE": json.dumps(secret)}, Path("none"))
    settings = DriveSettings(places=("folder-0001",), credential="drive")
    return DriveSource(
        settings, credentials, HERE, service=drive.url, tokens=f"{drive.url}/token", first_wait=0.01
    )


def test_a_credential_that_names_another_host_for_tokens_is_not_sent_there(
    drive: DriveServer, elsewhere: Site
):
    assert len(list(drive_source(drive, elsewhere).list())) == 2
    assert elsewhere.requests == []


def test_where_google_leads_elsewhere_no_token_goes_along(drive: DriveServer, elsewhere: Site):
    elsewhere.pages["/media"] = Page(b"a,b")
    drive.fail(Fault(302, {"Location": f"{elsewhere.url}/media"}), at="alt=media")
    drive.fail(Fault(307, {"Location": f"{elsewhere.url}/token"}), at="/token")
    source = drive_source(drive, elsewhere)
    with pytest.raises(SourceError, match="does not accept the credential"):
        list(source.fetch(Item("file-000001", "a.csv", "1")))
    assert elsewhere.requests == []
    assert b"".join(source.fetch(Item("file-000001", "a.csv", "1"))) == b"a,b"
    (asked,) = elsewhere.requests
    assert "authorization" not in asked.headers


@pytest.mark.parametrize("link", ["javascript:alert(1)", "http://evil.example/", "", "//evil.example/x"])
def test_the_address_of_a_file_is_one_of_googles_where_the_answer_has_none(
    drive: DriveServer, elsewhere: Site, link: str
):
    file = {"id": "file-000001", "name": "a.csv", "mimeType": "text/csv", "webViewLink": link}
    drive.fail(Fault(200, {}, {"files": [file]}), at="q=")
    (first, *_) = drive_source(drive, elsewhere).list()
    assert isinstance(first, Item)
    assert first.url == "https://drive.google.com/open?id=file-000001"


def test_names_that_would_change_a_query_do_not_reach_it(drive: DriveServer, elsewhere: Site):
    """Ids come from answers, and go into the next question."""
    odd = "x' in parents or name contains 'secret"
    folder = {"id": odd, "name": "odd", "mimeType": "application/vnd.google-apps.folder"}
    drive.fail(Fault(200, {}, {"files": [folder]}), at="q=")
    with pytest.raises(SourceError, match="in a form that Footnote does not know"):
        list(drive_source(drive, elsewhere).list())
    assert not any("secret" in call.query.get("q", "") for call in drive.calls)
