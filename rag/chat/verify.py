"""Verification of an exported chat or grid: its quotes are checked against the original files."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from rag.chat.export import FORM, VERSION
from rag.errors import DocumentRefused, ExportRefused
from rag.i18n import N_
from rag.ingest.parsers import load
from rag.ingest.paths import iter_files, path_text
from rag.text.normalize import NormalizedText, normalize_with_offsets

Verdict = Literal["exact", "moved", "changed file", "missing file", "not there", "unreadable file"]
STANDING: frozenset[Verdict] = frozenset({"exact", "moved"})
GRID_FORM, GRID_VERSION = "footnote-grid", 1  # of a grid exported as JSON, see rag/grid/export.py
LARGEST = 200 * 1024 * 1024  # bytes of an export
_FIELDS = {"number": int, "text": str, "document": str, "sha256": str, "start": int, "end": int}


@dataclass(frozen=True)
class ExportedQuote:
    """Quote of an export: `text` at [start, end) of the file with this hash."""

    number: int
    text: str
    document: str
    sha256: str
    start: int
    end: int


@dataclass(frozen=True)
class CheckedQuote:
    """Verdict on a quote: it `stands` where the file of this hash has its words; `reason` may say more."""

    quote: ExportedQuote
    verdict: Verdict
    reason: str = ""

    @property
    def stands(self) -> bool:
        """True where the words are in the file that was quoted."""
        return self.verdict in STANDING


def read_export(path: Path) -> list[ExportedQuote]:
    """Read the quotes of an export that have words; raises ExportRefused where the file is no export."""
    try:
        if path.stat().st_size > LARGEST:
            raise ExportRefused(
                N_(
                    "{path} is larger than any export. Choose a chat or grid exported as JSON.",
                    path=path_text(path),
                )
            )
        told = json.loads(path.read_bytes())
        quotes = [_claimed(quote) for quote in _quotes_of(told)]
    except OSError as error:
        raise ExportRefused(N_("{path} cannot be read. Check the path.", path=path_text(path))) from error
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise ExportRefused(
            N_(
                "{path} is no chat or grid exported as JSON by this version of Footnote. Export it again.",
                path=path_text(path),
            )
        ) from error
    return [quote for quote in quotes if quote.text]


def verify(quotes: Sequence[ExportedQuote], folder: Path) -> Iterator[CheckedQuote]:
    """Check each quote against the files of a folder, found by hash, then by name.

    A file is read once. Raises QuestionRefused for a folder that is not there.
    """
    originals = _Originals(folder)
    for quote in quotes:
        yield originals.check(quote)


class _Originals:
    def __init__(self, folder: Path):
        files = [file for file in iter_files([folder]) if not file.outside]
        self._by_hash = {_sha256(file.path): file.path for file in files}
        self._by_name: dict[str, Path] = {PurePosixPath(file.name).name: file.path for file in files}
        self._text = cache(_text)
        self._folded = cache(lambda path, name: normalize_with_offsets(self._text(path, name)))

    def check(self, quote: ExportedQuote) -> CheckedQuote:
        same = self._by_hash.get(quote.sha256)
        path = same or self._by_name.get(PurePosixPath(quote.document).name)
        if path is None:
            return CheckedQuote(quote, "missing file")
        try:
            if same is None:
                there = self._has(path, quote)
                return CheckedQuote(quote, "changed file", f"its words are {'' if there else 'not '}in it")
            if self._text(path, quote.document)[quote.start : quote.end] == quote.text:
                return CheckedQuote(quote, "exact")
            return CheckedQuote(quote, "moved" if self._has(path, quote) else "not there")
        except DocumentRefused as error:
            return CheckedQuote(quote, "unreadable file" if same else "changed file", str(error))

    def _has(self, path: Path, quote: ExportedQuote) -> bool:
        """Return True where a file has the words anywhere, however its lines break."""
        folded: NormalizedText = self._folded(path, quote.document)
        return folded.find(normalize_with_offsets(quote.text).text) is not None


def _text(path: Path, name: str) -> str:
    return load(path, name).text


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ExportRefused(
            N_("{path} cannot be read. See to it, or move it elsewhere.", path=path_text(path))
        ) from error


def _quotes_of(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the quotes of an exported chat or grid; raises ValueError for any other form."""
    match told["form"], told["version"]:
        case (form, version) if (form, version) == (FORM, VERSION):
            return [quote for turn in told["turns"] for quote in turn["quotes"]]
        case (form, version) if (form, version) == (GRID_FORM, GRID_VERSION):
            return [quote for row in told["rows"] for cell in row["cells"] for quote in cell["quotes"]]
    raise ValueError(told["form"], told["version"])


def _claimed(quote: dict[str, Any]) -> ExportedQuote:
    values = {name: quote[name] for name in _FIELDS}
    for name, kind in _FIELDS.items():
        if not isinstance(values[name], kind) or isinstance(values[name], bool):
            raise TypeError(name)
    if not 0 <= values["start"] <= values["end"]:
        raise ValueError("start")
    return ExportedQuote(**values)
