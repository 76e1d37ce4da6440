"""Small talk, continuations and questions about the application, by exact match against short lists.

The lists are data, one file a language in rag/chat/phrases; case, spaces and punctuation do not count. A
message made of several phrases ("Hi! What can you do?") matches where each of them does.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from rag.chat.scope import CorpusStatus
from rag.text.language import language

LANGUAGES = ("en", "ko", "ja")
MAX_NAMES = 20
"""Documents named in the reply to "Which documents do I have?"; the others are counted."""

_NO_PHRASES = ("question_words", "replies")
_REPLIES = ("capabilities", "thanks", "farewell", "greeting")  # the first that occurs is answered
_CLAUSES = re.compile(r"[.,!?;:~…。、！，？；：\n]+")
_MARKER = re.compile(r"\[\d+\]")


def reply_to(
    message: str,
    *,
    documents: Callable[[], Sequence[str]] = tuple,
    status: Callable[[], CorpusStatus] = lambda: "searchable",
) -> str | None:
    """Return the reply to a message that needs no search, in its language; None where a search is needed.

    `documents` and `status` are asked for where the documents are to be listed.

    >>> reply_to("Thank you very much!"), reply_to("안녕하세요"), reply_to("Thanks, what is OAuth?")
    ('You are welcome.', '안녕하세요. 문서에서 무엇을 알고 싶으세요?', None)
    """
    phrases = _phrases_in(message)
    kinds = [kind for kind, _ in phrases]
    if not phrases or "continuation" in kinds:
        return None
    replies = phrase_file(phrases[-1][1])["replies"]
    if "documents" in kinds:
        found = documents()
        listed = _listed(found, replies) if found else replies.get(status())
        return listed or str(replies["capabilities"])
    return str(replies[next((kind for kind in _REPLIES if kind in kinds), "other")])


def nothing_to_search(question: str, status: CorpusStatus) -> str | None:
    """Return the reason that nothing can be searched, in the question's language, if there is one."""
    code = language(question)
    reason: str | None = phrase_file(code if code in LANGUAGES else "en")["replies"].get(status)
    return reason


def is_continuation(message: str) -> bool:
    """Return True for a message that only asks for more of the last answer.

    >>> is_continuation("Tell me more"), is_continuation("왜요?"), is_continuation("And in 2023?")
    (True, True, False)
    """
    return any(kind == "continuation" for kind, _ in _phrases_in(message))


def accepts_offer(message: str, answer: str) -> bool:
    """Return True for a request ("please do"), and for assent where the last answer ends with a question.

    >>> accepts_offer("Yes", "It is [1]. Shall I list more?"), accepts_offer("Yes", "It is [1].")
    (True, False)
    """
    kinds = {kind for kind, _ in _phrases_in(message)}
    offered = _MARKER.sub("", answer).rstrip(' \n"”」』)').endswith(("?", "？", "ましょうか。", "까요."))
    return bool(kinds) and kinds <= {"assent", "request"} and ("request" in kinds or offered)


@cache
def phrase_file(code: str) -> dict[str, Any]:
    """Return the phrases and replies of a language."""
    text = (files("rag.chat") / "phrases" / f"{code}.json").read_text("utf-8")
    read: dict[str, Any] = json.loads(text)
    return read


@cache
def _phrases() -> dict[str, tuple[str, str]]:
    """Return the kind and language of every phrase by its normalised form."""
    return {
        _normalised(text): (kind, code)
        for code in LANGUAGES
        for kind, texts in phrase_file(code).items()
        if kind not in _NO_PHRASES
        for text in texts
    }


def _phrases_in(message: str) -> list[tuple[str, str]]:
    """Return the phrases that a message is made of; none where it says anything else."""
    known = _phrases()
    if whole := known.get(_normalised(message)):
        return [whole]
    parts = [part for part in map(_normalised, _CLAUSES.split(message)) if part]
    return [known[part] for part in parts] if all(part in known for part in parts) else []


def _normalised(text: str) -> str:
    """Return the letters and digits of a text in lower case.

    >>> _normalised("That's it!")
    'thatsit'
    """
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _listed(documents: Sequence[str], replies: dict[str, str]) -> str:
    names = [" ".join(name.split()) for name in documents[:MAX_NAMES]]
    others = len(documents) - len(names)
    names += [replies["more"].format(count=f"{others:,}")] if others else []
    head = replies["documents"].format(count=f"{len(documents):,}")
    return "\n".join([head, "", *(f"- {name}" for name in names)])
