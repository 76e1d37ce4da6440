"""Claims: the rules by which the words of a passage contradict a sentence.

The rules compare the claim with the anchor (the sentence of the passage with most of its words), with the
window around the anchor, and with the whole passage. Pure functions, without a model.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import pairwise

from rag.citations.logic import (
    BOUNDED,
    adds_direction,
    drops_condition,
    exchanges,
    fills_role_anew,
    is_of_other_side,
    of_other_month,
    other_mode,
    other_quantifier,
    swaps_roles,
    turns,
)
from rag.citations.quantities import Quantity, StatedTime, states
from rag.citations.sentence import (
    CODE,
    DATED,
    LIGHT,
    TOPIC,
    Sentence,
    conflict,
    counts,
    has_other_rate,
    likeness,
    outline,
    reverses,
    run,
)
from rag.text.facts import clauses, in_order, negations, without_numbers
from rag.text.language import words_of
from rag.text.tokenize import content_words, tokens_of

# Word order. Shares are of the claim's words, 0 to 1.
ALIKE = 0.6  # share in the same order from which two sentences are compared word for word
COPIED = 0.75  # share taken over from which a claim is a copy, and any difference a change
RUN = 0.6  # share taken over in one run, with the same meaning
NEW = 0.05  # share of new words that a reordered copy may have
PAIRED = {"words": 0.4, "letters": 0.6}  # least share of neighbours that stay neighbours
MOVED = 3  # pieces of a sentence one part of which has moved: before it, itself, after it
_LEADING = words_of("in on at by for from to with during after before since until under over of as through")
COVERED = 0.9  # share of a claim that two spliced sentences make up
PART = 3  # words that each of them gives at least
_LETTERS = re.compile("[\u3041-\u30ff\u3400-\u9fff]")
Step = tuple[str, Sequence[str], Sequence[str]]


def steps(claim: Sequence[str], anchor: Sequence[str]) -> Iterator[Step]:
    """Yield what is equal, replaced, inserted or deleted from anchor to claim, with the words of both."""
    for operation, a, b, c, d in SequenceMatcher(None, anchor, claim, autojunk=False).get_opcodes():
        yield operation, claim[c:d], anchor[a:b]


def is_altered_copy(claim: Sentence, anchor: Sentence) -> bool:
    """Return True where a claim copies a sentence except for a content word.

    >>> copied = Sentence("The hall was opened in spring by Tom Berg.", 0, 0)
    >>> is_altered_copy(Sentence("The hall was opened in spring by Ann Lee.", 0, 0), copied)
    True
    >>> is_altered_copy(Sentence("However, the hall was opened in spring.", 0, 0), copied)
    False
    """
    taken = list(steps(claim.surface, anchor.surface))
    copied = [len(ours) for operation, ours, _ in taken if operation == "equal"]
    if sum(copied) < COPIED * len(claim.surface) and max(copied, default=0) < RUN * len(claim.surface):
        return False
    more = Counter(claim.surface) - Counter(anchor.surface)
    return any(_changes(step, more) for step in taken)


def _changes(step: Step, more: Counter[str]) -> bool:
    operation, ours, theirs = step
    new = [word for word in ours if more[word] and _tells(word)]
    if operation == "replace":
        new = [word for word in new if not likeness(word, theirs)]
        return bool(new) and any(map(_tells, theirs))
    return operation == "insert" and any(word[0].isdigit() for word in new)


_HIRAGANA = re.compile("[\u3041-\u309f]+")


def _tells(word: str) -> bool:
    """Return True for a content word: not "the", not "became", no ending of a Japanese word."""
    return not _HIRAGANA.fullmatch(word) and any(token not in LIGHT for token in tokens_of(word, "en"))


_NO_SUBJECT = re.compile(r"(?:그|그녀|이것|그것)(?:은|는)|.*(?:에는|에서는|으?로는)\Z")
"""Topic that is a pronoun, or a place or time."""


def _topic(claim: Sentence, passage: Sequence[Sentence]) -> frozenset[str]:
    """Return the words of a claim's topic that a passage has; the anchor may leave them out."""
    topic = TOPIC.match(claim.said)
    words = outline(topic[0]) if topic else ()
    return frozenset(word for word in words if len(word) > 1 and any(word in unit.text for unit in passage))


