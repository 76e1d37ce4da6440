"""Google Drive as a source, against a local server that speaks its API."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from rag.connectors.base import Checkpoint, Credentials, Gone, Item, Listed, Unreadable
from rag.connectors.google_drive.source import DriveSettings, DriveSource
from rag.connectors.http import Fetcher
from rag.errors import Cancelled, ItemFailed, SourceError
from rag.ingest.parsers import LoadedDocument, load
from tests.rag.connectors.drive_server import DOCUMENT, GOOGLE, SHEET, SLIDES, DriveServer, error
from tests.rag.connectors.service import Fault
from tests.rag.ingest.parsers import makers

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
Open = Callable[..., DriveSource]


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


@pytest.fixture(scope="module")
def secret(key: RSAPrivateKey) -> str:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    told = {"project_id": "p", "private_key_id": "1", "token_uri": "https://evil.example/token"}
    return json.dumps(
        {"type": "service_account", "client_email": "papers@p.iam.example", "private_key": pem, **told}
    )


@pytest.fixture
def drive(key: RSAPrivateKey) -> Iterator[DriveServer]:
    with DriveServer(key=key.public_key()) as drive:
        drive.folder("root-00001", "My Drive")
        drive.folder("folder-0001", "Papers", "root-00001")
        drive.folder("folder-0002", "하위 폴더", "folder-0001")
        drive.folder("folder-0003", "Deeper", "folder-0002")
        drive.file("file-000001", "ships.csv", b"ship,year\nAlma,1890", "folder-0001")
        drive.file("file-000002", "배.csv", b"a,b", "folder-0002")
        drive.file("file-000003", "船.csv", b"a,c", "folder-0003")
        drive.file("file-000004", "private.csv", b"a,d", "root-00001")
        yield drive


@pytest.fixture
def opened(drive: DriveServer, secret: str) -> Open:
    def open_source(*, at: timedelta = timedelta(0), most: int = 1000, **wanted: Any) -> DriveSource:
        given = wanted.pop("secret", secret)
        settings = DriveSettings(**{"places": ["folder-0001"], "credential": "drive", **wanted})
        return DriveSource(
            settings,
            Credentials({"FOOTNOTE_SECRET_DRIVE": given}, Path("none")),
            Fetcher(private=["127.0.0.1"]),
            service=drive.url,
            tokens=f"{drive.url}/token",
            max_bytes=most,
            now=lambda: START + at,
            first_wait=0.01,
        )

    return open_source


def ids(listed: list[Listed]) -> list[str]:
    return [each.id for each in listed if isinstance(each, Item)]


def gone(listed: list[Listed]) -> list[str]:
    return [each.id for each in listed if isinstance(each, Gone)]


def mark(listed: list[Listed]) -> Checkpoint:
    assert isinstance(listed[-1], Checkpoint)
    return listed[-1]


def read(source: DriveSource, item: Item, tmp_path: Path) -> LoadedDocument:
    path = tmp_path / "original"
    path.write_bytes(b"".join(source.fetch(item)))
    return load(path, item.name)


def test_a_folder_is_listed_with_all_below_it(opened: Open):
    listed = list(opened().list())
    first = listed[0]
    assert isinstance(first, Item)
    assert (first.id, first.name) == ("file-000001", "ships.csv")
    assert first.url == "https://drive.google.com/file/d/file-000001/view?usp=drivesdk"
    assert ids(listed) == ["file-000001", "file-000002", "file-000003"]
    assert mark(listed).whole
    assert ids(list(opened(subfolders=False).list())) == ["file-000001"]
    assert ids(list(opened(places=["file-000004"]).list())) == ["file-000004"]
    assert len(ids(list(opened(places=["folder-0002", "folder-0001"]).list()))) == 3
    assert set(ids(list(opened(places=["root"]).list()))) >= {"file-000001", "file-000004"}


def test_the_whole_way_ends_as_text_with_headings_tables_and_slide_numbers(
    drive: DriveServer, opened: Open, tmp_path: Path
):
    makes = [("Plan", DOCUMENT, makers.docx), ("Prices", SHEET, makers.xlsx), ("Talk", SLIDES, makers.pptx)]
    for number, (name, mime, make) in enumerate(makes):
        content = make(tmp_path / name).read_bytes()
        drive.file(f"native-000{number}", name, content, "folder-0003", mime=mime)
    source = opened()
    items = {item.name: item for item in source.list() if isinstance(item, Item)}
    plan = read(source, items["Plan.docx"], tmp_path)
    assert [(level, heading) for _, level, heading in plan.headings] == [(1, "Veldham"), (2, "Ships")]
    assert "| Alma | 1890 |" in plan.text
    assert all(sentence in plan.text for sentence in makers.SENTENCES.values())
    assert "| 錨 | 4 |" in read(source, items["Prices.xlsx"], tmp_path).text
    assert [number for number, _, _ in read(source, items["Talk.pptx"], tmp_path).pages] == [1, 2, 3]
    assert "| Alma | 1890 |" in read(source, items["ships.csv"], tmp_path).text


def test_what_cannot_be_a_document_is_named_with_the_reason(drive: DriveServer, opened: Open):
    drive.file("other-00001", "Form", b"", "folder-0001", mime=f"{GOOGLE}form")
    drive.file("other-00002", "film.mp4", b"", "folder-0001", mime="video/mp4")
    drive.file("other-00003", "large.pdf", b"x" * 1001, "folder-0001", mime="application/pdf")
    drive.file("other-00004", "kept.pdf", b"x", "folder-0001", mime="application/pdf", download=False)
    reasons = {each.name: each.reason for each in opened().list() if isinstance(each, Unreadable)}
    assert reasons["Form"] == "It is a Google form, which Drive does not give out as a document."
    assert "film or a sound" in reasons["film.mp4"]
    assert "FOOTNOTE_MAX_UPLOAD_MB" in reasons["large.pdf"]
    assert "does not allow" in reasons["kept.pdf"]


def test_a_version_changes_with_the_content_and_not_with_the_name(drive: DriveServer, opened: Open):
    drive.file("native-0001", "Plan", b"", "folder-0001", mime=DOCUMENT)
    before = {each.id: each.version for each in opened().list() if isinstance(each, Item)}
    drive.rename("file-000001", "ships 2.csv")
    drive.edit("file-000002", b"new")
    drive.edit("native-0001", b"new")
    after = {each.id: each.version for each in opened().list() if isinstance(each, Item)}
    assert {id_ for id_ in before if before[id_] != after[id_]} == {"file-000002", "native-0001"}


def test_afterwards_only_what_changed_is_asked_for(drive: DriveServer, opened: Open):
    cursor = mark(list(opened().list())).cursor
    drive.calls.clear()
    assert list(opened(at=HOUR).list(cursor)) == [Checkpoint(cursor, whole=False)]
    assert len(drive.asked("/changes")) == 1
    assert drive.asked("/files") == []
    for content in (b"1", b"2", b"3"):
        drive.edit("file-000002", content)
    drive.edit("file-000004", b"not ours")
    drive.file("file-000005", "new.csv", b"n", "folder-0003")
    drive.move("file-000003", "root-00001")
    drive.trash("file-000001")
    listed = list(opened(at=HOUR).list(cursor))
    assert ids(listed) == ["file-000002", "file-000005"]
    assert set(gone(listed)) == {"file-000001", "file-000003", "file-000004"}
    assert not mark(listed).whole
    drive.delete("file-000002")
    drive.trash("file-000001", trashed=False)
    listed = list(opened(at=HOUR).list(mark(listed).cursor))
    assert (ids(listed), gone(listed)) == (["file-000001"], ["file-000002"])


@pytest.mark.parametrize(
    ("happens", "left"),
    [
        (lambda drive: drive.move("folder-0002", "root-00001"), ["file-000001"]),
        (lambda drive: drive.trash("folder-0003"), ["file-000001", "file-000002"]),
        (lambda drive: drive.delete("folder-0003"), ["file-000001", "file-000002"]),
        (lambda drive: drive.move("folder-0003", "folder-0001"), None),
        (lambda drive: drive.rename("folder-0002", "Renamed"), None),
        (lambda drive: drive.folder("folder-0009", "Elsewhere", "root-00001"), None),
    ],
    ids=["moved out", "trashed", "deleted", "moved within", "renamed", "elsewhere"],
)
def test_what_happens_to_a_folder_happens_to_all_below_it(
    drive: DriveServer, opened: Open, happens: Callable[[DriveServer], None], left: list[str] | None
):
    cursor = mark(list(opened().list())).cursor
    happens(drive)
    listed = list(opened(at=HOUR).list(cursor))
    assert mark(listed).whole == (left is not None)
    assert ids(listed) == (left or [])


def test_a_folder_that_comes_brings_what_is_in_it(drive: DriveServer, opened: Open):
    drive.folder("folder-0009", "Elsewhere", "root-00001")
    drive.file("file-000009", "z.csv", b"z", "folder-0009")
    cursor = mark(list(opened().list())).cursor
    drive.move("folder-0009", "folder-0002")
    listed = list(opened(at=HOUR).list(cursor))
    assert "file-000009" in ids(listed)
    assert mark(listed).whole


def test_shortcuts_are_followed_and_nothing_is_named_twice(drive: DriveServer, opened: Open):
    drive.folder("folder-0009", "Elsewhere", "root-00001")
    drive.file("file-000009", "z.csv", b"z", "folder-0009")
    drive.shortcut("shortcut-01", "to a file", "file-000004", "folder-0001")
    drive.shortcut("shortcut-02", "to a folder", "folder-0009", "folder-0003")
    drive.shortcut("shortcut-03", "round in a circle", "folder-0001", "folder-0009")
    drive.shortcut("shortcut-04", "again", "file-000002", "folder-0001")
    drive.shortcut("shortcut-05", "to nothing", "gone-000001", "folder-0001")
    listed = list(opened().list())
    assert sorted(ids(listed)) == [f"file-00000{number}" for number in (1, 2, 3, 4, 9)]
    (failed,) = [each for each in listed if isinstance(each, Unreadable)]
    assert failed.name == "to nothing"
    cursor = mark(listed).cursor
    drive.edit("file-000004", b"changed")
    drive.edit("file-000009", b"changed")
    assert ids(list(opened(at=HOUR).list(cursor))) == ["file-000004", "file-000009"]
    drive.trash("shortcut-01")
    listed = list(opened(at=HOUR).list(cursor))
    assert mark(listed).whole
    assert "file-000004" not in ids(listed)


def test_a_shared_drive_is_read_by_its_own_log(drive: DriveServer, opened: Open):
    drive.folder("drive-00001", "Team", drive="drive-00001")
    drive.folder("folder-0011", "In the team", "drive-00001", drive="drive-00001")
    drive.file("file-000011", "t.csv", b"t", "folder-0011")
    wanted: dict[str, Any] = {"places": ["folder-0001", "drive-00001"]}
    listed = list(opened(**wanted).list())
    assert "file-000011" in ids(listed)
    drive.edit("file-000011", b"t2")
    drive.edit("file-000001", b"own")
    listed = list(opened(at=HOUR, **wanted).list(mark(listed).cursor))
    assert sorted(ids(listed)) == ["file-000001", "file-000011"]


def test_of_a_drive_one_is_no_member_of_all_is_listed_every_time(drive: DriveServer, opened: Open):
    drive.outside.add("drive-00001")
    drive.folder("folder-0011", "Shared by itself", drive="drive-00001")
    drive.file("file-000011", "t.csv", b"t", "folder-0011")
    listed = list(opened(places=["folder-0011"]).list())
    assert (ids(listed), mark(listed).whole) == (["file-000011"], True)
    drive.file("file-000012", "u.csv", b"u", "folder-0011")
    listed = list(opened(places=["folder-0011"], at=HOUR).list(mark(listed).cursor))
    assert (ids(listed), mark(listed).whole) == (["file-000011", "file-000012"], True)


def test_a_search_that_was_not_whole_takes_nothing_away(drive: DriveServer, opened: Open):
    drive.incomplete = True
    listed = list(opened().list())
    assert not mark(listed).whole
    drive.incomplete = False
    assert mark(list(opened(at=HOUR).list(mark(listed).cursor))).whole


def test_all_is_listed_once_a_day_and_where_a_log_is_lost(drive: DriveServer, opened: Open):
    cursor = mark(list(opened().list())).cursor
    assert mark(list(opened(at=DAY).list(cursor))).whole
    drive.forgotten = 99
    assert mark(list(opened(at=HOUR).list(cursor))).whole
    assert mark(list(opened().list("nonsense"))).whole
    assert mark(list(opened(subfolders=False).list(cursor))).whole


@pytest.mark.parametrize(
    "faults",
    [
        [Fault(403, {}, error(403, reason)) for reason in ("userRateLimitExceeded", "rateLimitExceeded") * 3],
        [Fault(429, {"Retry-After": "0"}), Fault(503, {"Retry-After": "0"})],
        [Fault(500, {}, b"<html>"), Fault(502), Fault(504)],
        [Fault(401, {}, error(401, "authError"))],
    ],
    ids=["quota", "too many requests", "server errors", "token ended early"],
)
@pytest.mark.parametrize("at", ["/files", "/changes"])
def test_what_passes_is_waited_for(drive: DriveServer, opened: Open, faults: list[Fault], at: str):
    drive.fail(*faults, at=at)
    drive.fail(Fault(500), Fault(503, {"Retry-After": "0"}), at="/token")
    assert ids(list(opened().list())) == ["file-000001", "file-000002", "file-000003"]


def test_a_download_is_waited_for_and_made_again(drive: DriveServer, opened: Open):
    item = Item("file-000001", "ships.csv", "1")
    slow = Fault(403, {}, error(403, "userRateLimitExceeded"))
    source = opened()
    assert b"Alma" in b"".join(source.fetch(item))
    drive.fail(slow, slow, at="alt=media")
    drive.cut(at="fields=")
    assert b"Alma" in b"".join(source.fetch(item))


def test_a_download_that_breaks_off_is_that_files_own(drive: DriveServer, opened: Open):
    drive.cut(at="alt=media")
    with pytest.raises(ItemFailed, match="only in part"):
        list(opened().fetch(Item("file-000001", "ships.csv", "1")))


def test_too_large_to_export_and_not_to_be_downloaded_are_said(drive: DriveServer, opened: Open):
    drive.file("native-0001", "Plan", b"x" * 20, "folder-0001", mime=DOCUMENT)
    drive.export_limit = 10
    source = opened()
    with pytest.raises(ItemFailed, match="too large for Google to export"):
        list(source.fetch(Item("native-0001", "Plan.docx", "1")))
    drive.trash("native-0001")
    with pytest.raises(ItemFailed, match="into the trash"):
        list(source.fetch(Item("native-0001", "Plan.docx", "1")))
    drive.delete("native-0001")
    with pytest.raises(ItemFailed, match="not shared with papers@p"):
        list(source.fetch(Item("native-0001", "Plan.docx", "1")))


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("accessNotConfigured", "API is not enabled"),
        ("insufficientPermissions", "scope drive.readonly"),
        ("dailyLimitExceeded", "Try again tomorrow"),
    ],
)
def test_what_is_wrong_with_the_account_ends_the_listing(
    drive: DriveServer, opened: Open, reason: str, said: str
):
    drive.fail(Fault(403, {}, error(403, reason)), at="/files")
    with pytest.raises(SourceError, match=said) as refused:
        list(opened().list())
    assert not isinstance(refused.value, ItemFailed)


def test_a_place_that_cannot_be_seen_is_an_error_before_its_files_seem_gone(drive: DriveServer, opened: Open):
    cursor = mark(list(opened().list())).cursor
    drive.hide("folder-0001")
    with pytest.raises(SourceError, match=r"folder-0001 cannot be read.* not shared with papers@p"):
        list(opened(at=HOUR).list(cursor))
    drive.kept["folder-0001"] = replace(drive.kept["folder-0001"], hidden=False)
    drive.trash("folder-0001")
    with pytest.raises(SourceError, match="“Papers” is in the trash"):
        list(opened(at=HOUR).list(cursor))


def test_a_single_file_in_the_trash_is_gone(drive: DriveServer, opened: Open):
    wanted: dict[str, Any] = {"places": ["file-000001", "file-000004"]}
    cursor = mark(list(opened(**wanted).list())).cursor
    drive.trash("file-000004")
    assert gone(list(opened(at=HOUR, **wanted).list(cursor))) == ["file-000004"]
    assert ids(list(opened(**wanted).list())) == ["file-000001"]


def test_one_token_serves_until_it_is_about_to_end(drive: DriveServer, opened: Open):
    source = opened()
    list(source.list())
    list(source.list())
    assert drive.granted == 1
    drive.lifetime = 120
    source = opened()
    source.test()
    granted = drive.granted
    source.test()
    assert drive.granted > granted


def test_a_person_asks_by_a_lasting_token(drive: DriveServer, opened: Open):
    drive.refresh_token = "1//lasting"
    person = {"type": "authorized_user", "client_id": "c", "client_secret": "s"}
    paid = {**person, "account": "", "quota_project_id": "papers-1"}
    granted = opened(secret=json.dumps({**paid, "refresh_token": "1//lasting"}))
    assert len(ids(list(granted.list()))) == 3
    assert drive.requests[-1].headers["x-goog-user-project"] == "papers-1"
    with pytest.raises(SourceError, match="does not accept the credential") as refused:
        list(opened(secret=json.dumps({**person, "refresh_token": "1//revoked"})).list())
    assert "revoked" not in str(refused.value).replace("it was revoked", "")


@pytest.mark.parametrize(
    "given",
    ["x", "{}", '{"type": "service_account"}', '{"type": "hunter2"}', '["hunter2"]'],
)
def test_a_secret_that_is_none_of_googles_is_refused_and_not_shown(opened: Open, given: str):
    with pytest.raises(SourceError, match="is not a credential of Google's") as refused:
        opened(secret=given)
    assert "hunter2" not in str(refused.value)
    assert refused.value.__cause__ is None


@pytest.mark.parametrize(
    "pem", ["hunter2", "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----"]
)
def test_a_broken_key_is_refused_and_not_shown(opened: Open, pem: str):
    given = {"type": "service_account", "client_email": "a@b.c", "private_key": pem}
    with pytest.raises(SourceError, match="cannot be read") as refused:
        list(opened(secret=json.dumps(given)).list())
    assert "hunter2" not in str(refused.value)


def test_without_its_package_the_way_to_install_it_is_told(opened: Open, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "google.oauth2.service_account", None)
    with pytest.raises(SourceError, match=r"pip install 'footnote\[gdrive\]'"):
        opened().test()


def test_the_token_goes_to_google_whatever_the_key_file_names(drive: DriveServer, opened: Open):
    opened().test()
    assert next(call.path for call in drive.calls) == "/token"


def test_the_test_names_who_asks_and_what_can_be_read(opened: Open):
    said = opened(places=["folder-0001", "file-000004"]).test()
    assert said == "Signed in as Papers. Can be read: “Papers”, “private.csv”."


def test_listing_can_be_stopped(opened: Open):
    with pytest.raises(Cancelled):
        list(opened().list(cancelled=lambda: True))


@pytest.mark.parametrize(
    ("place", "id_"),
    [
        ("https://drive.google.com/drive/folders/1AbC_def-9876?usp=sharing", "1AbC_def-9876"),
        ("https://drive.google.com/drive/u/0/folders/1AbC_def-9876", "1AbC_def-9876"),
        ("https://docs.google.com/document/d/1AbC_def-9876/edit#heading=h.1", "1AbC_def-9876"),
        ("https://drive.google.com/file/d/1AbC_def-9876/view", "1AbC_def-9876"),
        ("https://drive.google.com/open?id=1AbC_def-9876", "1AbC_def-9876"),
        ("1AbC_def-9876", "1AbC_def-9876"),
        ("root", "root"),
    ],
)
def test_a_place_is_named_by_its_address_or_its_id(place: str, id_: str):
    assert DriveSettings(places=(place,), credential="drive").places == (id_,)


@pytest.mark.parametrize("place", ["", "short", "' in parents or 'x", "https://evil.example/d/1AbC_def-9876"])
def test_a_place_that_is_none_is_refused_with_a_sentence(place: str):
    with pytest.raises(ValueError, match="is no folder or file"):
        DriveSettings(places=(place,), credential="drive")
