"""Files of a model on the Hugging Face hub: from its cache on disk, else from the hub where reachable."""

import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from rag.errors import ModelUnavailable

REACH_SECONDS = 3.0
"""How long the hub may take to say hello; without one the next source is not kept waiting."""


def find_files(hub_id: str, names: Sequence[str]) -> list[Path] | None:
    """Return the files in the Hugging Face cache on disk, or None where one is missing."""
    return _files(hub_id, names, local_files_only=True)


def download_files(hub_id: str, names: Sequence[str]) -> list[Path] | None:
    """Return the files from the hub, kept in its cache, or None where the hub cannot be reached."""
    return _files(hub_id, names, local_files_only=False) if reachable(hub_id) else None


def reachable(hub_id: str) -> bool:
    """Ask once whether the hub has the model; its own client would try for half a minute."""
    from huggingface_hub import constants, hf_hub_url

    if constants.HF_HUB_OFFLINE:
        return False
    request = urllib.request.Request(hf_hub_url(hub_id, "config.json"), method="HEAD")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=REACH_SECONDS):  # noqa: S310
            return True
    except (OSError, ValueError):
        return False


def only_on_disk(spec: str) -> bool:
    """Return whether a model, by its folder or hub id, is to be looked for on this disk only.

    Raises ModelUnavailable within seconds where it is not there and no hub can be reached: the hub's own
    client would try for a minute and a half.
    """
    if Path(spec).exists():
        return True
    if answers():
        return False
    if not _cached(spec):
        raise ModelUnavailable(
            f"The model {spec!r} is not on this disk, and the hub that may have it cannot be reached. "
            "Give the folder of a model or the name of a packaged one, or try again with a network."
        )
    return True


def answers() -> bool:
    """Ask once whether there is a hub, whatever it says."""
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE:
        return False
    request = urllib.request.Request(constants.ENDPOINT, method="HEAD")  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=REACH_SECONDS):  # noqa: S310
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False


def _cached(hub_id: str) -> bool:
    """Whether anything of a model is in the hub's cache on disk; some are known without their owner."""
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        names = [hub_id, f"sentence-transformers/{hub_id}"] if "/" not in hub_id else [hub_id]
        return any(isinstance(try_to_load_from_cache(name, "config.json"), str) for name in names)
    except HFValidationError:
        return False


def _files(hub_id: str, names: Sequence[str], *, local_files_only: bool) -> list[Path] | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return [Path(hf_hub_download(hub_id, name, local_files_only=local_files_only)) for name in names]
    except (OSError, HfHubHTTPError):
        return None