def has_other_topic(claim: Sentence, anchor: Sentence) -> bool:
    """Return True where the topics of a Korean sentence and of its source differ.

    One that is a pronoun, or a place or time, is not compared.

    >>> has_other_topic(Sentence("아버지는 떠났다.", 0, 0), Sentence("어머니는 떠났다.", 0, 0))
    True
    """
    ours, theirs = TOPIC.match(claim.said), TOPIC.match(anchor.said)
    if not ours or not theirs or _NO_SUBJECT.match(ours[0]) or _NO_SUBJECT.match(theirs[0]):
        return False
    mine, given = content_words(ours[0]), content_words(theirs[0])
    return any(word not in anchor.said for word in mine) and any(word not in claim.content for word in given)


def is_exchanged(claim: Sequence[str], anchor: Sequence[str], topic: Collection[str] = ()) -> bool:
    """Return True where two sentences in the same order have different words in one place.

    Words that only moved are no exchange, nor are words that only one of them has, nor those of
    a `topic` that a sentence leaves out, if it has the others in their order.

    >>> is_exchanged("elder order of deacon".split(), "elder order of elder".split())
    True
    >>> is_exchanged("film open 2004".split(), "2004 film open".split())
    False
    """
    more, less = Counter(claim) - Counter(anchor), Counter(anchor) - Counter(claim)
    rest = iter(anchor)
    if all(
        word in rest
        for word in claim
        if len(word) > 1 and not (word.isascii() or more[word] or word in topic)
    ):
        for word in topic:
            del more[word]
    taken = list(steps(claim, anchor))
    alike = sum(len(ours) for operation, ours, _ in taken if operation == "equal")
    return alike >= ALIKE * len(claim) and any(
        operation == "replace" and any(map(more.get, ours)) and any(map(less.get, theirs))
        for operation, ours, theirs in taken
    )


def is_reordered(claim: Sentence, window: Sequence[Sentence], passage: Sequence[Sentence]) -> bool:
    """Return True where the claim has only words of the evidence, in an order of another meaning.

    One part may have moved, as "in 2019" in "In 2019 sales rose": that leaves three pieces, one of them
    moved back.
    """
    sources = [window, *([unit] for unit in passage)]
    return not any(_is_second_predicate(claim, unit) for unit in window) and any(
        _contained(claim, source) and _disordered(claim.undated, [unit.undated for unit in source])
        for source in sources
    )


_TWO_PREDICATES = re.compile(
    r"(?P<subject>[^,;:]{1,80}?)(?:,[^,;:]{1,80},)?\s(?P<verb>was|were|is|are)\s"
    r"(?P<first>(?:(?!\b(?:that|which|who|whose|because|when|if)\b)[^,;:])+?)\sand\s"
    r"(?P<second>(?P<begin>[a-z]+)[^,;:]*)"
)
"""Sentence whose subject has two predicates: "The boiler was installed in 2016 and last serviced in 2023"."""


def _is_second_predicate(claim: Sentence, unit: Sentence) -> bool:
    """Return True where a claim says a sentence's second predicate of its subject, in the same order."""
    found = _TWO_PREDICATES.fullmatch(unit.text.strip().rstrip("."))
    if found is None or not re.search(rf"\b{found['verb']}\s{found['begin']}\b", claim.text):
        return False
    text = f"{found['subject']} {found['verb']} {found['second']}"
    ours, theirs = claim.undated, Sentence(text, 0, len(text)).undated
    return _contained(ours, [theirs]) and not _disordered(ours, [theirs])


