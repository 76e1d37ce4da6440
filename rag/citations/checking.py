"""Second check of an answer: a reader's quotes for its open statements, judged by the checker."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.citations.checker import Checker, Evidence
from rag.citations.cite import Citation, open_statements, recite
from rag.citations.controls import MOST_CONTROLS, make_controls, tells_apart
from rag.citations.reader import MOST_STATEMENTS, Reply, StatementReader, parse_reply, supporting
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
    told = open_statements(text, citations)[: MOST_STATEMENTS - MOST_CONTROLS]
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
    if reply.text and not reply.tested and not reply.failure:
        failed = N_("It did not tell made statements from true ones, so its words did not count.")
        note = f"{note}\n{failed}"
    if reply.failure:
        log.warning("Statements were left as the code found them: %s", reply.failure)
        note = f"{note}\n{reply.failure}"
    yield Checked(*recite(text, citations, passages, verified), note, reply.text)


def read_evidence(
    told: Sequence[str], passages: Sequence[Passage], reader: StatementReader, cancelled: Cancel = never
) -> tuple[dict[int, Evidence], Reply]:
    """Return the evidence of the statements that a reader quotes words for, by index, and its reply.

    It is asked about some controls first. The quotes of one that does not tell them apart count for nothing;
    where there are no controls, nothing is asked.
    """
    checker = Checker(passages)
    told = told[: MOST_STATEMENTS - MOST_CONTROLS]
    controls = make_controls(told, passages, lambda said: checker.check(said).status == "verified")
    if not controls:
        return {}, Reply("")
    asked = [*(control.text for control in controls), *told]
    messages, longest = reader.messages(asked, passages)
    reply = reader.read(messages, longest, cancelled)
    quoted = {number - 1: spans for number, spans in supporting(reply.text, len(asked), passages)}
    claimed = {one.statement - 1 for one in parse_reply(reply.text, len(asked)) if one.supports}
    if not tells_apart(controls, quoted, claimed):
        return {}, reply
    first = len(controls)
    found = {n - first: checker.supported_by(asked[n], spans) for n, spans in quoted.items() if n >= first}
    return found, replace(reply, tested=True)
