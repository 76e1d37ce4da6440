"""Doubts before answers without a model: where the documents answer, and where they do not.

    python benchmarks/doubt.py SET... [--questions 300] [--asked SET]

Four articles of a question set make a small library. Each question is asked of its own library, of the same
without the paragraph that answers, and of another one. Passages are found by words and by meaning, which
count the same. The constants were fitted on the libraries of half 0; half 1 is reported. "By words" is the
doubt without the sentence's nearness in meaning; where nothing is quoted, that counts as a doubt. With
`--asked` the questions are those of another set with the same ids: XQuAD's in another language.
"""

import argparse
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import log
from pathlib import Path

import numpy as np
from langchain_core.documents import Document

sys.path.insert(0, str(Path(__file__).parent.parent))

from rag.chat.extractive import decide, is_clear, quotes_for
from rag.citations.checker import SCALES
from rag.evaluation.datasets import QuestionSet, load
from rag.models.embeddings import Embedder, Floats, open_embedder
from rag.passage import Found, Passage
from rag.retrieval.sentences import extract
from rag.settings import default_model_cache
from rag.text.tokenize import tokens

MODEL = "multilingual-e5-small"
ARTICLES, IN_LIBRARY, PARAGRAPHS = 48, 4, 8
PASSAGES = 12
KINDS = ("answered", "without its paragraph", "another library")


class Library:
    """Passages of a few articles with their vectors, and the rarity of their words."""

    def __init__(self, passages: Sequence[Passage], vectors: Floats):
        self.passages = passages
        self._vectors = vectors
        self._words = [Counter(tokens(passage.text)) for passage in passages]
        self._having = Counter(word for words in self._words for word in words)

    def rarity(self, word: str) -> float:
        """Return the inverse document frequency of a word."""
        having = self._having[word]
        return log(1 + (len(self.passages) - having + 0.5) / (having + 0.5))

    def without(self, passage_id: str) -> "Library":
        """Return the library without one of its passages."""
        left = [at for at, passage in enumerate(self.passages) if passage.id != passage_id]
        return Library([self.passages[at] for at in left], self._vectors[left])

    def search(self, question: str, vector: Floats) -> list[Passage]:
        """Return the best passages by BM25 and by cosine, each divided by its best."""
        cosines = self._vectors @ vector
        asked = frozenset(tokens(question))
        bm25 = np.array(
            [
                sum(self.rarity(w) * 2.2 * n / (n + 1.2) for w in asked if (n := words[w]))
                for words in self._words
            ]
        )
        order = np.argsort(-(cosines / cosines.max() + bm25 / max(bm25.max(), 1e-9)))[:PASSAGES]
        return [
            replace(self.passages[at], found_by={"similarity": Found(1, float(cosines[at]), 1.0)})
            for at in order
        ]


def libraries(asked: QuestionSet, embedder: Embedder) -> list[Library]:
    """Return small libraries of the articles of a set."""
    articles: dict[str, list[Document]] = defaultdict(list)
    for document in asked.corpus:
        articles[document.page_content.partition("\n")[0]].append(document)
    titles = sorted(articles)
    random.Random(7).shuffle(titles)
    made = []
    for start in range(0, min(len(titles), ARTICLES), IN_LIBRARY):
        passages = [
            Passage(one.id or "", title, f"{title}.txt", "", None, "", 0, len(text), text)
            for title in titles[start : start + IN_LIBRARY]
            for one in articles[title][:PARAGRAPHS]
            for text in [one.page_content.partition("\n")[2]]
        ]
        made.append(Library(passages, np.asarray(embedder.embed_documents([one.text for one in passages]))))
    return made


def decisions(
    asked: QuestionSet, texts: Mapping[str, str], most: int, embedder: Embedder
) -> Iterator[tuple[int, str, bool, bool]]:
    """Yield the half, the kind, and whether there is a doubt by words and by the sentence's meaning too.

    The questions are asked in the words of `texts`.
    """
    made = libraries(asked, embedder)
    home = {passage.id: at for at, library in enumerate(made) for passage in library.passages}
    gold = {id_: next(iter(found)) for id_, found in asked.judgements.items()}
    chosen = [id_ for id_ in asked.questions if gold[id_] in home]
    random.Random(7).shuffle(chosen)
    for id_ in chosen[:most]:
        at, question = home[gold[id_]], texts[id_]
        vector = np.asarray(embedder.embed_query(question))
        own, other = made[at], made[(at + 2) % len(made)]
        for kind, library in zip(KINDS, (own, own.without(gold[id_]), other), strict=True):
            yield at % 2, kind, *_doubts(question, library.search(question, vector), library.rarity, embedder)


def _doubts(
    question: str, passages: Sequence[Passage], rarity: Callable[[str], float], embedder: Embedder
) -> tuple[bool, bool]:
    decision = decide(question, passages, rarity, middle=SCALES[MODEL].asked)
    picks = quotes_for(decision, partial(extract, question, passages, embedder=embedder))
    clear = is_clear(question, passages, picks, decision, embedder)
    return not (picks and decision.answered), not (picks and clear)


def main() -> None:
    """Print a line for each set, half and kind of library."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--asked", type=Path)
    options = parser.parse_args()
    embedder = open_embedder(MODEL, cache=default_model_cache())
    for path in options.sets:
        counts: dict[tuple[int, str], list[tuple[bool, bool]]] = defaultdict(list)
        asked = load(path)
        texts = load(options.asked).questions if options.asked else asked.questions
        for half, kind, *doubts in decisions(asked, texts, options.questions, embedder):
            counts[half, kind].append((doubts[0], doubts[1]))
        for (half, kind), all_ in sorted(counts.items()):
            words, meaning = (float(np.mean(column)) for column in zip(*all_, strict=True))
            print(
                f"{path.name:<14} half {half} {kind:<24}{len(all_):>5}  {words:.3f} by words  {meaning:.3f}"
            )


if __name__ == "__main__":
    main()
