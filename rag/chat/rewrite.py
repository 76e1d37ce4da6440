"""Rewriting of follow-ups into standalone questions, and the query variants searched (multi-query retrieval).

A connected language model rewrites every follow-up within a time limit. Without one, or where its rewrite is
rejected, terms of the conversation are carried over (rag/chat/followup.py). Either way the question is also
searched as typed, after the last answer and after the first question; these variants count less.
"""

import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable

from rag.chat.corpus import History
from rag.chat.followup import (
    TextsAbout,
    context_need,
    no_texts,
    relative_period,
    stated_sentences,
    with_replaced_period,
    with_replaced_term,
    with_replaced_terms,
    with_terms,
)
from rag.chat.past_turns import Rework
from rag.chat.prompts import condense_messages, fitting_turns
from rag.chat.small_talk import LANGUAGES, phrase_file
from rag.errors import Cancelled, LLMError
from rag.i18n import N_
from rag.jobs import never
from rag.models.protocol import LanguageModel
from rag.retrieval.fusion import normalised, theoretical_min_max, weighted
from rag.text.facts import holds_name, latin_words, names, nouns, numbers
from rag.text.language import STOP_WORDS
from rag.text.tokenize import Rarity, tokens

REWRITE_SECONDS = 5.0  # the reader waits for a rewrite before anything is searched
SMALL_MODEL_REWRITE_SECONDS = 15.0  # a small local model takes four where its two cores are free
HISTORY_TOKENS = 2000  # of the conversation that a model is shown
SMALL_MODEL_HISTORY_TOKENS = 450  # it reads 55 tokens a second; 150 more are the request itself
REWRITE_TOKENS = 200
VARIANT_WEIGHT = 0.5  # of a further variant's results; the standalone question's weigh 1
FIRST_QUESTION_WEIGHT = 0.25  # of the variant after the conversation's first question, fitted on MTRAG govt
DEPTH = 30  # passages of each variant that are fused
MAX_SENTENCE = 300  # characters of an answer's first sentence that are searched with the question
MAX_ANSWER = 2000  # characters of an answer in which its first sentence is looked for
CONVERSATION, TYPED = "conversation", "as typed"  # names of variants in `found_by`
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_LABEL = re.compile(r"(?:standalone|rewritten)? ?question:\s*", re.IGNORECASE)
_REWORK_REPLIES: dict[str, Rework] = {"LAST ANSWER": "form", "EARLIER ANSWERS": "recall"}


@dataclass(frozen=True)
class QueryVariant:
    """Text to search for, the weight of its results, and the name under which they are marked, if any."""

    text: str
    weight: float = 1.0
    name: str = ""


@dataclass(frozen=True)
class StandaloneQuestion:
    """Question that stands alone, the variants to search; `note` says where a model fell short.

    `rework` is set where the question only asks to rework earlier answers, and is not to be searched; it is
    `shifted` where it only asks for another period. `alone` is the question without terms of the
    conversation, where it was completed by them and may not need them.
    """

    text: str
    variants: tuple[QueryVariant, ...]
    note: str = ""
    rework: Rework | None = None
    shifted: bool = False
    alone: "StandaloneQuestion | None" = None


def make_standalone(
    question: str,
    history: History,
    *,
    llm: LanguageModel | None = None,
    rarity: Rarity | None = None,
    embedder: Embeddings | None = None,
    seconds: float = REWRITE_SECONDS,
    reworkable: bool = False,
    texts: TextsAbout = no_texts,
    cancelled: Callable[[], bool] = never,
) -> StandaloneQuestion:
    """Return the standalone form of a question; raises Cancelled.

    A model, where there is one, is asked for every question with a history, for at most `seconds`. With
    `reworkable` it may reply that the question asks to rework an answer; a small one is not asked for that.
    `texts` tells which term of the last question another one replaces.

    >>> said = [("user", "Who is Albert Einstein?")]
    >>> make_standalone("And where was he born?", said).text
    'And where was he born? (about Albert Einstein)'
    """
    if not history:
        return StandaloneQuestion(question, (QueryVariant(question),))
    rewrite, note = "", ""
    if llm is not None:
        reworkable = reworkable and not llm.settings.brief
        rewrite, note = rewritten(question, history, llm, seconds, cancelled, reworkable=reworkable)
    if rework := _REWORK_REPLIES.get(rewrite if reworkable else ""):
        return StandaloneQuestion(question, (QueryVariant(question),), note, rework)
    if rewrite:
        return StandaloneQuestion(rewrite, query_variants(rewrite, question, history), note)
    history = with_replaced_terms(history, texts, embedder)
    asked = _first_of("user", reversed(history))
    if meant := with_replaced_term(question, asked, texts, embedder):
        both = (QueryVariant(meant), QueryVariant(question, VARIANT_WEIGHT, TYPED))
        return StandaloneQuestion(meant, both, note, shifted=bool(with_replaced_period(question, asked)))
    completed = with_terms(question, history, rarity)
    shifted = bool(relative_period(question, history))
    need = "sure" if shifted else context_need(question, completed, embedder)
    alone = StandaloneQuestion(question, query_variants(question, question, history, completed), note)
    if need == "none":
        return alone
    text = with_terms(question, history, rarity, period=True)
    variants = query_variants(text, question, history, text)
    return StandaloneQuestion(text, variants, note, None, shifted, alone if need == "unsure" else None)


