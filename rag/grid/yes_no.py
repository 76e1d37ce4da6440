# ruff: noqa: E501
"""Yes and no: boxes, and sentences that answer a question or deny it."""

import re
from collections.abc import Iterator

from rag.citations.logic import is_hedged
from rag.grid.cells import Candidate, YesNo
from rag.grid.document import RowDocument
from rag.grid.terms import (
    LABELLED,
    MUST,
    NAMED,
    SHORT,
    SURE_LABEL,
    WHOLE,
    ColumnTerms,
    Mention,
    NamedSentence,
    named_sentences,
    words,
)
from rag.text.facts import negations
from rag.text.sentences import sentences

_FAR = 90  # characters from the words asked for to the first of two boxes
_YES_WORDS = frozenset({"yes", "예", "はい"})
_CHECKED, _UNCHECKED = "☒☑✓✔■▣☻", "☐□¨○◯▢"
_BOX = re.compile(
    rf"(?P<box>[{_CHECKED}{_UNCHECKED}])|(?P<word>\bYes\b|\bNo\b|예|아니[오요]|はい|いいえ)", re.IGNORECASE
)


def yes_no_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the answers of boxes, of sentences that name the field, and of those that repeat the question."""
    for sentence in named_sentences(document, terms):
        if not all(_is_quoted(document.text, mention) for mention in sentence.mentions):
            yield from _yes_no(document, terms, sentence)
    yield from _boxed(document, terms)
    yield from _answers_to(document, terms)


def _answers_to(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the answers of sentences that have nearly all words of the question, unless they deny it."""
    asked = words(_QUESTION_END.sub("", terms.column.question))
    if len(asked) < LEAST_ASKED:
        return
    for passage in document.search(terms.column.asked):
        for first, last in sentences(passage.text):
            text = passage.text[first:last]
            said = words(_QUOTED.sub(" ", text))
            if (
                len(asked & said) < ANSWERED * len(asked)
                or not WHOLE.search(text)
                or text.startswith(("|", "#"))
                or _ASKS.search(text)
                or _scattered(terms, text, said)
            ):
                continue
            no = _denials(text, terms) % 2 == 1
            start = passage.start + first
            sure = not is_hedged(_PERMITS.sub("", text)) and len(text) <= SHORT
            yield Candidate(YesNo(not no), start, passage.start + last, NAMED, sure)


_QUESTION_END = re.compile(
    r"(?:(?:를|을)?\s?(?:할|될|수)?\s?(?:수\s?)?(?:있|없)?(?:하|되)?(?:나요|인가요|습니까|니까|는가)|(?:することが)?(?:でき)?(?:ますか|ですか))\s*[?？]?\s*\Z"
)
"""End of a Korean or Japanese question, which no answer repeats."""
_ASKS = re.compile(r"\bwhether\b|여부|かどうか|か否か", re.IGNORECASE)
"""Words of a sentence that asks: "Indicate by check mark whether"."""
_OPENING, _CLOSING = '“"「『‘', '”"」』’,'
LEAST_ASKED = 3
"""Least content words of a question that a sentence may answer by having them."""
_QUOTED = re.compile(r"“[^”]{1,80}”|\"[^\"]{1,80}\"|「[^」]{1,80}」|『[^』]{1,80}』")
"""Words that a sentence only quotes."""
_FORBIDS = re.compile(r"\b(?:prohibited|forbidden|banned|excluded)\b|금지|제외|禁止|除外", re.IGNORECASE)
_PERMITS = re.compile(
    r"\b(?:shall|may|can|could|must|will|should)\b|수\s?(?:도\s)?(?:있|없)|하여야|해야|[하되]지 아니|できる|できない|なければ|(?:て|で)も?よい",
    re.IGNORECASE,
)
"""Words by which rules allow and forbid, and which put nothing in doubt."""


def _denials(text: str, terms: ColumnTerms) -> int:
    """Return how often a sentence denies, beyond what the question denies itself: "... not used"."""
    return negations(text) + len(_FORBIDS.findall(text)) - negations(terms.column.question)


