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
from typing import Any, Literal

from rag.text.language import language
from rag.text.markers import plain

CorpusStatus = Literal["searchable", "reading", "empty", "gone"]
"""Documents can be searched, or soon; there are none, or none of those that were chosen."""


LANGUAGES = ("en", "ko", "ja")
MAX_NAMES = 20  # documents named in the reply to "Which documents do I have?"; the others are counted

_REPLIES = ("capabilities", "thanks", "farewell", "greeting")  # the first that occurs is answered
_CLAUSES = re.compile(r"[.,!?;:~…。、！，？；：\n]+")
_KINDS = (
    *("greeting", "thanks", "farewell", "acknowledgement", "assent", "request", "continuation"),
    *("capabilities", "documents"),
)


def reply_to(
    message: str,
    *,
    documents: Callable[[], Sequence[str]] = tuple,
    status: Callable[[], CorpusStatus] = lambda: "searchable",
    chosen: bool = False,
) -> str | None:
    """Return the reply to a message that needs no search, in its language; None where a search is needed.

    The `documents` are those of the library, or with `chosen` those that the chat searches.

    >>> reply_to("Thank you very much!"), reply_to("안녕하세요"), reply_to("Thanks, what is OAuth?")
    ('You are welcome.', '안녕하세요. 문서에서 무엇을 알고 싶으세요?', None)
    """
    phrases = _phrases_in(message)
    kinds = [kind for kind, _ in phrases]
    if not phrases or "continuation" in kinds:
        return None
    replies: dict[str, str] = phrase_file(phrases[-1][1])["replies"]
    if "documents" not in kinds:
        return replies[next((kind for kind in _REPLIES if kind in kinds), "other")]
    if not (names := [" ".join(name.split()) for name in documents()]):
        return replies.get(status(), replies["capabilities"])
    lines = [f"- {name}" for name in names[:MAX_NAMES]]
    if (others := len(names) - MAX_NAMES) > 0:
        lines.append("- " + replies["more"].format(count=f"{others:,}"))
    return "\n".join(
        [replies["chosen" if chosen else "documents"].format(count=f"{len(names):,}"), "", *lines]
    )


def nothing_to_search(question: str, status: CorpusStatus) -> str | None:
    """Return the reason that nothing can be searched, in the question's language, if there is one."""
    replies: dict[str, str] = phrase_file(language(question))["replies"]
    return replies.get(status)


def is_continuation(message: str) -> bool:
    """Return True for a message that only asks for more of the last answer.

    >>> is_continuation("Tell me more"), is_continuation("왜요?"), is_continuation("And in 2023?")
    (True, True, False)
    """
    return any(kind == "continuation" for kind, _ in _phrases_in(message))


def is_small_talk(message: str) -> bool:
    """Return True for greetings, thanks, assent and requests that name nothing ("please")."""
    kinds = {kind for kind, _ in _phrases_in(message)}
    return bool(kinds) and not kinds & {"continuation", "capabilities", "documents"}


def accepts_offer(message: str, answer: str) -> bool:
    """Return True for a request ("please do"), and for assent where the last answer ends with a question.

    >>> accepts_offer("Yes", "It is [1]. Shall I list more?"), accepts_offer("Yes", "It is [1].")
    (True, False)
    """
    kinds = {kind for kind, _ in _phrases_in(message)}
    offered = plain(answer).text.rstrip(' \n"”」』)').endswith(("?", "？", "ましょうか。", "까요."))
    return bool(kinds) and kinds <= {"assent", "request"} and ("request" in kinds or offered)


@cache
def phrase_file(code: str) -> dict[str, Any]:
    """Return the phrases and replies of a language; of English where there are none."""
    known = code if code in LANGUAGES else "en"
    phrases: dict[str, Any] = json.loads((files("rag.chat") / "phrases" / f"{known}.json").read_text("utf-8"))
    return phrases


@cache
def _phrases() -> dict[str, tuple[str, str]]:
    return {
        _normalised(text): (kind, code)
        for code in LANGUAGES
        for kind in _KINDS
        for text in phrase_file(code)[kind]
    }


def _phrases_in(message: str) -> list[tuple[str, str]]:
    known = _phrases()
    if whole := known.get(_normalised(message)):
        return [whole]
    parts = [part for part in map(_normalised, _CLAUSES.split(message)) if part]
    return [known[part] for part in parts] if all(part in known for part in parts) else []


def _normalised(text: str) -> str:
    """Return the letters and digits of a text in lower case: "That's it!" -> "thatsit"."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
