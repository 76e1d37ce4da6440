import hashlib
import os
import time
from pathlib import Path

from storage.originals import RECENT_SECONDS, FileCache

LONG_AGO = time.time() - 2 * RECENT_SECONDS


def fill(cache: FileCache, content: bytes) -> str:
    part = cache.part()
    part.write_bytes(content)
    key = f"files/ann/{hashlib.sha256(content).hexdigest()}"
    cache.put(key, part)
    return key


def use_long_ago(path: Path) -> None:
    os.utime(path, (LONG_AGO, path.stat().st_mtime))


def test_copies_beyond_the_bound_go_those_not_used_for_longest_first(tmp_path: Path):
    cache = FileCache(tmp_path, 2500)
    old, older = (fill(cache, name * 1000) for name in (b"a", b"b"))
    for at, key in enumerate((older, old)):
        os.utime(tmp_path / key, (LONG_AGO + at, LONG_AGO))
    new = fill(cache, b"c" * 1000)
    assert cache.get(older) is None
    assert cache.get(old) and cache.get(new)


def test_a_copy_that_was_used_a_moment_ago_stays_up_to_twice_the_bound(tmp_path: Path):
    cache = FileCache(tmp_path, 1400)
    one, other = fill(cache, b"a" * 1000), fill(cache, b"b" * 1000)
    assert cache.get(one) and cache.get(other)
    use_long_ago(tmp_path / one)
    fill(cache, b"c" * 1000)
    assert cache.get(one) is None
    third = fill(cache, b"d" * 1000)
    assert cache.get(other) is None
    assert cache.get(third)


def test_reading_a_copy_is_a_use(tmp_path: Path):
    cache = FileCache(tmp_path, 1500)
    one = fill(cache, b"a" * 1000)
    use_long_ago(tmp_path / one)
    cache.get(one)
    fill(cache, b"b" * 1000)
    assert cache.get(one)


def test_a_copy_with_other_bytes_is_none(tmp_path: Path):
    key = fill(FileCache(tmp_path, 1500), b"right")
    (tmp_path / key).write_bytes(b"wrong")
    assert FileCache(tmp_path, 1500).get(key) is None
    assert not (tmp_path / key).exists()


def test_what_a_killed_process_left_unfinished_goes_after_a_day(tmp_path: Path):
    cache = FileCache(tmp_path, 10)
    old, young = cache.part(), cache.part()
    for part in (old, young):
        part.write_bytes(b"half")
    os.utime(old, (time.time() - 90_000,) * 2)
    fill(cache, b"a" * 1000)
    assert not old.exists()
    assert young.exists()


def test_copies_are_private(tmp_path: Path):
    cache = FileCache(tmp_path / "cache", 10)
    cache.part()
    assert (tmp_path / "cache").stat().st_mode & 0o777 == 0o700
