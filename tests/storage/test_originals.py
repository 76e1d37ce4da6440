"""Originals in the data directory, in a folder that processes share, and in an object store."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from storage.errors import NotFound, ObjectStoreAway, StorageError
from storage.files import folder_of
from storage.object_store import ObjectStore
from storage.originals import Originals, open_originals
from tests.s3 import Link, new_address

PLACES = ["data", "folder", "s3"]
Open = Callable[..., Originals]
AT_ONCE = timedelta(0)  # after which an original that no document names is swept
NO_HASH = ["", ".", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n", "\ud800", "a/b"]


@pytest.fixture
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the setting for a place where nothing is yet."""
    place = getattr(request, "param", "s3")
    if place == "s3":
        request.getfixturevalue("s3_link")
        return new_address()
    return "" if place == "data" else (tmp_path / "shared").as_uri()


@pytest.fixture
def originals(address: str, tmp_path: Path) -> Open:
    def opened(owner: str = "ann", process: str = "one", **options: Any) -> Originals:
        data = tmp_path / (process if address else "data")
        return open_originals(data, address, 1 << 20, **options).of(owner)

    return opened


everywhere = pytest.mark.parametrize("address", PLACES, indirect=True)
among_processes = pytest.mark.parametrize("address", ["folder", "s3"], indirect=True)


@everywhere
def test_an_original_is_read_whole_under_its_hash(originals: Open):
    content = "한국어 日本語".encode() * 100_000
    sha256, size = originals().save(iter([content[:7], b"", content[7:]]))
    assert (sha256, size) == (hashlib.sha256(content).hexdigest(), len(content))
    two = originals(process="two")
    assert (two.size(sha256), two.verify(sha256)) == (size, True)
    with two.opened(sha256) as file:
        assert file.read() == content
    assert two.path(sha256).read_bytes() == content


@everywhere
def test_an_empty_original_is_one_too(originals: Open):
    sha256, size = originals().save(b"")
    assert size == 0
    assert originals(process="two").path(sha256).read_bytes() == b""


@everywhere
def test_saving_again_changes_nothing(originals: Open):
    assert originals().save(b"same") == originals(process="two").save(b"same")
    assert originals().path(originals().save(b"same")[0]).read_bytes() == b"same"


@everywhere
def test_a_deleted_original_is_gone_for_every_process(originals: Open):
    sha256, _ = originals().save(b"gone")
    originals().delete(sha256)
    originals().delete(sha256)
    with pytest.raises(NotFound, match="no original"):
        originals().path(sha256)
    with pytest.raises(NotFound, match="no original"):
        originals(process="two").path(sha256)


@everywhere
def test_owners_never_see_each_others_originals(originals: Open):
    sha256, _ = originals("ann").save(b"the same")
    with pytest.raises(NotFound):
        originals("bob").path(sha256)
    with pytest.raises(NotFound), originals("bob").opened(sha256):
        pass
    assert originals("bob").size(sha256) is None
    assert not originals("bob").verify(sha256)
    originals("bob").delete(sha256)
    originals("bob").sweep(set())
    originals("bob").destroy()
    assert originals("ann", process="two").path(sha256).read_bytes() == b"the same"


@everywhere
@pytest.mark.parametrize("name", NO_HASH, ids=ascii)
def test_what_is_no_hash_is_no_original(originals: Open, name: str):
    originals().save(b"inside")
    with pytest.raises(NotFound):
        originals().path(name)
    originals().delete(name)


@everywhere
def test_an_upload_that_breaks_off_leaves_nothing(originals: Open, address: str, tmp_path: Path):
    def broken():
        yield b"first"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        originals().save(broken())
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert address[:2] != "s3" or not list(ObjectStore.connect(address).list("files"))


@everywhere
def test_the_originals_of_a_removed_owner_are_gone(originals: Open):
    sha256, _ = originals().save(b"mine")
    other, _ = originals("bob").save(b"his")
    originals().destroy()
    with pytest.raises(NotFound):
        originals().path(sha256)
    assert originals("bob").path(other).read_bytes() == b"his"


@among_processes
def test_a_sweep_leaves_what_another_process_may_be_adding(originals: Open):
    sha256, _ = originals().save(b"being added")
    assert originals(process="two").sweep(set()) == 0
    assert originals(process="two").path(sha256).read_bytes() == b"being added"


@among_processes
def test_a_sweep_takes_what_no_document_names_once_it_is_old(originals: Open):
    kept, _ = originals().save(b"kept")
    orphan, _ = originals().save(b"orphan")
    assert originals(process="two", swept_after=AT_ONCE).sweep({kept}) == 1
    assert originals(process="three").path(kept).read_bytes() == b"kept"
    with pytest.raises(NotFound):
        originals(process="three").path(orphan)


def test_an_old_original_that_is_saved_again_is_young(originals: Open, address: str):
    store = ObjectStore.connect(address)
    sha256, _ = originals().save(b"again")
    key = f"{folder_of('ann')}/{sha256}"
    first = store.info(key)
    while store.info(key) == first:  # its time has whole seconds
        originals(process="two", swept_after=AT_ONCE).save(b"again")
    assert originals(process="three").path(sha256).read_bytes() == b"again"


def test_a_young_original_is_written_once(originals: Open, address: str):
    key = f"{folder_of('ann')}/{originals().save(b'once')[0]}"
    store = ObjectStore.connect(address)
    first = store.info(key)
    while (
        store.info(f"{folder_of('bob')}/{originals('bob').save(os.urandom(8))[0]}").written == first.written
    ):
        pass
    originals(process="two").save(b"once")
    assert store.info(key) == first


