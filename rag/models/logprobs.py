"""Log-probabilities of an answer's first token, from a chat completion of the openai SDK."""

import math
from collections.abc import Collection, Mapping
from typing import Any

from rag.errors import LLMGarbled
from rag.i18n import N_

Logprobs = Mapping[str, float]
"""The likeliest first tokens of an answer, with the natural logarithm of their probabilities."""

YES = frozenset({"yes", "예", "네", "はい"})
NO = frozenset({"no", "아니", "아니요", "아니오", "いいえ"})
_AROUND = " \t\r\n*_\"'`.,:!▁Ġ"


def first_token_logprobs(completion: Any) -> Logprobs | None:
    """Return the first token's log-probabilities: None where none came, empty without an answer.

    Raises LLMGarbled.
    """
    try:
        logprobs = completion.choices[0].logprobs
        if not logprobs or not isinstance(logprobs.content, list):
            return None
        if not logprobs.content:
            return {}
        listed = logprobs.content[0].top_logprobs or []
        return _merge_duplicates([(one.token, float(one.logprob)) for one in listed]) or None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise not_an_answer() from error


def not_an_answer() -> LLMGarbled:
    """Return the error of a reply that is no chat completion."""
    return LLMGarbled(N_("The model's server sent something that is not an answer. Check its address."))


def _merge_duplicates(listed: list[tuple[Any, float]]) -> dict[str, float]:
    """Return one logarithm for each token; servers may list a token twice, of different bytes."""
    found: dict[str, float] = {}
    for token, logprob in listed:
        if isinstance(token, str) and not math.isnan(logprob):
            found[token] = min(0.0, _log_sum([found.get(token, -math.inf), logprob]))
    return found


def yes_against_no(logprobs: Logprobs) -> float | None:
    """Return p(yes) / (p(yes) + p(no)), each summed over its spellings; None where neither is listed.

    A side that is not listed is taken to be as likely as the least likely listed token.

    >>> from math import log
    >>> round(yes_against_no({"Yes": log(0.6), " yes": log(0.1), "No": log(0.2), "The": log(0.05)}), 4)
    0.7778
    """
    yes, no = (_log_probability_of(logprobs, words) for words in (YES, NO))
    if max(yes, no) == -math.inf:
        return None
    least = min(logprobs.values())
    return 1 / (1 + math.exp(_clamp(max(no, least) - max(yes, least))))


def _clamp(exponent: float) -> float:
    return max(-700.0, min(700.0, 0.0 if math.isnan(exponent) else exponent))


def _log_probability_of(logprobs: Logprobs, words: Collection[str]) -> float:
    return _log_sum(
        [logprob for token, logprob in logprobs.items() if token.strip(_AROUND).casefold() in words]
    )


def _log_sum(logprobs: Collection[float]) -> float:
    """Return the logarithm of a sum of probabilities: ``log(.5), log(.25) -> log(.75)``."""
    highest = max(logprobs, default=-math.inf)
    if math.isinf(highest):
        return highest
    return highest + math.log(math.fsum(math.exp(logprob - highest) for logprob in logprobs))
