"""A follow-up made into a question that stands alone, or the question itself.

Without a model a rule decides whether the question lacks something, and carries the conversation's
terms into it, which both search and the reader can see.
"""

import re
from collections.abc import Callable, Sequence

from rag.errors import LLMError
from rag.llm import LLM, never
from rag.prompts import condense_messages
from rag.text import language, tokens

History = Sequence[tuple[str, str]]
Rarity = Callable[[str], float]

_CARRIED = 4
_LEADS_ON = {
    "en": re.compile(
        r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|that|these|those|one|ones|there|such)\b"
        r"|^(?:and|but|so|or|also|then|why|how so|what about|how about|what else|anything else|tell me more)\b"
        r"|\b(?:another|others?|else|too|instead|same|more|former|latter|second|third)\b",
        re.I,
    ),
    "ko": re.compile(
        r"그럼|그러면|그리고|그런데|그것|그거|그건|이것|이거|이건|그\s|이\s|저\s|그들|그녀|거기|여기|왜\s*\?|또|다른|더\s|같은"
    ),
    "ja": re.compile(
        r"それ|これ|あれ|その|この|あの|そこ|ここ|彼|彼女|では|じゃあ|なら|他に|ほかに|もっと|同じ|なぜ[?？]?$"
    ),
}
_SMALL_TALK = re.compile(
    r"^(?:hi|hello|hey|thanks|thank you|ok|okay|great|bye|안녕|고마워|감사|네|응|こんにちは|ありがとう|はい)",
    re.I,
)
_ABOUT = {
    "en": "{question} (about: {terms})",
    "ko": "{question} ({terms} 관련)",
    "ja": "{question}（{terms}について）",
}


def condense(
    question: str,
    history: History,
    *,
    llm: LLM | None = None,
    rarity: Rarity | None = None,
    cancelled: Callable[[], bool] = never,
) -> str:
    """Return the question as it reads without the conversation `history` of (role, content)."""
    if not history or not _lacks(question):
        return question
    if llm is not None:
        try:
            written = llm.complete(
                condense_messages(question, history), max_tokens=200, cancelled=cancelled
            ).strip()
        except LLMError:
            written = ""
        if written:
            return written
    return _carried(question, history, rarity)


def _lacks(question: str) -> bool:
    if _SMALL_TALK.match(question.strip()):
        return False
    rule = _LEADS_ON.get(language(question), _LEADS_ON["en"])
    return bool(rule.search(question)) or len(set(tokens(question))) <= 2


def _carried(question: str, history: History, rarity: Rarity | None) -> str:
    have = set(tokens(question))
    terms: list[str] = []
    for role, content in reversed(history):
        if role == "user":
            for word in re.findall(r"[\w-]+", content):
                stems = set(tokens(word))
                if stems and not stems & have and len(terms) < _CARRIED:
                    terms.append(word)
                    have |= stems
    if not terms:
        return question
    form = _ABOUT.get(language(question), _ABOUT["en"])
    return form.format(question=question, terms=", ".join(terms))
