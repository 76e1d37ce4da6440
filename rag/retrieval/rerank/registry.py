"""Rerankers by name, the reranking stage with its events, and two-stage retrieval."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from pydantic import SecretStr

from rag.errors import SettingsError
from rag.i18n import N_
from rag.jobs import Cancel
from rag.models.hub import has_gpu, in_hub_cache
from rag.models.protocol import LanguageModel, Sent
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.cross_encoder import DEFAULT_MODEL, CrossEncoderModel, CrossEncoderReranker
from rag.retrieval.rerank.llm import ListwiseReranker, LLMReranker, LogprobReranker, RatingReranker
from rag.retrieval.rerank.remote import RemoteReranker

NONE = "none"
LLM_RERANKERS: dict[str, type[LLMReranker]] = {
    "pointwise-logprob": LogprobReranker,
    "pointwise-score": RatingReranker,
    "listwise": ListwiseReranker,
}
"""Rerankers by the connected language model."""
NAMES = (NONE, "cross-encoder", *LLM_RERANKERS, "remote")


@dataclass(frozen=True)
class RerankerParts:
    """Models for rerankers: the connected one, and a cross-encoder, `opened` by name, or a server."""

    llm: LanguageModel | None = None
    model: str = ""
    base_url: str | None = None
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    opened: Callable[[str], CrossEncoderModel] = CrossEncoderModel


def automatic_reranker(base_url: str | None, model: str) -> str:
    """Return the reranker that is on by itself: a server's, or the cross-encoder on a GPU.

    A cross-encoder that is not on this computer is not downloaded unasked: without a `model`, the usual one
    must be in the hub's cache.
    """
    if base_url:
        return "remote"
    return "cross-encoder" if has_gpu() and (model or in_hub_cache(DEFAULT_MODEL)) else NONE


def choose_reranker(name: str, parts: RerankerParts, **options: Any) -> Reranker | None:
    """Return the reranker called `name`, or None for "none"; raises SettingsError."""
    if name == NONE:
        return None
    if name in LLM_RERANKERS:
        if parts.llm is None:
            raise SettingsError(
                N_(
                    "The reranker {name} asks the language model, and none is connected. Connect one in "
                    "the settings, or choose another reranker.",
                    name=repr(name),
                )
            )
        return LLM_RERANKERS[name](llm=parts.llm, **options)
    if name == "cross-encoder":
        return CrossEncoderReranker(model=parts.opened(parts.model or DEFAULT_MODEL), **options)
    if name == "remote":
        if not parts.base_url:
            raise SettingsError(
                N_(
                    "The reranker 'remote' needs an address. Give it in the settings, or as "
                    "FOOTNOTE_RERANK_BASE_URL."
                )
            )
        return RemoteReranker(base_url=parts.base_url, model=parts.model, api_key=parts.api_key, **options)
    raise SettingsError(
        N_("There is no reranker {name}. Choose one of: {names}.", name=repr(name), names=", ".join(NAMES))
    )


@dataclass(frozen=True)
class Reranking:
    """Event: reranking of so many passages has begun, which may take seconds."""

    passages: int


@dataclass(frozen=True)
class Reordered:
    """Event: reranking has ended, with a note for the trace, often empty."""

    note: str


def rerank_events(
    reranker: Reranker, question: str, found: Sequence[Document], cancelled: Cancel, sent: list[Sent]
) -> Generator[Reranking | Reordered, None, list[Document]]:
    """Yield the events of a reranking and return the documents; requests are recorded in `sent`."""
    yield Reranking(len(found))
    recording = reranker.recording(sent) if isinstance(reranker, LLMReranker) else reranker
    result = recording.rerank(found, question, cancelled=cancelled)
    yield Reordered(result.note)
    return result.documents


class RerankingRetriever(BaseRetriever):
    """Two-stage retriever: `retriever` gives `fetch_k` documents, and a reranker the best `k` of them."""

    retriever: BaseRetriever
    reranker: BaseDocumentCompressor
    fetch_k: int = 20
    k: int = 4

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        callbacks = run_manager.get_child()
        found = self.retriever.invoke(query, config={"callbacks": callbacks}, k=self.fetch_k)
        return list(self.reranker.compress_documents(found, query, callbacks))[: self.k if k is None else k]
