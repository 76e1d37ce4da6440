"""Rework of the last answer: recognise a request for it.

A rework ("Make it shorter.", "In Korean, please.") is not searched. Short ones are listed as patterns, beside
the phrases of small talk in rag/chat/phrases; a message matches where each of its sentences does. Others are
told by the vector of the message, where the embedding model is one that weights were fitted for
(benchmarks/rework.py).
"""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import cast

import numpy as np
from langchain_core.embeddings import Embeddings

from rag.chat.past_turns import PastTurn, Rework, answered, share_numbers
from rag.chat.small_talk import LANGUAGES, is_small_talk, phrase_file
from rag.errors import EmbeddingError
from rag.passage import Passage

ANSWERS: Mapping[Rework, int] = MappingProxyType({"shorter": 1, "form": 1, "compare": 2, "recall": 6})
"""Number of newest answers that each kind of rework works on."""
LONGEST_REQUEST = 240  # characters; a longer message is a question of its own
WEIGHTS = Path(__file__).parent / "phrases" / "rework_weights.json"
SURE = 0.6
"""Least probability of a rework told by vectors: a question taken for a rework is not searched."""
SURE_ALONE = 0.9
"""The same where a language model decides about the others."""
_SENTENCE_ENDS = re.compile(r"[.!?;…。！？；\n]+")
_IGNORED = re.compile(r"[^\w\s'-]+")
_PART = re.compile(r"<([a-z]+)>")


def rework_asked(message: str, embedder: Embeddings | None = None, *, sure: float = SURE) -> Rework | None:
    """Return the kind of rework that a message asks for; None where it is another question.

    >>> [rework_asked(text) for text in ("Make it shorter, please.", "표로 정리해 줘", "韓国語に訳して")]
    ['shorter', 'form', 'form']
    >>> rework_asked("What did you say about the rent?"), rework_asked("What did Ann say about the rent?")
    ('recall', None)
    """
    if len(message) > LONGEST_REQUEST:
        return None
    return _listed(message) or _told_by_vector(message, embedder, sure)


def _listed(message: str) -> Rework | None:
    found: set[Rework] = set()
    for sentence in filter(str.strip, _SENTENCE_ENDS.split(message)):
        kind = _kind_of(sentence)
        if kind is None and not is_small_talk(sentence):
            return None
        found |= {kind} if kind else set()
    return next((kind for kind in ("compare", "recall", "form", "shorter") if kind in found), None)


def _told_by_vector(message: str, embedder: Embeddings | None, sure: float) -> Rework | None:
    """Return the likeliest kind of rework, if one is asked for with probability `sure` at least."""
    weights = _weights().get(getattr(embedder, "name", ""))
    if embedder is None or weights is None or not message.strip():
        return None
    try:
        vector = np.asarray([*embedder.embed_query(message), 1.0])
    except EmbeddingError:  # which the search tells, if the message is searched
        return None
    scores = {kind: float(np.dot(row, vector)) for kind, row in weights.items()}
    top = max(scores.values())
    shares = {kind: float(np.exp(score - top)) for kind, score in scores.items()}
    asked = sum(share for kind, share in shares.items() if kind != "new")
    if asked / sum(shares.values()) < sure:
        return None
    return max(ANSWERS, key=shares.__getitem__)


@cache
def _weights() -> Mapping[str, Mapping[str, Sequence[float]]]:
    """Return the weights of each kind, and of "new", by embedding model; the last one stands alone."""
    return cast("Mapping[str, Mapping[str, Sequence[float]]]", json.loads(WEIGHTS.read_text("utf-8")))


def _kind_of(sentence: str) -> Rework | None:
    text = unicodedata.normalize("NFKC", sentence).casefold().replace("’", "'")
    words = _IGNORED.sub(" ", text).split()
    for code in LANGUAGES:
        told = (" " if code == "en" else "").join(words)
        for kind, pattern in _patterns(code):
            if told and pattern.fullmatch(told):
                return kind
    return None


@cache
def _patterns(code: str) -> tuple[tuple[Rework, re.Pattern[str]], ...]:
    listed = phrase_file(code)["rework"]
    return tuple(
        (
            cast(Rework, kind),
            re.compile(_filled(f"<lead>(?:{'|'.join(listed[kind])})<tail>", listed["parts"])),
        )
        for kind in listed
        if kind != "parts"
    )


def _filled(pattern: str, parts: Mapping[str, str]) -> str:
    while _PART.search(pattern):
        pattern = _PART.sub(lambda match: f"(?:{parts[match[1]]})", pattern)
    return pattern


def without_reworks(
    history: Sequence[tuple[str, str]],
    turns: Sequence[PastTurn] = (),
    embedder: Embeddings | None = None,
) -> list[tuple[str, str]]:
    """Return the turns of a history, as roles and texts, whose words tell what a later question is about.

    Of `turns`, those are left out that asked for a rework and have the passages of the turn before them.

    >>> told = [("user", "Who dug?"), ("assistant", "Ann."), ("user", "Shorter."), ("assistant", "A.")]
    >>> without_reworks(told)
    [('user', 'Who dug?'), ('assistant', 'Ann.')]
    """
    worked = {
        turn.question
        for before, turn in pairwise(answered(turns, len(turns)))
        if _same(before, turn) and rework_asked(turn.question, embedder)
    }
    kept: list[tuple[str, str]] = []
    reworked = False
    for role, text in history:
        if role == "user":
            reworked = text in worked or rework_asked(text) is not None
        if not reworked:
            kept.append((role, text))
    return kept


def _same(before: PastTurn, turn: PastTurn) -> bool:
    return [one.id for one in before.passages] == [one.id for one in turn.passages]


def rework_continued(turns: Sequence[PastTurn], passages: Sequence[Passage]) -> Rework | None:
    """Return the kind of rework that has these passages, for one that was cut off; None for no rework."""
    ids = [passage.id for passage in passages]
    for kind, count in ANSWERS.items():
        worked_on = share_numbers(answered(turns, count))
        if worked_on and ids == [passage.id for passage in worked_on[-1].passages]:
            return kind
    return None
