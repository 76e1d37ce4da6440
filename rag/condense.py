"""A follow-up made into a question that stands alone, or the question itself.

Without a model, or where its rewrite is strange, a rule carries one or two terms of the conversation into
a question that leans on it, in brackets: both the search and the reader see them. More terms hurt: on
MTRAG all turns joined find less than the last one alone.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rag.errors import LLMError
from rag.facts import numbers
from rag.followup import SAYS_LITTLE, last_answer, leans
from rag.jobs import never
from rag.language_model import LanguageModel
from rag.prompts import CONDENSE, CONDENSE_QUESTION, condense_messages, count_tokens
from rag.text import language, tokens

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

_REWRITE_TOKENS = 200
_ABOUT = {"ko": "{question} ({terms})", "ja": "{question}（{terms}）", "zh": "{question}（{terms}）"}
_JOINED = {"ja": "、", "zh": "、"}


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
    if not history or not leans(question, last_answer(history)):
        return question
    if llm is not None and (written := _rewritten(question, history, llm, cancelled)):
        return written
    return _carried(question, history, rarity)


def _rewritten(question: str, history: History, llm: LanguageModel, cancelled: Callable[[], bool]) -> str:
    """Return the model's standalone question, or nothing where it failed or wrote something else."""
    messages = condense_messages(question, _recent(question, history, llm.settings.context_tokens))
    try:
        answer = llm.complete(messages, max_tokens=_REWRITE_TOKENS, cancelled=cancelled)
    except LLMError:
        return ""
    lines = [line.strip() for line in answer.strip().splitlines() if line.strip()]
    written = (
        re.sub(r"^(?:standalone|rewritten)? ?question:\s*", "", lines[0], flags=re.IGNORECASE)
        if lines
        else ""
    )
    written = written.strip("\"“”'`* ")
    return written if len(lines) == 1 and _sound(written, question, history) else ""


def _recent(question: str, history: History, context_tokens: int) -> History:
    """Return the newest messages that fit into the context beside the rest of the prompt."""
    left = context_tokens - _REWRITE_TOKENS - count_tokens(CONDENSE + CONDENSE_QUESTION + question)
    for at in range(len(history) - 1, -1, -1):
        left -= count_tokens(": ".join(history[at])) + 1
        if left < 0:
            return history[at + 1 :]
    return history


def _sound(written: str, question: str, history: History) -> bool:
    """Return whether a rewrite is a question of about the same size and invents no number or name."""
    known = "\n".join([question, *(content for _, content in history)])
    invented = frozenset(numbers(written)) - frozenset(numbers(known))
    folded = known.casefold()
    strange = [
        word for word in _WORD.findall(written)[1:] if word[0].isupper() and word.casefold() not in folded
    ]
    asks = written.endswith(("?", "？")) or not question.rstrip().endswith(("?", "？"))
    return bool(written) and asks and len(written) <= 3 * len(question) + 200 and not invented and not strange


@dataclass
class _Term:
    """A word of the conversation: as it was written, where last, and its weight."""

    word: str
    place: tuple[int, int]
    weight: float = 0.0


def _carried(question: str, history: History, rarity: Rarity | None) -> str:
    """Return the question with the weightiest terms of the conversation that it lacks."""
    asked = frozenset(tokens(question))
    terms = [term for key, term in _terms(history, rarity).items() if not set(key) <= asked]
    count = 2 if len(asked) <= FEW_WORDS else 1
    best = sorted(terms, key=lambda term: (-term.weight, term.place))[:count]
    if not best:
        return question
    code = language(question)
    shown = _JOINED.get(code, ", ").join(_phrases(best))
    return _ABOUT.get(code, "{question} (about {terms})").format(question=question, terms=shown)


def _terms(history: History, rarity: Rarity | None) -> dict[tuple[str, ...], _Term]:
    """Return the conversation's terms by their tokens, weighed by recency, role, rarity and repetition."""
    terms: dict[tuple[str, ...], _Term] = {}
    keys: dict[str, tuple[str, ...]] = {}
    for at, weight in _weights(history):
        role, content = history[at]
        found: dict[tuple[str, ...], tuple[str, int]] = {}
        for position, word in enumerate(_words(content[:HEARD])):
            if word not in keys:
                keys[word] = tuple(tokens(word))
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
    newest = max(0, len(history) - REMEMBERED)
    questions_since = sum(role == "user" for role, _ in history)
    for at, (role, _) in enumerate(history):
        asked = role == "user"
        questions_since -= asked
        weight = FADING**questions_since * (1 if asked else FADING * ANSWERED)
        if at == opening or at >= newest:
            yield at, max(weight, OPENING) if at == opening else weight


def _worth(word: str, key: Sequence[str], rarity: Rarity | None) -> float:
    """Return how much a term can say about a subject: rare ones more, numbers and common verbs less."""
    worth = 1.0 if rarity is None else max(0.0, sum(map(rarity, key)) / len(key)) ** RARITY_POWER
    if word.casefold() in SAYS_LITTLE or word[0].isdigit():
        worth *= PALE
    return worth


_WORD = re.compile(r"[\w’'-]*\w")
_KOREAN_WORD = re.compile(r"[가-힣]+\Z")
_KOREAN_PARTICLE = re.compile(
    r"(?:에서는|에서|에게|한테|부터|까지|으로|처럼|보다|이라는|라는|이란|에는|은|는|이|가|을|를|의|에|와|과|로|도|만|란)\Z"
)
_KOREAN_PREDICATE = re.compile(
    r"(?:나요|가요|까요|니까|인가|는가|는지|한지|어요|아요|해요|세요|니다|[다까냐니지죠야]|하는|되는|있는|없는|하고|되고|했던|된)\Z"
)
_JAPANESE_NOUN = re.compile(r"[一-鿿々ァ-ヺーA-Za-z0-9]+")
_KANA = re.compile(r"[\u3041-\u30ff]")


def _words(text: str) -> Iterator[str]:
    """Yield the words that can be carried: without Korean particles and predicates, Japanese nouns only.

    >>> list(_words("한국의 수도는 어디인가요?")), list(_words("日本の首都はどこですか"))
    (['한국', '수도'], ['日本', '首都'])
    """
    for word in _WORD.findall(text):
        if _KANA.search(word):
            yield from (noun for noun in _JAPANESE_NOUN.findall(word) if len(noun) > 1)
        elif not _KOREAN_WORD.match(word):
            yield _KOREAN_PARTICLE.sub("", word)
        elif not _KOREAN_PREDICATE.search(word):
            stem = _KOREAN_PARTICLE.sub("", word)
            if len(stem) > 1:
                yield stem


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
