"""A chat as Markdown: questions and answers as they were, each quote under its answer with its file and hash.

Lists, tables and emphasis of an answer stay Markdown. What could load, link or run is escaped.
"""

import re

from rag.chat.export import AnswerPiece, ExportedChat, ExportedTurn, Quote
from rag.text.control_characters import clean

_ACTING = re.compile(r"[\\`<>\[\]&$]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_SPECIAL = re.compile(r"[\\`*_\[\]<>#|~$&]|^[-+=]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_HEADING = re.compile(r"(?m)^([ \t]*)([#=]+|-{2,}[ \t]*$)")
STATUSES = {
    "verified": "",
    "related": "On the subject, but it does not say quite that: ",
    "unsupported": "The statement was not found in this source",
}


def to_markdown(chat: ExportedChat) -> str:
    """Return a chat as Markdown in which nothing of a document or a model acts."""
    head = [f"# {escaped(chat.title)}", f"Exported from Footnote on {chat.exported:%Y-%m-%d %H:%M} UTC."]
    turns = (block for number, turn in enumerate(chat.turns, 1) for block in _turn(number, turn))
    return "\n\n".join([*head, *turns]) + "\n"


def _turn(number: int, turn: ExportedTurn) -> list[str]:
    asked = "\n".join(f"> {escaped(line)}" for line in turn.question.split("\n"))
    understood = f"Understood as: {escaped(turn.understood)}" if turn.understood else ""
    searched = f"Searched in: {escaped(turn.searched_in)}" if turn.searched_in else ""
    state = "" if turn.state == "complete" else f"*This answer is {turn.state}.*"
    model = f"*Written by {escaped(turn.model)}.*" if turn.model else ""
    backed = f"*{turn.backed}*" if turn.backed else ""
    answer = "".join(map(_piece, turn.pieces))
    quotes = "\n".join(map(_quote, turn.quotes))
    blocks = [f"## Question {number}", asked, understood, searched, backed, answer, state, model, quotes]
    return [block for block in blocks if block.strip()]


def _piece(piece: AnswerPiece) -> str:
    if piece.quote:
        return f"\\[{piece.quote}\\]"
    return f" *({piece.remark})*" if piece.remark else harmless(piece.text)


def _quote(quote: Quote) -> str:
    page = f", page {quote.page}" if quote.page is not None else ""
    heading = f", {escaped(quote.heading)}" if quote.heading else ""
    words = f"“{escaped(quote.text)}”" if quote.text else ""
    place = f"{escaped(quote.document)}{page}{heading}"
    return (
        f"- \\[{quote.number}\\] {STATUSES[quote.status]}{words} — {place} (sha256 {escaped(quote.sha256)})"
    )


def escaped(text: str) -> str:
    """Return any text on one line, all of it shown as it stands."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(clean(text).split()))


def harmless(text: str) -> str:
    r"""Return a model's Markdown without what loads, links or runs, and without headings of its own.

    >>> harmless("![x](http://a.b) **so** <img>")
    '!\\[x\\](http\\://a.b) **so** \\<img\\>'
    """
    return _HEADING.sub(r"\1\\\2", _ACTING.sub(r"\\\g<0>", clean(text)))
