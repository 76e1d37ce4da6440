"""Reranker base class: a time limit, and the incoming order where a reranker fails."""

import logging
import math
import time
from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextvars import copy_context
from dataclasses import dataclass
from threading import Event, Thread
from typing import TypeVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from rag.errors import Cancelled, FootnoteError, RerankError
from rag.i18n import N_
from rag.jobs import Cancel, never
from rag.models.llm_errors import span
from rag.retrieval.degradation import Degraded
from rag.retrieval.fusion import min_max

log = logging.getLogger(__name__)
T = TypeVar("T")
POLL = 0.05  # seconds between checks for a cancel
NAME = "reranker"
"""Key of the reranker in `found_by`."""
SECONDS = 10.0
"""Longest time of a reranking."""
Score = float | None
"""How well a passage answers, more is better, on any scale; None where it could not be scored."""


def run_with_timeout(seconds: float, work: Callable[[Cancel], T], *, cancelled: Cancel = never) -> T:
    """Return the result of `work`, run in a thread, which is abandoned where it does not stop.

    Raises RerankError after `seconds`, Cancelled when `cancelled` returns true, and what `work` raises.
    """
    over: Future[T] = Future()
    stop = Event()
    Thread(target=copy_context().run, args=(_run, work, stop, over), name="rerank", daemon=True).start()
    deadline = time.monotonic() + seconds
    try:
        while not over.done():
            if cancelled():
                raise Cancelled(N_("You stopped the answer."))
            left = deadline - time.monotonic()
            if left <= 0:
                raise RerankError(N_("The reranker took more than {seconds}.", seconds=span(seconds)))
            wait([over], min(left, POLL))
        return over.result()
    finally:
        stop.set()


def _run(work: Callable[[Cancel], T], stop: Event, over: "Future[T]") -> None:
    try:
        over.set_result(work(stop.is_set))
    except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
        over.set_exception(error)


def order_by_score(scores: Sequence[Score]) -> list[int]:
    """Return positions by score, best first; equals keep their order, missing scores their position.

    >>> order_by_score([0.1, None, 0.9, 0.9])
    [2, 1, 3, 0]
    """
    known = finite_scores(scores)
    scored = {at: score for at, score in enumerate(known) if score is not None}
    best = iter(sorted(scored, key=lambda at: -scored[at]))
    return [at if score is None else next(best) for at, score in enumerate(known)]


def finite_scores(scores: Sequence[Score]) -> list[Score]:
    """Return the scores with those that are not finite as None: ``[1.0, nan] -> [1.0, None]``."""
    return [score if score is not None and math.isfinite(score) else None for score in scores]


@dataclass(frozen=True)
class RerankScores:
    """Score of each passage, in their order, with a `note` for the trace."""

    scores: Sequence[Score]
    note: str = ""


@dataclass(frozen=True)
class Reranked:
    """Reordered documents with a `note` for the trace; a `failure` means they are in the incoming order."""

    documents: list[Document]
    note: str = ""
    failure: FootnoteError | None = None


class Reranker(BaseDocumentCompressor):
    """Reranker that returns the best `k` of the documents, or all. Subclasses score them.

    A document's "score" becomes the reranker's, which is added to "found_by"; one below `threshold` is
    dropped. Where a reranker fails, takes more than `seconds`, or cannot score half of the documents, these
    keep their order, and `on_failure` gets NAME and the error.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    k: int | None = None
    seconds: float = SECONDS
    threshold: float | None = None
    on_failure: Callable[[str, Exception], None] | None = None

    @abstractmethod
    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> RerankScores:
        """Return a score for each document, more is better; stop where `cancelled` returns true."""

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002 - LangChain's signature
    ) -> Sequence[Document]:
        """Return the reranked documents: LangChain's name of `rerank`."""
        return self.rerank(documents, query).documents

    def rerank(self, documents: Sequence[Document], query: str, *, cancelled: Cancel = never) -> Reranked:
        """Return the reranked documents, or the failure; raises only Cancelled."""
        if not documents:
            return Reranked([])
        try:
            scored = run_with_timeout(
                self.seconds, lambda stop: self._checked(query, documents, stop), cancelled=cancelled
            )
        except Cancelled:
            raise
        except Exception as error:  # noqa: BLE001 - any model may fail in any way
            return self._unchanged(documents, _as_reranker_error(error))
        return self._arranged(documents, scored)

    def _checked(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> RerankScores:
        """Return finite scores of at least half of the documents; raises RerankError."""
        scored = self.score(query, documents, cancelled)
        known = finite_scores(scored.scores)
        missing = known.count(None)
        if len(known) != len(documents) or 2 * missing > len(known):
            raise RerankError(
                N_(
                    "The reranker scored {number} of {documents} passages. Choose another model in the "
                    "settings, or none.",
                    number=len(known) - missing,
                    documents=len(documents),
                )
            )
        unscored = (
            f"{missing} of {len(known)} passages have no score and kept their place." if missing else ""
        )
        return RerankScores(known, " ".join(part for part in (scored.note, unscored) if part))

    def _unchanged(self, documents: Sequence[Document], failure: FootnoteError) -> Reranked:
        note = Degraded(NAME, str(failure)).sentence
        if self.on_failure is not None:
            self.on_failure(NAME, failure)
        else:
            log.warning("The passages stay in the order of the search: %s", failure)
        return Reranked(list(documents)[: self.k], note, failure)

    def _arranged(self, documents: Sequence[Document], scored: RerankScores) -> Reranked:
        kept = [at for at in order_by_score(scored.scores) if not self._weak(scored.scores[at])]
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


def _as_reranker_error(error: Exception) -> FootnoteError:
    """Return an error that can be shown; an unexpected one is named by its type."""
    if isinstance(error, FootnoteError):
        return error
    log.warning("A reranker failed", exc_info=error)
    failure = RerankError(
        N_(
            "The reranker failed ({name}). Choose another one in the settings, or none.",
            name=type(error).__name__,
        )
    )
    failure.__cause__ = error
    return failure
