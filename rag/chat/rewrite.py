"""Follow-ups made to stand alone, and the query variants they are searched in (multi-query retrieval).

A connected language model rewrites every follow-up within a time limit. Without one, or where its rewrite is
rejected, terms of the conversation are carried over (rag/chat/followup.py). Either way the question is also
searched as typed, after the last answer and after the first question; these variants count less.
"""

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from rag.chat.followup import History, Rarity, needs_context, with_terms
from rag.chat.prompts import condense_messages, fitting_turns
from rag.chat.rewrite_check import rejection_reason
from rag.citations.support import declines
from rag.errors import Cancelled, LLMError
from rag.jobs import never
from rag.models.protocol import LanguageModel
from rag.retrieval.fusion import convex_combination, theoretical_min_max
from rag.text.sentences import sentences

REWRITE_SECONDS = 5.0  # the reader waits for a rewrite before anything is searched
SMALL_MODEL_REWRITE_SECONDS = 15.0  # a small local model takes four where its two cores are free
HISTORY_TOKENS = 2000  # of the conversation that a model is shown
SMALL_MODEL_HISTORY_TOKENS = 450  # it reads 55 tokens a second; 150 more are the request itself
REWRITE_TOKENS = 200
VARIANT_WEIGHT = 0.5
"""Weight of a further variant's results beside the standalone question's, which weigh 1."""
FIRST_QUESTION_WEIGHT = 0.25
"""Weight of the variant after the conversation's first question, fitted on MTRAG govt."""
DEPTH = 30  # passages of each variant that are fused
MAX_SENTENCE = 300  # characters of an answer's first sentence that are searched with the question
MAX_ANSWER = 2000  # characters of an answer in which its first sentence is looked for
CONVERSATION, TYPED = "conversation", "as typed"
"""Names in `found_by` of the variants that use the conversation, and of the question as it was typed."""

_BY_RULE = "The follow-up was completed by rule:"
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_LABEL = re.compile(r"(?:standalone|rewritten)? ?question:\s*", re.IGNORECASE)
_MARKER = re.compile(r"\s?\[\d{1,4}\]")


@dataclass(frozen=True)
class QueryVariant:
    """Text to search for, the weight of its results, and the name under which they are marked, if any."""

    text: str
    weight: float = 1.0
    name: str = ""


@dataclass(frozen=True)
class StandaloneQuestion:
    """Question that stands alone, the variants to search; `note` says where a model fell short."""

    text: str
    variants: tuple[QueryVariant, ...]
    note: str = ""


def make_standalone(
    question: str,
    history: History,
    *,
    llm: LanguageModel | None = None,
    rarity: Rarity | None = None,
    embedder: Embeddings | None = None,
    seconds: float = REWRITE_SECONDS,
    cancelled: Callable[[], bool] = never,
) -> StandaloneQuestion:
    """Return a question as it reads without the conversation before it; raises Cancelled.

    `seconds` is the time limit of the model, which is always asked where there is one and a history.

    >>> said = [("user", "Who is Albert Einstein?")]
    >>> make_standalone("And where was he born?", said).text
    'And where was he born? (about Albert Einstein)'
    """
    if not history:
        return StandaloneQuestion(question, (QueryVariant(question),))
    rewrite, note = "", ""
    if llm is not None:
        rewrite, note = rewritten(question, history, llm, seconds=seconds, cancelled=cancelled)
    if rewrite:
        return StandaloneQuestion(rewrite, query_variants(rewrite, question, history), note)
    completed = with_terms(question, history, rarity)
    text = completed if needs_context(question, completed, embedder) else question
    return StandaloneQuestion(text, query_variants(text, question, history, completed), note)


def rewritten(
    question: str,
    history: History,
    llm: LanguageModel,
    *,
    seconds: float = REWRITE_SECONDS,
    cancelled: Callable[[], bool] = never,
) -> tuple[str, str]:
    """Return the model's rewrite, empty where none can be used, and a note for the trace.

    Raises Cancelled where the reader stops.
    """
    most = SMALL_MODEL_HISTORY_TOKENS if llm.settings.brief else HISTORY_TOKENS
    shown = fitting_turns(question, history, min(llm.settings.context_tokens - REWRITE_TOKENS, most))
    if not shown:
        return "", f"{_BY_RULE} the last turn does not fit into what a model is shown to rewrite it."
    written, problem = _asked(question, shown, llm, seconds, cancelled)
    if not problem and (reason := rejection_reason(written, question, shown)):
        problem = f"{_BY_RULE} the language model's rewrite was not used, since {reason}."
    trimmed = ""
    if len(shown) < len(history):
        trimmed = (
            f"To rewrite it, the language model was shown the newest {len(shown)} of {len(history)} messages."
        )
    return "" if problem else written, " ".join(part for part in (problem, trimmed) if part)


