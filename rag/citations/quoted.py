"""Quoted words: the facts that a statement must share with what a tested reader quotes for it.

Whether other words say the same is the reader's to tell. Code compares what it can compare more surely than a
reader: numbers, times and names, each by its clause, denials, directions, quantifiers, modes, conditions and
roles. All quotes count together, as the parts of one piece of evidence.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import chain, combinations, pairwise, permutations

from rag.citations.logic import (
    BOUNDED,
    adds_direction,
    drops_condition,
    is_of_other_side,
    other_mode,
    other_quantifier,
    part_about,
    swaps_roles,
    turns,
)
from rag.citations.quantities import Quantity, StatedTime, agree, same_unit, states
from rag.citations.sentence import CODE, DATED, Sentence, conflict, counts, has_other_rate, reverses
from rag.citations.tables import TableCell
from rag.text.facts import NEGATION, clauses, negations, plain_years
from rag.text.language import without_particle
from rag.text.tokenize import content_words

FEW = 10
"""Largest count that a reader may count for itself: "the two probes"."""
MOST_OPERANDS = 12
MOSTLY = 0.45  # least share of the most words that a part of a sentence has of a statement, to be about it
SCOPE = 3  # content words before and after a negation that it may reach


@dataclass(frozen=True)
class Quotes:
    """Whole sentences and rows that a reader quotes, with what stands around them.

    `anchor` is the one with most of the statement's words, `passages` all sentences of the passages and their
    titles, `rows` those units that are rows of tables, and `cells` their numbers in the scale of their table.
    """

    anchor: Sentence
    units: Sequence[Sentence]
    passages: Sequence[Sentence]
    cells: Sequence[TableCell] = ()
    rows: Sequence[Sentence] = ()

    @cached_property
    def prose(self) -> list[Sentence]:
        """Quoted units that are no rows of a table."""
        return [unit for unit in self.units if unit not in self.rows]

    @cached_property
    def text(self) -> str:
        """The quoted words, one after the other."""
        return " ".join(unit.text for unit in self.units)

    @cached_property
    def numbers(self) -> list[Quantity]:
        """Numbers that the words state besides dates, those of tables in their scale, too."""
        told = [number for unit in self.units for number in unit.quantities]
        return [*told, *(cell.quantity for cell in self.cells)]

    @cached_property
    def times(self) -> list[StatedTime]:
        """Times that the words state, and those of the columns of table rows."""
        return [
            *(period for unit in self.units for period in unit.periods),
            *(period for cell in self.cells for period in cell.periods),
        ]


def differing_fact(claim: Sentence, quotes: Quotes) -> str:
    """Return the kind of fact in which a statement and the words quoted for it differ; empty without one.

    >>> told = Sentence("The mill, built in 1870, cost 900 pounds.", 0, 0)
    >>> [differing_fact(Sentence(said, 0, 0), Quotes(told, [told], [told])) for said in (
    ...     "They paid £900 for the mill.", "They paid £800 for the mill.", "It was not built in 1870.")]
    ['', 'number', 'denial']
    """
    said, near, text = claim.text, quotes.anchor.text, quotes.text
    part = part_about(said, near, MOSTLY)
    rules: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("number", lambda: _other_number(claim, quotes)),
        ("place", lambda: _is_of_other_place(claim, quotes)),
        ("count", lambda: _other_ordinal(claim, quotes.units)),
        ("time", lambda: any(_is_other_time(period, quotes) for period in claim.periods)),
        ("rate", lambda: has_other_rate(claim, quotes.anchor, quotes.units)),
        ("side", lambda: is_of_other_side(said, text)),
        ("name", lambda: _has_other_name(claim, quotes.passages)),
        ("denial", lambda: _denied(said, text)),
        (
            "direction",
            lambda: (
                not quotes.cells  # whose numbers say if they rose
                and (turns(said, near) or adds_direction(said, text) or reverses(claim, quotes.units))
            ),
        ),
        ("quantifier", lambda: other_quantifier(_without_all(said, quotes), near, text)),
        ("mode", lambda: not _REFUSED.search(said) and other_mode(said, part)),
        ("condition", lambda: drops_condition(said, part)),
        ("role", lambda: swaps_roles(said, near, [*claim.names, *CODE.findall(said)])),
    )
    return next((kind for kind, differs in rules if differs()), "")


_ALL = re.compile(r"\b(?:all|each|every)\b|모든|모두|全て|すべて|いずれも", re.IGNORECASE)
_WHOLE = re.compile(r"(?<![가-힣])전 [가-힣]|전체|전원|全[員体国]")
_COUNTED = re.compile(r"\b(?:all|each)(?= (?:two|three|four|five|six|\d))", re.IGNORECASE)


def _without_all(said: str, quotes: Quotes) -> str:
    """Return a statement without "all" where rows tell of each, or where it counts them: "all three"."""
    return (_ALL if len(quotes.rows) > 1 or _WHOLE.search(quotes.text) else _COUNTED).sub(" ", said)


# Numbers
def _other_number(claim: Sentence, quotes: Quotes) -> bool:
    """Return True where a number is neither stated nor follows, or is of another time or thing."""
    titles = [number for unit in quotes.passages if not unit.end for number in unit.quantities]
    given = [*quotes.numbers, *titles]
    told = [one for one in claim.quantities if _is_given(one, given)]
    operands = [*quotes.numbers, *told]
    counts = [one for one in told if _is_count(one)]
    return any(
        one not in told and not follows(one, operands, counts) and not _is_between(one, quotes.times)
        for one in claim.quantities
    ) or any(_is_of_other_column(one, claim, quotes) for one in claim.quantities)


def _is_given(number: Quantity, given: Sequence[Quantity]) -> bool:
    """Return True for a number that is stated, or a small count where no other count is."""
    return any(map(number.fits, given)) or (_is_count(number) and not any(map(_is_count, given)))


def _is_between(number: Quantity, times: Sequence[StatedTime]) -> bool:
    """Return True for a length of time between two that are stated, or a day or month of one."""
    months = [12 * time.year + (time.month or 1) for time in times if time.year]
    apart = {"mo": {abs(a - b) for a, b in combinations(months, 2)}}
    apart["yr"] = {abs(a.year - b.year) for a, b in combinations([t for t in times if t.year], 2)}
    apart["d"] = {time.day for time in times}
    return number.value in apart.get(number.unit, ())


def _is_count(number: Quantity) -> bool:
    return not number.unit and number.step == 1 and 0 < number.value <= FEW


def follows(number: Quantity, given: Sequence[Quantity], counts: Sequence[Quantity] = ()) -> bool:
    """Return True where a number is the sum, difference, ratio, share or growth rate of given ones.

    Given ones may be multiplied by `counts` before they are added: the price of two tickets and a map.

    >>> from rag.citations.quantities import quantities
    >>> told = quantities("Revenue was $450 million, up $124 million.")
    >>> [follows(quantities(said)[0], told) for said in ("$326 million", "$574 million", "$300 million")]
    [True, True, False]
    """
    operands = list(dict.fromkeys(one for one in given if one.bound in ("", "~")))[:MOST_OPERANDS]
    results = (value for pair in combinations(operands, 2) for value in _results(number.unit, *pair))
    alike = [one.value for one in operands if same_unit(number.unit, one.unit)]
    total = [sum(alike, Decimal(0))] if len(alike) > 2 else []
    times = [Decimal(1), *(count.value for count in counts)] if counts and number.unit else []
    products = [(value, count * value) for value in alike for count in times]
    sums = (a + b for (one, a), (other, b) in combinations(products, 2) if one != other)
    values = (*results, *total, *(value for _, value in products), *sums)
    return any(map(number.fits, operands)) or any(
        number.fits(replace(number, value=value, bound="")) for value in values
    )


def _results(unit: str, one: Quantity, other: Quantity) -> Iterator[Decimal]:
    """Yield what one operation over two numbers gives in a unit."""
    a, b = abs(one.value), abs(other.value)
    if not same_unit(one.unit, other.unit):
        return
    if unit in ("%", "times"):
        for part, whole in ((a, b), (b, a)):
            if whole and unit == "times":
                yield part / whole
            elif whole:
                yield from (part / whole * 100, abs(part - whole) / whole * 100)
    elif same_unit(unit, one.unit or other.unit):
        yield a + b
        yield abs(a - b)


def _is_of_other_column(number: Quantity, claim: Sentence, quotes: Quotes) -> bool:
    """Return True where only cells of other times than those asked for have a number."""
    times = _times_of(number, claim)
    cells = [cell for cell in quotes.cells if number.fits(cell.quantity)]
    in_prose = any(number.fits(other) for unit in quotes.prose for other in unit.quantities)
    return bool(times and cells) and not in_prose and not any(_is_of(cell, times) for cell in cells)


def _is_of(cell: TableCell, times: Sequence[StatedTime]) -> bool:
    return not cell.periods or any(agree(own, asked, _unknown) for own in cell.periods for asked in times)


def _unknown(_period: StatedTime) -> int:
    """Return no quarter for a period's end: the fiscal year is not known here."""
    return 0


