import json
import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.retrieval.rerank.llm import complete_order, parse_order, windows

PIECES = [
    "[1]", "[2]", "[3] > [1] > [2]", "[9]", "[0]", "[-1]", "[1] > [1] > [1]", " > ", ">", "[", "]",
    "[[", "\n", "1.", "Passage 2", "passage #3", "I think ", "순서: [2] > [1]", "［３］＞［１］",
    "最も良い: 3 > 2", "<think>", "</think>", "3, 1, 2", "[3, 2]", "{}", '{"order": [2, 1]}',
    "99999999999999999999", "٣ > ١", "²", "½", "\x00", "\u202e", "As an AI, ", "1e9", "[1.5]",
    "- [4]\n", "\ud800", "=", "→", "…", "NaN", "[1] = [2]", "|1|2|", "(3) > (1)", "<b>[2]</b>", "%s %d",
    "\\d+",
]  # fmt: skip


def made_replies(count: int) -> list[str]:
    draw = random.Random(7)
    return ["".join(draw.choices(PIECES, k=draw.randint(0, 12))) for _ in range(count)]


def is_permutation(reply: str, count: int) -> bool:
    return sorted(complete_order(parse_order(reply, count), count)) == list(range(count))


@pytest.mark.parametrize("count", [1, 4, 10])
def test_two_hundred_made_replies_are_permutations(count: int):
    assert [reply for reply in made_replies(200) if not is_permutation(reply, count)] == []


@settings(max_examples=300)
@given(
    st.text() | st.lists(st.sampled_from(PIECES)).map("".join) | st.lists(st.integers()).map(json.dumps),
    st.integers(1, 12),
)
def test_whatever_is_sent_is_a_permutation(reply: str, count: int):
    assert is_permutation(reply, count)


@given(st.permutations(range(8)), st.sampled_from([" > ", ">", "\n", " ＞ ", ", "]))
def test_what_a_model_names_in_full_is_what_is_read(order: list[int], between: str):
    assert parse_order("Here you are: " + between.join(f"[{at + 1}]" for at in order) + "\nDone.", 8) == order


@pytest.mark.parametrize(
    ("reply", "order"),
    [
        ("[3] > [1] > [2]", [2, 0, 1]),
        ("3 > 1 > 2", [2, 0, 1]),
        ("Of the 4 passages, in order: [2] > [1].", [1, 0]),
        ("1. [3]\n2. [1]", [2, 0]),
        ("Passage 3 is best, then passage 1.", [2, 0]),
        ("[3, 1, 2]", [2, 0, 1]),
        ("<think>[1] > [2]</think>[2] > [1]", [1, 0]),
        ("<think>[1] > [2] and so on without end", []),
        ("［３］＞［１］", [2, 0]),
        ("[3] > [3] > [7] > [0] > [1]", [2, 0]),
        ("I cannot do that.", []),
        ("", []),
    ],
)
def test_an_order_is_found_among_prose(reply: str, order: list[int]):
    assert parse_order(reply, 4) == order


@given(st.integers(0, 60), st.integers(2, 20), st.integers(1, 20))
def test_windows_reach_every_place_and_hand_on_from_back_to_front(count: int, size: int, step: int):
    spans = windows(count, size, min(step, size))
    assert {at for start, end in spans for at in range(start, end)} == set(range(count))
    assert spans[0][1] == count and spans[-1][0] == 0
    assert all(end - start == min(size, count) for start, end in spans)
    assert all(later[1] > earlier[0] or step >= size for earlier, later in pairwise(spans))
