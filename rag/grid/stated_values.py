# ruff: noqa: E501
"""Values of cells that a document states under a label or in a sentence."""

import re
from collections.abc import Iterator, Sequence

from rag.citations.logic import is_hedged
from rag.citations.quantities import periods, quantities
from rag.grid.cells import Amount, Candidate, CellValue, Items, Words, YesNo
from rag.grid.columns import Column
from rag.grid.document import RowDocument
from rag.grid.terms import (
    BULLET,
    BULLETS,
    HONORIFIC,
    LABELLED,
    LEAST_LABEL,
    LOOSE,
    MUST,
    NAMED,
    SHORT,
    SURE_LABEL,
    WHOLE,
    ColumnTerms,
    Mention,
    NamedSentence,
    general_field,
    named_sentences,
    words,
)
from rag.grid.values import (
    LONGEST,
    FoundValue,
    find_values,
    in_unit,
    shape_of,
    split_items,
    without_contact_details,
    without_former_values,
)
from rag.text.sentences import sentences
from rag.text.tokenize import content_words

CAPTIONED = 0.85
"""Score of a caption that has a term among other words: two captions beside each other read as one."""
_YES = re.compile(r"^(?:yes|y|true|예|네|있음|유|해당|はい|有|あり|可)\b", re.IGNORECASE)
_NO = re.compile(
    r"^(?:no|n|none|false|not applicable|아니[오요]|없음|무|해당 없음|いいえ|無|なし|不可)\b", re.IGNORECASE
)


def labelled_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the values that stand under a label which names the field.

    One is sure where the label is the field's name, and its words state no other value of the kind.
    """
    column = terms.column
    for one in document.labelled:
        if column.kind != "text" and one.first in document.rows_of_figures:
            continue  # read with the scale and period of their table
        score = max(terms.label_score(one.label), terms.label_score(one.label, one.section))
        shape = shape_of(column)
        telling = one.captioned and shape is not None and shape.telling and terms.within(one.label, 1)
        if telling or (one.captioned and score < SURE_LABEL and terms.within(one.label)):
            score = CAPTIONED
        last = _continued(document.text, one.end) if column.kind == "list" and not one.section else one.end
        words_here = document.text[one.start : last]
        fits = bool(shape.find(words_here)) if shape else any(map(str.isalpha, words_here))
        if score < LEAST_LABEL or (column.kind == "text" and one.captioned and not fits):
            continue
        values = list(_labelled_values(words_here, column, clause=one.clause))
        certain = (score >= SURE_LABEL or telling) and one.certain and len(set(values)) == 1
        trust = LABELLED if one.certain else UNCERTAIN
        for value in values:
            sure = certain and not (one.captioned and not one.certain)
            yield Candidate(value, one.first, max(last, one.last), trust * score, sure)


_GOES_ON = re.compile(r"(?:(?<=[,;·、，・&])|(?<=\band))[ \t]*\n(?=[^\s|#])|[ \t]*\n(?=[ \t]*[,;·、，・])")


def _continued(text: str, end: int) -> int:
    """Return the end of a list that goes on in the next lines: one ends, or the next begins, with its separator."""
    while _GOES_ON.match(text, end):
        following = text.find("\n", end + 1)
        end = following if following >= 0 else len(text)
    return end


UNCERTAIN = 0.9
"""Score of a value under a label where the layout may mean another thing."""
SHORT_CLAUSE = 60  # characters of the words of a clause that are its value


def _labelled_values(words: str, column: Column, *, clause: bool) -> Iterator[CellValue]:
    """Yield the values of a kind that the words under a label state."""
    match column.kind:
        case "text":
            yield from _labelled_texts(words, column, clause=clause)
        case "list":
            if not clause or len(words) <= SHORT_CLAUSE:
                yield Items(split_items(words))
        case "yes_no":
            if _YES.match(words) or _NO.match(words):
                yield YesNo(_YES.match(words) is not None)
        case _:
            present = without_former_values(words, column)
            yield from (one.value for one in in_unit(list(find_values(present, column))))


def _labelled_texts(words: str, column: Column, *, clause: bool) -> Iterator[Words]:
    """Yield the texts of the shape that is asked for; the words themselves where none is."""
    shape = shape_of(column)
    found = shape.find(words) if shape else []
    text = " ".join(HONORIFIC.sub("", words[:LONGEST].strip(" *_")).split())
    if shape is not None and (found or shape.telling):
        yield from (Words(match[0]) for match in found[:2])
    elif shape is not None and len(text.split()) > 1:
        return  # words, where a number is asked for
    elif not clause or (len(text) <= SHORT_CLAUSE and not WHOLE.search(text)):
        yield Words(without_contact_details(text) if general_field(column) else text)


_HEADING = re.compile(
    r"^#{1,6}[ \t]+(?:\d[\d.]*[.)]?[ \t]+|(?:第|제)\s?\d+\s?[조条章]\s*)?(?P<title>[^\n]{1,120})$",
    re.MULTILINE,
)
_TEXT_BELOW = re.compile(r"\s*(?=[^#\s|])")
SECTION = 0.9
"""Score of the first words beneath a heading that is the field's name."""


