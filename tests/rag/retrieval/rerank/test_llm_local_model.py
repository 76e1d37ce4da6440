"""The real 0.5B model in llama.cpp puts passages in order, in each of the ways there are."""

import pytest

from rag.models.local.server import LocalModel
from rag.retrieval.rerank.llm import LogprobReranker
from rag.retrieval.rerank.registry import LLM_RERANKERS
from tests.rag.retrieval.rerank.retrieved import found, ids

OTHERS = sorted(LLM_RERANKERS.keys() - {"pointwise-logprob"})
PATIENT = 110.0
SCRIPTED = pytest.mark.slow(reason="test_faults.py has a scripted model say what may come, in each way")
QUESTION = "How deep is the moat of the castle?"
PASSAGES = (
    "The railway station was opened in 1871 and has four platforms.",
    "Bread is baked from flour, water, salt and yeast.",
    "The moat of the castle is nine metres deep.",
)


def test_the_passage_that_answers_comes_first_by_the_probability_of_yes(own_model: LocalModel):
    result = LogprobReranker(llm=own_model, seconds=PATIENT).rerank(found(*PASSAGES), QUESTION)
    assert (ids(result.documents)[0], result.note, result.failure) == ("3", "", None)
    scores = [document.metadata["score"] for document in result.documents]
    assert scores == sorted(scores, reverse=True) and 0 < scores[-1] < scores[0] < 1


@pytest.mark.parametrize(
    "name",
    ["pointwise-logprob", *(pytest.param(name, marks=SCRIPTED) for name in OTHERS)],
)
def test_whatever_it_says_no_passage_is_lost(own_model: LocalModel, name: str):
    result = LLM_RERANKERS[name](llm=own_model, seconds=PATIENT).rerank(found(*PASSAGES), QUESTION)
    assert sorted(ids(result.documents)) == ["1", "2", "3"]
