"""Second check of an answer: a reader's quotes for its open statements, judged by the checker."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.citations.checker import Checker, Evidence
from rag.citations.cite import Citation, open_statements, recite
from rag.citations.reader import MOST_STATEMENTS, Reply, StatementReader, supporting
from rag.i18n import N_
from rag.jobs import Cancel, never
from rag.passage import Passage

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checking:
    """Event: the model is asked for the words that so many statements rest on."""

    statements: int


@dataclass(frozen=True)
class Checked:
    """Event: the answer, which may have gained markers, with its citations after the model's `reply`.

    `note` says what came of it, or why nothing did.
    """

    text: str
    citations: tuple[Citation, ...]
    note: str
    reply: str = ""


def check(
    text: str,
    citations: Sequence[Citation],
    passages: Sequence[Passage],
    reader: StatementReader,
    cancelled: Cancel = never,
) -> Iterator[Checking | Checked]:
    """Ask a reader for the words of an answer's open statements, and verify those whose words say them.

    Yields nothing where no statement is open. Raises Cancelled.
    """
    told = open_statements(text, citations)[:MOST_STATEMENTS]
    if not told or not passages:
        return
    yield Checking(len(told))
    found, reply = read_evidence([one.text for one in told], passages, reader, cancelled)
    verified = {told[at].start: evidence for at, evidence in found.items() if evidence.status == "verified"}
    note = str(
        N_(
            "{verified} of {total} open statements verified by words that the model found.",
            verified=len(verified),
            total=len(told),
        )
    )
    if reply.failure:
        log.warning("Statements were left as the code found them: %s", reply.failure)
        note = f"{note}\n{reply.failure}"
    yield Checked(*recite(text, citations, passages, verified), note, reply.text)


def read_evidence(
    told: Sequence[str], passages: Sequence[Passage], reader: StatementReader, cancelled: Cancel = never
) -> tuple[dict[int, Evidence], Reply]:
    """Return the evidence of the statements that a reader quotes words for, by index, and its reply."""
    messages, longest = reader.messages(told, passages)
    reply = reader.read(messages, longest, cancelled)
    checker = Checker(passages)
    quoted = supporting(reply.text, len(told), passages)
    return {n - 1: checker.supported_by(told[n - 1], spans) for n, spans in quoted}, reply