def rewritten(
    question: str,
    history: History,
    llm: LanguageModel,
    seconds: float = REWRITE_SECONDS,
    cancelled: Callable[[], bool] = never,
    *,
    reworkable: bool = False,
) -> tuple[str, str]:
    """Return the model's rewrite, empty if unusable, and a note for the trace; raises Cancelled.

    With `reworkable` the rewrite may be a reply that no search is needed.
    """
    most = SMALL_MODEL_HISTORY_TOKENS if llm.settings.brief else HISTORY_TOKENS
    sent = fitting_turns(question, history, min(llm.settings.context_tokens - REWRITE_TOKENS, most))
    if not sent:
        return "", _TOO_LONG
    written, problem = "", ""
    until = time.monotonic() + seconds
    try:
        reply = llm.complete(
            condense_messages(question, sent, rework=reworkable),
            max_tokens=REWRITE_TOKENS,
            cancelled=lambda: cancelled() or time.monotonic() > until,
        )
        written = _LABEL.sub("", _THOUGHT.sub("", reply).strip(), count=1).strip("\"“”'`* \n")
        if reworkable and written.strip(". ") in _REWORK_REPLIES:
            written = written.strip(". ")
        elif reason := rejection_reason(written, question, sent):
            problem = _rejected(reason)
    except Cancelled:
        if cancelled():
            raise
        problem = _late(seconds)
    except LLMError as error:
        problem = _failed(error)
    trimmed = _trimmed(len(sent), len(history)) if len(sent) < len(history) else ""
    return "" if problem else written, "\n".join(filter(None, (problem, trimmed)))


# Notes for the trace, each a line of its own
_TOO_LONG = N_(
    "The follow-up was completed by rule: the last turn does not fit into what a model is shown to rewrite "
    "it."
)


def _rejected(reason: str) -> str:
    return N_(
        "The follow-up was completed by rule: the language model's rewrite was not used, since {reason}.",
        reason=reason,
    )


def _late(seconds: float) -> str:
    return N_(
        "The follow-up was completed by rule: the language model took more than {seconds} seconds to rewrite "
        "it.",
        seconds=f"{seconds:g}",
    )


def _failed(error: LLMError) -> str:
    return N_(
        "The follow-up was completed by rule: the language model did not rewrite it. {reason}",
        reason=str(error),
    )


def _trimmed(shown: int, total: int) -> str:
    return N_(
        "To rewrite it, the language model was shown the newest {shown} of {total} messages.",
        shown=shown,
        total=total,
    )


# Check of a rewrite. Capitals and digits mark a name. Korean and Japanese have no capitals: there no noun may
# be new except those that ask ("이유", "方法"), which rag/chat/phrases lists.
_FIRST_EAST_ASIAN = "\u1100"  # Hangul, and then kana and Han: scripts without capitals
_EAST_ASIAN = ("CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA")


def rejection_reason(written: str, question: str, history: Sequence[tuple[str, str]]) -> str:
    """Return why a rewrite is not used, as the rest of a sentence; empty where it is sound.

    >>> said = [("user", "Who leads Acme?"), ("assistant", "Ann Lee leads Acme [1].")]
    >>> rejection_reason("When did Ann Lee join Acme?", "When did she join?", said)
    ''
    >>> rejection_reason("When did Bob join Acme?", "When did she join?", said)
    'it names Bob, of whom or which nothing was said'
    """
    if not any(map(str.isalnum, written)):
        return N_("it is empty")
    if len(written.splitlines()) > 1:
        return N_("it is more than one line")
    if not _same_script(written, question, history):
        return N_("it is in another language")
    known = "\n".join([question, *(content for _, content in history)])
    said = frozenset(numbers(known))
    if new := [number for number in numbers(written) if number not in said]:
        return N_("it brings in the number {number}", number=new[0])
    if name := _new_name(written, known):
        return N_("it names {name}, of whom or which nothing was said", name=name)
    return ""


