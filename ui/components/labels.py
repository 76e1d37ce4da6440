"""The ways of searching in words: what each is called, and what it is good for."""

NAMES: dict[str, str] = {
    "ensemble-cc": "Both, by scores",
    "ensemble-rrf": "Both, by ranks",
    "similarity": "Meaning",
    "mmr": "Meaning, varied",
    "bm25": "Words",
}
OVER_TREES: dict[str, str] = {  # searched where trees are built, and not compared in the lab
    "raptor-collapsed": "Tree of summaries, for whole documents",
    "raptor-traversal": "Tree of summaries, from the top down",
}
GOOD_FOR: dict[str, str] = {
    "ensemble-cc": "Words and meaning together, each weighed as far as it proves useful for your documents.",
    "ensemble-rrf": "Words and meaning together, by their places alone: steady where scores do not compare.",
    "similarity": "Questions in other words than the documents', or in another language.",
    "mmr": "Broad questions: passages that say the same again are passed over.",
    "bm25": "Names, numbers, codes and exact terms. The quickest.",
}


def name_of(retriever: str) -> str:
    """Return what a retriever is called; one of an earlier version by its own name."""
    return {**NAMES, **OVER_TREES}.get(retriever, retriever)


def good_for_all() -> str:
    """Return a Markdown list of what each search is good for."""
    return "\n".join(f"- **{name}.** {GOOD_FOR[retriever]}" for retriever, name in NAMES.items())
