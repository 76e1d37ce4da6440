"""Plain text, Markdown, CSV, notebooks, LaTeX, reStructuredText, AsciiDoc and source code; their decoding."""

import csv
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.legacy_encoding import legacy_encoding
from rag.text import markdown
from rag.text.document import LoadedDocument
from rag.text.markdown import escape_bars
from rag.text.normalize import canonical

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_ISO_2022 = re.compile(rb"\x1b\$[@B]|\x1b\([BJI]|\x1b\$\)C")
MOST_UNDECODED = 0.1  # share of the letters of a text that may be undecodable


def read_text(path: Path) -> LoadedDocument:
    """Read plain text."""
    return LoadedDocument(canonical(decode(path.read_bytes())))


def read_markdown(path: Path) -> LoadedDocument:
    """Read Markdown, its images and comments dropped."""
    return markdown_document(canonical(markdown.tidy(decode(path.read_bytes()))), "text/markdown")


def markdown_document(
    text: str, media_type: str, *, title: str | None = None, pages: Sequence[tuple[int, int, int]] = ()
) -> LoadedDocument:
    """Return clean Markdown with its headings; without a `title`, its first heading is the title."""
    title = markdown.title(text) if title is None else title
    return LoadedDocument(text, tuple(pages), title, media_type, markdown.headings(text))