def _contained(claim: Sentence, source: Sequence[Sentence]) -> bool:
    new = Counter(claim.surface) - Counter(word for unit in source for word in unit.surface)
    return new.total() <= NEW * len(claim.surface)


def _disordered(claim: Sentence, source: Sequence[Sentence]) -> bool:
    letters = bool(_LETTERS.search(claim.folded))
    if _paired(claim, source) < PAIRED["letters" if letters else "words"]:
        return True
    pieces = _pieces(claim.surface, [word for unit in source for word in unit.surface])
    back = sum(later < earlier for (earlier, _), (later, _) in pairwise(pieces))
    moved = len(pieces) <= MOVED and any(word in _LEADING for _, word in pieces)
    return back > 1 or (back == 1 and not moved)


def _paired(claim: Sentence, window: Sequence[Sentence]) -> float:
    pairs = _neighbours(claim.surface)
    given = frozenset(pair for unit in window for pair in _neighbours(unit.surface))
    return sum(pair in given for pair in pairs) / len(pairs) if pairs else 1.0


def _neighbours(surface: Sequence[str]) -> list[tuple[str, ...]]:
    size = 3 if _LETTERS.search("".join(surface)) else 2
    return [tuple(surface[at : at + size]) for at in range(len(surface) - size + 1)]


def _pieces(claim: Sequence[str], source: Sequence[str]) -> list[tuple[int, str]]:
    """Return for each run of the claim its position in the source and its first word.

    >>> _pieces("in 2004 the film opened".split(), "the film opened in 2004".split())
    [(3, 'in'), (0, 'the')]
    """
    found: list[tuple[int, str]] = []
    at = 0
    while at < len(claim):
        after = found[-1][0] if found else 0
        runs = [(run(claim[at:], source[start:]), start >= after, -start) for start in range(len(source))]
        length, _, place = max(runs, default=(0, True, 0))
        if length:
            found.append((-place, claim[at]))
        at += length or 1
    return found


def is_spliced(claim: Sentence, passage: Sequence[Sentence]) -> bool:
    """Return True where the claim joins the beginning of one sentence and the end of another.

    An end that follows only "It" or "He" is no splice: the beginning may name who that is.

    >>> told = "The north gate opens at nine.", "The old mill closes at six."
    >>> is_spliced(Sentence("The north gate closes at six.", 0, 0), [Sentence(text, 0, 0) for text in told])
    True
    """
    said = claim.surface
    heads = [_longest(said, unit.surface)[0] for unit in passage]
    tails = [_longest(said[::-1], unit.surface[::-1]) for unit in passage]
    if max((*heads, *(length for length, _ in tails)), default=0) >= COVERED * len(said):
        return False
    return any(
        head >= PART and tail >= PART and head + tail >= COVERED * len(said)
        and not all(map(_HIRAGANA.fullmatch, said[head:]))
        for at, head in enumerate(heads)
        for other, (tail, rest) in enumerate(tails)
        if at != other and any(map(_tells, rest))
    )  # fmt: skip


def _longest(said: Sequence[str], given: Sequence[str]) -> tuple[int, Sequence[str]]:
    """Return the length of the longest run of a text in the given, and the rest of the given after it."""
    runs = [(run(said, given[at:]), at) for at in range(len(given)) if given[at] == said[0]]
    length, at = max(runs, default=(0, 0))
    return length, given[at + length :]


# Rules
ALONE = 0.75  # share of the claim's words besides names from which the anchor states it by itself
SAME_CLAUSE = 0.3  # share of a clause's words from which another clause says the same


