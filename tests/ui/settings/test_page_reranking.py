from rag.settings import RerankerName, Settings
from storage.records import PassageRecord
from ui.chat.trace_panel import found_by
from ui.settings.page import RERANKERS, reranker_costs


def test_every_reranker_has_a_name_and_says_what_it_costs():
    said = reranker_costs(Settings(fetch_k=30))
    assert list(said) == list(RERANKERS) == list(RerankerName.__args__)
    assert "30 short requests" in said["pointwise-logprob"] and "5 long requests" in said["listwise"]


def test_the_trace_shows_a_reranker_s_rank_and_score_beside_the_searches():
    found = {"bm25": {"rank": 3, "score": 7.5}, "reranker": {"rank": 1, "score": 0.91}}
    passage = PassageRecord(1, "c", "d", "a.pdf", "", 2, "", 0, 4, "text", 0.91, found)
    (row,) = found_by([passage], {})
    assert (row["Words"], row["Reranker"]) == ("rank 3, score 7.5", "rank 1, score 0.91")
