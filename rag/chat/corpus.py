"""Corpus: the documents behind a RAG pipeline's retriever."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from langchain_core.documents import Document

from rag.chat.question_scope import QuestionScope
from rag.ingest.document_facts import DocumentProfile
from rag.passage import Passage
from rag.text.tokenize import Rarity
from storage.records import Unsearched

History = Sequence[tuple[str, str]]
"""Messages before a question as (role, content), oldest first."""
CorpusStatus = Literal["searchable", "reading", "empty", "gone"]
"""Documents can be searched, or soon; there are none, or none of those that were chosen."""


@dataclass(frozen=True)
class Corpus:
    """Documents that a pipeline searches: of a plain LangChain retriever, at most the rarity is known.

    `rarity` is the inverse document frequency of a token; None where there are no word statistics.
    """

    rarity: Rarity | None = None

    def status(self) -> CorpusStatus:
        """Return the present status of the corpus."""
        return "searchable"

    def names(self) -> Sequence[str]:
        """Return the names of the documents, where the retriever lists them."""
        return ()

    def unsearched(self) -> Sequence[Unsearched]:
        """Return the files that are not searched, and those that only word search finds."""
        return ()

    def named_by(self, question: str) -> QuestionScope | None:  # noqa: ARG002
        """Return the documents that a question names, where it names some of them."""
        return None

    def subject(self, question: str, document_ids: Collection[str] | None) -> str:  # noqa: ARG002
        """Return a question without the words that only name the documents searched; None: all in scope."""
        return question

    def known_profiles(self) -> Mapping[str, DocumentProfile]:
        """Return what documents say of themselves, by their ids: parties, aliases, terms, period, unit."""
        return {}

    def documents_in_scope(self) -> Sequence[DocumentProfile]:
        """Return the documents that are searched, with what they say of themselves; none if unknown."""
        return ()

    def chunks(self, document_ids: frozenset[str] | None = None) -> Iterator[Document]:  # noqa: ARG002
        """Yield all chunks of the documents in scope, or of some of them, in order; none if unknown."""
        yield from ()

    def all_passages(self, document_ids: frozenset[str] | None = None) -> Iterator[Passage]:
        """Yield these chunks as passages."""
        return map(Passage.from_document, self.chunks(document_ids))

    def texts_about(self, words: str) -> Sequence[str]:  # noqa: ARG002
        """Return passages in scope that use some words most; none where the words are not indexed here."""
        return ()

    def has_trees(self, document_ids: frozenset[str]) -> bool:  # noqa: ARG002
        """Return True where each of these documents has a summary tree."""
        return False

    def instructions(self, document_ids: frozenset[str]) -> Sequence[tuple[str, str]]:  # noqa: ARG002
        """Return the name and the instructions of each collection of these documents that has some."""
        return ()

    def still_valid(self, passages: Sequence[Passage]) -> Sequence[Passage]:
        """Keep earlier passages that are unchanged and in scope."""
        return passages
