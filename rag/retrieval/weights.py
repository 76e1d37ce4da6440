"""How words and meaning are weighed against each other in one collection."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rag.retrieval.fusion import Normaliser, min_max, theoretical_min_max, z_score
from rag.text.language import language

POOL = 50
"""Candidates that each half gives to the fusion, and that MMR chooses from."""

NORMALISERS: dict[str, Normaliser] = {
    "min-max": min_max,
    "z-score": z_score,
    "theoretical": theoretical_min_max(0.0),
}
USUAL = {"alphabet": 0.55, "ko": 0.5, "ja": 0.5, "zh": 0.5}
"""The weight of meaning, by writing, where nothing is known. By z-score, with the default embedding model,
nDCG@10 is at most .004 below the best weight of XQuAD (English, Spanish, Chinese), SciFact, Cranfield,
Qasper, MTRAG's govt, KorQuAD and JaQuAD, and .016 of NQ, where meaning is much the stronger half
(docs/developer/retrieval.md)."""
STRONG, WEAK = 0.65, 0.2
"""The same where meaning, with nearly all the weight, finds surely better than words with it, or less than
half as well: NQ is then .008 below its best, KorQuAD and JaQuAD with a model of English .002 and .001."""
FOREIGN = 0.9
"""The weight of meaning for a question in a writing that no passage has: words can hardly meet."""

_OWN_WRITING = ("ko", "ja", "zh")


@dataclass(frozen=True)
class Mixture:
    """The normaliser of both halves' scores, and the weight of meaning, 0 to 1, by writing.

    Words have the rest. `passages` says from how many passages it was found, 0 meaning not at all.

    >>> Mixture(weights={"ko": 0.2}).weights_for("서울은 어디인가요?")
    {'bm25': 0.8, 'similarity': 0.2}
    """

    normaliser: str = "z-score"
    weights: Mapping[str, float] = field(default_factory=dict)
    passages: int = 0

    def weights_for(self, question: str) -> dict[str, float]:
        """Return the weight of each half for a question."""
        asked = writing(question)
        meaning = self.weights.get(asked, FOREIGN if self.weights else USUAL[asked])
        return {"bm25": round(1 - meaning, 6), "similarity": meaning}

    def as_dict(self) -> dict[str, Any]:
        """Return what `from_dict` reads."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Mixture":
        """Return a mixture as it was stored."""
        return cls(stored["normaliser"], dict(stored["weights"]), stored["passages"])


def writing(text: str) -> str:
    """Return how a text is written: "ko", "ja", "zh", or "alphabet", which few words show for certain.

    >>> writing("東京はどこですか"), writing("Wo ist Rom?")
    ('ja', 'alphabet')
    """
    code = language(text)
    return code if code in _OWN_WRITING else "alphabet"


def mixture_text(mixture: Mixture) -> str:
    """Return how words and meaning are weighed, as a run keeps it.

    >>> mixture_text(Mixture("min-max", {"ko": 0.2, "alphabet": 0.5}, passages=300))
    'min-max scores, meaning 0.5 in alphabet, 0.2 in ko'
    """
    weights = sorted((mixture.weights or USUAL).items())
    said = ", ".join(f"{weight:g} in {writing}" for writing, weight in weights)
    return f"{mixture.normaliser} scores, meaning {said}"
