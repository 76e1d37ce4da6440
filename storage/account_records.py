"""What storage hands out of people: frozen records, never rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Holdings:
    """What one owner holds: documents, and the bytes of their originals."""

    documents: int
    bytes: int


@dataclass(frozen=True)
class Used:
    """What one owner was answered: answers, and the tokens that a model read and wrote for them."""

    answers: int
    tokens: int


@dataclass(frozen=True)
class PersonRecord:
    """A person as an administrator sees them: who, what they hold, what they used; nothing of its contents.

    ``limits`` are those set for this person alone; ``removing`` is when their removal was ordered.
    """

    id: str
    name: str
    email: str
    created: datetime
    seen: datetime | None
    removing: datetime | None
    limits: Mapping[str, int]
    holds: Holdings
    conversations: int
    used: Used
    today: Used
