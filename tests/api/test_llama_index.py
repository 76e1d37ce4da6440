"""FootnoteNodeRetriever against the running server."""

from collections.abc import Callable
from typing import Any

import pytest

from rag.errors import ApiError
from tests.api.conftest import HARBOUR, ApiServer


@pytest.fixture(scope="module")
def node_retriever() -> Callable[..., Any]:
    """Import LlamaIndex where it is tested: that takes a second, and each worker collects this file."""
    from rag.llama_index import FootnoteNodeRetriever

    return FootnoteNodeRetriever


async def test_a_node_tells_its_place_and_is_the_same_when_awaited(
    api: ApiServer, node_retriever: Callable[..., Any]
):
    from llama_index.core.schema import MetadataMode

    retriever = node_retriever(f"{api.url}/", api.keys["ann"], k=2, collections=["Reports"])
    found = retriever.retrieve("When was the harbour opened?")
    assert {one.metadata["document"] for one in found} == {"harbour.md"}
    first = found[0].node
    assert HARBOUR[first.start_char_idx : first.end_char_idx] == first.text and len(found) <= 2
    shown = first.get_content(MetadataMode.LLM)
    assert "harbour.md" in shown and first.metadata["sha256"] not in shown
    assert [one.node_id for one in await retriever.aretrieve("When was the harbour opened?")] == [
        one.node_id for one in found
    ]


def test_it_serves_a_query_engine(api: ApiServer, node_retriever: Callable[..., Any]):
    from llama_index.core.llms.mock import MockLLM
    from llama_index.core.query_engine import RetrieverQueryEngine
    from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer

    retriever = node_retriever(api.url, api.keys["ann"], k=3)
    writer = get_response_synthesizer(llm=MockLLM(), response_mode=ResponseMode.COMPACT)
    answer = RetrieverQueryEngine(retriever, writer).query("How deep is the moat?")
    assert "nine metres deep" in str(answer) and answer.source_nodes[0].metadata["document"] == "castle.md"


def test_the_servers_sentences_are_the_errors(api: ApiServer, node_retriever: Callable[..., Any]):
    with pytest.raises(ApiError, match="unknown, revoked or expired"):
        node_retriever(api.url, "fnk_wrong").retrieve("moat")
    with pytest.raises(ValueError, match="http"):
        node_retriever("ftp://example.org", "a")
