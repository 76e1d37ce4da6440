"""What readers wrote beside the text of an Office file: who, when, and what."""

import zipfile
from collections.abc import Iterator
from typing import Any

from rag.ingest.parsers.ooxml import attribute, local, named, parsed, related, text_of

_LISTS = ("person.xml", "commentauthors.xml", "authors.xml")
_WHEN = ("date", "dt", "dT", "created")
_THREADED = "[Threaded comment]"  # how Excel begins the copy it keeps for its older versions


def comments(container: zipfile.ZipFile, part: str) -> list[str]:
    """Return the comments on a document, slide or sheet: `Comment by Jane Smith on B4, 2026-06-18: Why?`."""
    people = _people(container)
    threaded = related(container, part, "/threadedComment").values()
    kept = [target for target in related(container, part).values() if "omment" in target.rpartition("/")[2]]
    found = []
    for target in sorted(kept, key=lambda name: name not in threaded):
        root = parsed(container, target)
        authors = [text for author in named(root, "author") if (text := author.text)]
        for comment in _each(root):
            written = _written(comment, authors, people)
            if written and written not in found:
                found.append(written)
    return found


def _each(root: Any) -> Iterator[Any]:
    names = ("comment", "threadedComment", "cm", "reply")
    return (element for element in root.iter() if isinstance(element.tag, str) and local(element) in names)


def _written(comment: Any, authors: list[str], people: dict[str, str]) -> str:
    text = _own_text(comment)
    if not text or text.startswith(_THREADED):
        return ""
    author = attribute(comment, "author") or _author(comment, authors, people)
    place = attribute(comment, "ref")
    when = next((value[:10] for name in _WHEN if (value := attribute(comment, name))), "")
    said = "Comment" + (f" by {author}" if author else "") + (f" on {place}" if place else "")
    return f"{said}{', ' + when if when else ''}: {text}"


def _own_text(comment: Any) -> str:
    """Return a comment's words without those of the answers to it."""
    parts = (part for part in comment if isinstance(part.tag, str) and local(part) != "replyLst")
    return " ".join(text for part in parts if (text := text_of(part)))


def _author(comment: Any, authors: list[str], people: dict[str, str]) -> str:
    id_ = attribute(comment, "personId") or attribute(comment, "authorId")
    if id_ in people:
        return people[id_]
    name = authors[int(id_)] if id_.isdecimal() and int(id_) < len(authors) else ""
    return "" if name.startswith("tc=") else name


def _people(container: zipfile.ZipFile) -> dict[str, str]:
    """Return the names of those who commented, by the ids that comments use."""
    lists = [name for name in container.namelist() if name.rpartition("/")[2].lower() in _LISTS]
    people = [person for name in lists for person in parsed(container, name)]
    return {
        attribute(person, "id"): attribute(person, "displayName") or attribute(person, "name")
        for person in people
    }
