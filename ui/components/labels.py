"""Labels and descriptions of the retrievers."""

from rag.i18n import N_, _, translated

RECOMMENDED = "ensemble-cc"
RETRIEVERS: dict[str, str] = {
    "ensemble-cc": N_("Hybrid"),
    "ensemble-rrf": N_("Hybrid, by rank"),
    "similarity": N_("Meaning"),
    "mmr": N_("Meaning, diverse"),
    "bm25": N_("Words"),
}
TREE_RETRIEVERS: dict[str, str] = {  # offered where trees are built; not compared in the lab
    "raptor-collapsed": N_("Summary tree, for whole documents"),
    "raptor-traversal": N_("Summary tree, top down"),
}
OTHER_RETRIEVERS: dict[str, str] = {  # not compared in the lab
    "similarity_score_threshold": N_("Meaning, above a minimum"),
}
USES: dict[str, str] = {
    "ensemble-cc": N_("Combines words and meaning, weighted to suit your documents."),
    "ensemble-rrf": N_("Combines words and meaning by the order of their results only, whatever the scores."),
    "similarity": N_("Questions worded differently from the documents, or in another language."),
    "similarity_score_threshold": N_("Meaning, without passages below the minimum relevance."),
    "mmr": N_("Broad questions. Skips passages that repeat each other."),
    "bm25": N_("Names, numbers, codes and exact terms. The fastest."),
}


def described(name: str, sentence: str) -> str:
    """Return a name in bold and a sentence on it, as Markdown.

    >>> described("Words", "The fastest.")
    '**Words.** The fastest.'
    """
    return _("**{name}.** {sentence}", name=name, sentence=sentence)


def retriever_name(retriever: str) -> str:
    """Return a retriever's label; the plain name for one of an earlier version."""
    return translated({**RETRIEVERS, **TREE_RETRIEVERS, **OTHER_RETRIEVERS}.get(retriever, retriever))
