"""How near two texts are in meaning, as an embedding model has it, on a scale that speaks of support."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from langchain_core.embeddings import Embeddings

MOST = 0.2


@dataclass(frozen=True)
class Scale:
    """The cosine of two texts that says nothing either way, and how much a difference from it counts.

    `asked` is the cosine of a question and a passage that says nothing either way.
    """

    middle: float
    slope: float
    asked: float


SCALES: Mapping[str, Scale] = MappingProxyType({"multilingual-e5-small": Scale(0.87, 3.0, 0.85)})
"""By model name. Only models whose cosines were measured are used (docs/developer/citations.md)."""


def scale_of(embedder: Embeddings | None) -> Scale | None:
    """Return the scale of an embedding model's cosines; None where it is not known."""
    return SCALES.get(getattr(embedder, "name", ""))


@dataclass(frozen=True)
class Meaning:
    """An embedding model and its scale."""

    embedder: Embeddings
    scale: Scale

    @classmethod
    def of(cls, embedder: Embeddings | None) -> "Meaning | None":
        """Return the meaning that an embedder sees; None without one, or where its scale is not known."""
        scale = scale_of(embedder)
        return cls(embedder, scale) if embedder is not None and scale is not None else None

    def weight(self, claim: str, evidence: str) -> float:
        """Return what the meaning adds to a score or takes from it: a cosine of 0.9 adds 0.09."""
        one, other = self.embedder.embed_documents([claim, evidence])
        cosine = sum(a * b for a, b in zip(one, other, strict=True))  # vectors of length 1
        return max(-MOST, min(MOST, self.scale.slope * (cosine - self.scale.middle)))
