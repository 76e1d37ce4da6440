"""Two people with nearly the same documents in one place, and one of them again by herself in another.

What Ann finds must be hers, and must have the scores that it has where nobody else is: then nothing of Bob's,
no passage, no count and no statistic, had a part in it.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from langchain_core.documents import Document

from rag.ingest.library import Library
from rag.jobs import Cancel, never
from rag.retrieval.rerank.base import Reranker, RerankScores
from rag.retrieval.rerank.registry import RerankingRetriever
from storage.database import Database
from tests.rag.word_vectors import WordVectors

K = 5
TOPICS = ("harbour", "castle", "lighthouse", "등대", "灯台", "railway", "archive", "observatory")
WORDS = ("stone", "depth", "lamp", "keeper", "report", "autumn", "bridge", "engine", "ledger", "signal")
CANARY = {"ann": "annabelle", "bob": "bobolink"}

Search = Callable[[Library, str], list[Document]]


class Overlap(Reranker):
    """Scores a passage by the words that it shares with the question."""

    def score(self, query: str, documents: Sequence[Document], cancelled: Cancel = never) -> RerankScores:
        asked = set(query.split())
        return RerankScores([len(asked & set(it.page_content.split())) / len(asked) for it in documents])


def _by(name: str) -> Search:
    return lambda library, query: library.retriever(name, K).invoke(query)


def _reranked(library: Library, query: str) -> list[Document]:
    found = library.retriever("ensemble-cc", 2 * K)
    return RerankingRetriever(retriever=found, reranker=Overlap(), fetch_k=2 * K, k=K).invoke(query)


PATHS: dict[str, Search] = {
    "vector": _by("similarity"),
    "bm25": _by("bm25"),
    "ensemble": _by("ensemble-cc"),
    "rerank": _reranked,
    "raptor": _by("raptor-collapsed"),
    "mmr": _by("mmr"),
    "caches": _by("ensemble-cc"),  # asked of both in turn, and of Ann once more
}


# Ids are drawn at random, and the layers of a tree above its documents come out differently with them: built
# twice by one person alone, 113 of 200 questions have other scores. Whose it is can be told.
DRAWN = {"raptor"}


@dataclass(frozen=True)
class World:
    """The libraries of Ann and Bob over one ledger, and of Ann over another that is hers alone."""

    ann: Library
    bob: Library
    alone: Library


@dataclass(frozen=True)
class Leaks:
    """How often something of another's was found, or had a part in a score."""

    asked: int
    foreign: int
    scores: int


@contextmanager
def world(folder: Path, documents: int) -> Iterator[World]:
    """Build it: a third of the documents are the same in both, others differ in a word; Bob has more."""
    shared, apart = Database.open(folder / "shared"), Database.open(folder / "apart")
    ann, bob, alone = (_library(*of) for of in ((shared, "ann"), (shared, "bob"), (apart, "ann")))
    try:
        for library in (ann, bob, alone):
            for number in range(documents * (2 if library is bob else 1)):
                _put(library, number)
            for _ in library.forest.build_due(never):
                pass
        yield World(ann, bob, alone)
    finally:
        for library in (ann, bob, alone):
            library.close()
        shared.close()
        apart.close()


def queries(count: int) -> list[str]:
    """Return questions of a topic, a few words, and now and then another's own word; the same every time."""
    dice = random.Random(7)
    return [
        " ".join(
            [dice.choice(TOPICS), *dice.sample(WORDS, 3), dice.choice(["", "", *CANARY.values()])]
        ).strip()
        for _ in range(count)
    ]


def leaks(world: World, path: str, asked: Sequence[str]) -> Leaks:
    """Ask Ann's library, and compare with what she finds where she is alone."""
    search, hers = PATHS[path], _ids(world.ann)
    foreign = scores = 0
    for query in asked:
        if path == "caches":
            search(world.ann, query)
            search(world.bob, query)
        found = search(world.ann, query)
        assert found or not search(world.alone, query)
        foreign += sum(not _is_hers(document, hers) for document in found)
        scores += path not in DRAWN and _scores(found) != _scores(search(world.alone, query))
    return Leaks(len(asked), foreign, scores)


def _is_hers(document: Document, hers: set[str]) -> bool:
    return document.id in hers and CANARY["bob"] not in document.page_content


def _ids(library: Library) -> set[str]:
    return library.documents.chunk_ids() | library.forest.trees.node_ids()


def _scores(found: Sequence[Document]) -> list[str]:
    """Return the scores of what was found, or the texts where it has none, as of mmr: ids decide a tie."""
    return sorted(
        f"{it.metadata['score']:.5f}" if "score" in it.metadata else it.page_content for it in found
    )


def _library(database: Database, owner: str) -> Library:
    return Library(database, owner, lambda: WordVectors("words"))


def _put(library: Library, number: int) -> None:
    record, _ = library.add(f"{number}.md", text_of(number, library.owner).encode())
    for _ in library.index(record.id):
        pass


def text_of(number: int, owner: str) -> str:
    """Return a document; those of two people differ in a word, or not at all."""
    dice, topic = random.Random(number), TOPICS[number % len(TOPICS)]
    own = "" if number % 3 == 0 else f" {CANARY[owner]}"
    lines = [
        f"The {topic}{own} has {' '.join(dice.sample(WORDS, 4))} {number * 100 + line}." for line in range(8)
    ]
    return f"# {topic} {number}\n\n" + "\n\n".join(lines) + "\n"
