"""How an answer was made: by which settings, what was sent to the model, and what could not be searched.

Read only when someone asks, so it stands apart from the messages. What is kept of an answer is bounded.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from storage import messages, tables
from storage.database import Database
from storage.records import State

MOST_SENT = 16  # requests for one answer
LONGEST_SENT = 200_000  # characters of all its requests together: about 50,000 tokens
MOST_UNSEARCHED = 20  # files that could not be searched, by name; the others are counted
LONGEST_SETTING = 300  # characters


@dataclass(frozen=True)
class SentRecord:
    """A request to the language model as it was sent: what it was for, and its messages (role, content)."""

    purpose: str
    messages: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Unsearched:
    """A file that could not be searched, or not wholly, and how far it had come."""

    name: str
    state: State


@dataclass(frozen=True)
class Trace:
    """How an answer was made. ``cut`` is how many characters of what was sent are not kept.

    ``unsearched`` are the first of ``unsearched_count`` files, noted where nothing was found.
    """

    settings: Mapping[str, Any]
    sent: tuple[SentRecord, ...] = ()
    cut: int = 0
    unsearched: tuple[Unsearched, ...] = field(default=())
    unsearched_count: int = 0


class Traces:
    """How the answers of one owner were made; anyone else's id is an id that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def get(self, answer_id: str) -> Trace | None:
        """Read how an answer was made; None for one from before this was kept. Raises NotFound."""
        with self._database.reading() as session:
            answer = messages.owned(session, self._owner, answer_id, "assistant")
            row = session.get(tables.TraceRow, answer.id)
            return None if row is None else _trace(row)


def to_row(answer_id: str, trace: Trace) -> tables.TraceRow:
    """Make the row of a trace, cut to what is kept."""
    sent, cut = bounded(trace.sent[:MOST_SENT], LONGEST_SENT)
    lost = sum(len(content) for request in trace.sent[MOST_SENT:] for _, content in request.messages)
    return tables.TraceRow(
        message_id=answer_id,
        settings={name: _short(value) for name, value in trace.settings.items()},
        sent=[asdict(request) for request in sent],
        cut=trace.cut + cut + lost,
        unsearched=[
            {"name": tables.storable(one.name), "state": one.state}
            for one in trace.unsearched[:MOST_UNSEARCHED]
        ],
        unsearched_count=trace.unsearched_count,
    )


def bounded(sent: Sequence[SentRecord], room: int) -> tuple[list[SentRecord], int]:
    """Return requests of at most ``room`` characters together, and how many characters were cut.

    >>> bounded([SentRecord("answer", (("system", "abc"), ("user", "defg")))], 5)
    ([SentRecord(purpose='answer', messages=(('system', 'abc'), ('user', 'de')))], 2)
    """
    kept, cut = [], 0
    for request in sent:
        parts = []
        for role, content in request.messages:
            short = content[: max(room, 0)]
            room -= len(content)
            cut += len(content) - len(short)
            parts.append((role, tables.storable(short)))
        kept.append(SentRecord(request.purpose, tuple(parts)))
    return kept, cut


def _short(value: Any) -> Any:
    return tables.storable(value)[:LONGEST_SETTING] if isinstance(value, str) else value


def _trace(row: tables.TraceRow) -> Trace:
    return Trace(
        settings=row.settings,
        sent=tuple(
            SentRecord(one["purpose"], tuple((role, content) for role, content in one["messages"]))
            for one in row.sent
        ),
        cut=row.cut,
        unsearched=tuple(Unsearched(**one) for one in row.unsearched),
        unsearched_count=row.unsearched_count,
    )