def section_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the values beneath a heading that is the field's name: items, first words, or the only one of its kind."""
    text, kind = document.read_text, terms.column.kind
    for heading in _HEADING.finditer(text):
        if terms.label_score(heading["title"].strip("#* ")) < SURE_LABEL:
            continue
        end = text.find("\n#", heading.end())
        body = text[heading.end() : min(end if end >= 0 else len(text), heading.end() + LONGEST_SECTION)]
        if kind == "list" and (bullets := BULLETS.match(body)):
            items = tuple(match["item"].strip() for match in BULLET.finditer(bullets[0]))
            yield Candidate(Items(items), heading.start(), heading.end() + bullets.end(), LABELLED, sure=True)
        elif kind == "list" and (line := _ENUMERATED_LINE.fullmatch(body)):
            yield Candidate(
                Items(split_items(line["items"])),
                heading.start(),
                heading.end() + line.end("items"),
                LABELLED,
                sure=True,
            )
        elif kind == "text" and (first := _TEXT_BELOW.match(text, heading.end())):
            start, last = document.sentence_at(first.end())
            yield Candidate(Words(" ".join(text[start:last].split())[:LONGEST]), start, last, SECTION)
        elif kind in ("date", "money", "number", "choice"):
            present = without_former_values(body, terms.column)
            found = in_unit(list(find_values(present, terms.column)))
            for one in found[:1]:
                start, last = document.sentence_at(heading.end() + one.start)
                yield Candidate(one.value, start, last, SECTION - 0.1 * (len(found) > 1))


LONGEST_SECTION = 600  # characters beneath a heading in which its value is looked for
_ENUMERATED_LINE = re.compile(r"\s*(?P<items>[^\n.。]{2,160}[,、，;][^\n.。]{1,160})\s*", re.DOTALL)


DISTANCE = 0.002
"""Loss of score for each character between a value and the term."""
REACH = 160  # characters from a term within which a value is of it
LONGEST_ITEM = 80  # characters
MOST_COUNTED = 30
_ENUMERATION_END = re.compile(
    r"(?<!\bInc)(?<!\bLtd)(?<!\bCo)(?<!\bCorp)\.|[;。]|,? as described|,? each\b|\((?:the|each)\b|,? as well as\b"
)
_COPULA = re.compile(
    r"\s*(?:(?:is|are|was|were)\b(?!\s+\w+ed\b)|(?<=ed)\s+(?:by|as)\b|means\b|shall be\b|will be\b|:|：|–|—|は|이?란|은|는)\s*(?:limited to\b\s*)?",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"[^.;]{0,120}?\b(?:limited to|capped at|not exceed|no more than|up to)\s+", re.IGNORECASE
)
_LEADS = re.compile(r"(?:\b(?:by|of|in|on|to|with|at|from|between|as)|[:：])\s*\Z", re.IGNORECASE)
_CLAUSE_END = re.compile(
    r"[;。]|\s+and\s+(?:is|are|was|were|has|have|shall|will|may)\b|\.(?=\s|\Z)|,\s(?!Inc|Ltd|LLC|Co\b)|\n\n|、(?=[^、。]{0,40}(?:し|り)[、。])|\((?=the\b|“|\")"
)
_VERB_END = re.compile(
    r"\s*(?:(?:으로|로)\s?(?:한다|합니다|정한다|정합니다|해석되?며?.*|따른다|따릅니다)|(?:을|를)\s?(?:적용한다|적용합니다|따른다|따릅니다|준거법으로 한다|준거법으로 합니다|초과하지.*)|에\s?(?:따른다|따릅니다|의한다|의합니다)|이다|입니다|とする|とします|である|です|とし|による|によります|に準拠する|に準拠します|を適用する|を適用します|に従う|を上限とする|を上限とします)[.。]?\s*\Z"
)
_ENUMERATES = re.compile(
    r"^[^.;。\n]{0,80}?(?:\b(?:are|include|includes|comprise|comprises|consist(?:s|ed)? of|as follows|between|among)\b|segments?\s*:|[:：]|は|은|는|이|가)\s*(?:made by and between|by and between|the following\b[^:]{0,40}:)?\s*",
    re.IGNORECASE,
)
_LEAD_END = re.compile(r"\s*")


