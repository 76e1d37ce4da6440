"""Terms of a column: the words by which documents call what it asks for, found in labels and sentences."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from rag.grid.columns import Column
from rag.grid.general_fields import general_field, heads
from rag.grid.known_fields import fields_with_context, known_fields
from rag.grid.templates import Fact
from rag.retrieval.table_rows import TOTAL
from rag.text.language import STOP_WORDS
from rag.text.tokenize import tokens

EXACT = 1.0
LEAST_LABEL = 0.6
"""Least score of a label that may name a column's field."""
SURE_LABEL = 0.9
"""Least score of a label that names it without doubt."""
BORROWED = 0.85
"""Share of its score that a label has by a borrowed term."""
MOST_EXTRA = 0.4
"""Largest share of a label's words that no term has."""
_LIGHT = TOTAL | frozenset(tokens("attributable amount unaudited", "en"))
_OTHER = re.compile(r"\b(?:other|non|excluding|before|after|less|per)\b|기타|제외|その他|除く", re.IGNORECASE)
"""Words that make a label another one, and that are no tokens."""
_ENDS_IN = re.compile(r"\w[ \t](to|by|from|for|with)\s*\Z", re.IGNORECASE)
_LATIN_TEXT = re.compile(r"[\x00-\u024f\u2000-\u206f]*")
_PARENTHESES = re.compile(
    r"[(（\[][^()（）\[\]]{0,60}[)）\]]|,\s(?:including|incl\.)\s[^,()（）]*(?:,|\Z)"
    r"|,\s(?:net of|less)\s[^()（）]*\Z"
)
_ALTERNATIVE = re.compile(r"\s*(?:/|／|・|\bor\b|,|、|;|또는|または|又は)\s*")
_DAY_OF = re.compile(r"(?P<what>[^\x00-\u024f]{2,}?)(?:の?日|\s?일|\s?날짜|\s?일자|年月日|の?日付|の?日時)")
"""Korean or Japanese name of a day, which sentences call by what happened: 발표일, 開館日."""
_LATIN_WORD = re.compile(r"[A-Za-zÀ-ɏ0-9][\w’'.-]*")


@dataclass(frozen=True)
class Mention:
    """Term that ``text[start:end]`` is."""

    start: int
    end: int


@dataclass(frozen=True)
class ColumnTerms:
    """Terms of a column, the fact of a document that is its value, and the words of its question."""

    column: Column
    terms: tuple[str, ...]
    fact: Fact = ""
    context: tuple[str, ...] = ()
    borrowed: tuple[str, ...] = ()
    """Terms of a field that the column's name has among other words: "Start" of "Start of the tenancy"."""
    fact_only: bool = False
    """True where a sentence alone is never sure."""
    heads: tuple[str, ...] = ()
    """Words of the question that a statement must name, for a column named after a kind of value alone."""
    vague: bool = False
    """True where no word of the column says what its value is of: a sentence is never sure."""
    spoken: tuple[str, ...] | None = None
    """Terms in running text, where they are others than those of labels."""

    @cached_property
    def token_sets(self) -> tuple[frozenset[str], ...]:
        """The tokens of each term, without those that add nothing."""
        found = (words(term) for term in self.terms)
        return tuple(dict.fromkeys(one - _LIGHT or one for one in found if one))

    @cached_property
    def asked(self) -> frozenset[str]:
        """Tokens of name and question."""
        return words(f"{self.column.name} {self.column.question}")

    @cached_property
    def pattern(self) -> re.Pattern[str] | None:
        """Pattern of the terms in running text, the longest first."""
        terms = self.terms if self.spoken is None else self.spoken
        named = [term for term in terms if tokens(term) or term != self.column.name]
        parts = [_term_pattern(term) for term in sorted((*named, *self.borrowed), key=len, reverse=True)]
        return re.compile("|".join(parts), re.IGNORECASE) if parts else None

    def in_context(self, sentence: str) -> bool:
        """Return True for a sentence with a word that it needs to be surely of the field."""
        said = sentence.casefold()
        if self.fact_only or self.vague:
            return False
        return not self.context or any(word in said for word in self.context)

    @cached_property
    def _heads_pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(_term_pattern, self.heads)), re.IGNORECASE)

    def names_heads(self, text: str) -> bool:
        """Return True for a text with a word that says what the value is of; where none must, for any."""
        return not self.heads or self._heads_pattern.search(text) is not None

    def mentions(self, text: str) -> Iterator[Mention]:
        """Yield the terms in a text, in order."""
        if self.pattern is not None:
            yield from (Mention(*match.span()) for match in self.pattern.finditer(text))

    def within(self, label: str, least: int = 3) -> bool:
        """Return True for a label that has all words of a term of at least so many among its own."""
        said = words(label)
        return any(len(term) >= least and term <= said for term in self.token_sets)

    def label_score(
        self, label: str, section: str = "", around: str = "", own: frozenset[str] = frozenset()
    ) -> float:
        """Return how surely a label names the field, 0 to 1; `own` are the names of the document.

        Words of the label that no term has say something else. Words of a term that the label lacks may stand
        in its section or, with less weight, around it.

        >>> terms = terms_of(Column("eps", "Diluted earnings per share", kind="money"))
        >>> terms.label_score("Diluted", "Earnings per share:"), terms.label_score("Diluted", "Shares used")
        (1.0, 0.45)
        """
        said = words(_PARENTHESES.sub(" ", label)) - own
        under = words(_PARENTHESES.sub(" ", section)) - own
        core = said - _LIGHT or said
        part = 0.02 * bool((said & _LIGHT) - TOTAL)  # a part of the whole: "attributable to"
        beside = words(around) if around else frozenset[str]()
        own_score = max(
            (self._score(said, core, under, beside, term) for term in self.token_sets), default=0.0
        )
        lent = max(
            (self._score(said, core, under, beside, term) for term in self._borrowed_sets), default=0.0
        )
        return round(max(0.0, max(own_score, BORROWED * lent) - part), 4) if core else 0.0

    @cached_property
    def _borrowed_sets(self) -> tuple[frozenset[str], ...]:
        return tuple(dict.fromkeys(found for term in self.borrowed if (found := words(term))))

    def _score(
        self,
        said: frozenset[str],
        core: frozenset[str],
        under: frozenset[str],
        beside: frozenset[str],
        term: frozenset[str],
    ) -> float:
        extra = len(core - term - self.asked) / max(1, len(core))
        missing = term - core
        other = any(word[0] == "=" for word in core - term - self.asked)
        if (
            other
            or extra > MOST_EXTRA
            or len(missing) == len(term)
            or any(word[0] == "=" for word in missing - under)
        ):
            return 0.0
        above = missing & under
        around = (missing - above) & beside
        lacking = len(missing - above - around) + 0.5 * len(around)
        if lacking and lacking / len(term) > 0.5:
            return 0.0
        whole = not missing and (said & TOTAL or under & term)
        other = bool(under - term - _LIGHT - self.asked) and not whole
        return max(0.0, EXACT - 0.6 * extra - 0.8 * lacking / len(term) - 0.15 * other)


