"""Parts of an answer without a model: its best quote, the cards of the others, and text between them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag.text.language import STOP_WORDS
from rag.text.tokenize import tokens
from storage.records import Message

_WORD = re.compile(r"[\w'’-]+(?:[.,]\d+)*%?")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*%?")


@dataclass(frozen=True)
class QuotePart:
    """Part ``content[start:end]`` of an answer, with the number of the passage that it quotes, if any."""

    start: int
    end: int
    marker: int | None = None
    best: bool = False


def is_search_result(message: Message) -> bool:
    """Return True for an answer of quotes: no model wrote it."""
    return message.model is None and message.state == "complete" and bool(message.citations)


def quote_parts(message: Message) -> list[QuotePart]:
    """Return the parts of an answer in order; the entries of a list are no quotes of their own.

    The first quote is the best one, and so is each under the words of a step.
    """
    parts: list[QuotePart] = []
    for part in _parts(message):
        is_quote = part.marker is not None and not message.content[part.start : part.end].startswith("- ")
        if is_quote:
            above = parts[-1] if parts and parts[-1].marker is None else None
            parts.append(replace(part, best=above is not None and _is_heading(message, above)))
        elif parts and parts[-1].marker is None:
            parts[-1] = QuotePart(parts[-1].start, part.end)
        else:
            parts.append(QuotePart(part.start, part.end))
    if parts and parts[0].marker is not None:
        first = parts[0]
        parts[0] = QuotePart(first.start, first.end, first.marker, best=True)
    return parts


def _is_heading(message: Message, part: QuotePart) -> bool:
    return message.content[part.start : part.end].rstrip().endswith("**")


def _parts(message: Message) -> Iterator[QuotePart]:
    end = 0
    for citation in sorted(message.citations, key=lambda one: one.answer_start):
        if citation.answer_start < end:
            continue
        if message.content[end : citation.answer_start].strip():
            yield QuotePart(end, citation.answer_start)
        yield QuotePart(citation.answer_start, citation.answer_end, citation.marker)
        end = citation.answer_end
    if message.content[end:].strip():
        yield QuotePart(end, len(message.content))


def in_bold(text: str, question: str) -> str:
    """Return Markdown with the words of a question in bold.

    >>> in_bold("The mill opened in 1932.", "When did the mill open?")
    'The **mill** **opened** in 1932.'
    >>> in_bold("It fell 1% to 1.2 million on May 1.", "May 1?")  # a number is marked as a whole
    'It fell 1% to 1.2 million on **May** **1**.'
    """
    asked, numbers = frozenset(tokens(question)), frozenset(_WORD.findall(question))

    def marked(match: re.Match[str]) -> str:
        word = match[0]
        if _NUMBER.fullmatch(word):
            return f"**{word}**" if word in numbers else word
        own = frozenset(tokens(word)) if word.casefold() not in STOP_WORDS["en"] else frozenset()
        return f"**{word}**" if own & asked else word

    return _WORD.sub(marked, text)
