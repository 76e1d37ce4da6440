"""What all rerankers have in common: one verb, a time, and the incoming order where they fail."""

import logging
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from rag.errors import Cancelled, FootnoteError, RerankError
from rag.jobs import Cancel, never
from rag.retrieval.fusion import min_max
from rag.retrieval.omissions import LeftOut
from rag.retrieval.rerank.ordering import Score, finite, ordered
from rag.retrieval.rerank.within import within

log = logging.getLogger(__name__)

NAME = "reranker"
"""Who ordered a passage, in `found_by`."""
SECONDS = 10.0
"""How long a reranker may take: the reader waits for it."""


@dataclass(frozen=True)
class Scored:
    """A score for each passage, in the order of the passages; `note` says what the trace should."""

    scores: Sequence[Score]
    note: str = ""


@dataclass(frozen=True)
class Reranked:
    """Documents in their order; `note` is for the trace, `failure` is why that order is the incoming one."""

    documents: list[Document]
    note: str = ""
    failure: FootnoteError | None = None


class Reranker(BaseDocumentCompressor):
    """Puts the best `k` of the documents first, or all. Subclasses say how well each answers the question.

    A document keeps id, text and metadata; its "score" becomes the reranker's, and "found_by" has it beside
    who found the document: ``{"reranker": {"rank": 1, "score": 3.2, "normalised": 1.0}}``. One whose score is
    below `threshold` is dropped. Where a reranker fails, takes more than `seconds`, or cannot score half of
    the documents, they come as they were given, and `on_failure` is told NAME and the error.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    k: int | None = None
    seconds: float = SECONDS
    threshold: float | None = None
    on_failure: Callable[[str, Exception], None] | None = None

    @abstractmethod
    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> Scored:
        """Return a score for each document, more is better; stop where `cancelled` says so."""

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002 - LangChain's form; nothing here reports to them
    ) -> Sequence[Document]:
        """Return the documents in their new order: `rerank`, as LangChain calls it."""
        return self.rerank(documents, query).documents

    def rerank(self, documents: Sequence[Document], query: str, *, cancelled: Cancel = never) -> Reranked:
        """Return the documents in their new order, or why in their old; raises Cancelled alone."""
        if not documents:
            return Reranked([])
        try:
            scored = within(
                self.seconds, lambda stop: self._checked(query, documents, stop), cancelled=cancelled
            )
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - anyone's model may fail in any way; the search's order is there
            return self._unchanged(documents, _sentence(error))
        return self._arranged(documents, scored)

    def _checked(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> Scored:
        """Return finite scores, for half of the documents at least; raises RerankError."""
        scored = self.score(query, documents, cancelled)
        known = finite(scored.scores)
        missing = known.count(None)
        if len(known) != len(documents) or 2 * missing > len(known):
            raise RerankError(
                f"The reranker scored {len(known) - missing} of {len(documents)} passages. "
                "Choose another model in the settings, or none."
            )
        unscored = (
            f"{missing} of {len(known)} passages have no score and kept their place." if missing else ""
        )
        return Scored(known, " ".join(part for part in (scored.note, unscored) if part))

    def _unchanged(self, documents: Sequence[Document], failure: FootnoteError) -> Reranked:
        note = LeftOut(NAME, str(failure)).sentence
        if self.on_failure is not None:
            self.on_failure(NAME, failure)
        else:
            log.warning("The passages stay in the order of the search: %s", failure)
        return Reranked(list(documents)[: self.k], note, failure)

    def _arranged(self, documents: Sequence[Document], scored: Scored) -> Reranked:
        kept = [at for at in ordered(scored.scores) if not self._weak(scored.scores[at])]
        scores = {at: score for at in kept if (score := scored.scores[at]) is not None}
        shares = dict(zip(scores, min_max(list(scores.values())), strict=True))
        arranged = [
            _result(documents[at], scores[at], rank, shares[at]) if at in scores else documents[at]
            for rank, at in enumerate(kept, start=1)
        ]
        dropped = len(documents) - len(kept)
        weak = f"{dropped} of {len(documents)} passages were dropped as too weak." if dropped else ""
        return Reranked(arranged[: self.k], " ".join(part for part in (scored.note, weak) if part))

    def _weak(self, score: Score) -> bool:
        return self.threshold is not None and score is not None and score < self.threshold


def _result(document: Document, score: float, rank: int, share: float) -> Document:
    finding = {"rank": rank, "score": score, "normalised": share}
    found_by = {**document.metadata.get("found_by", {}), NAME: finding}
    metadata = {**document.metadata, "score": score, "found_by": found_by}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)


def _sentence(error: Exception) -> FootnoteError:
    """Return an error fit to show; what a model throws that nobody foresaw is named by its kind."""
    if isinstance(error, FootnoteError):
        return error
    log.warning("A reranker failed", exc_info=error)
    failure = RerankError(
        f"The reranker failed ({type(error).__name__}). Choose another one in the settings, or none."
    )
    failure.__cause__ = error
    return failure
