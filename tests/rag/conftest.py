"""A language model's server for the tests of these rooms."""

from collections.abc import Iterator

import pytest

from tests.rag.fake_llm import FakeLLM


@pytest.fixture
def fake_llm() -> Iterator[FakeLLM]:
    with FakeLLM() as fake:
        yield fake