def read_notebook(path: Path) -> LoadedDocument:
    """Read a Jupyter notebook: its texts and its code, without outputs."""
    try:
        cells = json.loads(decode(path.read_bytes()))["cells"]
        parts = [(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError) as error:
        raise DocumentRefused(N_("is damaged: it is not a notebook.")) from error
    blocks = [
        source if kind == "markdown" else f"```\n{source}\n```" for kind, source in parts if source.strip()
    ]
    return markdown_document(canonical(markdown.tidy("\n\n".join(blocks))), "application/x-ipynb+json")


def decode(content: bytes) -> str:
    """Decode bytes by their mark, as UTF-8, UTF-16 or a legacy encoding; DocumentRefused for no text."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _require_text(content.decode(encoding, "replace"))
    unmarked = _unmarked_utf16(content)
    if unmarked:
        return _require_text(content.decode(unmarked, "replace"))
    shifted = _ISO_2022.search(content[:100_000])
    if shifted and content.isascii():
        return _require_text(
            content.decode("iso2022_kr" if shifted[0] == b"\x1b$)C" else "iso2022_jp_2", "replace")
        )
    try:
        return _require_text(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        # cut in the middle of its last character, after others
        if error.start > len(content) - 4 and not content[: error.start].isascii():
            return _require_text(content.decode("utf-8", "ignore"))
    return _require_text(_legacy(content))


def decode_as(content: bytes, declared: str | None) -> str:
    """Decode bytes by their declared encoding; by `decode` where that fails or they are UTF-8."""
    if declared is None or content.startswith((b"\xff\xfe", b"\xfe\xff")) or _is_utf8(content):
        return decode(content)
    try:
        return content.decode(declared)
    except (LookupError, UnicodeDecodeError):
        return decode(content)


def _is_utf8(content: bytes) -> bool:
    if content.isascii():
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _unmarked_utf16(content: bytes) -> str | None:
    """Return the byte order of UTF-16 without a mark, by the places of its zero bytes."""
    sample = content[:4096]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if max(even, odd) < 0.2 * len(sample) / 2 or min(even, odd) > 0.1 * max(even, odd):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _legacy(content: bytes) -> str:
    """Decode text that is not sound Unicode; DocumentRefused where no encoding makes letters of its bytes."""
    text = content.decode(legacy_encoding(content), "replace")
    undecoded, ascii_letters = text[:-1].count("\ufffd"), len(text.encode("ascii", "ignore"))
    if undecoded > MOST_UNDECODED * (len(text) - ascii_letters):
        raise DocumentRefused(N_("is not text in any encoding Footnote knows."))
    return text


def _require_text(text: str) -> str:
    """Refuse decoded bytes that are no text: more than one control character in fifty."""
    sample = text[:100_000]
    controls = sum(character < " " and character not in "\t\n\r\f\x1b" for character in sample)
    if controls * 50 > len(sample):
        raise DocumentRefused(N_("is not text in any encoding Footnote knows."))
    return text


# Tables, one line a row

_DELIMITERS = ",;\t|"


def read_csv(path: Path) -> LoadedDocument:
    """Read a table of values separated by commas, semicolons, tabs or bars."""
    text = canonical(decode(path.read_bytes()))
    csv.field_size_limit(sys.maxsize)
    rows = csv.reader(text.splitlines(keepends=True), delimiter=_delimiter(text), strict=False)
    return LoadedDocument(table_text(rows, counted=True), media_type="text/csv")


def table_text(rows: Iterable[Sequence[str]], *, counted: bool = False) -> str:
    r"""Return a Markdown table; empty columns at a row's end are left out, and an empty row ends a table.

    Where rows are `counted` each empty one above another row keeps a line, so that `row_numbers` finds them.

    >>> table_text([["a", "b"], ["1", "x|y"], ["", ""], ["c", ""]])
    '| a | b |\n| --- | --- |\n| 1 | x\\|y |\n\n| c |\n| --- |'
    >>> table_text([[], ["a"], [], [], ["b"]], counted=True)
    '\n| a |\n| --- |\n\n\n| b |\n| --- |'
    """
    return "\n".join(_table_lines(rows, counted))


def _table_lines(rows: Iterable[Sequence[str]], counted: bool) -> Iterator[str]:
    first, gap = True, 0
    for row in rows:
        cells = [escape_bars(" ".join(cell.split())) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            gap = gap + 1 if counted else int(not first)
            continue
        if gap:
            yield from [""] * gap
            first, gap = True, 0
        yield f"| {' | '.join(cells)} |"
        if first:
            yield f"|{' --- |' * len(cells)}"
            first = False


def _delimiter(text: str) -> str:
    """Return the delimiter that splits most of the first lines into equally many fields."""
    lines = [line for line in text[:20_000].split("\n")[:20] if line.strip()]
    counts = {mark: [line.count(mark) for line in lines] for mark in _DELIMITERS}
    return max(_DELIMITERS, key=lambda mark: min(counts[mark], default=0) * 1000 + sum(counts[mark]))


# LaTeX, reStructuredText and AsciiDoc: unchanged text with headings

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
    """Read LaTeX; its commands stay."""
    read = read_text(path)
    title = _LATEX_TITLE.search(read.text)
    headings = tuple(
        (found.start(), _LATEX_LEVELS.index(found[1]) + 1, " ".join(found[2].split()))
        for found in _LATEX.finditer(read.text)
    )
    name = " ".join(title[1].replace("\\\\", " ").split()) if title else ""
    return replace(read, title=name, media_type="text/latex", headings=headings)


def read_rst(path: Path) -> LoadedDocument:
    """Read reStructuredText; the levels of its underlines are their order."""
    read = read_text(path)
    headings = tuple(_underlined(read.text))
    return replace(read, title=_first(headings), media_type="text/rst", headings=headings)


def _underlined(text: str) -> Iterator[_Heading]:
    """Yield the underlined lines; an underline is at least as long as its line."""
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


# Source code. Languages are by langchain's names where it has one; the others are split at blank lines.

LANGUAGES = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "js"),
    **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), "ts"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".mm", ".cu"), "cpp"),
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    **dict.fromkeys((".scala", ".sc"), "scala"),
    **dict.fromkeys((".ex", ".exs"), "elixir"),
    **dict.fromkeys((".ps1", ".psm1"), "powershell"),
    **dict.fromkeys((".cob", ".cbl"), "cobol"),
    **dict.fromkeys((".sh", ".bash", ".zsh", ".fish"), "shell"),
    **dict.fromkeys((".pl", ".pm"), "perl"),
    ".java": "java",
    ".go": "go",
    ".rs": "rust",
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
    ".swift": "swift",
    ".proto": "proto",
    ".lua": "lua",
    ".hs": "haskell",
    ".sol": "sol",
    ".r": "r",
    ".dart": "dart",
    ".sql": "sql",
}


def read_code(path: Path, name: str) -> LoadedDocument:
    """Read source code as text; its media type names the language."""
    return replace(read_text(path), media_type=f"text/x-{LANGUAGES[PurePath(name).suffix.lower()]}")
