"""Damaged copies of files: cut, with bits turned, with pieces moved, or with numbers made huge."""

import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.errors import DocumentRefused
from rag.ingest.parsers.detect import parse
from tests.rag.ingest.parsers import makers, ole_makers, test_hangul

MUTANTS = 40  # of each file
HUGE = (b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0" * 4, b"\xfe\xff\xff\xff")
RTF = (
    rb"{\rtf1\ansi\ansicpg949{\fonttbl{\f0\fcharset129 Batang;}}{\stylesheet{\s1 heading 1;}}\f0\s1 \'c7\'d7"
    rb"\par\pard Rope{\footnote Hemp}\u8364?\trowd\cellx1\cellx2\intbl a\cell b\cell\row"
    rb"{\pict\bin4 abcd}\par}"
)
MAKERS: dict[str, Callable[[Path], object]] = {
    "hwp": test_hangul.hwp_of_everything,
    "hwpx": test_hangul.hwpx_of_everything,
    "msg": lambda path: ole_makers.msg(path, {0x1000: "Words"}, ("a.txt", b"Veldham")),
    "rtf": lambda path: path.write_bytes(RTF),
    "zip": lambda path: makers.zipped(path, {"a.txt": b"Veldham " * 99, "b/c.txt": b"Rope"}),
}


def mutant(content: bytes, chance: random.Random) -> bytes:
    """Return a damaged copy."""
    changed, at = bytearray(content), chance.randrange(len(content))
    way = chance.randrange(5)
    if way == 0:
        return content[:at]
    if way == 1:
        for _ in range(chance.choice((1, 8, 64))):
            changed[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif way == 2:
        changed[at : at + 4] = chance.choice(HUGE)
    elif way == 3:
        other, length = chance.randrange(len(content)), chance.choice((4, 64, 512))
        changed[at : at + length] = content[other : other + length]
    else:
        changed[at:at] = bytes(chance.randrange(256) for _ in range(chance.choice((1, 3, 64))))
    return bytes(changed)


def inner(path: Path, chance: random.Random) -> None:
    """Damage a part of a ZIP container, which otherwise guards its parts by checksums."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = chance.choice([name for name, content in members.items() if content])
    makers.zipped(path, {**members, name: mutant(members[name], chance)})


@pytest.mark.parametrize("kind", MAKERS)
def test_a_damaged_copy_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    MAKERS[kind](path)
    content, chance = path.read_bytes(), random.Random(kind)
    for number in range(MUTANTS):
        if kind == "hwpx" and number % 2:
            path.write_bytes(content)
            inner(path, chance)
        else:
            path.write_bytes(mutant(content, chance))
        try:
            parse(path, f"a.{kind}")
        except DocumentRefused as refused:
            assert str(refused).endswith(".")
