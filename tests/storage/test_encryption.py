"""Encrypted files: what was written comes back, and any change is noticed, in memory that does not grow."""

import tracemalloc
from collections.abc import Iterator
from functools import cache
from io import BytesIO

import pytest

from storage import encryption
from storage.encryption import CHUNK, HEADER, TAG, DecryptingReader, EncryptingWriter, PassphraseNeeded
from storage.errors import StorageError

PASSPHRASE = "correct horse, 맞는 말"
SIZES = (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 7)


def sealed(content: bytes, *, step: int = 70_000) -> bytes:
    file = BytesIO()
    writer = EncryptingWriter(file, PASSPHRASE)
    for start in range(0, len(content), step):
        writer.write(content[start : start + step])
    assert writer.tell() == len(content)
    writer.finish()
    return file.getvalue()


def opened(file: bytes, passphrase: str = PASSPHRASE) -> bytes:
    return DecryptingReader(BytesIO(file), passphrase, "all.tar").read()


@pytest.fixture(scope="module", autouse=True)
def keys_are_derived_once() -> Iterator[None]:
    """Derive the key of a passphrase and a salt once: that takes a quarter of a second by design."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encryption, "_derived", cache(encryption._derived))
        yield


@pytest.fixture(scope="module")
def three() -> bytes:
    """An encrypted file of three chunks."""
    return sealed(b"moat" * (CHUNK // 4 * 2) + b"end")


@pytest.mark.parametrize("size", SIZES)
def test_what_was_written_comes_back_however_it_is_read(size: int):
    content = bytes(range(256)) * (size // 256 + 1)
    file = sealed(content[:size])
    assert opened(file) == content[:size]
    reader, parts = DecryptingReader(BytesIO(file), PASSPHRASE, "all.tar"), []
    while part := reader.read(10_007):
        parts.append(part)
    assert b"".join(parts) == content[:size]
    assert b"moat" not in file


def test_another_passphrase_is_told_from_damage(three: bytes):
    for wrong in ("", "Correct horse, 맞는 말", PASSPHRASE + " "):
        with pytest.raises(PassphraseNeeded, match=r"not the passphrase of all\.tar"):
            opened(three, wrong)


@pytest.mark.parametrize("short", ["", "seven c"])
def test_a_short_passphrase_is_refused(short: str):
    with pytest.raises(PassphraseNeeded, match="at least 8"):
        EncryptingWriter(BytesIO(), short)


@pytest.mark.parametrize("at", [HEADER, HEADER + 5, HEADER + CHUNK, HEADER + CHUNK + TAG, -TAG, -1])
def test_a_changed_byte_is_noticed(three: bytes, at: int):
    changed = bytearray(three)
    changed[at] ^= 1
    with pytest.raises(StorageError, match="was changed or cut off"):
        opened(bytes(changed))


def test_a_changed_nonce_is_noticed(three: bytes):
    changed = bytearray(three)
    changed[HEADER - 1] ^= 1
    with pytest.raises(StorageError, match="was changed or cut off"):
        opened(bytes(changed))


def test_chunks_that_are_cut_off_dropped_doubled_exchanged_or_added_are_noticed(three: bytes):
    size = CHUNK + TAG
    head, one, two, end = (
        three[:HEADER],
        three[HEADER : HEADER + size],
        three[HEADER + size : HEADER + 2 * size],
        three[HEADER + 2 * size :],
    )
    assert opened(head + one + two + end) == opened(three)
    for other in (
        head + one + two,
        head + one,
        head,
        head + one + end,
        head + two + one + end,
        head + one + one + end,
        three + end,
        three + b"!",
        three[:-1],
    ):
        with pytest.raises(StorageError, match="was changed or cut off"):
            opened(other)
    with pytest.raises(StorageError, match="ends within its first bytes"):
        opened(three[: HEADER - 1])


def test_the_same_content_is_never_encrypted_the_same_way():
    assert sealed(b"moat") != sealed(b"moat")


def test_memory_does_not_grow_with_the_file():
    class Nowhere(BytesIO):
        def write(self, content: object) -> int:
            return len(bytes(content))  # type: ignore[call-overload]

    writer = EncryptingWriter(Nowhere(), PASSPHRASE)
    tracemalloc.start()
    for _ in range(64):
        writer.write(bytes(CHUNK))
    writer.finish()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert writer.tell() == 64 * CHUNK and peak < 8 * CHUNK