def _asked(
    question: str, shown: History, llm: LanguageModel, seconds: float, cancelled: Callable[[], bool]
) -> tuple[str, str]:
    """Return the model's rewrite, and the reason where it wrote none."""
    until = time.monotonic() + seconds
    try:
        answer = llm.complete(
            condense_messages(question, shown),
            max_tokens=REWRITE_TOKENS,
            cancelled=lambda: cancelled() or time.monotonic() > until,
        )
    except Cancelled:
        if cancelled():
            raise
        return "", f"{_BY_RULE} the language model took more than {seconds:g} seconds to rewrite it."
    except LLMError as error:
        return "", f"{_BY_RULE} the language model did not rewrite it. {error}"
    written = _LABEL.sub("", _THOUGHT.sub("", answer).strip(), count=1)
    return written.strip("\"“”'`* \n"), ""


def query_variants(
    standalone: str, question: str, history: History, completed: str = ""
) -> tuple[QueryVariant, ...]:
    """Return the variants of a question, first as it stands alone; each text occurs once.

    `completed` is the question with the terms of the conversation.

    >>> said = [("user", "Do cats purr?"), ("assistant", "Most do [1].")]
    >>> [(v.text, v.weight) for v in query_variants("Why? (about cats)", "Why?", said)]
    [('Why? (about cats)', 1.0), ('Why?', 0.5), ('Most do. Why?', 0.5), ('Do cats purr? Why?', 0.25)]
    """
    variants = [QueryVariant(standalone), QueryVariant(question, VARIANT_WEIGHT, TYPED)]
    if completed:
        variants.append(QueryVariant(completed, VARIANT_WEIGHT, CONVERSATION))
    if answered := _first_sentence(_first_of("assistant", reversed(history))):
        variants.append(QueryVariant(f"{answered} {question}", VARIANT_WEIGHT, CONVERSATION))
    if first := _first_of("user", history):
        variants.append(QueryVariant(f"{first} {question}", FIRST_QUESTION_WEIGHT, CONVERSATION))
    by_text: dict[str, QueryVariant] = {}
    for variant in variants:
        by_text.setdefault(variant.text, variant)
    return tuple(by_text.values())


def _first_sentence(answer: str) -> str:
    """Return the first sentence of an answer that states something, without its markers."""
    text = _MARKER.sub("", answer[:MAX_ANSWER])
    said = (text[start:end] for start, end in sentences(text))
    return next(
        (one[:MAX_SENTENCE] for one in said if not one.endswith((":", "：")) and not declines(one)), ""
    )


def _first_of(role: str, messages: Iterable[tuple[str, str]]) -> str:
    return next((content for who, content in messages if who == role and content.strip()), "")


def search_variants(
    retriever: Runnable[str, list[Document]], variants: Sequence[QueryVariant], k: int | None = None
) -> list[Document]:
    """Return the best `k` documents, or all, of the fused variants; of one, as the retriever gives them.

    Each variant's scores are divided by its best and weighted; documents without a score count by rank.
    """
    if len(variants) == 1:
        return retriever.invoke(variants[0].text)[:k]
    rankings: dict[str, list[tuple[str, float]]] = {}
    documents: dict[str, Document] = {}
    found_by: dict[str, dict[str, dict[str, float]]] = {}
    for at, variant in enumerate(variants):
        scored = _scored(retriever.invoke(variant.text, k=DEPTH))
        rankings[str(at)] = [(key, score) for key, (_, score) in scored.items()]
        highest = max((score for _, score in scored.values()), default=0.0) or 1.0
        for rank, (key, (document, score)) in enumerate(scored.items(), start=1):
            documents.setdefault(key, document)
            places = found_by.setdefault(key, {})
            if variant.name and rank < places.get(variant.name, {"rank": rank + 1})["rank"]:
                places[variant.name] = {"rank": rank, "score": score, "normalised": score / highest}
    weights = {str(at): variant.weight for at, variant in enumerate(variants)}
    from_zero = dict.fromkeys(rankings, theoretical_min_max(0.0))
    fused = list(convex_combination(rankings, weights, from_zero).items())[:k]
    return [_fused(documents[key], score, found_by[key]) for key, score in fused]


def _scored(documents: Sequence[Document]) -> dict[str, tuple[Document, float]]:
    """Return documents with their scores by id, in order; one without a score counts by its rank."""
    ranked = enumerate(documents, start=1)
    return {d.id or d.page_content: (d, float(d.metadata.get("score", 1 / rank))) for rank, d in ranked}


def _fused(document: Document, score: float, found_by: Mapping[str, Mapping[str, float]]) -> Document:
    everyone = {**document.metadata.get("found_by", {}), **found_by}
    metadata = {**document.metadata, "score": score, "found_by": everyone}
    return Document(id=document.id, page_content=document.page_content, metadata=metadata)
