from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rag.workspace import Workspace
from storage.audit_log import AuditLog
from ui.server.downloads import LIFE, BackupDownloads, download_routes


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "footnote 백업.zip"
    path.write_bytes(b"everything" * 100_000)
    return path


@pytest.fixture
def log(here: Workspace) -> AuditLog:
    return here.audit_log


def serving(downloads: BackupDownloads) -> TestClient:
    return TestClient(Starlette(routes=download_routes(lambda: downloads)))


def test_a_backup_is_fetched_under_its_name_and_that_is_recorded(made: Path, log: AuditLog):
    downloads = BackupDownloads()
    reply = serving(downloads).get(downloads.offer(made, log))
    assert reply.content == made.read_bytes()
    assert (
        "attachment" in reply.headers["content-disposition"] and "zip" in reply.headers["content-disposition"]
    )
    assert reply.headers["cache-control"] == "no-store"
    assert log.list()[0].kind == "backup_downloaded"


def test_an_address_is_good_for_some_minutes_and_while_the_file_is_there(made: Path, log: AuditLog):
    clock = Clock()
    downloads = BackupDownloads(clock)
    client, address = serving(downloads), downloads.offer(made, log)
    clock.now = LIFE - 1
    assert client.get(address).status_code == 200
    later = downloads.offer(made, log)
    clock.now = LIFE
    reply = client.get(address)
    assert reply.status_code == 404 and "Reload the Settings page" in reply.text
    assert "설정 페이지" in client.get(address, headers={"Accept-Language": "ko"}).text
    made.unlink()
    assert client.get(later).status_code == 404


@pytest.mark.parametrize("token", ["", "x", "..%2f..%2fetc%2fpasswd", "%00", "a" * 5000])
def test_no_other_address_is_answered(made: Path, log: AuditLog, token: str):
    downloads = BackupDownloads()
    downloads.offer(made, log)
    assert serving(downloads).get(f"backups/{token}").status_code == 404
    assert not [entry for entry in log.list() if entry.kind == "backup_downloaded"]