def sentence_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the values of the sentences that name the field."""
    read = {"text": _texts, "list": _lists, "choice": _choices}.get(terms.column.kind, _nearest)
    for sentence in named_sentences(document, terms):
        yield from read(document, terms, sentence)
    if terms.column.kind == "text":
        yield from addressees(document, terms)


def _nearest(document: RowDocument, terms: ColumnTerms, sentence: NamedSentence) -> Iterator[Candidate]:
    """Yield the value nearest to each term, with no other value between them."""
    text = without_former_values(document.text[sentence.start : sentence.end], terms.column)
    if text.lstrip().startswith("|"):
        return
    numbering = _NUMBERING.match(text)
    begin = numbering.end() if numbering else 0
    values = [one for one in find_values(text, terms.column) if one.start >= begin]
    for mention in sentence.mentions:
        at = Mention(mention.start - sentence.start, mention.end - sentence.start)
        first, last = layout_line(text, at.start, at.end)
        beside = in_unit([one for one in values if first <= one.start and one.end <= last])
        near = _counting(text, values, terms.column) or _nearest_value(text, beside, at)
        if near is not None:
            gap = max(near.start - at.end, at.start - near.end, 0)
            told = clause(text, min(at.start, near.start), max(at.end, near.end), terms.column)
            between = text[min(at.end, near.end) : max(at.start, near.start)]
            most = LINK if at.end <= near.start or not between.isascii() else 0
            lead = text[max(0, near.start - LEAD) : near.start]
            linked = is_linked(between, most) and not _COMPARES.search(lead)
            other = terms.column.kind == "date" and _ANOTHER_TIME.search(text)
            sure = linked and not (other or is_hedged(told)) and terms.in_context(text)
            yield Candidate(near.value, sentence.start, sentence.end, NAMED - DISTANCE * gap, sure)


_ANOTHER_TIME = re.compile(r"\b(?:next|previous)\b|다음|차기|지난|次回|前回|翌", re.IGNORECASE)
"""Words of a sentence that is of another time: "The next meeting is held on"."""
WRAPPED = 60
"""Least characters of a line that goes on in the next one; a shorter one stands for itself."""


def layout_line(text: str, start: int, end: int) -> tuple[int, int]:
    r"""Return the span of the lines about ``text[start:end]`` that are one sentence; short lines stand alone.

    >>> told = "Net 5 EUR\nVAT 2 EUR\nTotal 7 EUR"
    >>> told[slice(*layout_line(told, 10, 13))]
    'VAT 2 EUR'
    """
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    last = last if last >= 0 else len(text)
    while first > 0 and first - 1 - (text.rfind("\n", 0, first - 1) + 1) >= WRAPPED:
        first = text.rfind("\n", 0, first - 1) + 1
    while last < len(text) and last - (text.rfind("\n", 0, last) + 1) >= WRAPPED:
        further = text.find("\n", last + 1)
        last = further if further >= 0 else len(text)
    return first, last


def _choices(document: RowDocument, terms: ColumnTerms, sentence: NamedSentence) -> Iterator[Candidate]:
    """Yield the options in a sentence; one is sure where it is linked to the term, or no other is anywhere."""
    text = document.text[sentence.start : sentence.end]
    values = list(find_values(text, terms.column))
    for mention in sentence.mentions[:1]:
        at = Mention(mention.start - sentence.start, mention.end - sentence.start)
        for one in values:
            between = text[min(at.end, one.end) : max(at.start, one.start)]
            apart = one.end <= at.start or at.end <= one.start
            linked = len(values) == 1 and apart and is_linked(between)
            only = apart and document.holds_one_option(terms.column)
            sure = (linked or only) and not is_hedged(MUST.sub("", text))
            yield Candidate(one.value, sentence.start, sentence.end, NAMED, sure)


LINK = 2
"""Content words that may stand between a term and its value: "the notice period (in writing) is 30 days"."""
LEAD = 20  # characters before a value that may say it is a part or a difference
_COMPARES = re.compile(
    r"\b(?:than|from|compared|versus|against|additional|remaining|exceeds?|above|below|increase[ds]?|decrease[ds]?"
    r"|benefit|loss|credit|deficit|refund)\b|보다|초과|미만|환급|손실|比べ|より|超え|未満|損失",
    re.IGNORECASE,
)
_GIVES = re.compile(
    r"(?:\b(?:was|were|is|are|totaled|amounts? to|amounted to)|[:：=]|[은는이가]|[はが])\s*\Z", re.IGNORECASE
)


def is_linked(between: str, most: int = LINK) -> bool:
    """Return True for words between a term and a value that say nothing of their own.

    >>> is_linked(" as of 3 May 2024 was "), is_linked(" rose less than the rate of ")
    (True, False)
    """
    for one in reversed(periods(between)):
        between = f"{between[: one.start]} {between[one.end :]}"
    return len(content_words(between)) <= most and not _COMPARES.search(between)


_NUMBERING = re.compile(r"\s*(?:\d{1,2}(?:\.\d{1,2})+|\d{1,2}[.)])\s")
"""Number of a clause before its first word."""


def clause(text: str, start: int, end: int, column: Column) -> str:
    """Return the words of a sentence around a term and its value that may put them in doubt.

    A number is in doubt by what stands between both: who "may terminate by 90 days' notice" must give 90. In a
    contract "shall" is no doubt.

    >>> clause("Unless renewed, it shall end on 3 May, or later.", 22, 37, Column("end", "End", kind="date"))
    ' it  end on 3 May'
    """
    comma = max(text.rfind(mark, 0, start) for mark in ",;、，；")
    first = start if column.kind in ("money", "number") else comma + 1
    return MUST.sub("", text[first:end])


def _nearest_value(text: str, values: Sequence[FoundValue], at: Mention) -> FoundValue | None:
    """Return the value of a term: in Korean and Japanese what stands before a particle, else what follows."""
    after = [one for one in values if at.end <= one.start <= at.end + REACH]
    before = [one for one in values if at.start - REACH <= one.end <= at.start]
    particle = text[at.start : at.end] in _PARTICLES
    if text[at.start : at.end].casefold() in _PREPOSITIONS:
        return after[0] if after and after[0].start - at.end <= 5 else None
    if before and text[before[-1].end : at.start] == " " and isinstance(before[-1].value, Amount):
        return before[-1]  # a count: "1,200 families (60 % of them in houses)"
    if particle:
        return before[-1] if before and at.start - before[-1].end <= 3 else None
    if after and (not before or after[0].start - at.end <= 1.5 * (at.start - before[-1].end) + 10):
        return after[0]
    return before[-1] if before else (after[0] if after else None)


def _counting(text: str, values: Sequence[FoundValue], column: Column) -> FoundValue | None:
    """Return the only number that is followed by the column's unit: "1,200 shares"; None without a unit."""
    if column.kind != "number" or not column.unit:
        return None
    unit = re.compile(rf"\s?(?:{re.escape(column.unit)})", re.IGNORECASE)
    found = [one for one in values if unit.match(text, one.end)]
    return found[0] if len(found) == 1 else None


