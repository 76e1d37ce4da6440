"""A backup of everything in one file, made beside the running app, and put into an empty data directory."""

import json
import os
import shutil
import stat
import tarfile
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import pytest

from storage import backup as archives
from storage import backup as restoring
from storage.conversations import Conversations
from storage.database import VERIFIED, Database
from storage.documents import Documents
from storage.encryption import PassphraseNeeded
from storage.errors import DatabaseDamaged, DatabaseTooNew, DataDirectoryLocked, DiskFull, StorageError
from storage.files import Files
from storage.records import ChunkSpan, PageSpan
from tests.storage.test_damage import contents, drop_pages
from tests.storage.test_migrations import run

SETTINGS = {"settings.json": b'{"k": 7}'}

BUSY = """
import sys
from pathlib import Path
from storage.database import Database
from storage.documents import Documents
from storage.files import Files
from storage.records import ChunkSpan, PageSpan
directory = Path(sys.argv[1])
database = Database.open(directory)
documents, files = Documents(database, "ann"), Files(directory, "ann")
print("ready", flush=True)
for number in range(100_000):
    sha256, size = files.save(f"{number} ".encode() * 4000)
    record, _ = documents.add(f"{number}.txt", sha256, size)
    documents.save_chunks(record.id, "one two", [PageSpan(1, 0, 7)], [ChunkSpan(0, 3), ChunkSpan(4, 7)])
    if number % 3:
        documents.delete(record.id)
        files.delete(sha256)
"""


def add(database, owner, name, content):
    sha256, size = Files(database.directory, owner).save(content)
    record, _ = Documents(database, owner).add(name, sha256, size)
    Documents(database, owner).save_chunks(record.id, "moat", [PageSpan(1, 0, 4)], [ChunkSpan(0, 4)])
    return record


@pytest.fixture
def archive(database, tmp_path):
    """A backup of a data directory in use, of two people with the same file."""
    for owner in ("ann", "밥"):
        add(database, owner, "성.md", b"castle" * 100_000)
        add(database, owner, "moat.md", b"moat")
        Conversations(database, owner).create("옮긴 대화")
    archives.write(database.directory, tmp_path / "all.tar", SETTINGS)
    return tmp_path / "all.tar"


def test_a_backup_made_in_use_brings_everything_back_on_an_empty_machine(database, archive, tmp_path):
    restored = tmp_path / "elsewhere" / "new"
    manifest = restoring.restore_into(restored, archive)
    assert (manifest.originals, manifest.lost) == (4, {})
    assert (restored / "settings.json").read_bytes() == SETTINGS["settings.json"]
    moved = Database.open(restored)
    moved.check()
    for owner in ("ann", "밥"):
        assert Documents(moved, owner).list() == Documents(database, owner).list()
        assert [chat.title for chat in Conversations(moved, owner).list()] == ["옮긴 대화"]
        for record in Documents(moved, owner).list():
            assert Files(restored, owner).path(record.sha256).stat().st_size == record.size
    moved.close()
    files = {path for path in contents(restored) if "backups" not in path.parts}
    assert {path.relative_to(restored).parts[0] for path in files} == {
        "files",
        "settings.json",
        "footnote.db",
    }


def test_a_backup_is_for_its_owner_only_and_leaves_nothing_beside_it(archive, tmp_path):
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.tar", "data"]
    with tarfile.open(archive) as tar:
        assert {stat.S_IMODE(entry.mode) for entry in tar} == {0o600}


def test_a_backup_beside_a_process_that_adds_and_deletes_is_one_moment_of_it(directory, start, tmp_path):
    start(BUSY, directory)
    for number in range(3):
        target = tmp_path / f"{number}.tar"
        manifest = archives.write(directory, target, {})
        assert manifest.lost == {}
        restoring.restore_into(tmp_path / f"restored-{number}", target)
        moved = Database.open(tmp_path / f"restored-{number}")
        moved.check()
        documents = Documents(moved, "ann")
        for record in documents.list():
            assert Files(moved.directory, "ann").path(record.sha256).stat().st_size == record.size
        moved.close()


def test_a_backup_is_taken_where_nobody_works_too(directory, tmp_path):
    Database.open(directory).close()
    assert archives.write(directory, tmp_path / "all.tar", {}).originals == 0


def open_and_close(directory: Path) -> None:
    """Make a ledger that nobody has open; SQLite leaves its files where nothing was written since."""
    Database.open(directory).close()
    for suffix in ("-wal", "-shm"):
        (directory / f"footnote.db{suffix}").unlink(missing_ok=True)


