"""Loaded document: one canonical text with its pages and headings."""

import re
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import accumulate

from rag.i18n import N_
from rag.text.normalize import canonical

OPEN_XML = "application/vnd.openxmlformats-officedocument."
BETWEEN_PAGES = "\n\n"
EMPTY = N_("is empty. Save it again in its program, then add it.")
WORDLESS = N_("holds no text.")
LOCKED = N_("is locked with a password. Save it without one and add it again.")
CERTIFIED = N_("is protected by a certificate. Save it without one and add it again.")


@dataclass(frozen=True)
class LoadedDocument:
    """Text of a file. Offsets are code points of ``text``; ``end`` is one past the last.

    ``pages`` holds (number from 1, start, end) and is empty where the format has none;
    ``headings`` holds (start, level from 1, heading); ``pictured`` the numbers of pages that are
    images and need OCR; ``doubtful`` (number, unreadable share) of pages whose text layer is; ``note`` says
    what could not be read. ``attached`` holds (name, content) of files inside that are read on their own;
    ``convertible`` is the format that LibreOffice has to make of it. ``title``, ``author`` and the day
    ``written``, ISO, are those of the file's properties.
    """

    text: str
    pages: tuple[tuple[int, int, int], ...] = ()
    title: str = ""
    media_type: str = "text/plain"
    headings: tuple[tuple[int, int, str], ...] = ()
    pictured: tuple[int, ...] = ()
    doubtful: tuple[tuple[int, float], ...] = ()
    note: str = ""
    author: str = ""
    written: str = ""
    attached: Iterable[tuple[str, bytes]] = ()
    convertible: str = ""

    @property
    def is_whole(self) -> bool:
        """Return True where nothing else has to be read for its text."""
        return not (self.pictured or self.doubtful or self.attached or self.convertible)


def page_spans(pages: Sequence[str]) -> tuple[tuple[int, int, int], ...]:
    """Return (number, start, end) of each page in ``BETWEEN_PAGES.join(pages)``.

    >>> page_spans(["ab", "c"])
    ((1, 0, 2), (2, 4, 5))
    """
    starts = accumulate((len(page) + len(BETWEEN_PAGES) for page in pages), initial=0)
    return tuple(
        (number, start, start + len(page))
        for number, (page, start) in enumerate(zip(pages, starts, strict=False), 1)
    )


def with_pages(document: LoadedDocument, texts: Mapping[int, str]) -> LoadedDocument:
    r"""Return a document with the texts of some pages replaced; headings move with their pages.

    >>> read = LoadedDocument("\n\nb", ((1, 0, 0), (2, 2, 3)), headings=((2, 1, "b"),), pictured=(1,))
    >>> with_pages(read, {1: "a"}).pages, with_pages(read, {1: "a"}).headings
    (((1, 0, 1), (2, 3, 4)), ((3, 1, 'b'),))
    """
    pages = [texts.get(number, document.text[start:end]) for number, start, end in document.pages]
    spans = page_spans(pages)
    moved = []
    for (number, start, end), (_, new, _) in zip(document.pages, spans, strict=True):
        if number not in texts:
            inside = (heading for heading in document.headings if start <= heading[0] < end)
            moved += [(at - start + new, level, heading) for at, level, heading in inside]
    return replace(
        document,
        text=BETWEEN_PAGES.join(pages),
        pages=spans,
        headings=tuple(moved),
        pictured=(),
        doubtful=(),
    )


def shown(name: str) -> str:
    r"""Return a file's name for a sentence: printable, at most 100 characters.

    >>> shown("a\nb.pdf")
    'a?b.pdf'
    """
    printable = "".join(character if character.isprintable() else "?" for character in name)
    return printable if len(printable) <= 100 else printable[:80] + "…" + printable[-19:]


_LONGEST = 200  # characters of a property

_DAY = re.compile(r"(?:D:)?(\d{4})-?(\d\d)-?(\d\d)")


def completed(document: LoadedDocument, *, author: str, day: str, title: str = "") -> LoadedDocument:
    """Return a document with these properties, on one line each; a title that it has stays."""
    return replace(
        document,
        title=document.title or _line(title),
        author=_line(author),
        written=_iso_day(day),
    )


def _line(text: str) -> str:
    return " ".join(canonical(text).split())[:_LONGEST]


def _iso_day(text: str) -> str:
    """Return the day of a property, ISO; nothing where it is none.

    >>> _iso_day("2023-05-03T10:00:00Z"), _iso_day("D:20230503100000"), _iso_day("soon")
    ('2023-05-03', '2023-05-03', '')
    """
    match = _DAY.match(text.strip())
    try:
        return date(*map(int, match.groups())).isoformat() if match else ""
    except ValueError:
        return ""


LoadSteps = Generator[tuple[int, int], None, LoadedDocument]
