"""Passage: a retrieved chunk with its place in the document and the retrievers that found it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.documents import Document

from storage.records import is_figure_id


@dataclass(frozen=True)
class Found:
    """Result of one retriever for a passage: rank from 1, raw score, normalised score."""

    rank: int
    score: float
    normalised: float


@dataclass(frozen=True)
class Passage:
    """A chunk of a document's canonical text, ``text == canonical[start:end]``.

    ``page`` counts from 1 and is None where the format has no pages; ``heading`` is the
    heading path, ``"Guide > Install"``, or empty. ``found_by`` maps a retriever's name to
    its finding; ``score`` is the score the list was ordered by. ``about`` says in a line, for
    the prompt, what its document is: "Apple Inc., 10-Q, period ended 2023-07-01". ``summaries`` are
    those above it in a summary tree that a search found; they are context, and never a source.
    The description of a figure `is_from_picture`; its span is that of the figure's caption.
    """

    id: str
    document_id: str
    document: str
    sha256: str
    page: int | None
    heading: str
    start: int
    end: int
    text: str
    score: float = 0.0
    found_by: Mapping[str, Found] = field(default_factory=dict)
    about: str = ""
    summaries: tuple[str, ...] = ()

    @property
    def is_from_picture(self) -> bool:
        """True where a model read the text from a picture: it stands beside [start, end), and is no quote."""
        return is_figure_id(self.id)

    @classmethod
    def from_document(cls, document: Document) -> "Passage":
        """Read a passage from a LangChain document; foreign ones may lack every field but the text."""
        metadata: dict[str, Any] = document.metadata
        return cls(
            id=document.id or "",
            document_id=metadata.get("document_id", ""),
            document=metadata.get("document", metadata.get("source", "")),
            sha256=metadata.get("sha256", ""),
            page=metadata.get("page"),
            heading=metadata.get("heading", ""),
            start=metadata.get("start", 0),
            end=metadata.get("end", len(document.page_content)),
            text=document.page_content,
            score=metadata.get("score", 0.0),
            found_by={name: Found(**found) for name, found in metadata.get("found_by", {}).items()},
            summaries=tuple(node["text"] for node in metadata.get("tree_summaries", ())),
        )


def quotable(passage: Passage) -> Passage:
    """Return a passage, without text where a model read it from a picture: that is evidence of nothing.

    >>> seen = Passage("d.figure-1", "d", "a.pdf", "", 1, "Figure 1", 0, 8, "Bars that grow.")
    >>> quotable(seen).text
    ''
    """
    return replace(passage, text="") if passage.is_from_picture else passage
