"""Interface language: gettext catalogues, the language of what is running now, and translation.

Pages, exports and the command line say `_("{name} was deleted.", name=name)`, which is translated at once.
What is raised, stored or made by a background job says `N_(...)`, which is English text; whoever shows it
calls `translated`. Stored English text is recognised by the templates of the catalogue.

A placeholder named `reason` or `kind` holds a message, which is translated as well. All others hold names
and numbers.
"""

import gettext
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import date, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from string import Formatter
from typing import Any

from storage.i18n import N_, N_plural, Translatable, formatted

__all__ = ["ENGLISH", "LANGUAGES", "N_", "N_plural", "Translatable", "_", "ngettext", "translated"]

ENGLISH = "en"
LANGUAGES: Mapping[str, str] = {ENGLISH: "English", "ko": "한국어", "ja": "日本語"}
"""Name of each language in itself, by its code."""
FOLDER = Path(__file__).with_name("locale")
DOMAIN = "footnote"
MAX_MATCHED = 4_000  # characters of a stored text that is looked up
REASON = "reason"
NESTED = frozenset({REASON, "kind"})
"""Placeholders whose values are messages as well."""
AFTER_NAME = {N_("{name}: {reason}"): ": ", N_("{name} {reason}"): " "}
"""Messages with a name before another message, and what stands between them."""
SENTENCE_END = re.compile(r"(?<=[.!?…”]) ")
LEAST_FIXED = 8  # characters: a form with fewer around a name fits any text

_language: ContextVar[str | None] = ContextVar("language", default=None)


def _english() -> str:
    return ENGLISH


_source: Callable[[], str] = _english


def language() -> str:
    """Return the language of the page, request or command that is running; English for background jobs."""
    return _language.get() or _source()


@contextmanager
def in_language(code: str) -> Iterator[None]:
    """Translate into this language, within a `with` block."""
    token = _language.set(code)
    try:
        yield
    finally:
        _language.reset(token)


def read_language_from(source: Callable[[], str]) -> None:
    """Set the function that returns the language where no `in_language` block says it."""
    global _source
    _source = source


def supported(tag: str | None) -> str | None:
    """Return the code of the language that a tag or a locale names, if it is one of ours.

    >>> supported("ko-KR"), supported("ja_JP.UTF-8"), supported("fr"), supported(None)
    ('ko', 'ja', None, None)
    """
    code = re.split(r"[-_.@]", tag or "", maxsplit=1)[0].lower()
    return code if code in LANGUAGES else None


def preferred(accept_language: str) -> str:
    """Return the language of an Accept-Language header that is ours and ranks first, else English.

    >>> preferred("fr, ja;q=0.5, ko-KR;q=0.8"), preferred("*")
    ('ko', 'en')
    """
    ranked: list[tuple[float, str]] = []
    for part in accept_language.split(","):
        tag, _semicolon, quality = part.partition(";")
        share = re.fullmatch(r"\s*q=([01](?:\.\d{1,3})?)\s*", quality)
        ranked.append((-(float(share[1]) if share else 1.0), tag.strip()))
    codes = [supported(tag) for share, tag in sorted(ranked, key=lambda one: one[0]) if share]
    return next(filter(None, codes), ENGLISH)


def _(template: str, /, **values: object) -> str:
    """Return a message in the present language: `_("{name} was deleted.", name=name)`."""
    return _shown(template, "", values, language())


def ngettext(singular: str, plural: str, count: int, /, **values: object) -> str:
    """Return a message about `count` things: `ngettext("{count} file", "{count} files", 3)`."""
    return _shown(singular, plural, {"count": count, **values}, language())


def translated(text: str) -> str:
    """Return a message that was made elsewhere, or stored in English, in the present language."""
    return _translated(text, language())


def _translated(text: str, code: str) -> str:
    if code == ENGLISH:
        return text
    if isinstance(text, Translatable):
        return _shown(text.template, text.plural, text.values, code)
    return _recognised(text, code)


@lru_cache(maxsize=2_000)
def _recognised(text: str, code: str) -> str:
    return catalogue(code).recognised(text)


