"""A language model asked for the order of several passages at once, in windows from the back to the front."""

from collections.abc import Sequence

from langchain_core.documents import Document
from pydantic import Field

from rag.errors import Cancelled, RerankError
from rag.jobs import Cancel
from rag.passage import Passage
from rag.retrieval.rerank.base import Scored
from rag.retrieval.rerank.llm import LLMReranker
from rag.retrieval.rerank.permutation import completed, named, windows
from rag.retrieval.rerank.prompts import RANK, RANK_PASSAGES, ranking_messages

LONGEST = 300
"""Tokens of a passage that are read: ten of them are what a model can hold against each other."""
_TOKENS_EACH = 8
"""Room in the reply for one passage: "[10] > " is five tokens with most models."""


class ListwiseReranker(LLMReranker):
    """Has the model write an order such as [3] > [1] > [2], of `size` passages at a time, moving by `step`.

    Scores are 1 / rank. What a reply does not name comes after what it does, as it came; a reply that names
    nothing leaves its window as it is.
    """

    size: int = Field(10, ge=2)
    step: int = Field(5, ge=1)

    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel) -> Scored:
        """Return 1 / rank of each; raises LLMError, RerankError and Cancelled."""
        together = min(self.size, len(documents))
        prompt, reply = RANK + RANK_PASSAGES + query, _TOKENS_EACH * together
        passages = self.cut(query, documents, prompt=prompt, reply=reply, together=together, longest=LONGEST)
        order = list(range(len(passages)))
        asked = windows(len(passages), self.size, min(self.step, self.size))
        silent = 0
        for start, end in asked:
            if cancelled():
                raise Cancelled("The reranking was stopped.")
            inside = order[start:end]
            places = self._named(query, [passages[at] for at in inside], cancelled)
            order[start:end] = [inside[at] for at in completed(places, len(inside))]
            silent += not places
        if silent == len(asked):
            raise RerankError("The model named no order of the passages. Choose another reranker, or none.")
        return Scored(_by_rank(order), _note(silent, len(asked)))

    def _named(self, query: str, passages: Sequence[Passage], cancelled: Cancel) -> list[int]:
        tokens = _TOKENS_EACH * len(passages)
        reply = self.llm.complete(ranking_messages(query, passages), max_tokens=tokens, cancelled=cancelled)
        return named(reply, len(passages))


def _by_rank(order: Sequence[int]) -> list[float]:
    """Return each place's 1 / rank: ``[2, 0, 1] -> [1/2, 1/3, 1]``."""
    ranks = {at: rank for rank, at in enumerate(order, start=1)}
    return [1 / ranks[at] for at in range(len(order))]


def _note(silent: int, asked: int) -> str:
    return f"{silent} of {asked} replies named no order." if silent else ""