def test_saving_again_mends_a_damaged_original(originals: Open, address: str):
    sha256, _ = originals().save(b"whole")
    ObjectStore.connect(address).replace(f"{folder_of('ann')}/{sha256}", b"other")
    with pytest.raises(StorageError, match=r"damaged in the object store\. Send the file again"):
        originals(process="two").path(sha256)
    originals(process="two").save(b"whole")
    assert originals(process="three").path(sha256).read_bytes() == b"whole"


def test_an_original_that_another_process_swept_before_the_ledger_named_it_is_saved_again(originals: Open):
    here = originals()
    sha256, _ = here.save(b"raced")
    originals(process="two", swept_after=AT_ONCE).sweep(set())
    here.confirm(sha256)
    assert originals(process="three").path(sha256).read_bytes() == b"raced"


# Copies on the local disk


def test_a_read_original_is_not_fetched_again(originals: Open, s3_link: Link):
    sha256, _ = originals().save(b"read often")
    two = originals(process="two")
    two.path(sha256)
    asked = s3_link.requests
    assert two.path(sha256).read_bytes() == b"read often"
    assert s3_link.requests == asked


def test_a_changed_copy_is_fetched_again(originals: Open):
    two = originals(process="two")
    sha256, _ = originals().save(b"right")
    two.path(sha256).write_bytes(b"wrong")
    assert two.path(sha256).read_bytes() == b"right"
    again = originals(process="two")
    two.path(sha256).write_bytes(b"wrong")
    assert again.path(sha256).read_bytes() == b"right"


def test_copies_may_be_removed_at_any_time(originals: Open, tmp_path: Path):
    two = originals(process="two")
    sha256, _ = originals().save(b"still there")
    two.path(sha256)
    shutil.rmtree(tmp_path / "two")
    assert two.path(sha256).read_bytes() == b"still there"
    shutil.rmtree(tmp_path / "two")
    assert two.save(b"another")[1] == 7


def test_copies_of_what_no_document_names_are_swept(originals: Open, tmp_path: Path):
    sha256, _ = originals().save(b"deleted elsewhere")
    two = originals(process="two")
    copy = two.path(sha256)
    originals().delete(sha256)
    two.sweep(set())
    assert not copy.exists()


# The store away, killed writers, writers at once


def test_a_store_that_was_away_goes_on_where_it_was(originals: Open, s3_link: Link):
    here = originals()
    sha256, _ = here.save(b"before")
    s3_link.cut()
    assert here.path(sha256).read_bytes() == b"before"  # the copy
    for failing in (lambda: here.save(b"during"), lambda: here.delete(sha256), lambda: here.sweep(set())):
        with pytest.raises(ObjectStoreAway) as raised:
            failing()
        assert_says_nothing_secret(str(raised.value), s3_link)
        assert "goes on once it is back" in str(raised.value)
    s3_link.mend()
    assert here.path(here.save(b"after")[0]).read_bytes() == b"after"
    during, _ = here.save(b"during")
    assert originals(process="two").path(during).read_bytes() == b"during"


def assert_says_nothing_secret(said: str, link: Link) -> None:
    for secret in ("127.0.0.1", str(link.port), "key-of-the-tests", "secret-of-the-tests", "footnote/"):
        assert secret not in said


SAVE = """
import sys
from pathlib import Path
from storage.originals import open_originals
originals = open_originals(Path(sys.argv[1]), sys.argv[2], 1 << 20).of("ann")
print("ready", flush=True)
sys.stdin.readline()
"""
SAVE_MANY = (
    SAVE
    + """
for number in range(1000):
    print(originals.save(b"%d of many " % number * 20_000)[0], flush=True)
"""
)
SAVE_SAME = (
    SAVE
    + """
print(originals.save(b"the same " * 100_000)[0], flush=True)
"""
)


def saver(source: str, data: Path, address: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", source, str(data), address]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def test_a_killed_process_leaves_what_it_saved_and_nothing_half(
    originals: Open, address: str, tmp_path: Path
):
    acknowledged: set[str] = set()
    for saved in (3, 8):
        process = saver(SAVE_MANY, tmp_path / "killed", address)
        assert process.stdin and process.stdout
        process.stdin.write("go\n")
        process.stdin.flush()
        acknowledged |= {process.stdout.readline().strip() for _ in range(saved)}
        process.send_signal(signal.SIGKILL)
        acknowledged |= {
            line.strip() for line in process.communicate()[0].splitlines(keepends=True) if line[-1] == "\n"
        }
    there = {one.key.rpartition("/")[2] for one in ObjectStore.connect(address).list("files")}
    assert acknowledged <= there
    for sha256 in there:
        assert hashlib.sha256(originals(process="two").path(sha256).read_bytes()).hexdigest() == sha256


def test_processes_that_save_the_same_file_at_once_both_have_it(
    originals: Open, address: str, tmp_path: Path
):
    processes = [saver(SAVE_SAME, tmp_path / str(number), address) for number in range(2)]
    said = [process.communicate("go\n")[0].strip() for process in processes]
    assert len(set(said)) == 1
    assert originals(process="two").path(said[0]).read_bytes() == b"the same " * 100_000
    assert len(list(ObjectStore.connect(address).list("files"))) == 1
