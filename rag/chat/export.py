"""Export of a stored chat as Markdown, HTML or JSON, and of feedback as cases."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from html import escape
from typing import Any, Literal

from rag.chat.steps import read_plan
from rag.citations.support import backing, citation_of, markers, passage_of, remarks, statement_text
from rag.i18n import N_, _, quoted, translated
from rag.i18n import language as current_language
from rag.text.language import language
from rag.text.markdown import cells, read_tables
from rag.text.normalize import clean
from storage.records import CitationRecord, CitationStatus, ConversationRecord, Message, PassageRecord

UNTITLED = N_("Untitled chat")


@dataclass(frozen=True)
class Quote:
    """Quoted words of a citation, `text` at [start, end) of the document with this hash.

    `number` counts through the chat from 1, `marker` is the passage's number within its answer. Where the
    source does not say what the statement says, `text` may be empty. It is where a model read the passage
    from a picture: then `read_from_picture` is what it read.
    """

    number: int
    marker: int
    status: CitationStatus
    statement: str
    text: str
    document: str
    page: int | None
    heading: str
    sha256: str
    start: int
    end: int
    note: str = ""
    read_from_picture: str = ""


@dataclass(frozen=True)
class AnswerPiece:
    """Piece of an answer: its text, the number of a quote, or a remark; the others are empty."""

    text: str = ""
    quote: int = 0
    remark: str = ""


@dataclass(frozen=True)
class ExportedTurn:
    """Question and answer; `understood` is the standalone question, where that differs.

    `searched_in` names the scope, where not all documents were searched; `steps` those of a question of
    several parts.
    """

    question: str
    asked: datetime
    understood: str
    answer: str
    pieces: tuple[AnswerPiece, ...]
    state: str
    model: str
    backed: str
    searched_in: str
    coverage: str
    quotes: tuple[Quote, ...]
    steps: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportedChat:
    """Chat with its title, turns and time of export."""

    id: str
    title: str
    exported: datetime
    turns: tuple[ExportedTurn, ...]


def export(conversation: ConversationRecord, messages: Sequence[Message], at: datetime) -> ExportedChat:
    """Return a chat for export; unfinished answers are left out."""
    questions = {message.id: message for message in messages if message.role == "user"}
    turns: list[ExportedTurn] = []
    numbered = 0
    for answer in messages:
        question = questions.get(answer.question_id or "")
        if question is None or answer.state == "pending":
            continue
        turns.append(_turn(question, answer, numbered))
        numbered += len(turns[-1].quotes)
    return ExportedChat(conversation.id, conversation.title or UNTITLED, at, tuple(turns))


def cited_pieces(answer: Message, numbered: int = 0) -> tuple[tuple[AnswerPiece, ...], tuple[Quote, ...]]:
    """Return the pieces of an answer, and its quotes with numbers that follow `numbered`."""
    shown = list(_shown(answer))
    cited = {(passage.number, position): passage for _, passage, position in shown}
    numbers = {target: number for number, target in enumerate(cited, start=numbered + 1)}
    marks = {offset: numbers[passage.number, position] for offset, passage, position in shown}
    quotes = (_quote(answer, numbers[target], passage, target[1]) for target, passage in cited.items())
    return tuple(pieces(answer, marks)), tuple(quotes)


def _turn(question: Message, answer: Message, numbered: int) -> ExportedTurn:
    counted = backing(answer)
    understood, steps = read_plan(answer.standalone_question or "")
    written, quotes = cited_pieces(answer, numbered)
    return ExportedTurn(
        question=question.content,
        asked=question.created,
        understood="" if understood.split() == question.content.split() else understood,
        answer=answer.content,
        pieces=written,
        state=answer.state,
        model=answer.model or "",
        backed=counted.sentence if counted else "",
        searched_in=" · ".join(filter(None, (answer.searched_in, answer.narrowed_to))),
        coverage=answer.coverage or "",
        quotes=quotes,
        steps=steps,
    )


def _shown(answer: Message) -> Iterator[tuple[int, PassageRecord, int | None]]:
    """Yield each marker that names a passage: its offset, the passage, and its citation's position."""
    for offset, number in markers(answer.content):
        passage = passage_of(answer, number)
        if passage is not None:
            yield offset, passage, citation_of(answer, offset, number)


def pieces(answer: Message, marks: dict[int, int]) -> Iterator[AnswerPiece]:
    """Yield an answer in pieces, with quotes' numbers in place of the markers at the offsets of `marks`."""
    text, end = answer.content, 0
    ends = {offset: text.index("]", offset) + 1 for offset in marks}
    breaks = [
        *((offset, 0, "") for offset in marks),
        *((offset, 1, words) for offset, words in remarks(answer)),
    ]
    for offset, kind, words in sorted(breaks):
        if offset > end:
            yield AnswerPiece(text=text[end:offset])
        end = max(end, offset if kind else ends[offset])
        yield AnswerPiece(remark=words) if kind else AnswerPiece(quote=marks[offset])
    if text[end:]:
        yield AnswerPiece(text=text[end:])