# Places of numbers, times and names
_COMPARING = re.compile(
    r"\b(?:from|than|versus|vs|compar\w+|earlier|respectively)\b|보다|대비|전년|より|前年|比べ", re.IGNORECASE
)
_COMPARED = re.compile(
    r"(?:\b(?:from|than|versus|vs\.?|over|compared (?:to|with))(?: (?:in|for|at|the|of))* ?|전년 ?)\Z",
    re.IGNORECASE,
)
"""Words before a time that a sentence is not about, but compares with."""
_JOINT = re.compile(
    r"[,;、，；]|(?<=[a-z)])\.\s|\b(?:and|while|whereas|but|compared)\b|(?<=[가-힣][고며])\s|(?<=[었았였했]다)\s|及び|および"
)
_PRONOUN = re.compile(r"\b(?:it|he|she|they)\b", re.IGNORECASE)
_LENGTHS = frozenset({"d", "wk", "mo", "yr"})
_LATIN = re.compile("[A-Z]")
_LATIN_NAMES = re.compile(r"[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)+")
_MARKED = re.compile(
    r"([一-鿿ァ-ヺー々\d]{2,})(?:さん|氏)?([はがを])|([가-힣]{2,}?)([은는이가을를])(?![가-힣])"
)
_MARKS = {"が": "は", "는": "은", "이": "은", "가": "은", "를": "을"}


