"""Files of a model on the Hugging Face hub: from its cache on disk, else from the hub where reachable."""

import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

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


def _files(hub_id: str, names: Sequence[str], *, local_files_only: bool) -> list[Path] | None:
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return [Path(hf_hub_download(hub_id, name, local_files_only=local_files_only)) for name in names]
    except (OSError, HfHubHTTPError):
        return None
