"""A follow-up rewritten by a language model: asked within a time, and checked before anyone uses it."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.errors import Cancelled, LLMError
from rag.jobs import never
from rag.language_model import LanguageModel
from rag.prompts import condense_messages, fitting_turns
from rag.soundness import objection

History = Sequence[tuple[str, str]]

SECONDS = 5.0
"""How long a rewrite may take: the reader waits for it before anything is searched."""
BRIEF_SECONDS = 15.0
"""The same for a small model on this computer: four seconds where its two cores are free."""
HISTORY_TOKENS = 2000
"""What of the conversation a model is shown at most: a follow-up seldom leans on more."""
BRIEF_HISTORY_TOKENS = 450
"""The same for a small model, which reads 55 tokens a second; 150 of them are the request itself."""
_REWRITE_TOKENS = 200
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_LABEL = re.compile(r"(?:standalone|rewritten)? ?question:\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Rewrite:
    """A question that stands alone, empty where there is none to use; `note` is for the trace."""

    text: str
    note: str = ""


def rewritten(
    question: str,
    history: History,
    llm: LanguageModel,
    *,
    seconds: float = SECONDS,
    cancelled: Callable[[], bool] = never,
) -> Rewrite:
    """Return the model's rewrite, or why there is none; raises Cancelled where the reader does."""
    most = BRIEF_HISTORY_TOKENS if llm.settings.brief else HISTORY_TOKENS
    room = min(llm.settings.context_tokens - _REWRITE_TOKENS, most)
    shown = fitting_turns(question, history, room)
    if not shown:
        return Rewrite("", f"{_BY_RULE} the last turn does not fit into what a model is shown to rewrite it.")
    written, wrong = _asked(question, shown, llm, seconds, cancelled)
    wrong = wrong or _said(objection(written, question, shown))
    trimmed = _trimmed(len(shown), len(history))
    return Rewrite("" if wrong else written, " ".join(part for part in (wrong, trimmed) if part))


_BY_RULE = "The follow-up was completed by rule:"


def _asked(
    question: str, shown: History, llm: LanguageModel, seconds: float, cancelled: Callable[[], bool]
) -> tuple[str, str]:
    """Return what the model wrote, and what kept it from writing."""
    until = time.monotonic() + seconds
    messages = condense_messages(question, shown)
    try:
        answer = llm.complete(
            messages,
            max_tokens=_REWRITE_TOKENS,
            cancelled=lambda: cancelled() or time.monotonic() > until,
        )
    except Cancelled:
        if cancelled():
            raise
        return "", f"{_BY_RULE} the language model took more than {seconds:g} seconds to rewrite it."
    except LLMError as error:
        return "", f"{_BY_RULE} the language model did not rewrite it. {error}"
    return _bare(answer), ""


def _said(wrong: str) -> str:
    return f"{_BY_RULE} the language model's rewrite was not used, since {wrong}." if wrong else ""


def _trimmed(shown: int, held: int) -> str:
    if shown == held:
        return ""
    return f"To rewrite it, the language model was shown the newest {shown} of {held} messages."


def _bare(answer: str) -> str:
    """Return what was written, without a model's thoughts, a label, or quotes around it."""
    written = _LABEL.sub("", _THOUGHT.sub("", answer).strip(), count=1)
    return written.strip("\"“”'`* \n")