@dataclass(frozen=True)
class _Name:
    """Name of a statement with its particle, in Korean and Japanese: subject or object."""

    text: str
    mark: str = ""


_Fact = Quantity | StatedTime | _Name


@dataclass(frozen=True)
class _Clause:
    """Clause of a quote, or a cell, with its facts; `begun` is its sentence up to its end."""

    words: frozenset[str]
    numbers: Sequence[Quantity]
    times: Sequence[StatedTime]
    begun: Sentence
    names: Sequence[_Name] = ()
    refers: bool = False

    def states(self, fact: _Fact) -> bool:
        """Return True where it has a fact."""
        if isinstance(fact, _Name):
            return self.begun.holds(fact.text) or fact.text in self.begun.text.replace(" ", "")
        if isinstance(fact, Quantity):
            return any(map(fact.fits, self.numbers))
        return any(states(other, fact) for other in self.times)

    def has_other(self, fact: _Fact, claim: Sentence) -> bool:
        """Return True where it has a fact of the same kind that is none of the statement's."""
        if isinstance(fact, _Name):
            return any(one.mark == fact.mark and not claim.holds(one.text) for one in self.names)
        if isinstance(fact, Quantity):
            alike = [one for one in self.numbers if _alike(fact.unit, one.unit)]
            return any(not any(own.fits(one) for own in claim.quantities) for one in alike)
        told = [one for one in self.times if _stated(fact) <= _stated(one)]
        return any(not any(states(one, own) for own in claim.periods) for one in told)


def _alike(one: str, other: str) -> bool:
    return one == other or not other or (one in _LENGTHS and other in _LENGTHS)


