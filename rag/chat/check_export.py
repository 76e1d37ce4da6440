"""Export of a checked text as Markdown, HTML, JSON and DOCX with comments."""

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from rag.chat.check_text import CheckedStatement, CheckedText, CheckStatus, SourceWords, blocks
from rag.chat.export import PAGE, STYLE, escaped, exported_on, harmless
from rag.errors import DocumentRefused
from rag.i18n import N_, _, quoted, translated
from rag.i18n import language as current_language
from rag.ingest.parsers.docx_comments import Annotation, comment_on, new_document
from rag.passage import Passage
from rag.text.document import OPEN_XML
from rag.text.language import language
from rag.text.normalize import clean

CheckForm = Literal["md", "html", "json", "docx"]
CHECK_MEDIA_TYPES: dict[CheckForm, str] = {
    "md": "text/markdown",
    "html": "text/html",
    "json": "application/json",
    "docx": OPEN_XML + "wordprocessingml.document",
}
SIGNS: dict[CheckStatus, str] = {"verified": "✓", "differs": "≠", "not found": "–"}
FORM = "footnote-check"
VERSION = 1


@dataclass(frozen=True)
class CheckFile:
    """Exported check: its bytes, and a note where they are not what one would expect."""

    content: bytes
    note: str = ""


def export_check(checked: CheckedText, form: CheckForm, original: bytes = b"") -> CheckFile:
    """Return a checked text as a file; with the `original` DOCX that file itself gets the comments."""
    if form == "docx":
        return to_docx(checked, original)
    text = {"md": to_markdown, "html": to_html, "json": to_json}[form](checked)
    return CheckFile(text.encode())


def _pieces(checked: CheckedText) -> Iterator[tuple[str, CheckedStatement | None]]:
    """Yield the text up to the end of each statement with it, then the rest."""
    done = 0
    for one in checked.statements:
        yield checked.text[done : one.end], one
        done = one.end
    yield checked.text[done:], None


def _head(checked: CheckedText) -> list[str]:
    """Return the sentences above a checked text."""
    searched = (
        [_("Searched in: {scope}.", scope=translated(checked.searched_in))] if checked.searched_in else []
    )
    return [f"{translated(checked.summary)}.", *searched, *map(translated, checked.notes)]


# Markdown


def to_markdown(checked: CheckedText) -> str:
    """Return the text with the statements' numbers, then the words that each rests on; nothing is active."""
    text = "".join(harmless(piece) + _markdown_mark(one) for piece, one in _pieces(checked))
    blocks = [
        f"# {escaped(checked.name)}",
        *map(escaped, _head(checked)),
        text,
        "## " + _("Statements"),
        *map(_markdown_statement, checked.statements),
    ]
    return "\n\n".join(blocks) + "\n"


def _markdown_mark(one: CheckedStatement | None) -> str:
    return f" \\[{one.number} {SIGNS[one.status]}\\]" if one else ""


def _markdown_statement(one: CheckedStatement) -> str:
    lines = [f"- \\[{one.number}\\] {escaped(one.text)}", f"  - **{escaped(translated(one.remark))}**"]
    return "\n".join([*lines, *map(_markdown_source, one.shown)])


def _markdown_source(source: SourceWords) -> str:
    heading = f", {escaped(source.passage.heading)}" if source.passage.heading else ""
    return f"  - {quoted(escaped(source.line))} — {escaped(translated(source.place))}{heading}"


# HTML


def to_html(checked: CheckedText) -> str:
    """Return one HTML page; its text is escaped, and a browser fetches nothing for it."""
    head = "\n".join(f'<p class="note">{_text(line)}</p>' for line in _head(checked))
    text = "".join(_text(piece) + _html_mark(one) for piece, one in _pieces(checked))
    listed = "\n".join(map(_html_statement, checked.statements))
    body = (
        f'{head}\n<div class="text"{_lang(checked.text)}>{text}</div>\n'
        f'<h2>{_text(_("Statements"))}</h2>\n<ol class="quotes">\n{listed}\n</ol>'
    )
    return PAGE.format(
        hash=base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode(),
        title=_text(checked.name),
        style=STYLE,
        exported=_text(exported_on(datetime.now(UTC))),
        code=current_language(),
        turns=body,
    )


def _html_mark(one: CheckedStatement | None) -> str:
    if one is None:
        return ""
    remark = _text(translated(one.remark))
    return f' <a href="#statement-{one.number}" title="{remark}">[{one.number} {SIGNS[one.status]}]</a>'