def _scattered(terms: ColumnTerms, text: str, said: frozenset[str]) -> bool:
    """Return True for a sentence with all words of the column's name, but apart: it is of another thing."""
    name = words(terms.column.name)
    return len(name) > 1 and name <= said and not any(terms.mentions(text))


def _is_quoted(text: str, mention: Mention) -> bool:
    """Return True for a term between quotation marks: a definition of it says nothing of the thing."""
    before, after = text[max(0, mention.start - 1) : mention.start], text[mention.end : mention.end + 1]
    return before != "" and before in _OPENING and after != "" and after in _CLOSING


_BOXED = re.compile(rf"(?P<mark>[{_CHECKED}{_UNCHECKED}]|\[[ xX]\])")


def _boxed(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield yes or no by the box beside a label that is the field's name: "Large filer ☒ Small filer ☐"."""
    text = document.read_text
    for line in re.finditer(rf"[^\n]*(?:[{_CHECKED}{_UNCHECKED}]|\[[ xX]\])[^\n]*", text):
        marks = list(_BOXED.finditer(line[0]))
        leading = not line[0][: marks[0].start()].strip(" |*-")
        edges = (
            [0, *(mark.end() for mark in marks)] if not leading else [*(m.end() for m in marks), len(line[0])]
        )
        for place, mark in enumerate(marks):
            last = (
                (marks[place + 1].start() if place + 1 < len(marks) else len(line[0]))
                if leading
                else mark.start()
            )
            label = line[0][edges[place] : last].strip(" |*,.;")
            if label and terms.label_score(label) >= SURE_LABEL:
                yes = mark["mark"] in _CHECKED or mark["mark"].lower() == "[x]"
                yield Candidate(YesNo(yes), line.start(), line.end(), LABELLED, sure=True)


def _yes_no(document: RowDocument, terms: ColumnTerms, sentence: NamedSentence) -> Iterator[Candidate]:
    """Yield the answer of a box that is checked after a sentence, else yes unless the sentence denies it."""
    text = document.text[sentence.start : sentence.end]
    boxes = document.text[sentence.mentions[-1].end : sentence.end + 120]
    checked = _checked(boxes)
    if checked is not None:
        yes, until = checked
        yield Candidate(YesNo(yes), sentence.start, sentence.mentions[-1].end + until, LABELLED, sure=True)
    elif not (
        text.lstrip().startswith(("|", "#")) or text.rstrip().endswith(("?", "？")) or _ASKS.search(text)
    ):
        no = _denials(text, terms) % 2 == 1
        sure = _answers(terms, sentence, text, no=no) and not is_hedged(MUST.sub("", text))
        yield Candidate(YesNo(not no), sentence.start, sentence.end, NAMED, sure)


ANSWERED = 0.75
"""Least share of a question's words in a sentence that answers it with yes."""


def _answers(terms: ColumnTerms, sentence: NamedSentence, text: str, *, no: bool) -> bool:
    """Return True for a whole sentence that answers yes or no: a mention of a thing alone says neither."""
    if not WHOLE.search(text):
        return False
    said = max(sentence.mentions, key=lambda one: one.end - one.start)
    term = text[said.start - sentence.start : said.end - sentence.start]
    several = len(term.split()) > 1 or (not term.isascii() and len(term) >= SEVERAL)
    return (several and (no or not term.isascii())) or len(terms.asked & words(text)) >= ANSWERED * len(
        terms.asked
    )


SEVERAL = 5
"""Characters of a Korean or Japanese term that is more than the name of a thing."""


def _checked(text: str) -> tuple[bool, int] | None:
    """Return which of two boxes is checked, and where the words of both end; None without boxes.

    >>> _checked("a shell company. Yes ☐ No ☒"), _checked("☑ 예 ☐ 아니오")
    ((False, 27), (True, 9))
    """
    found = list(_BOX.finditer(text))[:4]
    if len(found) < 4 or found[0].start() > _FAR:
        return None
    pairs = [(one, other) if one["word"] else (other, one) for one, other in (found[:2], found[2:])]
    if not all(word["word"] and box["box"] for word, box in pairs):
        return None
    checked = [word["word"].casefold() in _YES_WORDS for word, box in pairs if box["box"] in _CHECKED]
    return (checked[0], found[3].end()) if len(checked) == 1 else None