def _quote(answer: Message, number: int, passage: PassageRecord, position: int | None) -> Quote:
    """Return a quote; a marker without a verdict, as in an answer that was stopped, quotes nothing."""
    nothing = CitationRecord(passage.number, 0, 0, "unsupported", passage.start, passage.start, "")
    citation = nothing if position is None else answer.citations[position]
    return Quote(
        number=number,
        marker=passage.number,
        status=citation.status,
        statement=statement_text(answer, citation),
        text=citation.quote,
        document=passage.document,
        page=passage.page,
        heading=passage.heading,
        sha256=passage.sha256,
        start=citation.quote_start,
        end=citation.quote_end,
        note=citation.note,
        read_from_picture=passage.text if passage.is_from_picture else "",
    )


# Citation feedback


@dataclass(frozen=True)
class FeedbackCase:
    """Claim, its cited passages, and True where a reader accepted the citation."""

    claim: str
    passages: tuple[str, ...]
    supported: bool


def cases(answers: Sequence[Message]) -> Iterator[FeedbackCase]:
    """Yield a case for each citation marked as wrong, and for each verified one of an answer rated up.

    An answer rated down says nothing about its single citations.
    """
    for answer in answers:
        for citation in answer.citations:
            supported = _judged(answer, citation)
            passage = passage_of(answer, citation.marker)
            claim = statement_text(answer, citation)
            if supported is not None and passage is not None and claim:
                yield FeedbackCase(claim, (passage.text,), supported)


def to_jsonl(found: Sequence[FeedbackCase]) -> str:
    r"""Return cases as JSON lines, as `footnote eval citations` reads them.

    >>> to_jsonl([FeedbackCase("It is so.", ("So it is.",), True)])
    '{"claim": "It is so.", "passages": ["So it is."], "supported": true}\n'
    """
    return "".join(json.dumps(asdict(case), ensure_ascii=False) + "\n" for case in found)


def unhelpful_to_jsonl(answers: Sequence[Message], question_of: Callable[[str], str]) -> str:
    """Return the answers that are rated down as JSON lines, with why; `question_of` takes a question's id."""
    lines = (
        {
            "question": question_of(answer.question_id or ""),
            "answer": answer.content,
            "reason": answer.rating_reason,
            "note": answer.rating_note,
        }
        for answer in answers
        if answer.rating == "down"
    )
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _judged(answer: Message, citation: CitationRecord) -> bool | None:
    if citation.feedback == "wrong":
        return False
    return True if answer.rating == "up" and citation.status == "verified" else None


def _notes(turn: ExportedTurn, escaping: Callable[[str], str]) -> tuple[str, str, str, str]:
    """Return how a question was understood, where it was searched, and its answer's state and model."""
    searched = (
        _("Searched in: {scope}", scope=escaping(translated(turn.searched_in))) if turn.searched_in else ""
    )
    understood = _("Understood as: {question}", question=escaping(turn.understood)) if turn.understood else ""
    listed = "; ".join(f"({n}) {escaping(step)}" for n, step in enumerate(turn.steps, 1))
    steps = _("Searched in steps: {steps}", steps=listed) if listed else ""
    return (
        " · ".join(filter(None, (understood, steps))),
        " · ".join(filter(None, (searched, escaping(translated(turn.coverage))))),
        "" if turn.state == "complete" else translated(_STATES.get(turn.state, turn.state)),
        _("Written by {model}.", model=escaping(turn.model)) if turn.model else "",
    )


