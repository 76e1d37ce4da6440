"""Models of the Hugging Face hub: their files on disk and on the hub, and models of sentence-transformers."""

import re
import urllib.error
import urllib.request
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rag.errors import ModelUnavailable
from rag.i18n import N_

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder as CrossEncoder
    from sentence_transformers import SentenceTransformer

E5_PROMPTS = {"query": "query: ", "document": "passage: "}
"""Prompts of the E5 models' training, which most of their folders lack."""
GPUS = Path("/proc/driver/nvidia/gpus")
REACH_SECONDS = 3.0
"""Longest wait for an answer of the hub before the next source."""


def find_files(hub_id: str, names: Sequence[str], *, download: bool) -> list[Path] | None:
    """Return the files in the hub's cache on disk, downloaded where that is asked for; None without them."""
    from huggingface_hub import hf_hub_download, hf_hub_url
    from huggingface_hub.errors import HfHubHTTPError

    # The hub's own client would try for half a minute.
    if download and not _reachable(hf_hub_url(hub_id, "config.json"), any_status=False):
        return None
    try:
        return [Path(hf_hub_download(hub_id, name, local_files_only=not download)) for name in names]
    except (OSError, HfHubHTTPError):
        return None


def only_on_disk(spec: str) -> bool:
    """Return whether a model, by folder or hub id, can be loaded only from this disk.

    Raises ModelUnavailable within seconds where neither disk nor hub has it; the hub's client takes minutes.
    """
    from huggingface_hub import constants

    if Path(spec).exists():
        return True
    if _reachable(constants.ENDPOINT, any_status=True):
        return False
    if not in_hub_cache(spec):
        raise ModelUnavailable(
            N_(
                "The model {spec} is not on this disk, and the hub that may have it cannot be "
                "reached. Give the folder of a model or the name of a packaged one, or try again "
                "with a network.",
                spec=repr(spec),
            )
        )
    return True


def _reachable(url: str, *, any_status: bool) -> bool:
    """Return whether the hub answers one request, with success or with any status."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    request = urllib.request.Request(url, method="HEAD")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=REACH_SECONDS):  # noqa: S310
            return True
    except urllib.error.HTTPError:
        return any_status
    except (OSError, ValueError):
        return False


def in_hub_cache(hub_id: str) -> bool:
    """Return whether a model is in the hub's cache on disk, also one named without its owner."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        names = [hub_id, f"sentence-transformers/{hub_id}"] if "/" not in hub_id else [hub_id]
        return any(isinstance(try_to_load_from_cache(name, "config.json"), str) for name in names)
    except HFValidationError:
        return False


def require_sentence_transformers(spec: str) -> None:
    """Raise ModelUnavailable where the package that opens such a model is not installed."""
    if find_spec("sentence_transformers") is None:
        raise ModelUnavailable(
            N_(
                "The model {spec} needs the package sentence-transformers, which is not installed. "
                "Install it with `pip install 'footnote[sentence-transformers]'`, or choose another "
                "model.",
                spec=repr(spec),
            )
        )


def has_gpu() -> bool:
    """Return whether there is an NVIDIA GPU whose driver runs, and a torch that uses it.

    Importing torch, which would know, takes seconds, and to read its version a millisecond of each question.
    """
    if not any(GPUS.glob("*")):
        return False
    try:
        return not version("torch").endswith("+cpu")
    except PackageNotFoundError:
        return False


def open_cross_encoder(spec: str, *, max_length: int | None = None) -> "CrossEncoder":
    """Open a model by folder or hub id, with logits as scores. Imports torch, which takes seconds.

    Question and passage are cut to `max_length` tokens, or to the model's own limit. Only safetensors are
    loaded, and no code of the model. Raises ModelUnavailable.
    """
    require_sentence_transformers(spec)
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
            max_length=max_length,
        )
    except (OSError, ValueError, ImportError, KeyError, RuntimeError) as error:
        raise ModelUnavailable(
            N_(
                "The cross-encoder {spec} cannot be loaded. Give the folder or hub id of one with "
                "safetensors.",
                spec=repr(spec),
            )
        ) from error
    return model


def open_sentence_transformer(spec: str) -> "SentenceTransformer":
    """Open an embedding model by folder or hub id, as `open_cross_encoder` does."""
    require_sentence_transformers(spec)
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
            N_(
                "The embedding model {spec} cannot be loaded: {reason}. Give a packaged model's "
                "name, or a sentence-transformers folder or hub id with safetensors.",
                spec=repr(spec),
                reason=_first_line(error),
            )
        ) from error
    if re.search(r"\be5-(small|base|large)\b(?!.*instruct)", spec) and not any(model.prompts.values()):
        model.prompts.update(E5_PROMPTS)
    return model


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
