"""Any sentence-transformers model, by folder or hub id. Brings torch, so only when it is asked for."""

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rag.errors import EmbeddingError, ModelUnavailable
from rag.models.embeddings import Embedder, Floats, Role
from rag.models.packaged.hub import only_on_disk

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

E5_PROMPTS = {"query": "query: ", "document": "passage: "}
"""What the E5 models were trained with, and most of their folders do not say."""


class SentenceTransformersEmbedder(Embedder):
    """A sentence-transformers model; only safetensors are loaded, and no code that comes with a model.

    Raises ModelUnavailable when there is no such model, or it cannot be loaded so.
    """

    def __init__(self, spec: str):
        self.name = spec
        self._model = _load(spec)
        dimension = self._model.get_embedding_dimension()
        if dimension is None:
            raise ModelUnavailable(f"{spec} does not say how long its vectors are. Choose another model.")
        self.dimension = int(dimension)
        self.fingerprint = _fingerprint(self._model.state_dict())

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        encode = self._model.encode_query if role == "query" else self._model.encode_document
        try:
            return np.asarray(encode(list(texts), show_progress_bar=False), np.float32)
        except (RuntimeError, ValueError) as error:
            raise EmbeddingError(f"{self.name} could not embed the texts: {error}.") from error


def _load(spec: str) -> "SentenceTransformer":
    on_disk = only_on_disk(spec)
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(
            spec,
            trust_remote_code=False,
            local_files_only=on_disk,
            model_kwargs={"use_safetensors": True},
            backend="torch",
        )
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise ModelUnavailable(
            f"The embedding model {spec!r} cannot be loaded: {_first_line(error)}. Give a packaged model's "
            "name, or a sentence-transformers folder or hub id with safetensors."
        ) from error
    if re.search(r"\be5-(small|base|large)\b(?!.*instruct)", spec) and not any(model.prompts.values()):
        model.prompts.update(E5_PROMPTS)
    return model


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def _fingerprint(weights: dict[str, Any]) -> str:
    """Return the sha256 of the weights by name, in order: the same for the same model anywhere.

    BERT's own pooler is left out: most models do not come with one, and get random numbers nobody uses.
    """
    digest = hashlib.sha256()
    for name in sorted(name for name in weights if ".pooler." not in name):
        digest.update(name.encode())
        digest.update(weights[name].detach().cpu().float().contiguous().numpy())
    return digest.hexdigest()
