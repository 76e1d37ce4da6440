"""FootnoteRetriever: the documents of a running Footnote in a LangChain program elsewhere."""

from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, SecretStr, field_validator

from rag.api_client import ApiClient
from rag.settings import RetrieverName, http_address


class FootnoteRetriever(BaseRetriever):
    """Retriever over the documents of a running Footnote, by its HTTP interface.

    `base_url` is the server's address, `api_key` a key with the scope "read". `collections`, by name or id,
    and `retriever` are optional. A document's metadata tells its place: `document`, `document_id`, `page`,
    `heading`, `start` and `end` of the text, and the original's `sha256`. Raises ApiError.
    """

    base_url: str
    api_key: SecretStr
    k: int = 6
    collections: list[str] = Field(default_factory=list)
    retriever: RetrieverName | None = None

    @field_validator("base_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        return http_address(url)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain passes it
        k: int | None = None,
    ) -> list[Document]:
        client = ApiClient(self.base_url, self.api_key.get_secret_value())
        passages = client.search(query, k or self.k, self.collections, self.retriever)
        return [_found(passage) for passage in passages]


def _found(passage: dict[str, Any]) -> Document:
    places = {name: value for name, value in passage.items() if name not in ("id", "text", "number")}
    return Document(passage["text"], id=passage["id"], metadata=places)
