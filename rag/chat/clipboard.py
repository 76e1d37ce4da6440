"""Answer for the clipboard, as words, HTML and Markdown: alone, with its sources, and its tables."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

from markdown_it import MarkdownIt

from rag.chat.export import AnswerPiece, Quote, cited_pieces, escaped, harmless, place_of
from rag.i18n import quoted, translated
from rag.text.markdown import plain_cell, plain_words, read_tables
from rag.text.normalize import clean
from storage.records import Message

_FORMULA = re.compile(r"[=@\t\r]|[-+](?![\d.,\s]*%?\Z)")


def plain_answer(answer: Message) -> str:
    """Return an answer as words: without markers, remarks and Markdown; cells with tabs between them."""
    return plain_words(_without_markers(answer))


def _without_markers(answer: Message) -> str:
    """Return an answer without markers and remarks: "Sales fell [1]." -> "Sales fell."."""
    written, _ = cited_pieces(answer)
    said = "".join(" \0" if piece.quote else piece.text for piece in written)
    return re.sub(r"(?:[ \t]*\0)+", "", said).strip()


def sourced_answer(answer: Message) -> str:
    """Return an answer as words with its markers, and a line for each source below."""
    written, quotes = cited_pieces(answer)
    said = plain_words("".join(map(_marked, written)).strip())
    return "\n\n".join(filter(None, (said, "\n".join(map(source_line, quotes)))))


def _marked(piece: AnswerPiece) -> str:
    if piece.quote:
        return f"[{piece.quote}]"
    return f" ({escaped(translated(piece.remark))})" if piece.remark else piece.text


def source_line(quote: Quote) -> str:
    """Return the number of a quote, its document, its page and its words."""
    told = _told(quote)
    words = f": {quoted(told)}" if told else ""
    return f"[{quote.number}] {place_of(quote, ' '.join(clean(quote.document).split()))}{words}"


def _told(quote: Quote) -> str:
    return " ".join(plain_words(quote.text).replace("\t", ", ").split())


# Markdown: for a text that keeps it, such as a wiki page.
def footnoted_answer(answer: Message) -> str:
    """Return an answer as Markdown with a footnote for each source, in which nothing is active."""
    written, quotes = cited_pieces(answer)
    notes = "\n".join(map(_footnote, quotes))
    text = _MARK_IN_BOLD.sub(r"**\1**\2", "".join(map(_footnoted, written)).strip())
    return "\n\n".join(filter(None, (text, notes)))


_MARK_IN_BOLD = re.compile(r"\*\*(?=\S)([^*\n]*?\S)(\s*(?:\[\^\d+\])+)\*\*")


def _footnoted(piece: AnswerPiece) -> str:
    if piece.quote:
        return f"[^{piece.quote}]"
    return f" *({escaped(translated(piece.remark))})*" if piece.remark else harmless(piece.text)


def _footnote(quote: Quote) -> str:
    told = escaped(_told(quote))
    words = f": {quoted(told)}" if told else ""
    return f"[^{quote.number}]: {place_of(quote, escaped(quote.document))}{words}"


# HTML: what a word processor takes of an answer.
_BOLD = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")
_JOINER = "\u2060"  # a letter to Markdown, whose marks are none between a sign and a letter: "**行く。**彼は"
_HEADING = "h4"  # of every heading, as on the page: an answer is pasted into a text that has its own


def plain_html(answer: Message) -> str:
    """Return `plain_answer` as HTML."""
    return _html(_without_markers(answer))


def sourced_html(answer: Message) -> str:
    """Return `sourced_answer` as HTML."""
    written, quotes = cited_pieces(answer)
    sources = "".join(f"<p>{escape(source_line(quote))}</p>\n" for quote in quotes)
    return _html("".join(map(_marked, written)).strip()) + sources


def _html(markdown: str) -> str:
    """Return Markdown as HTML of paragraphs, lists, tables, code and emphasis; all else in it is text."""
    parser = _parser()
    tokens = parser.parse(_BOLD.sub(rf"**{_JOINER}\1{_JOINER}**", clean(markdown)))
    for token in tokens:
        token.tag = _HEADING if token.type.startswith("heading_") else token.tag
        token.info = ""
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html.replace(_JOINER, "")


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable(_ACTIVE)


_ACTIVE = ["code", "reference", "html_block", "html_inline", "autolink", "link", "image"]


# Tables
@dataclass(frozen=True)
class CopiedTable:
    """A table for the clipboard, which spreadsheets and word processors paste as rows and columns."""

    words: str
    html: str


def copied_tables(answer: Message) -> list[CopiedTable]:
    """Return the tables of an answer without markers: with tabs between the cells, and as HTML.

    A cell that a spreadsheet would take for a formula begins with an apostrophe.
    """
    return [
        _copied([_cells(line) for line in (table.header, *(row.cells for row in table.rows))])
        for table in read_tables(_without_markers(answer))
    ]


def _cells(line: Sequence[str]) -> list[str]:
    return [_inert_cell(plain_cell(clean(cell))) for cell in line]


def _copied(rows: Sequence[Sequence[str]]) -> CopiedTable:
    words = "\n".join("\t".join(row) for row in rows)
    lines = (f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return CopiedTable(words, f"<table>{''.join(lines)}</table>")


def _inert_cell(cell: str) -> str:
    """Make a cell inert.

    >>> _inert_cell("=1+1"), _inert_cell("-7 %"), _inert_cell("+cmd|x")
    ("'=1+1", '-7 %', "'+cmd|x")
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell
