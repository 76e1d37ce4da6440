"""The head of a GGUF file is untrusted: it is read, or it is refused with a sentence."""

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.errors import OwnModelUnusable
from rag.models.local.catalog import Head, read_head


def text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def count(name: str, value: int) -> bytes:
    return text(name) + struct.pack("<II", 4, value)


def head(*entries: bytes, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + b"".join(entries)


ENTRIES = (
    text("general.architecture") + struct.pack("<I", 8) + text("qwen2"),
    text("general.name") + struct.pack("<I", 8) + text("Tiny"),
    text("general.tags") + struct.pack("<IIQ", 9, 8, 2) + text("chat") + text("한국어"),
    count("qwen2.context_length", 32768),
    count("qwen2.block_count", 28),
    count("qwen2.embedding_length", 1536),
    count("qwen2.attention.head_count", 12),
    count("qwen2.attention.head_count_kv", 2),
    text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 10**9),
)
WHOLE = head(*ENTRIES)


def read(folder: Path, data: bytes) -> Head:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return read_head(path)


def test_a_head_tells_name_context_and_the_memory_of_a_token(tmp_path: Path):
    assert read(tmp_path, WHOLE) == Head("Tiny", 32768, 2 * 28 * 2 * (1536 // 12) * 2)


def test_a_head_that_tells_nothing_is_called_by_its_file(tmp_path: Path):
    assert read(tmp_path, head()) == Head("model", 0, 0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello, I am no model",
        b"GGUF",
        head(version=99),
        WHOLE[:100],
        head(text("x") + struct.pack("<I", 77)),
        head(text("x") + struct.pack("<IIQ", 9, 9, 1)),
        head(struct.pack("<Q", 2**63)),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 2**60),
    ],
)
def test_what_is_no_model_is_refused_by_name(tmp_path: Path, data: bytes):
    with pytest.raises(OwnModelUnusable, match=r"model.gguf is not a GGUF model"):
        read(tmp_path, data)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(OwnModelUnusable, match=r"gone.gguf cannot be read: No such file"):
        read_head(tmp_path / "gone.gguf")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(4, len(WHOLE) - 1), junk=st.binary(min_size=1, max_size=12))
def test_a_damaged_head_is_read_or_refused(tmp_path: Path, at: int, junk: bytes):
    try:
        read(tmp_path, WHOLE[:at] + junk + WHOLE[at + len(junk) :])
    except OwnModelUnusable as error:
        assert "model.gguf" in str(error)