# Markdown
_ACTING = re.compile(r"[\\`<>\[\]&$]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~$&]|^[-+=]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_HEADING = re.compile(r"(?m)^([ \t]*)([#=]+|-{2,}[ \t]*$)")
STATUSES = {
    "verified": "{quote}",
    "differs": N_("The source differs: {quote}"),
    "related": N_("On the subject, but it does not say quite that: {quote}"),
    "unsupported": N_("The statement was not found in this source"),
}
FROM_PICTURE = N_("Read from a picture by a model, not a quote: {quote}")


_STATES = {
    "stopped": N_("This answer is stopped."),
    "interrupted": N_("This answer is interrupted."),
    "failed": N_("This answer is failed."),
}


def _exported(chat: ExportedChat) -> str:
    return exported_on(chat.exported)


def exported_on(moment: datetime) -> str:
    """Return the line that says when an export was made."""
    return _("Exported from Footnote on {moment} UTC.", moment=f"{moment:%Y-%m-%d %H:%M}")


def _quoted(quote: Quote, words: str) -> str:
    """Return the words of a quote after what became of it."""
    return _(FROM_PICTURE if quote.read_from_picture else STATUSES[quote.status], quote=words)


def place_of(quote: Quote, document: str) -> str:
    """Return where a quote is from: its document, called so, and its page."""
    return (
        document if quote.page is None else _("{document}, page {page}", document=document, page=quote.page)
    )


def to_markdown(chat: ExportedChat) -> str:
    """Return a chat as Markdown in which no text of a document or a model is active."""
    head = [f"# {escaped(chat.title)}", _exported(chat)]
    turns = (block for number, turn in enumerate(chat.turns, 1) for block in _markdown_turn(number, turn))
    return "\n\n".join([*head, *turns]) + "\n"


def _markdown_turn(number: int, turn: ExportedTurn) -> list[str]:
    asked = "\n".join(f"> {escaped(line)}" for line in turn.question.split("\n"))
    understood, searched, *made = _notes(turn, escaped)
    state, model, backed = (note and f"*{note}*" for note in (*made, translated(turn.backed)))
    answer = "".join(map(_markdown_piece, turn.pieces))
    quotes = "\n".join(map(_markdown_quote, turn.quotes))
    blocks = [
        "## " + _("Question {number}", number=number),
        asked,
        understood,
        searched,
        backed,
        answer,
        state,
        model,
        quotes,
    ]
    return [block for block in blocks if block.strip()]


def _markdown_piece(piece: AnswerPiece) -> str:
    if piece.quote:
        return f"\\[{piece.quote}\\]"
    return f" *({translated(piece.remark)})*" if piece.remark else harmless(piece.text)


def _markdown_quote(quote: Quote) -> str:
    heading = f", {escaped(quote.heading)}" if quote.heading else ""
    told = quoted(escaped(quote.text)) if quote.text else escaped(quote.read_from_picture)
    words = _quoted(quote, told)
    place = f"{place_of(quote, escaped(quote.document))}{heading}"
    return f"- \\[{quote.number}\\] {words} — {place} (sha256 {escaped(quote.sha256)})"


def escaped(text: str) -> str:
    """Return a text on one line, with all Markdown escaped."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(clean(text).split()))


def harmless(text: str) -> str:
    r"""Return a model's Markdown without what loads, links or runs, and without headings of its own.

    >>> harmless("![x](http://a.b) **so** <img>")
    '!\\[x\\](http\\://a.b) **so** \\<img\\>'
    """
    return _HEADING.sub(r"\1\\\2", _ACTING.sub(r"\\\g<0>", clean(text)))


# HTML: one file that loads nothing; its text is escaped, its policy forbids all but its style.
STYLE = """
:root { color-scheme: light dark; }
body { max-width: 46rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif; }
h2 { font-size: 1.05rem; margin: 2.5rem 0 0.5rem; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.note { font-size: 0.9rem; opacity: 0.8; }
.remark { font-size: 0.85rem; border: 1px solid; border-radius: 0.3rem; padding: 0 0.3rem; }
.remark { white-space: nowrap; }
.quotes { list-style: none; padding: 0; font-size: 0.92rem; }
.quotes li { margin: 0.7rem 0; padding-left: 0.8rem; border-left: 3px solid; }
.quotes li:target { outline: 2px solid; outline-offset: 4px; }
table { border-collapse: collapse; margin: 0.5rem 0; }
th, td { border: 1px solid; padding: 0.2rem 0.6rem; text-align: left; vertical-align: top; }
code { font-size: 0.8rem; overflow-wrap: anywhere; }
"""
PAGE = """\
<!DOCTYPE html>
<html lang="{code}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-{hash}'; \
base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
<p class="note">{exported}</p>
{turns}
</body>
</html>
"""


def to_html(chat: ExportedChat) -> str:
    """Return a chat as one HTML page; a browser fetches nothing for it."""
    return PAGE.format(
        hash=base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode(),
        title=_text(chat.title),
        style=STYLE,
        exported=_text(_exported(chat)),
        code=current_language(),
        turns="\n".join(_html_turn(number, turn) for number, turn in enumerate(chat.turns, 1)),
    )


def _html_turn(number: int, turn: ExportedTurn) -> str:
    understood, searched, state, model = _notes(turn, _text)
    quotes = "\n".join(map(_html_quote, turn.quotes))
    answer = _with_tables(_in_bold("".join(map(_piece, turn.pieces))))
    return "\n".join(
        [
            "<section>",
            f"<h2>{_text(_('Question {number}', number=number))}</h2>",
            f'<p class="text"{_lang(turn.question)}>{_text(turn.question)}</p>',
            _note(understood),
            _note(searched),
            f"<h3>{_text(_('Answer'))}</h3>",
            _note(translated(turn.backed)),
            f'<div class="text"{_lang(turn.answer)}>{answer}</div>',
            _note(" ".join(filter(None, (state, model)))),
            f'<ol class="quotes">\n{quotes}\n</ol>' if quotes else "",
            "</section>",
        ]
    )


def _note(text: str) -> str:
    return f'<p class="note">{text}</p>' if text else ""


def _with_tables(words: str) -> str:
    """Return escaped text with its Markdown tables as tables of HTML."""
    shown, done = "", 0
    for table in read_tables(words):
        head = "".join(f"<th>{cell}</th>" for cell in table.header)
        body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row.cells)}</tr>" for row in table.rows)
        before = words[done : table.start].rstrip("\n")
        shown += f"{before}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        done = table.end + len(words[table.end :]) - len(words[table.end :].lstrip("\n"))
    return shown + words[done:]


def _piece(piece: AnswerPiece) -> str:
    if piece.quote:
        return f'<a href="#quote-{piece.quote}">[{piece.quote}]</a>'
    return (
        f' <span class="remark">{_text(translated(piece.remark))}</span>'
        if piece.remark
        else _text(piece.text)
    )


def _html_quote(quote: Quote) -> str:
    heading = f", {_text(quote.heading)}" if quote.heading else ""
    words = _html_words(quote.text) if quote.text else ""
    words = words or _text(quote.read_from_picture)
    return (
        f'<li id="quote-{quote.number}">[{quote.number}] {_quoted(quote, words)}<br>'
        f"{place_of(quote, _text(quote.document))}{heading}<br><code>sha256 {_text(quote.sha256)}</code></li>"
    )


def _html_words(words: str) -> str:
    """Return the words of a quote; rows of a table as a table."""
    lines = words.strip().split("\n")
    if not all(line.lstrip().startswith("|") for line in lines):
        return f'<q class="text"{_lang(words)}>{_with_tables(_text(words))}</q>'
    told = (cells(_text(line)) for line in lines)
    rows = (f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in told if _is_said(row))
    return f"<table{_lang(words)}><tbody>{''.join(rows)}</tbody></table>"


def _is_said(row: Sequence[str]) -> bool:
    return any(cell.strip("-: ") for cell in row)


def _lang(text: str) -> str:
    return f' lang="{escape(language(text))}"'


def _text(text: str) -> str:
    return escape(clean(text))


_BOLD = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")


def _in_bold(escaped_text: str) -> str:
    """Return escaped text with its bold words as those of HTML."""
    return _BOLD.sub(r"<strong>\1</strong>", escaped_text)


# JSON, which `footnote verify` reads
FORM = "footnote-chat"
VERSION = 1


def to_json(chat: ExportedChat) -> str:
    """Return a chat as JSON; an answer's markers `[n]` are its quotes' `marker`."""
    told = {
        "form": FORM,
        "version": VERSION,
        "id": chat.id,
        "title": chat.title,
        "exported": chat.exported.isoformat(),
        "turns": [_json_turn(turn) for turn in chat.turns],
    }
    return json.dumps(told, ensure_ascii=False, indent=2) + "\n"


def _json_turn(turn: ExportedTurn) -> dict[str, Any]:
    return {
        "question": turn.question,
        "asked": turn.asked.isoformat(),
        "understood": turn.understood or turn.question,
        "steps": list(turn.steps),
        "searched_in": turn.searched_in or None,
        "coverage": turn.coverage or None,
        "answer": turn.answer,
        "state": turn.state,
        "model": turn.model or None,
        "backed": turn.backed or None,
        "quotes": [asdict(quote) for quote in turn.quotes],
    }


FormName = Literal["md", "html", "json"]
FORMS: dict[FormName, Callable[[ExportedChat], str]] = {"md": to_markdown, "html": to_html, "json": to_json}
MEDIA_TYPES: dict[FormName, str] = {"md": "text/markdown", "html": "text/html", "json": "application/json"}
_LONGEST = 60  # characters of a file's name


def file_name(title: str, form: FormName) -> str:
    """Return a name for a chat's file, of letters and digits of any writing.

    >>> file_name("연차: 언제까지?", "md"), file_name("../..", "json")
    ('연차-언제까지.md', 'chat.json')
    """
    words = re.sub(r"[\W_]+", "-", title)[:_LONGEST].strip("-")
    return f"{words or 'chat'}.{form}"
