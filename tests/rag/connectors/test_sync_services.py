"""Confluence and Google Drive read into a real library, from their servers to an answer's passages."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from rag.connectors.base import Credentials
from rag.connectors.confluence.client import ConfluenceSettings
from rag.connectors.confluence.source import ConfluenceSource
from rag.connectors.google_drive.source import DriveSettings, DriveSource
from rag.connectors.http import Fetcher
from rag.connectors.rest import TRIES
from rag.connectors.web import WebSettings, WebSource
from rag.errors import SourceError
from rag.models.embeddings import Embedder
from storage.database import Database
from tests.rag.connectors.confluence_server import ConfluenceServer
from tests.rag.connectors.drive_server import DriveServer, error
from tests.rag.connectors.service import Fault
from tests.rag.connectors.site import Page, Site
from tests.rag.connectors.test_sync import Syncer

PERSON = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "lasting"}
SECRETS = {"FOOTNOTE_SECRET_WIKI": "token", "FOOTNOTE_SECRET_DRIVE": json.dumps(PERSON)}
CREDENTIALS = Credentials(SECRETS, Path("none"))
FETCHER = Fetcher(private=["127.0.0.1"])


@pytest.fixture
def syncer(database: Database, embedder: Embedder) -> Iterator[Syncer]:
    opened = Syncer(database, embedder)
    yield opened
    opened.library.close()


@pytest.fixture
def wiki() -> Iterator[ConfluenceServer]:
    with ConfluenceServer() as wiki:
        wiki.space("DOCS")
        wiki.page("1", "Harbour", "<h1>History</h1><p>The harbour opened in 1887.</p>", "DOCS")
        wiki.page("2", "항구", "<p>벨담 항구는 1887년에 문을 열었다.</p>", "DOCS", parent="1")
        wiki.page("3", "Ships", "<p>The Alma was built of oak.</p>", "DOCS", parent="1")
        yield wiki


@pytest.fixture
def drive() -> Iterator[DriveServer]:
    with DriveServer(refresh_token="lasting") as drive:
        drive.folder("folder-0001", "Papers")
        drive.folder("folder-0002", "More", "folder-0001")
        drive.file("file-000001", "harbour.csv", b"what,year\nharbour,1887", "folder-0001")
        drive.file("file-000002", "ships.csv", b"ship,wood\nAlma,oak", "folder-0002")
        yield drive


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def of_wiki(wiki: ConfluenceServer) -> ConfluenceSource:
    settings = ConfluenceSettings(url=wiki.home, credential="wiki", spaces=("DOCS",), attachments=True)
    return ConfluenceSource(settings, CREDENTIALS, FETCHER, first_wait=0.01)


def of_drive(drive: DriveServer) -> DriveSource:
    settings = DriveSettings(places=("folder-0001",), credential="drive")
    return DriveSource(
        settings, CREDENTIALS, FETCHER, service=drive.url, tokens=f"{drive.url}/token", first_wait=0.01
    )


def test_a_wiki_is_followed_page_by_page(syncer: Syncer, wiki: ConfluenceServer):
    wiki.attach("3", "crew.csv", b"name,rank\nAda,captain", "text/csv")
    assert syncer.run(of_wiki(wiki)).new == 4
    assert syncer.found("When did the harbour open?")[0] == "Harbour.html"
    assert syncer.found("captain") == ["crew.csv"]
    urls = {record.name: record.url for record in syncer.library.documents.list()}
    assert urls["Harbour.html"] == f"{wiki.home}/spaces/DOCS/pages/1/Harbour"
    wiki.calls.clear()
    again = syncer.run(of_wiki(wiki))
    assert (again.new, again.unchanged) == (0, 4)
    assert not [call for call in wiki.calls if "body.storage" in call.query.get("expand", "")]
    wiki.edit("3", "<p>The Alma was built of teak.</p>")
    wiki.trash("2")
    last = syncer.run(of_wiki(wiki))
    assert (last.changed, last.removed) == (1, 1)
    assert syncer.found("teak") == ["Ships.html"]
    assert syncer.names() == ["Harbour.html", "Ships.html", "crew.csv"]


def test_a_sync_of_a_wiki_that_broke_off_goes_on(syncer: Syncer, wiki: ConfluenceServer):
    wiki.cut(4, at="/content/2")
    with pytest.raises(SourceError, match="broke off"):
        syncer.run(of_wiki(wiki))
    assert syncer.names() == ["Harbour.html"]
    wiki.calls.clear()
    last = syncer.run(of_wiki(wiki))
    assert (last.new, last.unchanged) == (2, 1)
    assert not [call for call in wiki.calls if call.path.endswith("/content/1")]


@pytest.mark.parametrize(
    ("faults", "waits"),
    [
        ([Fault(500)] * TRIES, timedelta(0)),
        ([Fault(403, body=error(403, "cannotDownloadFile"))], timedelta(days=1)),
    ],
)
def test_a_file_that_failed_is_tried_again_though_the_log_is_silent(
    syncer: Syncer, drive: DriveServer, faults: list[Fault], waits: timedelta
):
    drive.fail(*faults, at="file-000001?alt=media")
    first = syncer.run(of_drive(drive))
    assert (first.new, first.failed) == (1, 1)
    (failed,) = [item for item in syncer.items.list(syncer.id) if item.reason]
    assert failed.due == syncer.now + waits
    drive.calls.clear()
    assert syncer.run(of_drive(drive)).new == (0 if waits else 1)
    syncer.now += waits
    assert syncer.run(of_drive(drive)).new == (1 if waits else 0)
    assert not [call for call in drive.calls if call.path.endswith("/files")]
    assert syncer.names() == ["harbour.csv", "ships.csv"]


def test_web_pages_that_are_not_there_are_asked_for_less_and_less(syncer: Syncer, site: Site):
    site.pages["/a"] = Page(b"The harbour opened in 1887.", {"Content-Type": "text/plain"})

    def run() -> int:
        site.requests.clear()
        settings = WebSettings(urls=(f"{site.url}/a", f"{site.url}/b"))
        assert syncer.run(WebSource(settings, FETCHER)).failed == 1
        return sum(asked.path == "/b" for asked in site.requests)

    asked = []
    for _ in range(8):
        asked.append(run())
        syncer.now += timedelta(hours=12)
    assert asked == [1, 0, 1, 0, 0, 0, 1, 0]
    assert syncer.names() == ["a.txt"]


def test_a_drive_is_followed_by_its_log(syncer: Syncer, drive: DriveServer):
    assert syncer.run(of_drive(drive)).new == 2
    assert syncer.found("oak")[0] == "ships.csv"
    drive.calls.clear()
    assert syncer.run(of_drive(drive)).items == 0
    assert [call.path for call in drive.calls] == ["/token", "/drive/v3/changes"]
    drive.edit("file-000001", b"what,year\nharbour,1931")
    drive.trash("folder-0002")
    last = syncer.run(of_drive(drive))
    assert (last.changed, last.removed) == (1, 1)
    assert syncer.names() == ["harbour.csv"]
    assert syncer.found("1931") == ["harbour.csv"]
