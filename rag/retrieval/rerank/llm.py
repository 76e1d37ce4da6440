"""What rerankers that ask a language model have in common: the model, and passages as long as it can read."""

from collections.abc import Sequence

from langchain_core.documents import Document
from pydantic import SkipValidation

from rag.errors import RerankError
from rag.models.model_wrappers import ObservedModel, Sent
from rag.models.protocol import LanguageModel
from rag.passage import Passage
from rag.retrieval.excerpts import excerpts
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.prompts import shortened
from rag.text.text_budget import count_tokens

PURPOSE = "rerank"
"""What a request is for, as it is noted."""


class LLMReranker(Reranker):
    """A reranker that asks `llm`, anyone's."""

    llm: SkipValidation[LanguageModel]

    def noting(self, sent: list[Sent]) -> "LLMReranker":
        """Return the same reranker, which notes its requests in `sent`."""
        return self.model_copy(update={"llm": ObservedModel(self.llm, purpose=PURPOSE, sent=sent)})

    def cut(
        self,
        query: str,
        documents: Sequence[Document],
        *,
        prompt: str,
        reply: int,
        together: int,
        longest: int,
    ) -> list[Passage]:
        """Return the documents as passages, of which `together` fit into the context beside prompt and reply.

        None has more than `longest` tokens; a small model gets the words of each that answer best. Raises
        RerankError where there is no room for any.
        """
        room = (self.llm.settings.context_tokens - count_tokens(prompt + query) - reply) // together
        if room <= 0:
            raise RerankError(
                "The question is too long for the model that should order the passages. Shorten it."
            )
        passages = [Passage.from_document(one) for one in documents]
        read = excerpts(query, passages) if self.llm.settings.brief else passages
        return [shortened(passage, min(longest, room)) for passage in read]
