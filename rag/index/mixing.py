"""What the vectors of an index were made with, so that those of two models are never mixed."""

from collections.abc import Mapping
from typing import Any

from rag.errors import IndexMismatch
from rag.index.spec import CHROMA, StoreSpec
from rag.models.embeddings import Embedder

MadeWith = Mapping[str, Any]


def description(embedder: Embedder, store: StoreSpec) -> dict[str, Any]:
    """Return what tells an index of this model's vectors in this store from any other."""
    return {
        "model": embedder.name,
        "dimension": embedder.dimension,
        "fingerprint": embedder.fingerprint,
        "store": store.identity,
        "spec": embedder.spec,
    }


def same_model(one: MadeWith, other: MadeWith) -> bool:
    """Whether two indexes hold vectors of one model, so that they can be compared."""
    return all(one[key] == other[key] for key in ("model", "dimension", "fingerprint"))


def refuse_mixing(made_with: MadeWith, mine: MadeWith) -> None:
    """Raise IndexMismatch where an index was made with another model, or in another store, than mine."""
    if not same_model(made_with, mine):
        raise IndexMismatch(
            f"The documents were embedded with {_model(made_with)}, not with {_model(mine)}. "
            "Choose that model again, or embed everything anew: `footnote reindex`."
        )
    store = made_with.get("store", CHROMA)  # once there was no other
    if store != mine["store"]:
        raise IndexMismatch(
            f"The documents' vectors are in {store}, not in {mine['store']}. "
            "Name that store again, or embed everything anew: `footnote reindex`."
        )


def _model(made_with: MadeWith) -> str:
    weights = str(made_with["fingerprint"])[:8]
    return f"{made_with['model']} (dimension {made_with['dimension']}, weights {weights})"
