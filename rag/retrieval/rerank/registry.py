"""The rerankers by the names people choose them by."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from rag.errors import SettingsError
from rag.models.protocol import LanguageModel
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.cross_encoder import USUAL, CrossEncoderModel, CrossEncoderReranker
from rag.retrieval.rerank.llm import LLMReranker
from rag.retrieval.rerank.llm_listwise import ListwiseReranker
from rag.retrieval.rerank.llm_pointwise import LogprobReranker, RatingReranker
from rag.retrieval.rerank.remote import RemoteReranker

NONE = "none"
ASKING: dict[str, type[LLMReranker]] = {
    "pointwise-logprob": LogprobReranker,
    "pointwise-score": RatingReranker,
    "listwise": ListwiseReranker,
}
"""Those that ask the connected language model."""
NAMES = (NONE, "cross-encoder", *ASKING, "remote")


@dataclass(frozen=True)
class Parts:
    """What rerankers are made of: the connected model, and a model's name with where it is served.

    `opened` gives a cross-encoder by folder or hub id; whoever wants it loaded once keeps what it gives.
    """

    llm: LanguageModel | None = None
    model: str = ""
    base_url: str | None = None
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    opened: Callable[[str], CrossEncoderModel] = CrossEncoderModel


def choose_reranker(name: str, parts: Parts, **options: Any) -> Reranker | None:
    """Return the reranker called `name`, or None for "none"; `options` are those of every Reranker.

    Raises SettingsError for another name, and where a part that it needs is not there.
    """
    if name == NONE:
        return None
    if name in ASKING:
        if parts.llm is None:
            raise SettingsError(
                f"The reranker {name!r} asks the language model, and none is connected. "
                "Connect one in the settings, or choose another reranker."
            )
        return ASKING[name](llm=parts.llm, **options)
    if name == "cross-encoder":
        return CrossEncoderReranker(model=parts.opened(parts.model or USUAL), **options)
    if name == "remote":
        return _remote(parts, options)
    raise SettingsError(f"There is no reranker {name!r}. Choose one of: {', '.join(NAMES)}.")


def _remote(parts: Parts, options: dict[str, Any]) -> RemoteReranker:
    if not parts.base_url:
        raise SettingsError(
            "The reranker 'remote' needs an address. Give it in the settings, or as FOOTNOTE_RERANK_BASE_URL."
        )
    return RemoteReranker(base_url=parts.base_url, model=parts.model, api_key=parts.api_key, **options)