def find_contradiction(
    claim: Sentence,
    anchor: Sentence,
    window: Sequence[Sentence],
    passage: Sequence[Sentence],
    kinds: Collection[str] = (),
) -> str:
    """Return the kind of contradiction between claim and evidence; empty without one.

    `passage` are all sentences whose names a pronoun of the window may refer to. `kinds` are those to look
    for, by default all.

    >>> claim, anchor = Sentence("It opened in 1933.", 0, 18), Sentence("It opened in 1932.", 0, 18)
    >>> find_contradiction(claim, anchor, [anchor], [anchor])
    'number'
    """
    by_value = claim.states_facts and _LETTERS.search(claim.text)  # then the order of letters tells little
    rules: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("number", lambda: _other_number(claim, anchor, window, passage)),
        ("month", lambda: of_other_month(claim.text, " ".join(unit.text for unit in window))),
        ("side", lambda: is_of_other_side(claim.text, " ".join(unit.text for unit in window))),
        ("name", lambda: _other_name(claim, anchor, passage)),
        ("denial", lambda: _denied(claim, anchor, window)),
        (
            "direction",
            lambda: (
                turns(claim.text, anchor.text)
                or adds_direction(claim.text, anchor.text)
                or reverses(claim, window)
            ),
        ),
        ("quantifier", lambda: other_quantifier(claim.text, anchor.text)),
        ("mode", lambda: other_mode(claim.text, anchor.text)),
        ("condition", lambda: drops_condition(claim.text, anchor.text)),
        ("rate", lambda: has_other_rate(claim, anchor, window)),
        ("contrast", lambda: exchanges(claim.text, anchor.text, " ".join(unit.text for unit in window))),
        ("topic", lambda: claim.korean and has_other_topic(claim, anchor)),
        ("role", lambda: swaps_roles(claim.text, anchor.text, [*claim.names, *CODE.findall(claim.text)])),
        ("role", lambda: fills_role_anew(claim.said, anchor.said, " ".join(one.said for one in window))),
        ("word", lambda: is_altered_copy(claim, anchor) and not claim.is_retold(anchor, window)),
        ("order", lambda: not by_value and is_reordered(claim, window, passage)),
        ("splice", lambda: is_spliced(claim, passage)),
        (
            "exchange",
            lambda: (
                claim.unspaced
                and is_exchanged(claim.outline, anchor.outline, _topic(claim, passage))
                and not claim.is_retold(anchor, window)
            ),
        ),
    )
    return next((kind for kind, contradicts in rules if (not kinds or kind in kinds) and contradicts()), "")


def _other_number(
    claim: Sentence, anchor: Sentence, window: Sequence[Sentence], passage: Sequence[Sentence]
) -> bool:
    """Return True where a number or time is not in the window, or in the place of another in the anchor."""
    given = [q for unit in window for q in unit.quantities]
    return (
        any(not any(q.fits(other) for other in given) for q in claim.quantities)
        or misplaces_number(claim, anchor)
        or _exchanged_numbers(claim.quantities, anchor.quantities)
        or _other_time(claim, anchor, window, passage)
    )


def misplaces_number(claim: Sentence, anchor: Sentence) -> bool:
    """Return True where the anchor says a number of the claim of another time or thing, or in another order.

    >>> told = Sentence("The mill has 8 rooms, and the barn has 3 rooms.", 0, 0)
    >>> [misplaces_number(Sentence(f"The barn has {number} rooms.", 0, 0), told) for number in (8, 3)]
    [True, False]
    """
    listed = respective(anchor)
    if listed:
        if any(_is_of_other_time(claim, q, listed) for q in claim.quantities):
            return True
    elif any(_is_of_other(claim, q, anchor) for q in claim.quantities):
        return True
    return (
        _out_of_order(claim.quantities, anchor.quantities)
        or _is_of_other_clause(claim, anchor)
        or any(conflict(*pair) for pair in zip(counts(claim), counts(anchor), strict=True))
    )


_RESPECTIVELY = re.compile(r"\brespectively\b|각각|それぞれ|分别|分別", re.IGNORECASE)


