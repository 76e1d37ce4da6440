"""Entries of made word indexes, and what a question finds among them."""

from rag.index.lexical import Entry, LexicalIndex


def entries(*texts: str, document: str = "d") -> list[Entry]:
    return [Entry(f"{document}-{n}", document, text) for n, text in enumerate(texts)]


def found(index: LexicalIndex, question: str, *, k: int = 10, of: list[str] | None = None) -> list[str]:
    return [id_ for id_, _ in index.search(question, k, of)]
