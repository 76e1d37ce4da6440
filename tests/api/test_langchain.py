"""FootnoteRetriever against the running server."""

from typing import Any

import pytest
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from rag.errors import ApiError
from rag.langchain import FootnoteRetriever
from tests.api.conftest import CASTLE, HARBOUR, ApiServer, add


class TestFootnoteRetrieverStandard(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _server(self, served: ApiServer):
        ann = served.workspace("ann")
        for number in range(3):
            add(ann, f"moat{number}.md", f"Moat number {number} of the castle is {number} metres deep.")
        type(self).server = served

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return FootnoteRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"base_url": self.server.url, "api_key": self.server.keys["ann"]}

    @property
    def retriever_query_example(self) -> str:
        return "How deep is the moat of the castle?"


def test_a_passage_tells_its_place(api: ApiServer):
    address, key = f"{api.url}/", api.keys["ann"]
    retriever = FootnoteRetriever(base_url=address, api_key=key, k=2, collections=["Reports"])
    found = retriever.invoke("When was the harbour opened?")
    assert {one.metadata["document"] for one in found} == {"harbour.md"}
    place = found[0].metadata
    assert HARBOUR[place["start"] : place["end"]] == found[0].page_content
    assert len(place["sha256"]) == 64 and found[0].id


def test_the_servers_sentences_are_the_errors_and_the_key_is_not_shown(api: ApiServer):
    retriever = FootnoteRetriever(base_url=api.url, api_key="fnk_wrong")
    with pytest.raises(ApiError, match="unknown, revoked or expired") as refused:
        retriever.invoke("moat")
    assert refused.value.status == 401
    assert "fnk_wrong" not in repr(retriever)
    away = FootnoteRetriever(base_url="http://127.0.0.1:1", api_key="a")
    with pytest.raises(ApiError, match=r"127\.0\.0\.1:1 does not answer"):
        away.invoke(CASTLE)
    with pytest.raises(ValidationError):
        FootnoteRetriever(base_url="ftp://example.org", api_key="a")


def test_a_server_that_is_none_of_ours_is_named(api: ApiServer):
    other = FootnoteRetriever(base_url=api.fake.url, api_key="a")
    with pytest.raises(ApiError, match="gave no passages: is it Footnote's"):
        other.invoke("moat")