def test_a_backup_is_taken_from_a_disk_that_nobody_can_write_to(directory, tmp_path):
    open_and_close(directory)
    (directory / "footnote.db-wal").mkdir()  # SQLite cannot make its file, as on such a disk
    archives.write(directory, tmp_path / "all.tar", {})
    assert restoring.restore_into(tmp_path / "new", tmp_path / "all.tar").originals == 0


def test_a_ledger_that_cannot_be_read_is_named_with_its_own_folder(directory, tmp_path):
    open_and_close(directory)
    (directory / "footnote.db-wal").write_bytes(b"unfinished" * 400)
    (directory / "footnote.db-shm").mkdir()
    with pytest.raises(StorageError, match=f"The ledger in {directory} could not be used"):
        archives.write(directory, tmp_path / "elsewhere.tar", {})


def test_a_backup_never_replaces_a_file(database, tmp_path):
    (tmp_path / "mine.tar").write_text("precious")
    with pytest.raises(StorageError, match="exists already"):
        archives.write(database.directory, tmp_path / "mine.tar", {})
    assert (tmp_path / "mine.tar").read_text() == "precious"


def test_nothing_to_back_up_and_nowhere_to_put_it_are_said(database, tmp_path):
    with pytest.raises(StorageError, match="nothing in"):
        archives.write(tmp_path / "empty", tmp_path / "all.tar", {})
    with pytest.raises(StorageError, match=r"nowhere cannot be read or written: No such file"):
        archives.write(database.directory, tmp_path / "nowhere" / "all.tar", {})


def test_a_damaged_ledger_makes_no_backup(database, tmp_path):
    documents = Documents(database, "ann")
    for number in range(8):
        record = add(database, "ann", f"{number}.md", str(number).encode())
        documents.save_chunks(record.id, "word " * 9000, [PageSpan(1, 0, 20_000)], [ChunkSpan(0, 5000)])
    database.close()
    drop_pages(database.directory / "footnote.db")
    with pytest.raises(DatabaseDamaged):
        archives.write(database.directory, tmp_path / "all.tar", {})
    assert not list(tmp_path.glob("*.tar")) and not list(tmp_path.glob(".*"))


def test_an_original_that_is_gone_or_damaged_is_named_and_the_rest_is_kept(database, tmp_path):
    kept, gone, changed = (add(database, "ann", name, name.encode()) for name in ("a", "b", "c"))
    files = Files(database.directory, "ann")
    files.path(gone.sha256).unlink()
    files.path(changed.sha256).write_bytes(b"!")
    manifest = archives.write(database.directory, tmp_path / "all.tar", {})
    assert (manifest.originals, sorted(manifest.lost.values())) == (1, ["b", "c"])
    restoring.restore_into(tmp_path / "new", tmp_path / "all.tar")
    assert Files(tmp_path / "new", "ann").path(kept.sha256).read_bytes() == b"a"
    assert len([path for path in (tmp_path / "new" / "files").rglob("*") if path.is_file()]) == 1


def test_a_written_backup_is_read_back_from_the_disk_when_it_is_alone(database, tmp_path, monkeypatch):
    """The part of a backup that was killed is in the way of no other."""
    (tmp_path / ".all.tar.part").write_bytes(b"of a backup that was killed")
    dropped, there = [], {}
    monkeypatch.setattr(os, "posix_fadvise", lambda _, *told: dropped.append(told))

    def note(what, *_):
        there[what] = {path.name for path in tmp_path.iterdir()}

    archives.write(database.directory, tmp_path / "all.tar", {}, note)
    assert dropped == [(0, 0, os.POSIX_FADV_DONTNEED)]
    assert there["copying the ledger"] == {"data", ".all.tar.part", ".all.tar.ledger"}
    assert there["reading the backup again"] == {"data", ".all.tar.part"}


def test_a_backup_larger_than_what_is_free_is_not_unpacked(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=archive.stat().st_size - 1))
    with pytest.raises(DiskFull, match="MB are free there"):
        restoring.restore_into(tmp_path / "new", archive, lambda *_: pytest.fail("unpacked"))


def test_nothing_is_restored_over_anything(database, archive, tmp_path):
    with pytest.raises(DataDirectoryLocked):
        restoring.restore_into(database.directory, archive)
    database.close()
    before = contents(database.directory)
    with pytest.raises(StorageError, match="only where nothing is"):
        restoring.restore_into(database.directory, archive)
    assert contents(database.directory) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "settings.json").write_text("{}")
    with pytest.raises(StorageError, match=r"holds settings\.json already"):
        restoring.restore_into(tmp_path / "mine", archive)