def _stated(period: StatedTime) -> set[str]:
    return {field for field in _FIELDS if getattr(period, field)}


def _is_of_other_place(claim: Sentence, quotes: Quotes) -> bool:
    """Return True where another number, time or name stands by more of a statement's words than its own.

    >>> told = Sentence("Weekdays it closes at 9, on Sundays it closes at 6.", 0, 0)
    >>> [_is_of_other_place(Sentence(f"On Sundays it closes at {hour}.", 0, 0), Quotes(told, [told], [told]))
    ...     for hour in (9, 6)]
    [True, False]
    """
    words = frozenset(claim.content)
    is_derived = any(not any(map(one.fits, quotes.numbers)) for one in claim.quantities)
    facts: list[_Fact] = [*claim.quantities, *(() if is_derived else claim.periods)]
    sentences = [_clause(unit, unit) for unit in quotes.prose]
    cut = [_cut(unit) for unit in quotes.prose]
    rows, cells = list(map(_row, quotes.rows)), list(map(_cell, quotes.cells))
    return (
        any(_is_crossed(claim, unit) for unit in quotes.units)
        or any(_is_elsewhere(fact, claim, words, told) for told in (sentences, *cut) for fact in facts)
        or any(_is_elsewhere(one, claim, words, list(chain(*cut))) for one in _names(claim))
        or any(_is_elsewhere(_bare(one), claim, _words_by(one, claim), rows) for one in facts)
        or any(_is_elsewhere(one, claim, _words_by(one, claim), cells) for one in facts)
        or any(_is_of_other_sentence(one, claim, quotes.prose) for one in claim.quantities)
    )


def _is_elsewhere(fact: _Fact, claim: Sentence, words: frozenset[str], told: Sequence[_Clause]) -> bool:
    """Return True where a clause with another fact of its kind has more of some words than those with it.

    A pronoun counts as a word. The last word of a Korean or Japanese statement, what it says of its subject,
    counts half as much again.
    """
    if isinstance(fact, StatedTime) and not any(one.states(fact) for one in told):
        fact = StatedTime(fact.year)
    counted = words - frozenset(content_words(_whole(fact, claim))) if isinstance(fact, _Name) else words
    last = frozenset(claim.content[-1:] if claim.unspaced else ())

    def shared(one: _Clause) -> float:
        return len(one.words & counted) + one.refers + 0.5 * len(one.words & last)

    own = max((shared(one) for one in told if one.states(fact)), default=None)
    other = max(
        (shared(one) for one in told if not one.states(fact) and one.has_other(fact, claim)), default=0
    )
    return own is not None and other > own + 0.5 * isinstance(fact, _Name)


def _names(sentence: Sentence) -> list[_Name]:
    if not sentence.unspaced:
        return [_Name(one) for one in sentence.names if _LATIN.match(one) and one.casefold() not in DATED]
    found = (match.groups() for match in _MARKED.finditer(sentence.text))
    return [_Name(ja or ko, _MARKS.get(mark or last, mark or last)) for ja, mark, ko, last in found]


def _whole(name: _Name, claim: Sentence) -> str:
    """Return the words of a name, and of those that stand beside it: "Ann Roe"."""
    return next((one for one in _LATIN_NAMES.findall(claim.text) if name.text in one), name.text)


def _clause(part: Sentence, begun: Sentence) -> _Clause:
    refers = bool(_PRONOUN.search(part.text))
    return _Clause(frozenset(part.content), part.quantities, _own_times(part), begun, _names(part), refers)


def _cut(unit: Sentence) -> list[_Clause]:
    """Return the clauses of a sentence, of which those without a time have that of the clause before."""
    found: list[_Clause] = []
    for begin, end in pairwise(_ends(unit.text)):
        begun = Sentence(unit.text[:end], 0, end) if unit.unspaced else unit
        clause = _clause(Sentence(unit.text[begin:end], begin, end), begun)
        found.append(clause if clause.times or not found else replace(clause, times=found[-1].times))
    return found


def _ends(text: str) -> list[int]:
    return [0, *(match.end() for match in _JOINT.finditer(text)), len(text)]


