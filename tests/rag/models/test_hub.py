"""Models of sentence-transformers where that package, an extra, is not installed."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rag.citations.judges import CrossEncoderJudge
from rag.errors import FootnoteError
from rag.models.embeddings import open_embedder
from rag.retrieval.rerank.cross_encoder import CrossEncoderModel

MODEL = "someone/their-model"
OPEN: dict[str, Callable[[], object]] = {
    "embedding model": lambda: open_embedder(MODEL, cache=Path("/nowhere")),
    "reranker": lambda: CrossEncoderModel(MODEL).logits([("question", "passage")]),
    "judge": lambda: CrossEncoderJudge(MODEL).support("claim", "evidence"),
}


@pytest.mark.parametrize("what", OPEN)
def test_without_the_extra_a_model_that_needs_it_is_refused_with_its_name(
    what: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(FootnoteError) as raised:
        OPEN[what]()
    assert MODEL in str(raised.value)
    assert "pip install 'footnote[sentence-transformers]'" in str(raised.value)
