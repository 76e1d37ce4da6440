"""The ways of searching in words: what each is called, and what it is good for."""

RECOMMENDED = "ensemble-cc"
NAMES: dict[str, str] = {
    "ensemble-cc": "Hybrid",
    "ensemble-rrf": "Hybrid, by rank",
    "similarity": "Meaning",
    "mmr": "Meaning, diverse",
    "bm25": "Words",
}
OVER_TREES: dict[str, str] = {  # searched where trees are built, and not compared in the lab
    "raptor-collapsed": "Summary tree, for whole documents",
    "raptor-traversal": "Summary tree, top down",
}
GOOD_FOR: dict[str, str] = {
    "ensemble-cc": "Combines words and meaning, weighted to suit your documents.",
    "ensemble-rrf": "Combines words and meaning by rank only. Robust when scores are not comparable.",
    "similarity": "Questions worded differently from the documents, or in another language.",
    "mmr": "Broad questions. Skips passages that repeat each other.",
    "bm25": "Names, numbers, codes and exact terms. The fastest.",
}


def name_of(retriever: str) -> str:
    """Return what a retriever is called; one of an earlier version by its own name."""
    return {**NAMES, **OVER_TREES}.get(retriever, retriever)


def good_for_all() -> str:
    """Return a Markdown list of what each search is good for."""
    return "\n".join(f"- **{name}.** {GOOD_FOR[retriever]}" for retriever, name in NAMES.items())