def respective(sentence: Sentence) -> list[tuple[Quantity, StatedTime]]:
    """Return the numbers of a sentence with the times that it lists for them, one each; none without a list.

    >>> told = "As of May 2022 and June 2021 it had $11 billion and $6 billion, respectively."
    >>> [(str(q.value), p.year) for q, p in respective(Sentence(told, 0, len(told)))]
    [('11000000000', 2022), ('6000000000', 2021)]
    """
    times = [period for period in sentence.periods if period.year or period.quarter or period.months]
    numbers = [q for q in sentence.quantities if q.unit] or sentence.quantities
    if not _RESPECTIVELY.search(sentence.text) or len(times) != len(numbers):
        return _runs(numbers, times)
    if len(times) < 2 or len(times) != len(numbers) or len({q.unit for q in numbers}) > 1:
        return []
    return list(zip(numbers, times, strict=True))


def _runs(numbers: Sequence[Quantity], times: Sequence[StatedTime]) -> list[tuple[Quantity, StatedTime]]:
    """Return each number with its time where as many times follow some: "5 and 4 for 2022 and 2021"."""
    found: list[tuple[Quantity, StatedTime]] = []
    at = 0
    while at < len(numbers):
        first = next((p for p in times if p.start >= numbers[at].end), None)
        run = [q for q in numbers[at:] if first and q.end <= first.start]
        rest = numbers[at + len(run) :]
        after = rest[0].start if rest else times[-1].end if times else 0
        told = [p for p in times if first and first.start <= p.start < after]
        if len(run) < 2 or len(told) != len(run):
            return []
        found += zip(run, _in_full(told), strict=True)
        at += len(run)
    return found


def _in_full(times: Sequence[StatedTime]) -> list[StatedTime]:
    """Return times of which the later ones may be years only: "the months ended 30 June 2021 and 2022"."""
    first = times[0]
    return [
        first,
        *(p if p.month or p.quarter or p.months else replace(first, year=p.year) for p in times[1:]),
    ]


def _is_of_other_time(
    claim: Sentence, quantity: Quantity, listed: Sequence[tuple[Quantity, StatedTime]]
) -> bool:
    """Return True where a list gives a number for other times than the claim's."""
    of = [period for other, period in listed if quantity.fits(other)]
    asked = [period for period in claim.periods if period.year or period.quarter or period.months]
    return bool(of and asked) and not any(states(period, one) for one in asked for period in of)


_SEGMENT = re.compile(r"[,;、；，(（]|\band\b|\bwhile\b|\bbut\b|(?<=[가-힣](?:고|며))\s|及び|および")


def _is_of_other(claim: Sentence, quantity: Quantity, anchor: Sentence) -> bool:
    """Return True where the words around a number are the claim's less than those around another like it."""
    if len(anchor.quantities) < 2:
        return False
    ends = [0, *(m.end() for m in _SEGMENT.finditer(anchor.text)), len(anchor.text)]
    shared: dict[bool, int] = {}
    for other in anchor.quantities:
        if other.unit == quantity.unit:
            begin, end = max(e for e in ends if e <= other.start), min(e for e in ends if e > other.start)
            words = claim.words & frozenset(tokens_of(without_numbers(anchor.text[begin:end])))
            fits = quantity.fits(other)
            shared[fits] = max(shared.get(fits, 0), len(words))
    others = [q for q in claim.quantities if q != quantity]
    return not others and True in shared and shared.get(False, 0) > shared[True]


def _exchanged_numbers(claimed: Sequence[Quantity], given: Sequence[Quantity]) -> bool:
    """Return True where each has a number that the other lacks."""
    more = any(not any(q.fits(other) for other in given) for q in claimed)
    return more and any(not any(q.fits(other) for q in claimed) for other in given)


def _out_of_order(claimed: Sequence[Quantity], given: Sequence[Quantity]) -> bool:
    """Return True where numbers of one unit that both have stand in another order."""
    found = [q for q in claimed if any(q.fits(other) for other in given)]
    rest = {q.unit: iter(given) for q in found}
    return not all(any(q.fits(other) for other in rest[q.unit]) for q in found)


