"""The models that are here: which of the catalogue's lie in the cache, and any GGUF file by its path."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from rag.errors import OwnModelUnusable
from rag.models.local.catalog import OFFERS, Offer, named
from rag.models.local.gguf import read_head

NONE_SUCH = "There is no model {name!r}. Choose one of {names}, or give the path of a GGUF file."


@dataclass(frozen=True)
class Choice:
    """A model as the settings name it: what it is called, and its file."""

    name: str
    path: Path

    @classmethod
    def of(cls, spec: str, cache: Path) -> "Choice":
        """Return the model that `spec` names: one of OFFERS, or a file. Nothing is read."""
        offer = named(spec)
        path = offer.path(cache) if offer else Path(spec).expanduser()
        return cls(offer.name if offer else path.stem, path)


def here(offer: Offer, cache: Path) -> bool:
    """Return whether a model's file is there, whole."""
    return offer.path(cache).is_file()


def begun(offer: Offer, cache: Path) -> int:
    """Return how many bytes of an unfinished download are there."""
    coming = offer.path(cache).with_suffix(".partial")
    return coming.stat().st_size if coming.is_file() else 0


def offered(name: str) -> Offer:
    """Return the model of this name; raises OwnModelUnusable where none has it."""
    if offer := named(name):
        return offer
    raise OwnModelUnusable(NONE_SUCH.format(name=name, names=", ".join(offer.name for offer in OFFERS)))


def checked(spec: str) -> str:
    """Return the name or whole path to keep in the settings; raises OwnModelUnusable where it is no model."""
    if offer := named(spec):
        return offer.name
    if not spec.lower().endswith(".gguf") and not Path(spec).expanduser().is_file():
        offered(spec)
    path = Path(spec).expanduser().absolute()
    read_head(path)
    return str(path)


def remove(offer: Offer, cache: Path) -> int:
    """Remove a model's file and what came of it, and return how many bytes that frees."""
    folder = offer.path(cache).parent
    freed = sum(path.stat().st_size for path in folder.glob("*") if path.is_file())
    if folder.exists():
        shutil.rmtree(folder)
    return freed
