from itertools import pairwise

import pytest

from rag.raptor.tree import LONGEST, SIZE, leaves
from rag.text.chunking import split
from rag.text.document import LoadedDocument
from rag.text.prompt_parts import count_tokens
from rag.text.sentences import sentences

TEXTS = {
    "English": " ".join(
        f"Sentence {n} tells of ships and of the weather over the northern sea." for n in range(60)
    ),
    "Korean": " ".join(f"{n}번째 배는 폭풍이 지나간 뒤에 항구로 돌아왔다." for n in range(60)),
    "Japanese": "".join(f"{n}番目の船は嵐のあとで港に戻った。" for n in range(60)),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_leaves_are_whole_sentences_of_a_hundred_tokens_of_the_model(embedder, text):
    found = leaves(text, split(LoadedDocument(text)), count=embedder.count_tokens)
    ends = {end for _, end in sentences(text)}
    assert all(leaf.end in ends for leaf in found)
    sizes = embedder.count_tokens([text[leaf.start : leaf.end] for leaf in found])
    assert SIZE == 100 and max(sizes) <= SIZE
    following = embedder.count_tokens([text[a.start : b.end] for a, b in pairwise(found)])
    assert min(following) > SIZE, "two leaves are too much for one"
    assert min(sizes[:-1]) > SIZE / 2


def test_every_sentence_is_in_one_leaf():
    text = TEXTS["English"]
    found = leaves(text, split(LoadedDocument(text)))
    assert [found[0].start, found[-1].end] == [0, len(text)]
    assert all(text[a.end : b.start].isspace() for a, b in pairwise(found))


def test_a_long_sentence_is_a_leaf_of_its_own():
    long = "It goes on and " * 40 + "ends here."
    text = f"Short one. {long} Short two."
    found = leaves(text, split(LoadedDocument(text)))
    assert [text[leaf.start : leaf.end] for leaf in found] == ["Short one.", long, "Short two."]


def test_text_without_full_stops_is_cut_where_the_splitter_would():
    text = "word " * 2000
    found = leaves(text, split(LoadedDocument(text)))
    assert max(count_tokens(text[leaf.start : leaf.end]) for leaf in found) <= LONGEST
    assert sum(leaf.end - leaf.start for leaf in found) > len(text) * 0.9


def test_a_leaf_keeps_to_its_page_and_heading():
    text = "One is here. Two is here. Three is here."
    document = LoadedDocument(text, pages=((1, 0, 13), (2, 13, len(text))), headings=((0, 1, "Ships"),))
    found = leaves(text, split(document))
    assert [(leaf.page, leaf.heading) for leaf in found] == [(1, "Ships"), (2, "Ships")]
    assert text[found[0].start : found[0].end] == "One is here."


def test_nothing_has_no_leaves():
    assert leaves("", []) == []