def rewritten(archive, change):
    """Write the archive anew with its members, name by content, as `change` leaves them."""
    with tarfile.open(archive) as tar:
        members = {entry.name: tar.extractfile(entry).read() for entry in tar}
    change(members)
    with tarfile.open(archive, "w") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, BytesIO(content))


def originals(members):
    return [name for name in members if name.startswith("files/")]


def manifest_with(members, changes):
    members["manifest.json"] = json.dumps(json.loads(members["manifest.json"]) | changes).encode()


DAMAGE = {
    "cut in half": lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
    "cut by a block": lambda file: file.write_bytes(file.read_bytes()[:-20_000]),
    "a byte changed": lambda file: flip(file, 5000),
    "empty": lambda file: file.write_bytes(b""),
    "another file": lambda file: file.write_text("Dear diary, " * 1000),
    "no manifest": lambda file: rewritten(file, lambda members: members.pop("manifest.json")),
    "no ledger": lambda file: rewritten(file, lambda members: members.pop("footnote.db")),
    "an original less": lambda file: rewritten(file, lambda members: members.pop(originals(members)[0])),
    "an original less, unnamed": lambda file: rewritten(file, unname_one),
    "a ledger that is none": lambda file: rewritten(
        file, lambda members: members.update({"footnote.db": b""})
    ),
    "a manifest that is none": lambda file: rewritten(file, lambda m: m.update({"manifest.json": b"[1]"})),
    "another format": lambda file: rewritten(file, lambda members: manifest_with(members, {"format": 2})),
    "a way out": lambda file: rewritten(file, lambda members: members.update({"../../evil": b"!"})),
    "an absolute path": lambda file: rewritten(file, lambda members: members.update({"/evil/path": b"!"})),
    "one more file": lambda file: rewritten(file, lambda members: members.update({"files/x": b"!"})),
}


def flip(file, at):
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)


def unname_one(members):
    manifest = json.loads(members["manifest.json"])
    name = originals(members)[0]
    del members[name], manifest["members"][name]
    manifest_with(members, manifest)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_archive_changes_nothing(archive, tmp_path, damage):
    DAMAGE[damage](archive)
    with pytest.raises(StorageError, match="Nothing was changed"):
        restoring.restore_into(tmp_path / "new", archive)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["footnote.lock"]
    assert not (tmp_path.parent / "evil").exists()
    Database.open(tmp_path / "new").close()


def test_links_and_devices_in_an_archive_are_refused(archive, tmp_path):
    with tarfile.open(archive, "a") as tar:
        entry = tarfile.TarInfo("settings.json")
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(entry)
    with pytest.raises(StorageError, match="not a backup of Footnote"):
        restoring.restore_into(tmp_path / "new", archive)


def test_an_archive_of_a_later_version_is_refused(directory, tmp_path):
    Database.open(directory).close()
    run(directory / "footnote.db", "UPDATE alembic_version SET version_num = '9999'")
    archives.write(directory, tmp_path / "all.tar", {})
    with pytest.raises(DatabaseTooNew, match="9999"):
        restoring.restore_into(tmp_path / "new", tmp_path / "all.tar")
    assert not (tmp_path / "new" / "footnote.db").exists()


def test_what_is_done_is_told_up_to_its_end(database, archive, tmp_path):
    seen = []
    restoring.restore_into(tmp_path / "new", archive, lambda *told: seen.append(told))
    assert seen[-1] == ("reading the backup", archive.stat().st_size, archive.stat().st_size)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)


def test_of_a_restore_that_is_cut_off_the_ledger_is_not_there_before_its_originals(archive, tmp_path):
    """A ledger in place would be opened, and name originals that are not there."""
    restored = tmp_path / "new"
    restoring.restore_into(restored, archive)
    (restored / VERIFIED).mkdir()
    for name in ("footnote.db", "files", "settings.json"):
        (restored / name).rename(restored / VERIFIED / name)
    in_the_way = restored / "files" / "in the way"
    in_the_way.mkdir(parents=True)
    with pytest.raises(StorageError):
        Database.open(restored)
    assert not (restored / "footnote.db").exists()
    in_the_way.rmdir()
    moved = Database.open(restored)
    for record in Documents(moved, "ann").list():
        assert Files(restored, "ann").path(record.sha256).stat().st_size == record.size
    moved.close()


