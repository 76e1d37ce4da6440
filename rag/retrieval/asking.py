"""Several searches asked at once: what each found in time, or why it did not."""

import logging
import time
from _thread import start_new_thread
from collections.abc import Callable, Collection, Mapping
from contextvars import copy_context
from queue import Empty, Queue
from typing import TypeVar

from rag.errors import RetrievalError
from rag.logs import fields

log = logging.getLogger(__name__)

Found = TypeVar("Found")
Search = Callable[[], Found]
Answers = Queue[tuple[str, Found | Exception]]
OnFailure = Callable[[str, Exception], None]


def ask(
    searches: Mapping[str, Search[Found]],
    timeout: float,
    *,
    here: Collection[str] = (),
) -> dict[str, Found | Exception]:
    """Ask each in a thread of its own and return what it found or raised; late is a RetrievalError, too.

    Those named `here` are asked in the calling thread meanwhile, and waited for: for what cannot hang.
    """
    answers: Answers[Found] = Queue()
    late = RetrievalError(f"no answer within {timeout:g} seconds")
    deadline = time.monotonic() + timeout
    outcomes: dict[str, Found | Exception] = dict.fromkeys(searches, late)
    for name, search in searches.items():
        if name not in here:
            # A Thread would have the caller wait until it runs, which takes longer than many a search.
            start_new_thread(copy_context().run, (_ask_one, answers, name, search))
    mine = [name for name in here if name in searches]
    outcomes.update({name: _outcome(searches[name]) for name in mine})
    for _ in searches.keys() - set(mine):
        try:
            name, answer = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except Empty:
            break
        outcomes[name] = answer
    return outcomes


def answered(outcomes: Mapping[str, Found | Exception], on_failure: OnFailure | None) -> dict[str, Found]:
    """Return what was found; `on_failure`, or else the log, is told the name and error of what failed.

    Raises RetrievalError when all did.
    """
    found = but_failed(outcomes, on_failure or _left_out)
    if not found:
        failures = {name: outcome for name, outcome in outcomes.items() if isinstance(outcome, Exception)}
        sentences = " ".join(f"{name}: {error}" for name, error in sorted(failures.items()))
        raise RetrievalError(f"No search could answer. {sentences}") from next(iter(failures.values()))
    return found


def but_failed(outcomes: Mapping[str, Found | Exception], on_failure: OnFailure) -> dict[str, Found]:
    """Return what was found; `on_failure` is told the name and error of what failed."""
    for name, outcome in outcomes.items():
        if isinstance(outcome, Exception):
            on_failure(name, outcome)
    return {name: outcome for name, outcome in outcomes.items() if not isinstance(outcome, Exception)}


def _left_out(name: str, error: Exception) -> None:
    log.warning("The %s search was left out: %s", name, error, extra=fields(search=name))


def _ask_one(answers: Answers[Found], name: str, search: Search[Found]) -> None:
    answers.put((name, _outcome(search)))


def _outcome(search: Search[Found]) -> Found | Exception:
    try:
        return search()
    except Exception as error:  # noqa: BLE001 - a foreign retriever may fail in any way; the rest answer
        return error