def _other_time(
    claim: Sentence, anchor: Sentence, window: Sequence[Sentence], passage: Sequence[Sentence]
) -> bool:
    """Return True where the evidence does not state a time of the claim, or states another.

    A year may be anywhere in the passage, unless the window has another year: "on 7 May" in a text of 2018.
    """
    near = [p for unit in window for p in unit.periods]
    far = [p for unit in passage for p in unit.periods]
    spans = [
        q for q in anchor.quantities if q.unit == "yr" and not any(q.fits(own) for own in claim.quantities)
    ]
    for period in claim.periods:
        if spans and period.year and not any(states(other, period) for other in anchor.periods):
            return True  # "1874" for "in 1 year"
        if any(states(other, period) for other in near):
            continue
        years = {p.year for p in near if p.year}
        bare = replace(period, year=0)
        more = bare.month or bare.day or bare.months or bare.quarter
        dated = not period.year or (not years and any(p.year == period.year for p in far))
        if not dated or (more and not any(states(p, bare) for p in near)):
            return True
    claimed, given = _times(claim), _times(anchor)
    return bool(claimed - given and given - claimed) or not in_order(
        [str(p.year) for p in claim.periods if p.year and any(p.year == g.year for g in anchor.periods)],
        [str(p.year) for p in anchor.periods if p.year],
    )


_JOINT = re.compile(r"[,;、，；]|\b(?:and|while|but)\b|(?<=[가-힣][고며만])\s|(?<=으나)\s")


def _is_of_other_clause(claim: Sentence, anchor: Sentence) -> bool:
    """Return True where a sentence of several times says the claim's words of another time than the claim's.

    >>> told = Sentence("It opened in May 1920, burned down in 1931 and was sold in 1940.", 0, 0)
    >>> [_is_of_other_clause(Sentence(f"It was sold in {year}.", 0, 0), told) for year in (1931, 1940)]
    [True, False]
    """
    asked = [period for period in claim.periods if period.year]
    if len(asked) != 1 or len(_times(anchor)) < 2 or respective(anchor):
        return False
    ends = [0, *(m.end() for m in _JOINT.finditer(anchor.text)), len(anchor.text)]
    said: dict[int, set[str]] = {}
    year = 0
    for begin, end in pairwise(ends):
        years = [p.year for p in anchor.periods if p.year and begin <= p.start < end]
        year = years[0] if years else year
        if year:
            said.setdefault(year, set()).update(tokens_of(without_numbers(anchor.text[begin:end])))
    shared = {year: len(claim.words & words) for year, words in said.items()}
    most = max(shared.values(), default=0)
    return most > shared.get(asked[0].year, most)


def _times(unit: Sentence) -> set[int]:
    return {p.year for p in unit.periods if p.year}


_REFERRING = re.compile(
    r"\b(?:it|he|she|they|its|his|her|their|them|him|this|these|those|such|who|which|we|our)\b"
    r"|[\u3041-\u30ff\uac00-\ud7a3]",
    re.IGNORECASE,
)
"""Words that may stand for a name of an earlier sentence; Korean and Japanese leave it out."""


def _other_name(claim: Sentence, anchor: Sentence, passage: Sequence[Sentence]) -> bool:
    missing = [
        name
        for name in anchor.lacks(claim.names)
        if name.casefold() not in DATED
        and not _is_common(name, claim, passage)
        and not re.match("[가-힣一-鿿]", name)
    ]
    if not missing:
        return False
    if any(not any(unit.holds(name) for unit in passage) for name in missing):
        return True
    titled = all(any(unit.holds(name) for unit in passage if not unit.end) for name in missing)
    if not titled and not _REFERRING.search(anchor.text):
        return True
    alone = not claim.plain or len(claim.plain & anchor.words) >= ALONE * len(claim.plain)
    return alone and bool(claim.lacks(_sure_names(anchor)))


