"""Labels and descriptions of the retrievers, and numbers with their nouns."""

RECOMMENDED = "ensemble-cc"
RETRIEVERS: dict[str, str] = {
    "ensemble-cc": "Hybrid",
    "ensemble-rrf": "Hybrid, by rank",
    "similarity": "Meaning",
    "mmr": "Meaning, diverse",
    "bm25": "Words",
}
TREE_RETRIEVERS: dict[str, str] = {  # offered where trees are built; not compared in the lab
    "raptor-collapsed": "Summary tree, for whole documents",
    "raptor-traversal": "Summary tree, top down",
}
OTHER_RETRIEVERS: dict[str, str] = {  # not compared in the lab
    "similarity_score_threshold": "Meaning, above a minimum",
}
USES: dict[str, str] = {
    "ensemble-cc": "Combines words and meaning, weighted to suit your documents.",
    "ensemble-rrf": "Combines words and meaning by rank only. Robust when scores are not comparable.",
    "similarity": "Questions worded differently from the documents, or in another language.",
    "similarity_score_threshold": "Meaning, without passages below the minimum relevance.",
    "mmr": "Broad questions. Skips passages that repeat each other.",
    "bm25": "Names, numbers, codes and exact terms. The fastest.",
}


def retriever_name(retriever: str) -> str:
    """Return a retriever's label; the plain name for one of an earlier version."""
    return {**RETRIEVERS, **TREE_RETRIEVERS, **OTHER_RETRIEVERS}.get(retriever, retriever)


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun: 1 -> "1 summary", 1200 -> "1,200 summaries"."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"