def _shown(template: str, plural: str, values: Mapping[str, object], code: str) -> str:
    if code == ENGLISH:
        return formatted(plural if plural and values["count"] != 1 else template, values, str)
    return catalogue(code).said(template, plural, values)


class Form:
    """One English form of a message, singular or plural, as a pattern that finds the values in a text."""

    def __init__(self, template: str, plural: str, written: str):
        self.template, self.plural = template, plural
        self._parts = [(literal, name) for literal, name, _spec, _conversion in Formatter().parse(written)]
        self._literals = sorted((literal for literal, _name in self._parts), key=len, reverse=True)

    @property
    def rank(self) -> int:
        """Number of fixed characters: of two forms that fit, the one with more of them is meant."""
        return sum(map(len, self._literals))

    @property
    def names(self) -> set[str]:
        """Names of the values that may be any text."""
        return {name for _literal, name in self._parts if name} - {"count"}

    def values_in(self, text: str) -> dict[str, str] | None:
        """Return the values, as they are written, if the text has this form."""
        if not all(literal in text for literal in self._literals):
            return None
        found = self._pattern.fullmatch(text)
        return found.groupdict() if found else None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        pattern, seen = "", set[str]()
        for literal, name in self._parts:
            pattern += re.escape(literal)
            if name:
                value = r"[\d,]+" if name == "count" else ".+?"
                pattern += f"(?P={name})" if name in seen else f"(?P<{name}>{value})"
                seen.add(name)
        return re.compile(pattern, re.DOTALL)


class Catalogue:
    """The messages of one language: singular, plural (empty where nothing is counted), translations."""

    def __init__(self, messages: Iterable[tuple[str, str, Sequence[str]]], plural_rule: str):
        listed = [message for message in messages if all(message[2])]
        self._translations = {template: translations for template, _plural, translations in listed}
        self._messages = [(template, plural) for template, plural, _translations in listed]
        self._choose = gettext.c2py(plural_rule)

    def said(self, template: str, plural: str, values: Mapping[str, object]) -> str:
        """Return a message in this language, with messages among its values; in English if it is not here."""
        known = {
            name: self.recognised(value) if name in NESTED and isinstance(value, str) else value
            for name, value in values.items()
        }
        return formatted(self._wording(template, plural, values.get("count")), known, self._value)

    def recognised(self, text: str) -> str:
        """Return an English text in this language, if it was made of a message; else the text."""
        if isinstance(text, Translatable):
            return self.said(text.template, text.plural, text.values)
        if not text or len(text) > MAX_MATCHED:
            return text
        found = self._sentences(text) or self._sentences(text[0].upper() + text[1:]) or self._after_name(text)
        return text if found is None else found

    def _sentences(self, text: str) -> str | None:
        """Return a message, or a message with more sentences after it; those that are known translated."""
        whole = self._message(text)
        if whole is not None:
            return whole
        for end in SENTENCE_END.finditer(text):
            first = self._message(text[: end.start()])
            if first is not None:
                rest = text[end.end() :]
                return f"{first} {self._sentences(rest) or rest}"
        return None

    def _after_name(self, text: str) -> str | None:
        """Return a text that is a name, and what a message says of it: "a.pdf is damaged."."""
        for template, between in AFTER_NAME.items():
            for at in re.finditer(re.escape(between), text):
                reason = self._sentences(text[at.end() :])
                if reason is not None:
                    return self.said(template, "", {"name": text[: at.start()], REASON: reason})
        return None

    def _message(self, text: str) -> str | None:
        for form in self.forms:
            found = form.values_in(text)
            if found is not None:
                values: dict[str, object] = dict(found)
                if form.plural or "count" in found:
                    values["count"] = int(found.get("count", "1").replace(",", ""))
                return self.said(form.template, form.plural, values)
        return None

    def _wording(self, template: str, plural: str, count: Any) -> str:
        translations = self._translations.get(template)
        if translations is None:
            return plural if plural and count != 1 else template
        return translations[self._choose(count)] if plural else translations[0]

    def _value(self, value: str) -> str:
        if isinstance(value, Translatable):
            return self.said(value.template, value.plural, value.values)
        return value

    @cached_property
    def forms(self) -> list[Form]:
        """Return the English forms, the most exact first, without those that are little but values."""
        forms = [
            Form(template, plural, written)
            for template, plural in self._messages
            for written in filter(None, (template, plural))
        ]
        exact = [form for form in forms if form.rank >= LEAST_FIXED or not form.names]
        return sorted(exact, key=lambda form: -form.rank)