def _html_statement(one: CheckedStatement) -> str:
    sources = "".join(f"<br>{_html_source(source)}" for source in one.shown)
    said = f"<span{_lang(one.text)}>{_text(one.text)}</span>"
    return (
        f'<li id="statement-{one.number}">[{one.number}] {said}<br>'
        f"<strong>{_text(translated(one.remark))}</strong>{sources}</li>"
    )


def _html_source(source: SourceWords) -> str:
    heading = f", {_text(source.passage.heading)}" if source.passage.heading else ""
    words = f'<q class="text"{_lang(source.quote)}>{_text(source.line)}</q>'
    return f"{words} {_text(translated(source.place))}{heading}"


def _lang(text: str) -> str:
    return f' lang="{escape(language(text[:5000]))}"'


def _text(text: str) -> str:
    return escape(clean(text))


# JSON


def to_json(checked: CheckedText) -> str:
    """Return the check as JSON; `start` and `end` of a statement are code points of `text`."""
    return json.dumps(as_json(checked), ensure_ascii=False, indent=2) + "\n"


def as_json(checked: CheckedText) -> dict[str, Any]:
    """Return the check as JSON's types."""
    return {
        "form": FORM,
        "version": VERSION,
        "name": checked.name,
        "verified": checked.verified,
        "total": len(checked.statements),
        "searched_in": checked.searched_in or None,
        "notes": list(checked.notes),
        "text": checked.text,
        "statements": [
            {
                "statement": one.text,
                "start": one.start,
                "end": one.end,
                "status": one.status,
                "note": one.note,
                "sources": [_json_source(source) for source in one.sources],
                "closest": [_json_source(source) for source in one.closest],
            }
            for one in checked.statements
        ],
    }


def _json_source(source: SourceWords) -> dict[str, Any]:
    return {
        "document": source.passage.document,
        "document_id": source.passage.document_id,
        "page": source.passage.page,
        "heading": source.passage.heading,
        "start": source.start,
        "end": source.end,
        "quote": source.quote,
    }


def from_json(fields: Mapping[str, Any]) -> CheckedText:
    """Return the check of JSON's types that `as_json` made; raises KeyError or TypeError for any others."""
    statements = tuple(
        CheckedStatement(
            number,
            one["statement"],
            one["start"],
            one["end"],
            one["status"],
            one["note"],
            tuple(map(_source_of, one["sources"])),
            tuple(map(_source_of, one["closest"])),
        )
        for number, one in enumerate(fields["statements"], start=1)
    )
    name, text = fields["name"], fields["text"]
    return CheckedText(
        name,
        text,
        tuple(blocks(text)),
        statements,
        fields["searched_in"] or "",
        tuple(fields["notes"]),
        CHECK_MEDIA_TYPES["docx"] if name.lower().endswith(".docx") else "",
    )


def _source_of(fields: Mapping[str, Any]) -> SourceWords:
    start, end, quote = fields["start"], fields["end"], fields["quote"]
    document_id, document = fields["document_id"], fields["document"]
    passage = Passage("", document_id, document, "", fields["page"], fields["heading"], start, end, quote)
    return SourceWords(passage, start, end)


# DOCX

_UNREADABLE = N_("The file could not be commented in place; this is its text as a new document.")


def to_docx(checked: CheckedText, original: bytes = b"") -> CheckFile:
    """Return a DOCX with a comment at each statement: the original where it is one, else a new document.

    The note says where an original could not be commented.
    """
    note = ""
    if original and checked.media_type == CHECK_MEDIA_TYPES["docx"]:
        try:
            comments = [Annotation(one.text, _comment(one)) for one in checked.statements]
            return CheckFile(_in_place(original, checked.name, comments))
        except DocumentRefused as error:
            note = f"{_UNREADABLE} {error}"
    spans = [(one.start, one.end, _comment(one)) for one in checked.statements]
    return CheckFile(new_document(checked.text, checked.blocks, spans, note), note)


def _in_place(original: bytes, name: str, comments: list[Annotation]) -> bytes:
    with TemporaryDirectory(prefix="footnote-") as folder:
        path = Path(folder) / "file"
        path.write_bytes(original)
        return comment_on(path, name, comments)


def _comment(one: CheckedStatement) -> str:
    """Return a comment's text: the status, and each quote with its place."""
    quotes = (f"{quoted(source.line)} — {translated(source.place)}" for source in one.shown)
    return clean("\n".join([translated(one.remark), *quotes]))
