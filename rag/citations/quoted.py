"""Quoted words: the facts that a statement must share with what a tested reader quotes for it.

Whether other words say the same is the reader's to tell. Code compares what it can compare more surely than a
reader: numbers, times, names, denials, directions, quantifiers, modes, conditions and roles. All quotes count
together, as the parts of one piece of evidence.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import combinations

from rag.citations.claims import BOUNDED, DATED, Sentence, misplaces_number, reverses, states
from rag.citations.logic import (
    adds_direction,
    drops_condition,
    other_mode,
    other_quantifier,
    swaps_roles,
    turns,
)
from rag.citations.quantities import Quantity, StatedTime, agree, same_unit
from rag.citations.tables import TableCell
from rag.text.facts import NEGATION, clauses, negations
from rag.text.language import without_particle
from rag.text.tokenize import content_words

FEW = 10
"""Largest count that a reader may count for itself: "the two probes"."""
MOST_OPERANDS = 12
SCOPE = 3  # content words before and after a negation that it may reach


@dataclass(frozen=True)
class Quotes:
    """Whole sentences and rows that a reader quotes, with what stands around them.

    `anchor` is the one with most of the statement's words, `passages` all sentences of the passages and their
    titles, and `cells` the numbers of quoted table rows in the scale of their table.
    """

    anchor: Sentence
    units: Sequence[Sentence]
    passages: Sequence[Sentence]
    cells: Sequence[TableCell] = ()

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
        """Times that the words state."""
        return [period for unit in self.units for period in unit.periods]


def differing_fact(claim: Sentence, quotes: Quotes) -> str:
    """Return the kind of fact in which a statement and the words quoted for it differ; empty without one.

    >>> told = Sentence("The mill, built in 1870, cost 900 pounds.", 0, 0)
    >>> [differing_fact(Sentence(said, 0, 0), Quotes(told, [told], [told])) for said in (
    ...     "They paid £900 for the mill.", "They paid £800 for the mill.", "It was not built in 1870.")]
    ['', 'number', 'denial']
    """
    said, near, text = claim.text, quotes.anchor.text, quotes.text
    rules: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("number", lambda: _other_number(claim, quotes)),
        ("time", lambda: any(_is_other_time(period, quotes) for period in claim.periods)),
        ("name", lambda: _has_other_name(claim, quotes.passages)),
        ("denial", lambda: _denied(said, text)),
        (
            "direction",
            lambda: (
                not quotes.cells  # whose numbers say if they rose
                and (turns(said, near) or adds_direction(said, text) or reverses(claim, quotes.units))
            ),
        ),
        ("quantifier", lambda: other_quantifier(said, near, text)),
        ("mode", lambda: other_mode(said, near)),
        ("condition", lambda: drops_condition(said, near)),
        ("role", lambda: swaps_roles(said, near, claim.names)),
    )
    return next((kind for kind, differs in rules if differs()), "")


# Numbers
def _other_number(claim: Sentence, quotes: Quotes) -> bool:
    """Return True where a number is neither stated nor follows, or is of another time or thing."""
    titles = [number for unit in quotes.passages if not unit.end for number in unit.quantities]
    given = [*quotes.numbers, *titles]
    return (
        any(not (_is_given(one, given) or follows(one, quotes.numbers)) for one in claim.quantities)
        or misplaces_number(claim, quotes.anchor)
        or any(_is_of_other_column(one, claim.periods, quotes) for one in claim.quantities)
    )


def _is_given(number: Quantity, given: Sequence[Quantity]) -> bool:
    """Return True for a number that is stated, or a small count where no other count is."""
    return any(number.fits(other) for other in given) or (
        _is_count(number) and not any(map(_is_count, given))
    )


def _is_count(number: Quantity) -> bool:
    return not number.unit and number.step == 1 and 0 < number.value <= FEW


def follows(number: Quantity, given: Sequence[Quantity]) -> bool:
    """Return True where a number is the sum, difference, ratio, share or growth rate of given ones.

    >>> from rag.citations.quantities import quantities
    >>> told = quantities("Revenue was $450 million, up $124 million.")
    >>> [follows(quantities(said)[0], told) for said in ("$326 million", "$574 million", "$300 million")]
    [True, True, False]
    """
    operands = list(dict.fromkeys(one for one in given if one.bound in ("", "~")))[:MOST_OPERANDS]
    results = (value for pair in combinations(operands, 2) for value in _results(number.unit, *pair))
    alike = [one.value for one in operands if same_unit(number.unit, one.unit)]
    total = [sum(alike, Decimal(0))] if len(alike) > 2 else []
    return any(number.fits(replace(number, value=value, bound="")) for value in (*results, *total))


def _results(unit: str, one: Quantity, other: Quantity) -> Iterator[Decimal]:
    """Yield what one operation over two numbers gives in a unit."""
    a, b = abs(one.value), abs(other.value)
    if not same_unit(one.unit, other.unit):
        return
    if unit in ("%", "times"):
        scale = 100 if unit == "%" else 1
        for part, whole in ((a, b), (b, a)):
            if whole:
                yield part / whole * scale
                yield abs(part - whole) / whole * scale
    elif same_unit(unit, one.unit or other.unit):
        yield a + b
        yield abs(a - b)


def _is_of_other_column(number: Quantity, asked: Sequence[StatedTime], quotes: Quotes) -> bool:
    """Return True where only cells of other times than those asked for have a number."""
    times = [period for period in asked if period.year]
    cells = [cell for cell in quotes.cells if number.fits(cell.quantity)]
    in_prose = any(number.fits(other) for unit in quotes.units for other in unit.quantities)
    return bool(times and cells) and not in_prose and not any(_is_of(cell, times) for cell in cells)


def _is_of(cell: TableCell, times: Sequence[StatedTime]) -> bool:
    return not cell.periods or any(agree(own, asked, _unknown) for own in cell.periods for asked in times)


def _unknown(_period: StatedTime) -> int:
    """Return no quarter for a period's end: the fiscal year is not known here."""
    return 0


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
        and not any(unit.holds(name) for unit in passages)
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
    return bool(negations(said) and not negations(told)) or _denies(said, told) or _denies(told, said)


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