def _same_script(written: str, question: str, history: Sequence[tuple[str, str]]) -> bool:
    """Return True where a rewrite keeps the question's script; a Latin name in Korean changes nothing."""
    asked = _scripts(question)
    if own := asked.keys() - {"LATIN"}:
        return own <= _scripts(written).keys()
    asked = asked or _scripts(" ".join(content for role, content in history if role == "user"))
    most = _scripts(written).most_common(1)
    return not most or not asked or most[0][0] in asked


def _scripts(text: str) -> Counter[str]:
    """Count the letters of each script, Japanese and Chinese as one.

    >>> dict(_scripts("OAuth는 東京タワー"))
    {'LATIN': 5, 'HANGUL': 1, 'CJK': 5}
    """
    letters = filter(str.isalpha, unicodedata.normalize("NFKC", text))
    found = (unicodedata.name(letter, "?").split()[0] for letter in letters)
    return Counter("CJK" if script in _EAST_ASIAN else script for script in found)


def _new_name(written: str, known: str) -> str:
    folded = unicodedata.normalize("NFKC", known).casefold()
    words, stems = latin_words(folded), frozenset(tokens(known, "en"))
    allowed = STOP_WORDS["en"].union(*(phrase_file(code)["question_words"] for code in LANGUAGES))
    latin = (name for name in names(written) if name[0] < _FIRST_EAST_ASIAN)
    east_asian = (noun for noun in nouns(written) if noun[0] >= _FIRST_EAST_ASIAN)
    for name in (*latin, *east_asian):
        known_name = holds_name(name, folded, words) or frozenset(tokens(name, "en")) <= stems
        if not known_name and name.casefold() not in allowed:
            return name
    return ""


# Query variants


def query_variants(
    standalone: str, question: str, history: History, completed: str = ""
) -> tuple[QueryVariant, ...]:
    """Return the variants of a question, first as it stands alone; each text occurs once.

    `completed` is the question with the terms of the conversation.

    >>> said = [("user", "Do cats purr?"), ("assistant", "Most do [1].")]
    >>> [(v.text, v.weight) for v in query_variants("Why? (about cats)", "Why?", said)]
    [('Why? (about cats)', 1.0), ('Why?', 0.5), ('Most do. Why?', 0.5), ('Do cats purr? Why?', 0.25)]
    """
    answered = _first_sentence(_first_of("assistant", reversed(history)))
    first = _first_of("user", history)
    variants = {standalone: QueryVariant(standalone)}
    for text, weight, name in (
        (question, VARIANT_WEIGHT, TYPED),
        (completed, VARIANT_WEIGHT, CONVERSATION),
        (answered and f"{answered} {question}", VARIANT_WEIGHT, CONVERSATION),
        (first and f"{first} {question}", FIRST_QUESTION_WEIGHT, CONVERSATION),
    ):
        if text:
            variants.setdefault(text, QueryVariant(text, weight, name))
    return tuple(variants.values())


def _first_sentence(answer: str) -> str:
    return next(stated_sentences(answer[:MAX_ANSWER]), "")[:MAX_SENTENCE]


def _first_of(role: str, messages: Iterable[tuple[str, str]]) -> str:
    return next((content for who, content in messages if who == role and content.strip()), "")


def search_variants(
    retriever: Runnable[str, list[Document]], variants: Sequence[QueryVariant], k: int | None = None
) -> list[Document]:
    """Return the best `k` documents, or all, of the fused variants; one variant is not fused.

    Each variant's scores are divided by its best and weighted; documents without a score count by rank.
    """
    if len(variants) == 1:
        text = variants[0].text
        return retriever.invoke(text) if k is None else retriever.invoke(text, k=k)[:k]
    scores: dict[str, dict[str, float]] = {}
    found: dict[str, Document] = {}
    for variant in variants:
        ranking = [
            (d.id or d.page_content, float(d.metadata.get("score", 1 / rank)), d)
            for rank, d in enumerate(retriever.invoke(variant.text, k=DEPTH), start=1)
        ]
        of = scores[variant.text] = normalised(
            [(key, score) for key, score, _ in ranking], theoretical_min_max(0.0)
        )
        for rank, (key, score, document) in enumerate(ranking, start=1):
            kept = {**document.metadata, "found_by": dict(document.metadata.get("found_by", {}))}
            by = found.setdefault(key, document.model_copy(update={"metadata": kept})).metadata["found_by"]
            if variant.name and rank < by.get(variant.name, {"rank": rank + 1})["rank"]:
                by[variant.name] = {"rank": rank, "score": score, "normalised": of[key]}
    fused = weighted(scores, {variant.text: variant.weight for variant in variants})
    for key, score in fused.items():
        found[key].metadata["score"] = score
    return [found[key] for key in fused][:k]
