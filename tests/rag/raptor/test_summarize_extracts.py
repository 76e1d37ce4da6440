from collections import Counter

import pytest

from rag.raptor.summarize import extract, rarities
from rag.text.prompt_parts import count_tokens

TEXTS = [
    "The pump of the engine must be primed. The cook made a fine soup today.",
    "Prime the pump with heavy oil before the engine starts. The sea was blue and calm.",
    "An engine whose pump is dry will burn its bearings. A gull sat upon the rail.",
]


def test_an_extract_says_what_all_members_say():
    rarity = rarities([*TEXTS, "The wind tore the sail.", "Grain was carried in sacks.", "The mate signs."])
    lines = extract(TEXTS, rarity, size=45).split("\n")
    assert len(lines) == 3
    assert all("pump" in line for line in lines)


def test_each_member_has_its_turn_and_sentences_stay_in_order():
    texts = [
        f"Ship {n} carries grain to the northern harbour. Ship {n} carries wool as well." for n in range(8)
    ]
    lines = extract(texts, rarities(texts), size=108).split("\n")
    assert sum(map(count_tokens, lines)) <= 108
    turns = Counter(line.split()[1] for line in lines)
    assert len(turns) == 8
    assert set(turns.values()) == {1, 2}
    joined = "\n".join(texts)
    assert [joined.index(line) for line in lines] == sorted(joined.index(line) for line in lines)


@pytest.mark.parametrize("texts", [["Hm."], ["", "x"], ["가나다라 마바사 아자차카 타파하."]])
def test_of_little_there_is_a_little_extract(texts):
    assert extract(texts, rarities(texts)) in texts


def test_one_sentence_too_long_is_better_than_none():
    long = "The ship sailed on " * 100 + "home."
    assert extract([long, long], rarities([long])) == long
