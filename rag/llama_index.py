"""FootnoteNodeRetriever: the documents of a running Footnote in a LlamaIndex program elsewhere."""

import asyncio
from collections.abc import Sequence
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag.api_client import ApiClient
from rag.settings import RetrieverName


class FootnoteNodeRetriever(BaseRetriever):
    """LlamaIndex retriever over the documents of a running Footnote, by its HTTP interface.

    `base_url` is the server's address, `api_key` a key with the scope "read". `collections`, by name or id,
    and `retriever` are optional. A node's metadata tells its place: `document`, `document_id`, `page`,
    `heading`, `start` and `end` of the text, and the original's `sha256`. Raises ApiError.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        k: int = 6,
        collections: Sequence[str] = (),
        retriever: RetrieverName | None = None,
        **options: Any,
    ):
        """Connect to nothing yet; `options` are LlamaIndex's. Raises ValueError for what is no address."""
        super().__init__(**options)
        self._client = ApiClient(base_url, api_key)
        self._k, self._collections, self._retriever = k, tuple(collections), retriever

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._client.search(query_bundle.query_str, self._k, self._collections, self._retriever)
        return [_node(passage) for passage in found]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(passage: dict[str, Any]) -> NodeWithScore:
    places = {
        name: value for name, value in passage.items() if name not in ("id", "text", "number", "found_by")
    }
    node = TextNode(
        id_=passage["id"],
        text=passage["text"],
        metadata=places,
        start_char_idx=passage["start"],
        end_char_idx=passage["end"],
        # The model sees which document and page a node is from, and no hashes or offsets.
        excluded_llm_metadata_keys=[name for name in places if name not in ("document", "page", "heading")],
        excluded_embed_metadata_keys=list(places),
    )
    return NodeWithScore(node=node, score=passage["score"])