def _row(unit: Sentence) -> _Clause:
    return _Clause(
        frozenset(unit.content), [replace(one, unit="") for one in unit.quantities], unit.periods, unit
    )


def _cell(cell: TableCell) -> _Clause:
    label = f"{cell.row} {cell.column} {cell.section}"
    told = [cell.quantity, cell.written]
    return _Clause(frozenset(content_words(label)), told, cell.periods, Sentence(label, 0, 0))


def _bare(fact: _Fact) -> _Fact:
    return replace(fact, unit="") if isinstance(fact, Quantity) else fact


def _own_clause(fact: Quantity | StatedTime, text: str) -> tuple[int, int]:
    """Return where the clause of a fact begins and ends in a text with plain years."""
    ends = _ends(text)
    return max(e for e in ends if e <= fact.start), min((e for e in ends if e >= fact.end), default=len(text))


def _words_by(fact: _Fact, claim: Sentence) -> frozenset[str]:
    """Return the content words of a fact's own clause, or all where the statement has one number."""
    if len(claim.quantities) < 2 or isinstance(fact, _Name):
        return frozenset(claim.content)
    text = plain_years(claim.text)
    begin, end = _own_clause(fact, text)
    return frozenset(Sentence(text[begin:end], begin, end).content)


def _own_times(unit: Sentence) -> list[StatedTime]:
    """Return the times of a sentence besides those that it compares with."""
    text = plain_years(unit.text)
    return [one for one in unit.periods if not one.back and not _COMPARED.search(text[: one.start])]


def _times_of(number: Quantity, claim: Sentence) -> list[StatedTime]:
    """Return the times in a number's own clause, or else all of its statement."""
    times = [period for period in _own_times(claim) if period.year]
    begin, end = _own_clause(number, plain_years(claim.text))
    return [period for period in times if begin <= period.start < end] or times


def _is_of_other_sentence(number: Quantity, claim: Sentence, told: Sequence[Sentence]) -> bool:
    """Return True where all sentences with a number are of other times than those asked for."""
    asked = _times_of(number, claim)
    stating = [unit for unit in told if any(map(number.fits, unit.quantities))]
    return bool(asked and stating) and not any(
        _COMPARING.search(unit.text) or _may_be_of(_own_times(unit), asked) for unit in stating
    )


def _may_be_of(times: Sequence[StatedTime], asked: Sequence[StatedTime]) -> bool:
    alike = [(own, time) for own in times for time in asked if _stated(own) == _stated(time)]
    return not alike or any(states(own, time) for own in times for time in asked)


_Places = tuple[int, int]
"""Where something stands in a statement, and where in a quote."""


def _is_crossed(claim: Sentence, unit: Sentence) -> bool:
    """Return True where two numbers or names have changed places around a word that has not moved.

    >>> told = Sentence("It has 10 novels and 40 films.", 0, 0)
    >>> _is_crossed(Sentence("It has 40 novels and 10 films.", 0, 0), told)
    True
    """
    numbers = [
        (one.start, found[0].start)
        for one in claim.quantities
        if len(found := [other for other in unit.quantities if one.fits(other)]) == 1
    ]
    words = {
        word: (claim.text.index(word), unit.text.index(word))
        for word in (*claim.names, *claim.content)
        if len(word) > 1 and claim.text.count(word) == unit.text.count(word) == 1
    }
    names = [words[name] for name in claim.names if claim.unspaced and name in words]
    return any(
        a[0] < b[0] and a[1] > b[1] and _has_stayed(words.values(), a, b)
        for kind in (numbers, names)
        for a, b in permutations(kind, 2)
    )


def _has_stayed(words: Collection[_Places], a: _Places, b: _Places) -> bool:
    """Return True where a word between two stands between them in both texts, and another beside them."""
    between = any(a[0] < said < b[0] and b[1] < told < a[1] for said, told in words)
    return between and any(
        (said < a[0] and told < b[1]) or (said > b[0] and told > a[1]) for said, told in words
    )