def _is_common(name: str, claim: Sentence, passage: Sequence[Sentence]) -> bool:
    """Return True for the first word of a claim if the passage has it in lower case: it is no name."""
    return claim.text.lstrip('"“‘*_').startswith(name) and any(
        re.search(rf"(?<![\w.]){re.escape(name.lower())}(?![\w.]*\.\w)", unit.text) for unit in passage
    )


def _sure_names(unit: Sentence) -> list[str]:
    """Return the names of a sentence except dates, headings in capitals, and a single first word."""
    opening = re.match(r"\W*(\w+)\s+[a-z(]", unit.text)
    return [
        name
        for name in unit.names
        if name.casefold() not in DATED
        and not (opening and name == opening[1])
        and not (name.isupper() and len(name) > 3)
    ]


def _denied(claim: Sentence, anchor: Sentence, window: Sequence[Sentence]) -> bool:
    """Return True where one of claim and evidence is negated and the other is not.

    A clause of the claim is compared with the clause that has most of its words.
    """
    said, told = BOUNDED.sub("at most", claim.text), BOUNDED.sub("at most", anchor.text)
    near = _near(claim, clauses(told))
    if any(map(negations, near)) != bool(negations(said)):
        return True
    texts = [clause for unit in window for clause in clauses(BOUNDED.sub("at most", unit.text))]
    given = [(frozenset(tokens_of(clause)), clause) for clause in texts]
    return any(_other_denial(clause, given) for clause in clauses(said))


def _near(claim: Sentence, told: Sequence[str]) -> list[str]:
    """Return the clauses that share most of their words with a claim, or most words of all."""
    shared = {clause: claim.words & frozenset(tokens_of(clause)) for clause in told}
    most = max(map(len, shared.values()), default=0)
    return [
        clause
        for clause, words in shared.items()
        if words and len(words) >= min(most, SAME_CLAUSE * len(frozenset(tokens_of(clause))))
    ]


def _other_denial(clause: str, given: Sequence[tuple[frozenset[str], str]]) -> bool:
    words = frozenset(tokens_of(clause))
    shared, nearest = max(((len(words & theirs), text) for theirs, text in given), default=(0, ""))
    return shared > SAME_CLAUSE * len(words) and negations(clause) != negations(nearest)


# The document's names for itself
SELF = re.compile(
    r"\b(?:the (?:company|group|corporation|firm|bank|university|registrant)|we|our|us)\b"
    r"|당사|회사|본사|当社|弊社|同社",
    re.IGNORECASE,
)
"""Words by which a document names its author."""


_POSSESSIVE = re.compile(r"\b([A-Z][\w&-]+)[’']s?(?!\w)")


def in_its_words(claim: Sentence, text: str, owners: Collection[str]) -> Sentence:
    """Return a claim with the owner's name as a document calls it: "the Company" for "Apple".

    `owners` are the names, in lower case, that may be the document's owner. A name that the text uses by
    itself is none.

    >>> in_its_words(Sentence("Apple's sales fell.", 0, 0), "The Company's sales fell.", {"apple"}).text
    'the company sales fell.'
    """
    own = max(SELF.findall(text), key=len, default="")
    told = [name for name in claim.names if name.casefold() not in DATED][:1]
    told += _POSSESSIVE.findall(claim.text)
    named = (name for name in told if name.casefold() in owners and not _alone_in(name, text))
    first = next(named, "") if own else ""
    if not first:
        return claim
    # In lower case, since a document's sentences are about its owner without naming it each time
    said = re.sub(rf"\b{re.escape(first)}\b(?:[’']s\b)?", own.lower(), claim.text, count=1)
    return Sentence(said, 0, len(said))


def _alone_in(name: str, text: str) -> bool:
    """Return True where a text has a name that is no part of a longer one: not the Apple of "Apple Watch"."""
    return bool(re.search(rf"\b{re.escape(name)}\b(?!\s+[A-Z\d]|\.\w)", text))
