import hashlib
import os
import stat

import pytest

from storage.errors import NotFound, StorageError
from storage.files import Files

HOSTILE = [
    "",
    ".",
    "..",
    "../../../etc/passwd",
    "/etc/passwd",
    "\\\\server\\share",
    "CON",
    "a" * 300,
    "with\x00nul",
    "two\nlines",
    "📄",
    "\u202efdp.exe",
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE documents; --",
    "\ud800",
    "A" * 64,
    "0" * 63,
    "0" * 65,
    "0" * 64 + "\n",
    "0" * 63 + "０",
]


def below(directory):
    return sorted(path.name for path in directory.rglob("*") if path.is_file())


def test_an_original_is_found_whole_under_its_hash(tmp_path):
    files = Files(tmp_path, "ann")
    content = "한국어 日本語".encode() * 10_000
    sha256, size = files.save(content)
    assert sha256 == hashlib.sha256(content).hexdigest()
    assert size == len(content)
    assert files.path(sha256).read_bytes() == content
    assert files.path(sha256).name == sha256


def test_pieces_make_the_same_original_as_the_whole(tmp_path):
    files = Files(tmp_path, "ann")
    assert files.save(iter([b"one ", b"", b"two"])) == files.save(b"one two")
    assert len(below(tmp_path)) == 1


def test_an_empty_original_is_one_too(tmp_path):
    sha256, size = Files(tmp_path, "ann").save(b"")
    assert size == 0
    assert Files(tmp_path, "ann").path(sha256).read_bytes() == b""


def test_saving_again_mends_a_damaged_original(tmp_path):
    files = Files(tmp_path, "ann")
    sha256, _ = files.save(b"whole")
    files.path(sha256).write_bytes(b"who")
    files.save(b"whole")
    assert files.path(sha256).read_bytes() == b"whole"


def test_an_upload_that_breaks_off_leaves_nothing(tmp_path):
    def broken():
        yield b"first"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Files(tmp_path, "ann").save(broken())
    assert below(tmp_path) == []


def test_originals_are_private(tmp_path):
    files = Files(tmp_path, "ann")
    path = files.path(files.save(b"secret")[0])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_what_is_no_hash_is_no_original_and_reaches_no_path(tmp_path, name):
    (tmp_path / "outside").write_text("outside")
    files = Files(tmp_path / "data", "ann")
    files.save(b"inside")
    with pytest.raises(NotFound):
        files.path(name)
    files.delete(name)
    assert below(tmp_path) == sorted([hashlib.sha256(b"inside").hexdigest(), "outside"])


@pytest.mark.parametrize("owner", HOSTILE, ids=ascii)
def test_an_owner_of_any_name_stays_in_their_folder(tmp_path, owner):
    files = Files(tmp_path / "data", owner)
    path = files.path(files.save(b"mine")[0])
    assert path.parent.parent == tmp_path / "data" / "files"
    assert len(path.parent.name) == 32
    assert not [other for other in tmp_path.iterdir() if other.name != "data"]


def test_owners_do_not_share_originals(tmp_path):
    ann, bob = Files(tmp_path, "ann"), Files(tmp_path, "bob")
    sha256, _ = ann.save(b"the same")
    with pytest.raises(NotFound):
        bob.path(sha256)
    bob.delete(sha256)
    bob.sweep(set())
    assert ann.path(sha256).read_bytes() == b"the same"


def test_deleting_twice_is_the_same_as_once(tmp_path):
    files = Files(tmp_path, "ann")
    sha256, _ = files.save(b"gone")
    files.delete(sha256)
    files.delete(sha256)
    with pytest.raises(NotFound):
        files.path(sha256)


def test_a_sweep_takes_unfinished_files_and_originals_no_document_names(tmp_path):
    files = Files(tmp_path, "ann")
    kept, _ = files.save(b"kept")
    files.save(b"orphan")
    (files.path(kept).parent / "0123.part").write_bytes(b"half")
    assert files.sweep({kept}) == 2
    assert below(tmp_path) == [kept]
    assert files.sweep({kept}) == 0


def test_a_sweep_before_anything_was_saved_finds_nothing(tmp_path):
    assert Files(tmp_path, "ann").sweep(set()) == 0


def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(tmp_path):
    (tmp_path / "files").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be read or written"):
        Files(tmp_path, "ann").save(b"content")


def test_an_original_is_on_the_disk_before_it_has_its_name_and_its_folder_after(tmp_path, monkeypatch):
    flushed = []
    fsync = os.fsync

    def note(fd):
        names = sorted(path.suffix or "whole" for path in tmp_path.glob("files/*/*"))
        flushed.append((os.fstat(fd).st_ino, names))
        fsync(fd)

    monkeypatch.setattr(os, "fsync", note)
    files = Files(tmp_path, "ann")
    original = files.path(files.save(b"content")[0])
    folder = original.parent
    assert flushed == [
        (folder.parent.stat().st_ino, []),
        (tmp_path.stat().st_ino, []),
        (original.stat().st_ino, [".part"]),
        (folder.stat().st_ino, ["whole"]),
    ]
