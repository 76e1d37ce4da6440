"""Parts of an answer without a model: its best quote, the cards of the others, and text between them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rag.text.language import STOP_WORDS, without_particle
from rag.text.tokenize import tokens
from storage.records import Message
from ui.components.markdown import VERBATIM

_HANGUL = r"[가-힣]+"
_HAN = r"[\u3400-\u9fff々]+|[ァ-ヺー]+"  # Katakana, too: words that are told apart by their script
_LATIN = r"(?:(?![가-힣\u3041-\u30ff\u3400-\u9fff々])[\w'’-])+(?:[.,]\d+)*%?"
_WORD = re.compile(rf"(?P<hangul>{_HANGUL})|(?P<han>{_HAN})|{_LATIN}")
# Words that ask, and verbs that stand in any sentence.
_ASKING = re.compile("누구|언제|무엇|어디|얼마|어느|어떤|어떻|무슨|하는|있는|되는|[何誰]")
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
        is_quote = part.marker is not None and not _is_entry(message.content, part)
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


def _is_entry(content: str, part: QuotePart) -> bool:
    """Return True for an entry of a list of findings, which follow on each other without an empty line."""
    before = content[: part.start]
    follows = before.endswith("\n") and not before.endswith("\n\n")
    return content.startswith("- ", part.start) and (follows or before.rstrip().endswith(":**"))


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
    """Return Markdown with the words of a question in bold: of Korean words the stem, of Japanese its nouns.

    Code and addresses stay as they are. Words that follow on each other are one bold run: two would need
    marks side by side, which Markdown shows as stars.

    >>> in_bold("The mill opened in 1932.", "When did the mill open?")
    'The **mill** **opened** in 1932.'
    >>> in_bold("It fell 1% to 1.2 million on May 1.", "May 1?")  # a number is marked as a whole
    'It fell 1% to 1.2 million on **May** **1**.'
    >>> in_bold("계약 기간은 누구나 볼 수 있다. 2분기", "누구의 2분기 계약 기간인가요?")
    '**계약** **기간**은 누구나 볼 수 있다. **2분기**'
    """
    shown, end = "", 0
    for start, stop in _joined(_bold_spans(text, question)):
        shown += f"{text[end:start]}**{text[start:stop]}**"
        end = stop
    return shown + text[end:]


def _bold_spans(text: str, question: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the question's words in a text, in order."""
    found = list(_WORD.finditer(question))
    stems = [without_particle(word[0]) for word in found if word["hangul"] and not _ASKING.match(word[0])]
    runs = [word[0] for word in found if word["han"] and not _ASKING.match(word[0])]
    words = [word[0] for word in found if not (word["hangul"] or word["han"])]
    asked = frozenset(tokens(" ".join(words)))
    verbatim = [match.span() for match in VERBATIM.finditer(text)]
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        if any(first < match.end() and start < last for first, last in verbatim):
            continue
        if match["hangul"]:
            length = max((_same_beginning(stem, word) for stem in stems), default=0)
            yield from [(start, start + length)] if length > 1 else []
        elif match["han"]:
            yield from ((start + first, start + last) for first, last in _shared_parts(word, runs))
        elif word in words if _NUMBER.fullmatch(word) else _is_asked(word, asked):
            yield match.span()


def _is_asked(word: str, asked: frozenset[str]) -> bool:
    return word.casefold() not in STOP_WORDS["en"] and bool(asked & frozenset(tokens(word)))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join spans of which one begins where the other ends.

    >>> _joined([(0, 1), (1, 3), (4, 5)])
    [(0, 3), (4, 5)]
    """
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and joined[-1][1] == start:
            start = joined.pop()[0]
        joined.append((start, end))
    return joined


def _same_beginning(one: str, other: str) -> int:
    """Return the number of characters with which both begin."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _shared_parts(run: str, asked: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield what of a run of one script stands in one of the question, from two characters on.

    >>> list(_shared_parts("契約期間中", ["賃貸契約", "期間"]))
    [(0, 2), (2, 4)]
    """
    at = 0
    while at < len(run):
        starts = [start for one in asked for start in _places(run[at : at + 2], one)]
        length = max((_same_beginning(rest, run[at:]) for rest in starts), default=0)
        if length:
            yield at, at + length
        at += length or 1


def _places(pair: str, run: str) -> list[str]:
    """Return what a run says from each place on where a pair of characters stands in it."""
    return [run[at:] for at in range(len(run) - 1) if run[at : at + 2] == pair]
