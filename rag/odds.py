"""How likely a model finds each first word of its answer, read from what its server tells of it. Pure."""

import json
import math
from collections.abc import Collection, Mapping
from typing import Any

from rag.errors import LLMGarbled

Odds = Mapping[str, float]
"""The likeliest first tokens of an answer, and the natural logarithm of each one's probability."""

LARGEST = 1_000_000
"""Characters of a reply that is read; one with twenty tokens has about 2,000."""
YES = frozenset({"yes", "예", "네", "はい"})
NO = frozenset({"no", "아니", "아니요", "아니오", "いいえ"})
_AROUND = " \t\r\n*_\"'`.,:!▁Ġ"


def read_odds(body: str) -> Odds | None:
    """Return the odds in a chat completion, as it was received; None where it is one that tells none.

    They are empty where the answer is. Raises LLMGarbled for what is no chat completion.
    """
    try:
        told = json.loads(body[:LARGEST])["choices"][0].get("logprobs")
        if not told or not isinstance(told.get("content"), list):
            return None
        if not told["content"]:
            return {}
        listed = told["content"][0].get("top_logprobs") or []
        return _summed([(one["token"], float(one["logprob"])) for one in listed]) or None
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise LLMGarbled(
            "The model's server sent something that is not an answer. Check its address."
        ) from error


def _summed(odds: list[tuple[Any, float]]) -> dict[str, float]:
    """Return one logarithm for each token; servers may tell one token twice, from other bytes."""
    found: dict[str, float] = {}
    for token, logprob in odds:
        if isinstance(token, str) and not math.isnan(logprob):
            found[token] = min(0.0, _log_sum([found.get(token, -math.inf), logprob]))
    return found


def yes_against_no(odds: Odds) -> float | None:
    """Return p(yes) / (p(yes) + p(no)), each summed over its spellings; None where neither is told.

    A side that is not among the tokens told is at most as likely as the least likely of them, and taken
    to be so. Below, .6 + .1 against .2:

    >>> from math import log
    >>> round(yes_against_no({"Yes": log(0.6), " yes": log(0.1), "No": log(0.2), "The": log(0.05)}), 4)
    0.7778
    >>> round(yes_against_no({"Yes": log(0.9), "The": log(0.1)}), 4)
    0.9
    """
    yes, no = (_spelt(odds, words) for words in (YES, NO))
    if max(yes, no) == -math.inf:
        return None
    least = min(odds.values())
    return 1 / (1 + math.exp(_bounded(max(no, least) - max(yes, least))))


def _bounded(exponent: float) -> float:
    return max(-700.0, min(700.0, 0.0 if math.isnan(exponent) else exponent))


def _spelt(odds: Odds, words: Collection[str]) -> float:
    return _log_sum([logprob for token, logprob in odds.items() if token.strip(_AROUND).casefold() in words])


def _log_sum(logprobs: Collection[float]) -> float:
    """Return the logarithm of a sum of probabilities: ``log(.5), log(.25) -> log(.75)``."""
    highest = max(logprobs, default=-math.inf)
    if math.isinf(highest):
        return highest
    return highest + math.log(math.fsum(math.exp(logprob - highest) for logprob in logprobs))
