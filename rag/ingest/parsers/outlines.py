"""LaTeX, reStructuredText and AsciiDoc: text as it stands, with the headings that its marks make."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from rag.ingest.parsers.plain_text import read_text
from rag.text.document import LoadedDocument

_Heading = tuple[int, int, str]
_LATEX = re.compile(
    r"^[ \t]*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]\n]*\])?\{([^{}\n]+)\}",
    re.M,
)
_LATEX_LEVELS = ("part", "chapter", "section", "subsection", "subsubsection", "paragraph")
_LATEX_TITLE = re.compile(r"\\title(?:\[[^\]\n]*\])?\{([^{}]+)\}")
_UNDERLINED = re.compile(r"^(?=\S)(.{2,200})\n([=\-~^\"'*+#`:.<>_])\2{2,}[ \t]*$", re.M)
_ASCIIDOC = re.compile(r"^(={1,6})[ \t]+(\S.*)$", re.M)


def read_latex(path: Path) -> LoadedDocument:
    """Read LaTeX; its commands stay, since they are what the file says."""
    read = read_text(path)
    title = _LATEX_TITLE.search(read.text)
    headings = tuple(
        (found.start(), _LATEX_LEVELS.index(found[1]) + 1, " ".join(found[2].split()))
        for found in _LATEX.finditer(read.text)
    )
    name = " ".join(title[1].replace("\\\\", " ").split()) if title else ""
    return replace(read, title=name, media_type="text/latex", headings=headings)


def read_rst(path: Path) -> LoadedDocument:
    """Read reStructuredText; which mark underlines which level is told by their order."""
    read = read_text(path)
    headings = tuple(_underlined(read.text))
    return replace(read, title=_first(headings), media_type="text/rst", headings=headings)


def _underlined(text: str) -> Iterator[_Heading]:
    """Yield the underlined lines; an underline shorter than its line is none."""
    levels: list[str] = []
    for found in _UNDERLINED.finditer(text):
        if len(found[0]) - len(found[1]) - 1 < len(found[1].rstrip()) - 1:
            continue
        if found[2] not in levels:
            levels.append(found[2])
        yield found.start(), levels.index(found[2]) + 1, found[1].strip()


def read_asciidoc(path: Path) -> LoadedDocument:
    """Read AsciiDoc."""
    read = read_text(path)
    headings = tuple((found.start(), len(found[1]), found[2]) for found in _ASCIIDOC.finditer(read.text))
    return replace(read, title=_first(headings), media_type="text/asciidoc", headings=headings)


def _first(headings: tuple[_Heading, ...]) -> str:
    return headings[0][2] if headings else ""