def test_all_that_is_restored_is_on_the_disk_before_it_is_in_place(archive, tmp_path, monkeypatch):
    restored, flushed, fsync = tmp_path / "new", set(), os.fsync

    def note(fd):
        if not (restored / VERIFIED).exists():
            flushed.add(os.fstat(fd).st_ino)
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    restoring.restore_into(restored, archive)
    there = [path for path in restored.rglob("*") if path.suffix != ".lock"]
    assert len(there) > 6
    assert [path for path in there if path.stat().st_ino not in flushed] == []


@pytest.mark.parametrize(
    ("size", "content", "why"),
    [((1 << 28) + 1, b"", "too long"), (0, b"[" * 100_000, "cannot be read"), (0, b"\xff", "cannot be read")],
)
def test_a_manifest_that_is_none_is_refused_and_a_huge_one_unread(tmp_path, size, content, why):
    manifest = tmp_path / "manifest.json"
    manifest.write_bytes(content)
    if size:
        os.truncate(manifest, size)  # a hole: it takes no room
    with pytest.raises(StorageError, match=f"its manifest .*{why}"):
        restoring._manifest(manifest, tmp_path / "all.tar")


def test_the_folder_of_a_backup_is_on_the_disk_once_it_has_its_name(database, tmp_path, monkeypatch):
    folder, fsync, named = tmp_path / "kept", os.fsync, []
    folder.mkdir()

    def note(fd):
        if os.fstat(fd).st_ino == folder.stat().st_ino:
            named.append((folder / "all.tar").exists())
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    archives.write(database.directory, folder / "all.tar", {})
    assert named == [True]


PASSPHRASE = "correct horse"


@pytest.fixture
def encrypted(database, archive, tmp_path):
    """An encrypted backup of the same data directory."""
    del archive
    archives.write(database.directory, tmp_path / "all.enc", SETTINGS, passphrase=PASSPHRASE)
    return tmp_path / "all.enc"


def test_an_encrypted_backup_shows_nothing_and_brings_everything_back(database, encrypted, tmp_path):
    content = encrypted.read_bytes()
    assert not any(known in content for known in (b"castle", b"SQLite", b"files/", b"manifest", b"ustar"))
    assert stat.S_IMODE(encrypted.stat().st_mode) == 0o600
    assert archives.is_archive(encrypted) and archives.needs_passphrase(encrypted)
    restoring.restore_into(tmp_path / "new", encrypted, passphrase=PASSPHRASE)
    moved = Database.open(tmp_path / "new")
    for owner in ("ann", "밥"):
        assert Documents(moved, owner).list() == Documents(database, owner).list()
    moved.close()


def test_no_copy_of_the_ledger_lies_beside_an_encrypted_backup_while_it_is_made(database, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    seen = set()
    archives.write(
        database.directory,
        tmp_path / "elsewhere" / "all.enc",
        SETTINGS,
        lambda *_: seen.update(path.name for path in (tmp_path / "elsewhere").iterdir()),
        passphrase=PASSPHRASE,
    )
    assert seen == {".all.enc.part"}
    assert not list(database.directory.glob(".*"))


@pytest.mark.parametrize("passphrase", ["", "Correct horse"])
def test_without_its_passphrase_an_encrypted_backup_restores_nothing(encrypted, tmp_path, passphrase):
    with pytest.raises(PassphraseNeeded, match="passphrase"):
        restoring.restore_into(tmp_path / "new", encrypted, passphrase=passphrase)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["footnote.lock"]


@pytest.mark.parametrize("at", [100, 5000, -1])
def test_an_encrypted_backup_that_was_changed_restores_nothing(encrypted, tmp_path, at):
    flip(encrypted, at)
    with pytest.raises(StorageError, match="was changed or cut off"):
        restoring.restore_into(tmp_path / "new", encrypted, passphrase=PASSPHRASE)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["footnote.lock"]


def test_a_backup_that_the_disk_keeps_otherwise_is_noticed_and_not_kept(database, tmp_path, monkeypatch):
    add(database, "ann", "castle.md", b"castle" * 10_000)

    def lie(file):
        original = (tmp_path / ".all.tar.part").read_bytes().find(b"castle")
        file.seek(original if original > 0 else 20_000)  # an encrypted one has no byte that does not count
        file.write(b"!")
        file.flush()

    monkeypatch.setattr(archives, "_forget_cached", lie)
    for passphrase in ("", PASSPHRASE):
        with pytest.raises(StorageError):
            archives.write(database.directory, tmp_path / "all.tar", {}, passphrase=passphrase)
        assert [path.name for path in tmp_path.iterdir()] == ["data"]
