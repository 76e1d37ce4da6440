"""A follow-up made into a question that stands alone, or the question itself.

Without a model, or where its rewrite is strange, a rule carries one or two terms of the conversation into
a question that leans on it, in brackets: both the search and the reader see them. More terms hurt: on
MTRAG all turns joined find less than the last one alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.followup import SAYS_LITTLE, goes_on, last_answer, leans
from rag.jobs import never
from rag.language_model import LanguageModel
from rag.nouns import nouns
from rag.rewriting import SECONDS, rewritten
from rag.text import language, tokens, word_language

History = Sequence[tuple[str, str]]
Rarity = Callable[[str], float]

# Found with BM25 on halves of MTRAG's clapnq and govt, each checked on the other half.
FADING = 0.5
"""What a term keeps of its weight with every question that came after it."""
ANSWERED = 0.7
"""The weight of a term of an answer beside one of a question."""
OPENING = 0.5
"""The weight that terms of the first question never fall below: it often names the subject."""
RARITY_POWER = 0.25
FEW_WORDS = 4
"""Content words up to which a question gets two terms; a longer one gets one."""
REMEMBERED = 20
"""Messages looked at beside the first question; older ones weigh less than a thousandth."""
HEARD = 1000
"""Characters of a message looked at: an answer names its subject early."""
PALE = 0.5
"""What is left of the weight of a word that names no subject."""

_ABOUT = {"ko": "{question} ({terms})", "ja": "{question}（{terms}）", "zh": "{question}（{terms}）"}
_JOINED = {"ja": "、", "zh": "、"}


@dataclass(frozen=True)
class Understood:
    """A question as it stands alone; `note` says where a model fell short, in sentences for the trace."""

    question: str
    note: str = ""


def condense(
    question: str,
    history: History,
    *,
    llm: LanguageModel | None = None,
    rarity: Rarity | None = None,
    cancelled: Callable[[], bool] = never,
) -> str:
    """Return the question as it reads without the conversation: `history` is (role, content), oldest first.

    `rarity` is a token's inverse document frequency. A model that fails is done without.

    >>> condense("And where was he born?", [("user", "Who is Albert Einstein?")])
    'And where was he born? (about Albert Einstein)'
    """
    return understand(question, history, llm=llm, rarity=rarity, cancelled=cancelled).question


def understand(
    question: str,
    history: History,
    *,
    llm: LanguageModel | None = None,
    rarity: Rarity | None = None,
    seconds: float = SECONDS,
    cancelled: Callable[[], bool] = never,
) -> Understood:
    """Return what `condense` does, and what is to say of it; `seconds` is what a model may take.

    Raises Cancelled.
    """
    if not history or not leans(question, last_answer(history)):
        return Understood(question)
    if llm is None:
        return Understood(_carried(question, history, rarity))
    rewrite = rewritten(question, history, llm, seconds=seconds, cancelled=cancelled)
    return Understood(rewrite.text or _carried(question, history, rarity), rewrite.note)


@dataclass
class _Term:
    """A word of the conversation: as it was written, where last, and its weight."""

    word: str
    place: tuple[int, int]
    weight: float = 0.0


def _carried(question: str, history: History, rarity: Rarity | None) -> str:
    """Return the question with the weightiest terms of the conversation that it lacks."""
    stemming = word_language(question)
    asked = frozenset(tokens(question, stemming))
    terms = [term for key, term in _terms(history, rarity, stemming).items() if not set(key) <= asked]
    count = 2 if len(asked) <= FEW_WORDS else 1
    best = sorted(terms, key=lambda term: (-term.weight, term.place))[:count]
    if not best:
        return question
    code = language(question)
    shown = _JOINED.get(code, ", ").join(_phrases(best))
    return _ABOUT.get(code, "{question} (about {terms})").format(question=question, terms=shown)


def _terms(history: History, rarity: Rarity | None, stemming: str) -> dict[tuple[str, ...], _Term]:
    """Return the conversation's terms by their tokens, weighed by recency, role, rarity and repetition."""
    terms: dict[tuple[str, ...], _Term] = {}
    keys: dict[str, tuple[str, ...]] = {}
    for at, weight in _weights(history):
        role, content = history[at]
        if role == "user" and goes_on(content):
            continue  # "tell me more" names no subject
        found: dict[tuple[str, ...], tuple[str, int]] = {}
        for position, word in enumerate(nouns(content[:HEARD])):
            if word not in keys:
                keys[word] = tuple(tokens(word, stemming))
            found.setdefault(keys[word], (word, position))
        found.pop((), None)
        for key, (word, position) in found.items():
            term = terms.setdefault(key, _Term(word, (at, position)))
            term.weight += weight
            if role == "user":
                term.word, term.place = word, (at, position)
    for key, term in terms.items():
        term.weight *= _worth(term.word, key, rarity)
    return terms


def _weights(history: History) -> Iterator[tuple[int, float]]:
    """Yield the place and weight of the first question and of the newest messages, oldest first."""
    opening = next((at for at, (role, _) in enumerate(history) if role == "user"), -1)
    newest = range(max(0, len(history) - REMEMBERED), len(history))
    for at in sorted({opening, *newest} - {-1}):
        since = sum(role == "user" for role, _ in history[at + 1 : at + 1 + REMEMBERED])
        weight = FADING**since * (1 if history[at][0] == "user" else FADING * ANSWERED)
        yield at, max(weight, OPENING) if at == opening else weight


def _worth(word: str, key: Sequence[str], rarity: Rarity | None) -> float:
    """Return how much a term can say about a subject: rare ones more, numbers and common verbs less."""
    worth = 1.0 if rarity is None else max(0.0, sum(map(rarity, key)) / len(key)) ** RARITY_POWER
    if word.casefold() in SAYS_LITTLE or word[0].isdigit():
        worth *= PALE
    return worth


def _phrases(terms: Sequence[_Term]) -> list[str]:
    """Return the terms in the order they were said, neighbours joined: guinea, pigs -> guinea pigs."""
    said = sorted(terms, key=lambda term: term.place)
    phrases = [said[0].word]
    for one, other in pairwise(said):
        if one.place[0] == other.place[0] and other.place[1] == one.place[1] + 1:
            phrases[-1] += f" {other.word}"
        else:
            phrases.append(other.word)
    return phrases
