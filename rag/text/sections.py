"""The stretches of a document between page and heading starts, each with the headings above it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from rag.text.cutting import trimmed, weight
from rag.text.document import LoadedDocument


@dataclass(frozen=True)
class Section:
    """``text[start:end]`` of a document, on one page, under the headings of ``path``."""

    start: int
    end: int
    page: int | None
    path: tuple[str, ...]


def sections(document: LoadedDocument, minimum: int) -> list[Section]:
    """Return a document's sections; those shorter than `minimum` letters are joined with their neighbours."""
    return _no_shorter(document.text, _sections(document), minimum)


def _sections(document: LoadedDocument) -> Iterator[Section]:
    pages = document.pages or ((None, 0, len(document.text)),)
    path: list[tuple[int, str]] = []
    headings = iter(document.headings)
    coming = next(headings, None)
    for number, start, end in pages:
        at = start
        while coming is not None and coming[0] < end:
            if document.text[at : coming[0]].strip() and not _only_heading(document, at, coming[0]):
                yield Section(at, coming[0], number, tuple(heading for _, heading in path))
                at = coming[0]
            path = [entry for entry in path if entry[0] < coming[1]] + [(coming[1], coming[2])]
            coming = next(headings, None)
        yield Section(at, end, number, tuple(heading for _, heading in path))


def _only_heading(document: LoadedDocument, start: int, end: int) -> bool:
    """Whether a stretch is one line: a heading that belongs to what follows it."""
    return "\n" not in document.text[start:end].strip() and any(
        heading[0] == start for heading in document.headings
    )


def _no_shorter(text: str, found: Iterable[Section], minimum: int) -> list[Section]:
    """Join sections of one page until each has `minimum` letters; what headings they share leads to it."""
    kept: list[Section] = []
    for section in found:
        if kept and kept[-1].page == section.page and _letters(text, kept[-1]) < minimum:
            kept[-1] = _together(kept[-1], section)
        else:
            kept.append(section)
    if len(kept) > 1 and kept[-2].page == kept[-1].page and _letters(text, kept[-1]) < minimum:
        kept[-2:] = [_together(kept[-2], kept[-1])]
    return kept


def _together(first: Section, second: Section) -> Section:
    shared = takewhile(lambda pair: pair[0] == pair[1], zip(first.path, second.path, strict=False))
    return replace(first, end=second.end, path=tuple(heading for heading, _ in shared))


def _letters(text: str, section: Section) -> float:
    start, end = trimmed(text, section.start, section.end)
    return (end - start) * weight(text, start, end)
