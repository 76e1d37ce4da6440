"""Citation judge: a cross-encoder for entailment.

It is asked only about a sentence whose evidence passed all rules.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import TYPE_CHECKING, Any

from rag.errors import JudgeUnavailable, ModelUnavailable
from rag.i18n import N_
from rag.models.hub import open_cross_encoder

if TYPE_CHECKING:
    from rag.models.hub import CrossEncoder


@dataclass(frozen=True)
class CrossEncoderJudge:
    """Cross-encoder for entailment, by folder or hub id; opened on first use.

    Only safetensors are loaded, and no code of a model. A model of three or more classes must
    name one of them entailment; the logistic of a single score counts. Raises JudgeUnavailable.
    """

    spec: str

    def support(self, claim: str, evidence: str) -> float | None:
        """Return the probability that the evidence entails the claim."""
        scores = [float(score) for score in self._model.predict([(evidence, claim)]).reshape(-1)]
        if len(scores) == 1:
            return 1 / (1 + exp(-scores[0]))
        powers = [exp(score - max(scores)) for score in scores]
        return powers[self._entailment] / sum(powers)

    @cached_property
    def _model(self) -> "CrossEncoder":
        try:
            return open_cross_encoder(self.spec)
        except ModelUnavailable as error:
            raise JudgeUnavailable(
                N_(
                    "Citations cannot be judged. {reason} FOOTNOTE_CITATION_JUDGE takes the folder or "
                    "hub id of a cross-encoder with safetensors, or off.",
                    reason=error,
                )
            ) from error

    @cached_property
    def _entailment(self) -> int:
        labels: dict[int, Any] = getattr(self._model.config, "id2label", None) or {}
        for number, label in labels.items():
            if "entail" in str(label).lower() and "not" not in str(label).lower():
                return int(number)
        raise JudgeUnavailable(
            N_(
                "The model {spec} that should judge citations names none of its classes entailment. "
                "Give another one in FOOTNOTE_CITATION_JUDGE, or set it to off.",
                spec=repr(self.spec),
            )
        )