def _other_ordinal(claim: Sentence, told: Sequence[Sentence]) -> bool:
    given = zip(*(counts(unit.undated) for unit in told), strict=True)
    return any(map(conflict, counts(claim.undated), (frozenset[str]().union(*kind) for kind in given)))


# Times
_FIELDS = ("year", "month", "day", "quarter")


def _is_other_time(period: StatedTime, quotes: Quotes) -> bool:
    """Return True where the quotes have another year, month, day or quarter, or nothing around has this one.

    A quarter that nothing names may be meant by dates.
    """
    if period.back or any(states(other, period) for other in quotes.times):
        return False
    around = [other for unit in quotes.passages for other in unit.periods]
    return any(_is_other_field(field, period, quotes.times, around) for field in _FIELDS)


def _is_other_field(
    field: str, period: StatedTime, near: Sequence[StatedTime], around: Sequence[StatedTime]
) -> bool:
    asked = getattr(period, field)
    told = {getattr(other, field) for other in near} - {0}
    told = told or {getattr(other, field) for other in around} - {0}
    return bool(asked) and asked not in told and (bool(told) or field != "quarter")


# Names
def _has_other_name(claim: Sentence, passages: Sequence[Sentence]) -> bool:
    """Return True where a Latin name of a statement is nowhere in the passages, the first word apart."""
    opening = claim.text.lstrip("\"“‘*_-•「『' ")
    return any(
        name[0] < "\u0250"
        and name.casefold() not in DATED
        and not (opening.startswith(name) and _is_plain(name, claim))
        and not any(unit.holds(name) or unit.holds(f"{name}s") for unit in passages)
        for name in claim.names
    )


def _is_plain(name: str, claim: Sentence) -> bool:
    """Return True for a first word with one capital that no other name follows, so that it may be none."""
    after = claim.text[claim.text.index(name) + len(name) :].lstrip()
    return name[1:].islower() and claim.text.count(name) == 1 and not after[:1].isupper()


# Denials
def _denied(said: str, told: str) -> bool:
    """Return True where a statement denies and its quotes nowhere do, or one denies what the other states.

    >>> told = "Dogs are not admitted. The hall is old."
    >>> [_denied(said, told) for said in ("Dogs are admitted.", "No dogs are admitted.", "The hall is old.")]
    [True, False, False]
    """
    unsaid = negations(said) and not negations(told)
    added = not _REFUSED.search(told) and (unsaid or _denies(said, told))
    return added or (not _REFUSED.search(said) and _denies(told, said))


_REFUSED = re.compile(
    r"\b(?:exclud|except|exempt|without|refus|reject|prohibit|forbid|forbidden|banned|cancel|terminat|abandon|abolish|declin|omit"
    r"|optional|fail|lack|unable|inability|waive|withh[eo]ld|stop|instead|other than|rather than)"
    r"|제외|금지|실패|거부|거절|취소|중단|면제|선택|폐지|없애|除[くきい外]|禁止|失敗|拒否|拒絶|中止|免除|任意|廃止|差し控|断[っりる]",
    re.IGNORECASE,
)
"""Words that deny without a negation: whether they say the same is the reader's to tell."""


def _denies(one: str, other: str) -> bool:
    reached = frozenset(word for _, words in _negated(other) for word in words)
    stated = frozenset(map(_root, content_words(other)))
    return any(next_ in stated and next_ not in reached for next_, _ in _negated(one))


def _negated(text: str) -> Iterator[tuple[str, Collection[str]]]:
    """Yield for each negation of a text the content word next to it, and those that it may reach."""
    for clause in clauses(BOUNDED.sub("at most", text)):
        for match in NEGATION.finditer(clause):
            before, after = content_words(clause[: match.start()])[::-1], content_words(clause[match.end() :])
            near = after if match[0].strip() < "\u0250" else before
            if near:
                yield _root(near[0]), [_root(word) for word in (*before[:SCOPE], *after[:SCOPE])]


def _root(word: str) -> str:
    """Return a Korean word's first two letters, which its forms share; others as they are."""
    return without_particle(word)[:2] if "가" <= word[0] <= "힣" else word
