"""Cross-encoder reranker: question and passage are read together and get one score."""

from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING

from langchain_core.documents import Document

from rag.errors import Cancelled, RerankError
from rag.i18n import N_
from rag.jobs import Cancel
from rag.models.hub import open_cross_encoder
from rag.retrieval.rerank.base import Reranker, RerankScores
from rag.text.normalize import clean

if TYPE_CHECKING:
    from rag.models.hub import CrossEncoder

DEFAULT_MODEL = "BAAI/bge-reranker-v2-m3"
"""About a hundred languages, including Korean and Japanese; 2.3 GB."""
MAX_LENGTH = 512
"""Tokens: what bge-reranker-v2-m3 was tuned with; its own limit of 8,192 costs memory and time."""
BATCH = 8
"""Pairs at a time: larger batches are no quicker on two cores, and batches can be cancelled in between."""


class CrossEncoderModel:
    """Cross-encoder by folder or hub id, opened once at its first use; raises ModelUnavailable.

    Question and passage together are cut to `max_length` tokens; None is the model's own limit.
    """

    def __init__(self, spec: str = DEFAULT_MODEL, *, max_length: int | None = MAX_LENGTH):
        self.spec = spec
        self.max_length = max_length
        self._opening = Lock()
        self._model: CrossEncoder | None = None

    def logits(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return a score for each (question, passage): any number, more is better."""
        scores = self._load().predict(list(pairs), batch_size=len(pairs), show_progress_bar=False)
        if scores.ndim == 2 and scores.shape[1] == 1:
            scores = scores[:, 0]
        if scores.shape != (len(pairs),):
            raise RerankError(
                N_(
                    "The cross-encoder {spec} gives more than one score for a passage. Choose a reranker.",
                    spec=repr(self.spec),
                )
            )
        return [float(score) for score in scores]

    def _load(self) -> "CrossEncoder":
        with self._opening:
            if self._model is None:
                self._model = open_cross_encoder(self.spec, max_length=self.max_length)
            return self._model


class CrossEncoderReranker(Reranker):
    """Cross-encoder reranker by logits; a load that takes too long goes on for later questions."""

    model: CrossEncoderModel

    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> RerankScores:
        """Return the logits; raises ModelUnavailable, RerankError and Cancelled."""
        texts = [clean(document.page_content) for document in documents]
        longest_first = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        scores: dict[int, float] = {}
        for start in range(0, len(texts), BATCH):
            if cancelled():
                raise Cancelled(N_("The reranking was stopped."))
            batch = longest_first[start : start + BATCH]
            scores |= zip(batch, self.model.logits([(query, texts[at]) for at in batch]), strict=True)
        return RerankScores([scores[at] for at in range(len(texts))])