_PARTICLES = frozenset({"부터", "까지", "から", "まで"})
_PREPOSITIONS = frozenset({"from", "until", "through"})


_ADDRESSEE = re.compile(
    r"^[ \t　]*(?P<name>[^\n:：]{2,40}?)[ \t　]*(?:御中|様|귀중|귀하)[ \t　]*$", re.MULTILINE
)


def addressees(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield who a letter is addressed to, by the honorific after the name, for a field that it is a term of."""
    if not any(HONORIFIC.fullmatch(term) for term in terms.terms):
        return
    for match in _ADDRESSEE.finditer(document.read_text[:MOST_ADDRESS]):
        yield Candidate(Words(match["name"]), match.start(), match.end(), NAMED, sure=True)


def _beside(sentence: NamedSentence, text: str, mention: Mention) -> Iterator[Candidate]:
    """Yield the rest of a short line after a term that is its label: "Owner Clive Tresidder"."""
    start, end = mention.start - sentence.start, mention.end - sentence.start
    first, last = layout_line(text, start, end)
    before, rest = text[first:start].strip(" \t-•*·"), text[end:last].strip(" \t#:.")
    capital = text[start] == text[start].upper()
    if "\n" in text[first:last] or not rest or last - first > WRAPPED or _ENDED.search(rest) or not capital:
        return
    single = len(rest.split()) == 1 and not before and text[end : end + 1].isspace()
    known = single or (not before and rest[0] == rest[0].upper())
    if known or before:
        place = sentence.start + first, sentence.start + last
        yield Candidate(
            Words(rest), *place, BESIDE if not before else BESIDE - 0.1, sure=single and not rest.isascii()
        )


BESIDE = 0.95
"""Score of the rest of a line after a term, with nothing but a space between them."""
_ENDED = re.compile(r"[.。!?,;]\s*\Z|다\s*\Z")
_SHAPED = re.compile(r"[\s:：#.]{0,3}(?:(?:is|was)\s)?(?:No\.?\s)?", re.IGNORECASE)
MOST_ADDRESS = 1000  # characters of a letter in which its address stands


def _texts(document: RowDocument, terms: ColumnTerms, sentence: NamedSentence) -> Iterator[Candidate]:
    """Yield the words that a sentence gives for a term, where its grammar shows them."""
    text = document.text[sentence.start : sentence.end]
    if text.lstrip().startswith(("|", "#")):
        return
    shape = shape_of(terms.column)
    for mention in sentence.mentions:
        told = _SHAPED.match(text, mention.end - sentence.start)
        shaped = shape.pattern.match(text, told.end()) if shape is not None and told else None
        if shaped is not None:
            yield Candidate(Words(shaped[0]), sentence.start, sentence.end, LABELLED, sure=True)
        yield from _beside(sentence, text, mention)
        value = given_words(text, mention.start - sentence.start, mention.end - sentence.start)
        if value:
            yield Candidate(Words(value), sentence.start, sentence.end, NAMED, sure=True)
    whole = " ".join(text.split())[:LONGEST]
    if len(whole.split()) > 3 or len(whole) > 12:
        yield Candidate(Words(whole), sentence.start, sentence.end, LOOSE)


def given_words(sentence: str, start: int, end: int) -> str:
    """Return the words that a sentence gives for the term ``sentence[start:end]``; empty where none do.

    >>> said = "This lease is governed by the laws of England, and no other."
    >>> given_words(said, 14, 25)
    'the laws of England'
    >>> given_words("본 계약의 준거법은 대한민국 법률로 한다.", 6, 9), given_words("準拠法は日本法とする。", 0, 3)
    ('대한민국 법률', '日本法')
    """
    copula = _COPULA.match(sentence, end) or _LIMIT.match(sentence, end)
    if copula is None and not _LEADS.search(sentence[start:end] + " "):
        return ""
    begin = copula.end() if copula else end
    rest = sentence[begin:]
    unspaced = re.match(r"[^\x00-\u024f]", sentence[start:end]) is not None
    if unspaced:
        another = _ANOTHER_CLAUSE.search(rest)
        rest = rest[: another.start()] if another else rest
        verb = _VERB_END.search(rest) or (re.search(r"\Z", rest) if another else None)
        return rest[: verb.start()].strip(" 、,") if verb and len(rest[: verb.start()]) <= 80 else ""
    stop = _CLAUSE_END.search(rest)
    value = " ".join(rest[: stop.start() if stop else None].split())
    return value if 1 < len(value) <= LONGEST else ""


_ANOTHER_CLAUSE = re.compile(r"、[^、。]{1,30}?は|,\s[^,.]{1,30}?[은는]\s")
"""Clause of another topic: "... is X, and Y is Z"."""


def _lists(document: RowDocument, terms: ColumnTerms, sentence: NamedSentence) -> Iterator[Candidate]:
    """Yield the enumeration that follows a term: in the sentence, or the bullets beneath it."""
    text = document.text
    if text[sentence.start : sentence.end].lstrip().startswith("|"):
        return
    mention = sentence.mentions[-1]
    line = text.find("\n", mention.end)
    colon = re.match(r"[^\n]{0,120}[:：][ \t]*(?=\n)", text[mention.end : mention.end + 200])
    bullets = BULLETS.match(text, mention.end + colon.end()) if colon else None
    if bullets and line >= 0:
        items = tuple(match["item"].strip() for match in BULLET.finditer(bullets[0]))
        if len(items) > 1:
            yield Candidate(Items(items), sentence.start, bullets.end(), LABELLED, sure=True)
            return
    for one in sentence.mentions:
        rest = text[one.end : sentence.end]
        told = (
            _LEAD_END.match(rest)
            if _LEADS.search(text[one.start : one.end] + " ")
            else _ENUMERATES.match(rest)
        )
        if told is None or _is_singular(terms, text[one.start : one.end]):
            continue
        items = _without_appositions(split_items(_ENUMERATION_END.split(rest[told.end() :])[0]))
        if len(items) > 1 and max(map(len, items)) <= LONGEST_ITEM:
            counted = _counted(text[sentence.start : sentence.end]) == len(items)
            score = NAMED + 0.1 * counted
            yield Candidate(Items(items), sentence.start, sentence.end, score, sure=counted)


_APPOSITION = re.compile(
    r"(?:company|corporation|person|body|partnership|society|resident)\b|[A-Z]\w+ (?:corporation|company)\b"
)


def _without_appositions(items: tuple[str, ...]) -> tuple[str, ...]:
    """Return names without what is said of each: "a Delaware corporation"."""
    return tuple(one for one in items if not _APPOSITION.match(one))


def _is_singular(terms: ColumnTerms, mention: str) -> bool:
    """Return True for one of a kind: "the Graphics segment includes ..." lists what that one has."""
    said = mention.casefold()
    plurals = {f"{said}s", f"{said[:-1]}ies"}
    return any(term.casefold() in plurals for term in terms.terms)


def _counted(sentence: str) -> int:
    """Return the number that a sentence begins with: 2 of "Our two segments are"; 0 without one."""
    return next((int(one.value) for one in quantities(sentence[:80]) if one.value < MOST_COUNTED), 0)


def loose_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield values of sentences of found passages that have all words of a term, though not together."""
    for passage in document.search(f"{terms.column.name} {terms.column.question}"):
        for first, last in sentences(passage.text):
            text = without_former_values(passage.text[first:last], terms.column)
            if text.startswith(("|", "#")) or not _holds(terms, text):
                continue
            values = in_unit(list(find_values(text, terms.column)))
            counting = _counting(text, values, terms.column)
            for value in [counting] if counting else values[:1]:
                alone = len(values) == 1 and (value.in_unit or _GIVES.search(text[: value.start]))
                told = value is counting or (len(values) == 1 and _GIVES.search(text[: value.start]))
                short = len(text) <= SHORT and not is_hedged(MUST.sub("", text))
                short = short and not _COMPARES.search(text[max(0, value.start - LEAD) : value.start])
                sure = bool(told) and terms.column.kind != "choice" and short
                score = NAMED - 0.05 if sure else LOOSE if alone else LOOSE - 0.1
                yield Candidate(value.value, passage.start + first, passage.start + last, score, sure)


def typed_candidates(document: RowDocument, terms: ColumnTerms) -> Iterator[Candidate]:
    """Yield the values of a kind, or in the unit asked for, in the sentences that share most with the question."""
    column = terms.column
    asked = {word: document.rarity(word) for word in terms.asked - words(column.unit)}
    total = sum(asked.values())
    if column.kind not in ("date", "money", "number") or not total:
        return
    for passage in document.search(column.asked):
        for first, last in sentences(passage.text):
            text = passage.text[first:last]
            if text.startswith("|"):  # its numbers are read with the scale and period of their table
                text = text[: text.find("|", 1)]
            text = without_former_values(text, column)
            values = [one for one in find_values(text, column) if one.in_unit]
            share = sum(asked[word] for word in asked.keys() & words(text)) / total if values else 0.0
            if share >= LEAST_SHARED:
                yield Candidate(values[0].value, passage.start + first, passage.start + last, GUESS * share)


LEAST_SHARED = 0.25
"""Least share of a question's words, by their rarity, in a sentence whose value may be the answer."""
GUESS = 0.5


def _holds(terms: ColumnTerms, text: str) -> bool:
    said = words(text)
    return any(len(term) > 1 and term <= said for term in terms.token_sets)
