"""Metadata of a GGUF file: name, context size and memory per token.

The format is docs/gguf.md of github.com/ggml-org/ggml, little-endian. The head is untrusted: anything
unexpected is an error, and only what is needed is read.
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from rag.errors import OwnModelUnusable
from rag.i18n import N_

MAGIC = b"GGUF"
VERSIONS = (2, 3)
_NUMBERS = dict(enumerate(("<B", "<b", "<H", "<h", "<I", "<i", "<f", "<?")))
_NUMBERS.update({10: "<Q", 11: "<q", 12: "<d"})
_TEXT, _ARRAY = 8, 9
_MOST_ENTRIES = 10_000
_LONGEST_TEXT = 10_000_000  # bytes; chat templates have thousands
_MOST_ITEMS = 10_000_000  # vocabularies have hundreds of thousands
_HALF = 2  # bytes of a number in the key-value cache

Value = int | float | bool | str | None


@dataclass(frozen=True)
class Head:
    """Metadata of a model: trained context size, 0 where not given, and bytes of a cached token."""

    name: str
    context_tokens: int
    token_bytes: int


def read_head(path: Path) -> Head:
    """Read a file's metadata; raises OwnModelUnusable where it is no GGUF file, or cannot be read."""
    try:
        with path.open("rb") as file:
            entries = _entries(file)
    except OSError as error:
        raise OwnModelUnusable(
            N_(
                "The model {name} cannot be read: {strerror}. Check where it lies, or fetch it again.",
                name=path.name,
                strerror=error.strerror,
            )
        ) from error
    except (struct.error, ValueError, OverflowError) as error:
        raise OwnModelUnusable(
            N_(
                "{name} is not a GGUF model that can be read here, or it is cut off. Choose another file.",
                name=path.name,
            )
        ) from error
    return _head(entries, path)


def _head(entries: Mapping[str, Value], path: Path) -> Head:
    kind = entries.get("general.architecture")
    heads = _count(entries, f"{kind}.attention.head_count")
    kept = _count(entries, f"{kind}.attention.head_count_kv") or heads
    width = _count(entries, f"{kind}.attention.key_length")
    width = width or _count(entries, f"{kind}.embedding_length") // max(1, heads)
    name = entries.get("general.name")
    return Head(
        name=name if isinstance(name, str) and name else path.stem,
        context_tokens=_count(entries, f"{kind}.context_length"),
        token_bytes=2 * _count(entries, f"{kind}.block_count") * kept * width * _HALF,
    )


def _count(entries: Mapping[str, Value], name: str) -> int:
    value = entries.get(name)
    return value if isinstance(value, int) and value > 0 else 0


def _entries(file: IO[bytes]) -> dict[str, Value]:
    """Return the entries without lists, up to the tokenizer's, which are last and long."""
    if file.read(4) != MAGIC or _number(file, "<I") not in VERSIONS:
        raise ValueError("no GGUF")
    _number(file, "<Q")
    found: dict[str, Value] = {}
    for _ in range(_at_most(_number(file, "<Q"), _MOST_ENTRIES)):
        name = _read_text(file)
        if name.startswith("tokenizer."):
            break
        found[name] = _value(file, int(_number(file, "<I")))
    return found


def _value(file: IO[bytes], kind: int) -> Value:
    if kind == _TEXT:
        return _read_text(file)
    if kind == _ARRAY:
        _skip_array(file)
        return None
    if kind not in _NUMBERS:
        raise ValueError(f"no value is of kind {kind}")
    return _number(file, _NUMBERS[kind])


def _skip_array(file: IO[bytes]) -> None:
    kind, items = int(_number(file, "<I")), _at_most(_number(file, "<Q"), _MOST_ITEMS)
    if kind == _ARRAY:
        raise ValueError("arrays of arrays are not read")
    for _ in range(items):
        _value(file, kind)


def _number(file: IO[bytes], form: str) -> int | float | bool:
    (number,) = struct.unpack(form, file.read(struct.calcsize(form)))
    return number  # type: ignore[no-any-return]


def _read_text(file: IO[bytes]) -> str:
    length = _at_most(_number(file, "<Q"), _LONGEST_TEXT)
    data = file.read(length)
    if len(data) < length:
        raise ValueError("cut off")
    return data.decode("utf-8", "replace")


def _at_most(number: float, most: int) -> int:
    if number > most:
        raise ValueError(f"{number} is more than {most}")
    return int(number)
