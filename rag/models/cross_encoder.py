"""Loading of sentence-transformers cross-encoders, without code that comes with a model."""

from typing import TYPE_CHECKING

from rag.errors import ModelUnavailable
from rag.models.packaged.catalog import only_on_disk

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder as CrossEncoder


def open_cross_encoder(spec: str) -> "CrossEncoder":
    """Open a model by folder or hub id, with logits as scores. Imports torch, which takes seconds.

    Only safetensors are loaded, and no code that comes with a model. Raises ModelUnavailable.
    """
    on_disk = only_on_disk(spec)
    from sentence_transformers import CrossEncoder
    from torch.nn import Identity

    try:
        model: CrossEncoder = CrossEncoder(
            spec,
            trust_remote_code=False,
            local_files_only=on_disk,
            model_kwargs={"use_safetensors": True},
            activation_fn=Identity(),
        )
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        raise ModelUnavailable(
            f"The cross-encoder {spec!r} cannot be loaded. Give the folder or hub id of one with safetensors."
        ) from error
    return model