@lru_cache
def catalogue(code: str) -> Catalogue:
    """Return the catalogue of a language, read once."""
    from babel.messages.pofile import read_po

    with (FOLDER / code / "LC_MESSAGES" / f"{DOMAIN}.po").open("rb") as file:
        read = read_po(file, locale=code)
    messages = []
    for message in read:
        if message.id and not message.fuzzy:
            singular, plural = (*_texts(message.id), "")[:2]
            messages.append((singular, plural, _texts(message.string)))
    return Catalogue(messages, read.plural_expr)


def _texts(text: object) -> tuple[str, ...]:
    return tuple(map(str, text)) if isinstance(text, tuple | list) else (str(text),)


def english_name(code: str) -> str:
    """Return what a language is called in English, as prompts have it.

    >>> english_name("ko"), english_name("zh")
    ('Korean', 'Chinese')
    """
    from babel import Locale

    return Locale(code).english_name or code


def written_day(day: date) -> str:
    """Return a date in the present language: "24 Nov 2026"."""
    from babel.dates import format_date

    code = language()
    return format_date(day, "d MMM y" if code == ENGLISH else "medium", locale=code)


def written_month(day: date) -> str:
    """Return the month of a date in the present language: "November 2026"."""
    from babel.dates import format_skeleton

    return format_skeleton("yMMMM", day, locale=language())


def written_period(label: str) -> str:
    """Return a period, or ISO days, in the present language; anything else unchanged.

    >>> written_period("2023-Q3"), written_period("2023-04-02/2023-07-01"), written_period("2023-H1")
    ('Q3 2023', '2 Apr 2023 to 1 Jul 2023', 'H1 2023')
    """
    first, _slash, last = label.partition("/")
    if last:
        return _("{first} to {last}", first=written_period(first), last=written_period(last))
    year, _dash, part = label.partition("-")
    if re.fullmatch("Q[1-4]", part):
        return _("Q{number} {year}", number=part[1], year=year)
    if part in ("H1", "H2"):
        return _("H1 {year}", year=year) if part == "H1" else _("H2 {year}", year=year)
    if re.fullmatch(r"\d{4}-\d\d-\d\d", label):
        return written_day(date.fromisoformat(label))
    return written_month(date.fromisoformat(f"{label}-01")) if re.fullmatch(r"\d{4}-\d\d", label) else label


def short_moment(moment: datetime, today: date, *, exact: bool = False) -> str:
    """Return the time of a moment of today, or its day, in the present language: "14:05", "Nov 2".

    An `exact` one has seconds, or the time beside the day.
    """
    from babel.dates import format_skeleton

    of_today = moment.date() == today
    clock = format_skeleton("Hms" if exact and of_today else "Hm", moment, locale=language())
    day = format_skeleton("MMMd", moment, locale=language())
    return clock if of_today else f"{day} {clock}" if exact else day


def joined(sentences: Iterable[str]) -> str:
    """Return sentences one after the other, as the present language writes them: Japanese without blanks."""
    return ("" if language() == "ja" else " ").join(sentences)


def quoted(text: str) -> str:
    """Return a text in the quotation marks of the present language.

    >>> quoted("net sales")
    '“net sales”'
    """
    return f"「{text}」" if language() == "ja" else f"“{text}”"


def enumerated(names: Sequence[str]) -> str:
    """Return names as a list in the present language: "a and b"; Korean and Japanese only part them.

    >>> enumerated(["a.pdf", "b.pdf"])
    'a.pdf and b.pdf'
    """
    from babel.lists import format_list

    code = language()
    return _PARTED[code].join(names) if code in _PARTED else format_list(list(names), locale=code)


_PARTED = {"ko": ", ", "ja": "、"}
"""Between the names of a list, where a word before the last one reads stiffly."""
