"""A chat as one HTML file that loads nothing: its text is escaped, its policy forbids all but its style."""

import base64
import hashlib
from html import escape

from rag.chat.export import AnswerPiece, ExportedChat, ExportedTurn, Quote
from rag.chat.markdown import STATUSES
from rag.text.control_characters import clean
from rag.text.tokenize import language

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
code { font-size: 0.8rem; overflow-wrap: anywhere; }
"""

PAGE = """\
<!DOCTYPE html>
<html lang="en">
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
<p class="note">Exported from Footnote on {exported} UTC.</p>
{turns}
</body>
</html>
"""


def to_html(chat: ExportedChat) -> str:
    """Return a chat as a page that stands alone; no browser fetches anything for it."""
    return PAGE.format(
        hash=base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode(),
        title=_text(chat.title),
        style=STYLE,
        exported=f"{chat.exported:%Y-%m-%d %H:%M}",
        turns="\n".join(_turn(number, turn) for number, turn in enumerate(chat.turns, 1)),
    )


def _turn(number: int, turn: ExportedTurn) -> str:
    understood = f"Understood as: {_text(turn.understood)}" if turn.understood else ""
    searched = f"Searched in: {_text(turn.searched_in)}" if turn.searched_in else ""
    state = "" if turn.state == "complete" else f"This answer is {turn.state}."
    model = f"Written by {_text(turn.model)}." if turn.model else ""
    quotes = "\n".join(map(_quote, turn.quotes))
    return "\n".join(
        [
            "<section>",
            f"<h2>Question {number}</h2>",
            f'<p class="text"{_lang(turn.question)}>{_text(turn.question)}</p>',
            _note(understood),
            _note(searched),
            "<h3>Answer</h3>",
            _note(turn.backed),
            f'<div class="text"{_lang(turn.answer)}>{"".join(map(_piece, turn.pieces))}</div>',
            _note(" ".join(filter(None, (state, model)))),
            f'<ol class="quotes">\n{quotes}\n</ol>' if quotes else "",
            "</section>",
        ]
    )


def _note(text: str) -> str:
    return f'<p class="note">{text}</p>' if text else ""


def _piece(piece: AnswerPiece) -> str:
    if piece.quote:
        return f'<a href="#quote-{piece.quote}">[{piece.quote}]</a>'
    return f' <span class="remark">{_text(piece.remark)}</span>' if piece.remark else _text(piece.text)


def _quote(quote: Quote) -> str:
    page = f", page {quote.page}" if quote.page is not None else ""
    heading = f", {_text(quote.heading)}" if quote.heading else ""
    words = f'<q class="text"{_lang(quote.text)}>{_text(quote.text)}</q>' if quote.text else ""
    return (
        f'<li id="quote-{quote.number}">[{quote.number}] {STATUSES[quote.status]}{words}<br>'
        f"{_text(quote.document)}{page}{heading}<br><code>sha256 {_text(quote.sha256)}</code></li>"
    )


def _lang(text: str) -> str:
    return f' lang="{escape(language(text))}"'


def _text(text: str) -> str:
    return escape(clean(text))
