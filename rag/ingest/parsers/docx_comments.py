"""Comments in Word files: at words of a file that exists, or in a new file of a text."""

import io
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers import ooxml, sandbox

AUTHOR, INITIALS = "Footnote", "F"
SECONDS, MEMORY = 60.0, 1 << 30
MAX_WORDS = 200  # characters of words that a comment repeats because their place was not found
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_LABEL = re.compile(r"\A(?:\(?\w{1,5}[.)]|[\d.]+)\s+")
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(frozen=True)
class Annotation:
    """Comment on some words of a document."""

    words: str
    comment: str


def comment_on(path: Path, name: str, annotations: Sequence[Annotation]) -> bytes:
    """Return a Word file with comments, in a child process; they must be in the order of their words.

    A comment whose words are not found as they are is at the first words, and repeats its own. Raises
    DocumentRefused.
    """
    told = [astuple(one) for one in annotations]
    _, content = sandbox.run("comment", path, name, timeout=SECONDS, memory=MEMORY, annotations=told)
    return content


def add_comments(path: Path, annotations: Sequence[tuple[str, str]]) -> bytes:
    """Return a Word file with (words, comment) as comments; raises DocumentRefused."""
    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import XMLSyntaxError  # type: ignore[import-untyped]

    ooxml.inspect(path)
    try:
        document = docx.Document(str(path))
        text = _RunText(document.element.body)
        spans = text.find_all([words for words, _ in annotations])
        pieces = text.split([place for span in spans if span for place in span])
        for (words, comment), span in zip(annotations, spans, strict=True):
            if span is None:
                comment = f"“{_cut(words)}”: {comment}"
            first, last = pieces.between(*span) if span else pieces.first()
            _add(document, first, last, comment)
        return _saved(document)
    except (KeyError, ValueError, XMLSyntaxError, OpcError) as error:
        raise DocumentRefused(N_("has a form in which no comments can be added.")) from error


def _cut(words: str) -> str:
    return words if len(words) <= MAX_WORDS else words[: MAX_WORDS - 1] + "…"


def _add(document: Any, first: Any, last: Any, comment: str) -> None:
    from docx.text.run import Run

    document.add_comment([Run(first, document), Run(last, document)], comment, AUTHOR, INITIALS)


def _saved(document: Any) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


Place = tuple[int, int]
"""Number of a run, and an offset in its text."""


class _RunText:
    """Text of a document's runs, compared by letters and digits only: Markdown has other marks and spaces."""

    def __init__(self, body: Any):
        self._runs = [run for run in body.iter(_WORD + "r") if _is_shown(run)]
        self._texts = ["".join(_text_of(run)) for run in self._runs]
        self._places: list[Place] = []
        folded: list[str] = []
        for number, text in enumerate(self._texts):
            for offset, character in enumerate(text):
                kept = _folded(character)
                folded.append(kept)
                self._places += [(number, offset)] * len(kept)
        self._folded = "".join(folded)

    def find_all(self, wanted: Sequence[str]) -> list[tuple[Place, Place] | None]:
        """Return the first and last place of each of the words, None where they are not there."""
        found: list[tuple[Place, Place] | None] = []
        after = 0
        for words in wanted:
            part = _folded(words)
            at = self._find(part, after)
            if at < 0:  # the label of an item, "3.1" or "a)", is not in its runs
                part = _folded(_LABEL.sub("", words))
                at = self._find(part, after)
            if at < 0:
                found.append(None)
                continue
            after = at + len(part)
            found.append((self._places[at], self._end(*self._places[after - 1])))
        return found

    def _find(self, part: str, after: int) -> int:
        if not part:
            return -1
        at = self._folded.find(part, after)
        return at if at >= 0 else self._folded.find(part)

    def _end(self, number: int, offset: int) -> Place:
        """Return the place behind a character and the punctuation after it."""
        text, end = self._texts[number], offset + 1
        while end < len(text) and not text[end].isspace() and not text[end].isalnum():
            end += 1
        return number, end

    def split(self, places: Sequence[Place]) -> "_Pieces":
        """Split the runs at these places; a run with anything but text stays whole."""
        cuts: dict[int, set[int]] = defaultdict(set)
        for number, offset in places:
            if 0 < offset < len(self._texts[number]):
                cuts[number].add(offset)
        parts = {
            number: _split(run, self._texts[number], sorted(cuts[number]))
            for number, run in enumerate(self._runs)
            if self._texts[number]
        }
        return _Pieces(parts)


@dataclass(frozen=True)
class _Pieces:
    """Runs after they were split: (offset, run) of the pieces of each, by its number."""

    parts: dict[int, list[tuple[int, Any]]]

    def between(self, first: Place, end: Place) -> tuple[Any, Any]:
        return self._at(*first), self._at(end[0], end[1] - 1)

    def first(self) -> tuple[Any, Any]:
        if not self.parts:
            raise DocumentRefused(N_("has no text that could be commented."))
        run = self.parts[min(self.parts)][0][1]
        return run, run

    def _at(self, number: int, offset: int) -> Any:
        pieces = self.parts[number]
        return pieces[bisect_right([start for start, _ in pieces], offset) - 1][1]


def _is_shown(run: Any) -> bool:
    """Return False for the older copy of a text box."""
    return next(run.iterancestors(_FALLBACK), None) is None


def _text_of(run: Any) -> Iterator[str]:
    for text in run.iterchildren(_WORD + "t"):
        yield text.text or ""


def _folded(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def _split(run: Any, text: str, cuts: Sequence[int]) -> list[tuple[int, Any]]:
    """Split a run of nothing but text; return the offset of each piece with it."""
    plain = all(child.tag in (_WORD + "rPr", _WORD + "t") for child in run)
    if not cuts or not plain:
        return [(0, run)]
    bounds = [0, *cuts, len(text)]
    pieces = []
    for start, end in pairwise(bounds):
        piece = deepcopy(run)
        first, *others = piece.findall(_WORD + "t")
        for other in others:
            piece.remove(other)
        first.text = text[start:end]
        first.set(_SPACE, "preserve")
        run.addprevious(piece)
        pieces.append((start, piece))
    run.getparent().remove(run)
    return pieces


def new_document(
    text: str, blocks: Sequence[tuple[int, int]], comments: Sequence[tuple[int, int, str]], note: str = ""
) -> bytes:
    """Return a Word file of a text, a paragraph for each block, with a comment on each (start, end) of it.

    A `note` is the first paragraph.
    """
    import docx

    document = docx.Document()
    if note:
        document.add_paragraph().add_run(note).italic = True
    waiting = list(reversed(comments))
    for start, end in blocks:
        paragraph = document.add_paragraph()
        while waiting and waiting[-1][0] < end:
            first, last, comment = waiting.pop()
            if first > start:
                paragraph.add_run(text[start:first])
            run = paragraph.add_run(text[first:last])
            document.add_comment(run, comment, AUTHOR, INITIALS)
            start = last
        if start < end:
            paragraph.add_run(text[start:end])
    return _saved(document)
