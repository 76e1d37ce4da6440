"""Events of an answer as JSON's types and back: what the HTTP interface sends and the command line reads."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import TypeAdapter

from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.conversation import Failed
from rag.chat.map_reduce import BatchRead, Coverage, ReadingPlan
from rag.chat.pipeline import Rephrasing, Reworked, Timings
from rag.chat.scope import NarrowedTo, SearchedIn
from rag.chat.steps import Planned
from rag.citations.reader import Checked, Checking
from rag.retrieval.degradation import Degraded
from rag.retrieval.rerank.registry import Reordered, Reranking

EVENTS: Mapping[str, type[Any]] = {
    "condensed": Condensed,
    "rephrasing": Rephrasing,
    "searched_in": SearchedIn,
    "narrowed_to": NarrowedTo,
    "planned": Planned,
    "reworked": Reworked,
    "reading_plan": ReadingPlan,
    "batch_read": BatchRead,
    "coverage": Coverage,
    "reranking": Reranking,
    "reordered": Reordered,
    "left_out": Degraded,
    "sources": Sources,
    "token": Token,
    "done": Done,
    "timings": Timings,
    "checking": Checking,
    "checked": Checked,
    "failed": Failed,
}
_NAMES = {kind: name for name, kind in EVENTS.items()}


def encode(event: object) -> tuple[str, dict[str, Any]] | None:
    """Return an event's name and its fields; None for one that is not sent, such as a prompt.

    >>> encode(Token("It rained."))
    ('token', {'text': 'It rained.'})
    """
    name = _NAMES.get(type(event))
    return None if name is None else (name, _adapter(name).dump_python(event, mode="json"))


def decode(name: str, fields: Mapping[str, Any]) -> object | None:
    """Return the event of a name and its fields, None for a name that is not known; raises ValueError."""
    return _adapter(name).validate_python(fields) if name in EVENTS else None


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    return TypeAdapter(EVENTS[name])