@lru_cache(maxsize=32_768)  # labels repeat between columns, and between documents of a kind
def words(text: str) -> frozenset[str]:
    """Return the tokens of a label or a term, with the words that make it another one.

    >>> sorted(words("Other operating income")), sorted(words("매출"))
    (['=other', 'incom', 'oper'], ['매출'])
    """
    language = "en" if _LATIN_TEXT.fullmatch(text) else None
    told = tokens(text, language) or [one.casefold() for one in text.split()]  # "From" is a label, too
    to = _ENDS_IN.search(text)  # "Invoice to" is no "Invoice"
    marks = [*_OTHER.findall(text), *([to[1]] if to else [])]
    return frozenset(told) | {f"={one.casefold()}" for one in marks}


@lru_cache(maxsize=256)
def terms_of(column: Column) -> ColumnTerms:
    """Return the terms of a column: its name, its alternatives, and those of the fields it is named after.

    >>> terms_of(Column("rent", "Monthly rent / lease payment", kind="money")).terms
    ('Monthly rent / lease payment', 'Monthly rent', 'lease payment')
    """
    fields = known_fields(column)
    parts = [part for part in _ALTERNATIVE.split(_PARENTHESES.sub(" ", column.name)) if len(part.strip()) > 1]
    day = _DAY_OF.fullmatch(column.name) if column.kind == "date" else None
    names = [column.name, *(parts if len(parts) > 1 else []), *([day["what"]] if day else [])]
    general = general_field(column)
    of_kind = general.labels if general else ()
    called = (t for f in fields for t in f.called)
    terms = dict.fromkeys(term for term in (*names, *of_kind, *called) if term.strip())
    facts: list[Fact] = [field.fact for field in fields if field.fact]
    lent, context = _borrowed(column) if not fields else ((), ())
    context = (*(word for field in fields for word in field.context), *context)
    fact_only = any(field.fact_only for field in fields)
    fact: Fact = facts[0] if facts else general.fact if general else ""
    if general is None:
        return ColumnTerms(column, tuple(terms), fact, context, lent, fact_only)
    asked = heads(column)
    vague = not asked and not general.predicate
    spoken = (*asked, *(general.labels if general.predicate or not asked else ()))
    spoken = tuple(one for one in spoken if one in asked or len(one.split()) > 1 or not one.isascii())
    return ColumnTerms(column, tuple(terms), fact, context, lent, fact_only, asked, vague, spoken)


def _borrowed(column: Column) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the terms of a field that a column's name has among other words, and those words as context."""
    said, folded = words(column.name), "".join(column.name.casefold().split())
    for field in fields_with_context():
        for name in field.names:
            named = words(name)
            within = named < said if name.isascii() else folded.endswith(name) and folded != name
            if field.kind == column.kind and within:
                other = [
                    one
                    for one in re.findall(r"[^\W\d_]{4,}", column.name.casefold())
                    if not words(one) <= named
                ]
                rest = [folded.removesuffix(name)] if not name.isascii() else other
                return field.called, (*field.context, *rest)
    return (), ()


def _term_pattern(term: str) -> str:
    words = term.split()
    if not term.isascii():
        return r"\s?".join(re.escape(word) for word in words)
    return r"\b" + r"[\s-]+".join(_word_pattern(word) for word in words)


def _word_pattern(word: str) -> str:
    if not _LATIN_WORD.fullmatch(word) or len(word) < 4 or word.casefold() in STOP_WORDS["en"]:
        return re.escape(word) + (r"\b" if word[-1:].isalnum() else "")
    stem = word[:-3] if len(word) > 6 and word.endswith("ing") else word
    stem = stem[:-1] if stem[-1] in "esy" else stem
    return re.escape(stem) + r"[a-z]{0,3}\b"


def nearest(mentions: Sequence[Mention], start: int, end: int) -> int:
    """Return the characters between a span and the nearest mention; a large number without any."""
    return min((max(0, one.start - end, start - one.end) for one in mentions), default=1_000_000)
