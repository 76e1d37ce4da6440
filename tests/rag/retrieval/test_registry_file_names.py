import pytest

from rag.retrieval.registry import WEIGHT, boost_by_name, name_matches

NAMES = ["2023 Q3.pdf", "2022 Q3.pdf", "2022 Q1.pdf"]


def order(question: str, scores: dict[str, float]) -> list[str]:
    """One passage of each file, with these scores."""
    return list(boost_by_name(question, scores, {name: name for name in scores})[0])


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("Sales in Q3 2023?", "2023 Q3.pdf"),
        ("What was said in the Q1 2022 report?", "2022 Q1.pdf"),
        ("2022년 Q3 매출은?", "2022 Q3.pdf"),
    ],
)
def test_the_file_that_is_named_matches_most(question, best):
    matches = name_matches(question, NAMES)
    assert max(matches, key=matches.__getitem__) == best
    assert all(0 <= match <= 1 for match in matches.values())


@pytest.mark.parametrize("question", ["What were the sales?", "", "pdf"])
def test_a_question_that_names_none_matches_none(question):
    assert set(name_matches(question, NAMES).values()) == {0.0}


def test_korean_and_japanese_names_are_understood():
    assert (
        name_matches("3분기 보고서의 매출은?", ["3분기 보고서.pdf", "안내문.pdf"])["3분기 보고서.pdf"] == 1.0
    )
    assert name_matches("議事録では何が決まりましたか", ["議事録.md", "手引き.md"])["議事録.md"] == 1.0


def test_between_passages_that_say_the_same_the_named_file_comes_first():
    assert order("Sales in Q3 2023?", {"2022 Q3.pdf": 0.9, "2023 Q3.pdf": 0.89}) == [
        "2023 Q3.pdf",
        "2022 Q3.pdf",
    ]


@pytest.mark.parametrize("scale", [1.0, 0.2, 5.0], ids=["all there", "a half left out", "other scale"])
def test_a_name_outweighs_little_of_what_a_passage_says_on_any_scale(scale: float):
    little, much = scale * (1 - WEIGHT / 2), scale * (1 - WEIGHT * 1.1)
    assert order("Sales in Q3 2023?", {"2022 Q1.pdf": scale, "2023 Q3.pdf": little})[0] == "2023 Q3.pdf"
    assert order("Sales in Q3 2023?", {"2022 Q1.pdf": scale, "2023 Q3.pdf": much})[0] == "2022 Q1.pdf"


def test_a_full_match_adds_its_share_of_the_best_score_and_is_told():
    scores, matches = boost_by_name(
        "Sales in Q3 2023?", dict.fromkeys(NAMES, 0.5), {name: name for name in NAMES}
    )
    assert scores["2023 Q3.pdf"] == 0.5 + WEIGHT * 0.5
    assert scores["2022 Q1.pdf"] == 0.5
    assert matches["2023 Q3.pdf"] == 1.0


@pytest.mark.parametrize(
    ("scores", "names", "best_first"),
    [
        ({}, {}, []),
        ({"0": 0.9, "1": 0.8}, {}, ["0", "1"]),
        ({"0": 0.9, "1": 0.8}, {"0": "", "1": ""}, ["0", "1"]),
        ({"0": 0.0, "1": 0.0}, {"0": "", "1": "2023 Q3.pdf"}, ["0", "1"]),
        ({"0": 0.9, "1": 0.85}, {"0": "", "1": "2023 Q3.pdf"}, ["1", "0"]),
        ({"0": -0.1, "1": -0.9}, {"0": "", "1": "2023 Q3.pdf"}, ["0", "1"]),
    ],
    ids=["none", "no names", "empty names", "no scores", "some", "negative"],
)
def test_passages_without_a_name_or_a_score_stay_where_they_are(scores, names, best_first):
    assert list(boost_by_name("Sales in Q3 2023?", scores, names)[0]) == best_first


def test_equal_ones_stay_in_their_order():
    assert order("What?", dict.fromkeys(NAMES, 0.5)) == NAMES
