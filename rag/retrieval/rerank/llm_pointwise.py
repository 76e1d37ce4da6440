"""A language model asked about each passage by itself: is it relevant, or how much, 0 to 100."""

import re
from collections.abc import Sequence
from statistics import fmean
from typing import Literal

from langchain_core.documents import Document

from rag.errors import LLMError, LLMGarbled
from rag.jobs import Cancel
from rag.models.logprobs import yes_against_no
from rag.passage import Passage
from rag.retrieval.rerank.base import Scored
from rag.retrieval.rerank.each import WIDTH, each
from rag.retrieval.rerank.llm import LLMReranker
from rag.retrieval.rerank.ordering import Score
from rag.retrieval.rerank.prompts import (
    RATE,
    RATE_PASSAGE,
    RELEVANT,
    RELEVANT_PASSAGE,
    rating_messages,
    relevance_messages,
)

LONGEST = 600
"""Tokens of a passage that are read: more than a chunk has, and a judgement of one page says enough."""
NO_LOGPROBS = "The model's server does not tell probabilities, so each passage was rated from 0 to 100."
_RATING_TOKENS = 8
_RATING = re.compile(r"\s*\**(\d{1,3})(?:\s?/\s?100)?\**\s*\.?\s*")


class _PointwiseReranker(LLMReranker):
    """Asks about one passage at a time, and `width` of them at once."""

    width: int = WIDTH

    def _alone(self, query: str, documents: Sequence[Document], prompt: str) -> list[Passage]:
        return self.cut(query, documents, prompt=prompt, reply=_RATING_TOKENS, together=1, longest=LONGEST)


class RatingReranker(_PointwiseReranker):
    """Has each passage rated from 0 to 100; with `times` 2 twice, the passage once after and once before.

    What is no rating counts as none; of two the readable ones are averaged. Any language model will do.
    """

    times: Literal[1, 2] = 1

    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> Scored:
        """Return ratings, 0 to 100; raises LLMError and Cancelled."""
        passages = self._alone(query, documents, RATE + RATE_PASSAGE)

        def rated(passage: Passage) -> Score:
            return _mean([self._rating(query, passage, again, cancelled) for again in range(self.times)])

        return Scored(each(passages, rated, width=self.width))

    def _rating(self, query: str, passage: Passage, again: int, cancelled: Cancel) -> Score:
        messages = rating_messages(query, passage, again=bool(again))
        try:
            return rating(self.llm.complete(messages, max_tokens=_RATING_TOKENS, cancelled=cancelled))
        except LLMGarbled:
            return None  # an empty answer is no rating; the server itself works


class LogprobReranker(_PointwiseReranker):
    """Asks whether each passage answers; the score is p(Yes) against p(No) as the reply's first token.

    Where the server tells no probabilities, which is found out once for each LLM, passages are rated; a
    hundredth of the rating is the score then, so that a threshold means the same.
    """

    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> Scored:
        """Return probabilities, or else ratings / 100; raises LLMError, RerankError and Cancelled."""
        passages = self._alone(query, documents, RELEVANT + RELEVANT_PASSAGE + query)

        def probability(passage: Passage) -> Score:
            logprobs = self.llm.logprobs(relevance_messages(query, passage), cancelled=cancelled)
            if logprobs is None:
                raise _NoLogprobs
            return yes_against_no(logprobs)

        try:
            return Scored(each(passages, probability, width=self.width))
        except _NoLogprobs:
            rated = RatingReranker(llm=self.llm, width=self.width).score(query, documents, cancelled)
            return Scored([None if score is None else score / 100 for score in rated.scores], NO_LOGPROBS)


class _NoLogprobs(LLMError):
    """The model's server tells no probabilities."""


def rating(reply: str) -> Score:
    """Return the rating a reply is, and nothing else but marks around it; None for any other reply.

    >>> rating("85"), rating(" **7/100**."), rating("101"), rating("I would say 85")
    (85.0, 7.0, None, None)
    """
    found = _RATING.fullmatch(reply)
    return float(found[1]) if found and int(found[1]) <= 100 else None


def _mean(ratings: Sequence[Score]) -> Score:
    known = [value for value in ratings if value is not None]
    return fmean(known) if known else None
