"""What tantivy is told and asked: the fields of an entry, and queries over them."""

from collections.abc import Collection
from functools import lru_cache
from typing import Any

import tantivy


@lru_cache(maxsize=1)  # every question names its fields
def schema() -> Any:
    """Return the fields: ids as they are, the text already in tokens, which only white space divides."""
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("id", stored=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("document_id", stored=False, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("language", stored=False, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", stored=False, tokenizer_name="whitespace", index_option="freq")
    return builder.build()


def sharing(terms: Collection[str]) -> Any:
    """Return a query for entries that share any of the terms, scored by BM25."""
    return _any_of("text", terms, "freq")


def of_documents(query: Any, document_ids: Collection[str]) -> Any:
    """Return the query over the entries of some documents alone; scores stay the same."""
    return _within(query, tantivy.Query.term_set_query(schema(), "document_id", list(document_ids)))


def of_ids(query: Any, ids: Collection[str]) -> Any:
    """Return the query over some entries alone; for fifty a term each takes a third of what a set does."""
    return _within(query, _any_of("id", ids, "basic"))


def _any_of(field: str, terms: Collection[str], option: str) -> Any:
    should = tantivy.Occur.Should
    return tantivy.Query.boolean_query(
        [(should, tantivy.Query.term_query(schema(), field, term, option)) for term in terms]
    )


def _within(query: Any, chosen: Any) -> Any:
    must = tantivy.Occur.Must
    return tantivy.Query.boolean_query([(must, query), (must, tantivy.Query.const_score_query(chosen, 0.0))])
