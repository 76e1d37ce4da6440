"""Answer for the clipboard: its words, the same with its sources, and its tables."""

import csv
import io
import re

from rag.chat.export import AnswerPiece, Quote, cited_pieces, escaped, harmless
from rag.text.markdown import plain_words
from rag.text.tables import read_tables
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


def footnoted_answer(answer: Message) -> str:
    """Return an answer as Markdown with a footnote for each quote, in which nothing is active."""
    written, quotes = cited_pieces(answer)
    notes = "\n".join(map(_footnote, quotes))
    return "\n\n".join(filter(None, ("".join(map(_footnoted, written)).strip(), notes)))


def _footnoted(piece: AnswerPiece) -> str:
    if piece.quote:
        return f"[^{piece.quote}]"
    return f" *({piece.remark})*" if piece.remark else harmless(piece.text)


def _footnote(quote: Quote) -> str:
    page = f", page {quote.page}" if quote.page is not None else ""
    told = " ".join(plain_words(quote.text).replace("\t", ", ").split())
    words = f": “{escaped(told)}”" if told else ""
    return f"[^{quote.number}]: {escaped(quote.document)}{page}{words}"


def tables_as_csv(answer: Message) -> list[str]:
    """Return the tables of an answer as CSV, without markers.

    A cell that a spreadsheet would take for a formula begins with an apostrophe.
    """
    return [
        _csv([table.header, *(row.cells for row in table.rows)])
        for table in read_tables(_without_markers(answer))
    ]


def _csv(rows: list[tuple[str, ...]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([_inert_cell(cell) for cell in row] for row in rows)
    return file.getvalue()


def _inert_cell(cell: str) -> str:
    """Make a cell inert.

    >>> _inert_cell("=1+1"), _inert_cell("-7 %"), _inert_cell("+cmd|x")
    ("'=1+1", '-7 %', "'+cmd|x")
    """
    return f"'{cell}" if _FORMULA.match(cell) else cell
