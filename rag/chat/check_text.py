"""Check of a text: its statements are searched in the documents and checked against what is found there.

Works without a language model. A statement is searched as it is written; then it is checked against what was
found for it and for its neighbours in the paragraph, since "It fell by 3 %" names nothing. A connected model
is then asked for the words behind what is still open, as for answers.
"""

import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from rag.chat.letters import is_letter_phrase
from rag.chat.pipeline import RagPipeline
from rag.chat.scope import NarrowedTo
from rag.citations.checker import Checker, Evidence
from rag.citations.cite import Statement, statements
from rag.citations.reader import Reply, StatementReader, read_evidence
from rag.citations.support import OPEN
from rag.errors import Cancelled, DocumentRefused
from rag.i18n import N_, N_plural
from rag.ingest.parsers import LoadedDocument, load_steps
from rag.jobs import Cancel, Job, never
from rag.passage import Passage
from rag.retrieval.degradation import Degraded
from rag.text.document import shown
from rag.text.markdown import cells, read_tables
from rag.text.tokenize import tokens

CHECK = "check"  # kind of the jobs, and their lane
LANES = {CHECK: 2}
PASSAGES = 6  # found for a statement
TOGETHER = 4  # neighbouring statements that are checked against each other's passages
MAX_TEXT = 400_000  # characters: about 150 pages
MAX_STATEMENTS = 1000
MAX_STATEMENT = 2000  # characters of one statement; a longer one is a text without full stops
MAX_QUERY = 1000  # characters
MOST_UNREAD = 2  # requests that a model may fail before it is asked no more for a text
LEAST_TOKENS = 2  # of a statement: "Thank you." is in any document

CheckStatus = Literal["verified", "differs", "not found"]
NOT_FOUND = N_("Not found in your documents")
CLOSEST = N_("Not confirmed. Closest words")


@dataclass(frozen=True)
class SourceWords:
    """Words that a statement rests on: `canonical[start:end]` of the passage's document."""

    passage: Passage
    start: int
    end: int

    @property
    def quote(self) -> str:
        """The words."""
        return self.passage.text[self.start - self.passage.start : self.end - self.passage.start]

    @property
    def line(self) -> str:
        """The words on one line: the cells of a row with their heads, an item of a list without its mark."""
        at = self.start - self.passage.start
        tables = [(table.header, row) for table in read_tables(self.passage.text) for row in table.rows]
        told = ""
        for one in self.quote.split("\n"):
            row = next(((head, row.cells) for head, row in tables if row.start <= at < row.end), None)
            told += f"; {_with_heads(*row)}" if row else f" {_bare_line(one)}"
            at += len(one) + 1
        return " ".join(told.split()).removeprefix("; ")

    @property
    def place(self) -> str:
        """Document and page: "report.pdf, page 3"."""
        document, page = self.passage.document, self.passage.page
        return document if page is None else N_("{document}, page {page}", document=document, page=page)


_ITEM = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")


def _bare_line(line: str) -> str:
    """Return the cells of a row whose heads are not known, or an item of a list without its mark."""
    return " | ".join(filter(None, cells(line))) if line.count("|") > 1 else _ITEM.sub("", line)


def _with_heads(header: Sequence[str], row: Sequence[str]) -> str:
    """Return the cells of a row that have words, each after the first with its head.

    >>> _with_heads(["Item", "", "Cost"], ["Total", "", "9,995"])
    'Total, Cost: 9,995'
    """
    heads = [*header, *[""] * len(row)]
    named = [
        f"{head}: {cell}" if at and head else cell
        for at, (head, cell) in enumerate(zip(heads, row, strict=False))
        if cell.strip()
    ]
    return ", ".join(" ".join(one.split()) for one in named)


@dataclass(frozen=True)
class CheckedStatement:
    """Statement `text[start:end]` of a checked text, with the words of the documents about it.

    `note` is what the source says where it differs, a calculation, or why the statement was not checked.
    `closest` are words on the subject of a statement that was not found: they do not say it.
    """

    number: int
    text: str
    start: int
    end: int
    status: CheckStatus
    note: str = ""
    sources: tuple[SourceWords, ...] = ()
    closest: tuple[SourceWords, ...] = ()

    @property
    def shown(self) -> tuple[SourceWords, ...]:
        """Words shown beside the statement: its sources, else the closest ones."""
        return self.sources or self.closest

    @property
    def remark(self) -> str:
        """Status and note as a reader sees them: "Verified", "Source says: 8,284"."""
        if self.status == "verified":
            return N_("Verified. Calculated: {note}", note=self.note) if self.note else N_("Verified")
        if self.status == "differs":
            return N_("Source says: {reason}", reason=self.note) if self.note else N_("The source differs")
        if self.closest:
            return CLOSEST
        return N_("Not found in your documents. {reason}", reason=self.note) if self.note else NOT_FOUND


@dataclass(frozen=True)
class CheckedText:
    """Text with its checked statements; `blocks` are the spans of its paragraphs, lists and tables.

    `searched_in` names the scope where not everything was searched; `notes` are sentences on what was left
    out.
    """

    name: str
    text: str
    blocks: tuple[tuple[int, int], ...]
    statements: tuple[CheckedStatement, ...]
    searched_in: str = ""
    notes: tuple[str, ...] = ()
    media_type: str = ""

    @property
    def verified(self) -> int:
        """Number of verified statements."""
        return sum(one.status == "verified" for one in self.statements)

    @property
    def summary(self) -> str:
        """Sentence on the whole: "12 of 15 statements verified"."""
        return N_plural(
            "{backed} of {count} statement verified",
            "{backed} of {count} statements verified",
            len(self.statements),
            backed=f"{self.verified:,}",
        )


@dataclass(frozen=True)
class CheckProgress:
    """Event: `done` of `total` statements are checked; 0 of 0 while the text is read."""

    done: int
    total: int


@dataclass(frozen=True)
class TextCheck:
    """Check that the page shows: its job, the file's bytes, and the text that was pasted."""

    job: Job[CheckProgress | CheckedText]
    content: bytes
    text: str = ""


def blocks(text: str) -> list[tuple[int, int]]:
    r"""Return the spans of a text's blocks, which blank lines part; fenced code is one block.

    >>> blocks("One.\nTwo.\n\n- Three.")
    [(0, 9), (11, 19)]
    """
    found: list[tuple[int, int]] = []
    fence, start, end = "", 0, 0
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        if line.strip() or fence:
            end += len(line) + 1
            continue
        if end > start:
            found.append((start, end - 1))
        start = end = end + len(line) + 1
    return [*found, (start, end - 1)] if end - 1 > start else found


def read_statements(document: LoadedDocument) -> list[Statement]:
    r"""Return the statements of a document's text, without its headings and what only greets or closes.

    >>> text = "Harbour\nIt opened in 1931. Kind regards, Ann Lee"
    >>> [one.text for one in read_statements(LoadedDocument(text, headings=((0, 1, "Harbour"),)))]
    ['It opened in 1931.']
    """
    found = statements(_without_headings(document))
    return [
        one for one in found if len(set(tokens(one.text))) >= LEAST_TOKENS and not is_letter_phrase(one.text)
    ]


_RULE = re.compile(r"^[ \t]*[-=_*]+[ \t]*$", re.M)  # would make a heading of the line above it


def _without_headings(document: LoadedDocument) -> str:
    """Return the text with blanks in the place of headings and ruled lines, so that offsets stay."""
    text = _RULE.sub(lambda rule: " " * len(rule[0]), document.text)
    parts, done = [], 0
    for start, _, heading in sorted(document.headings):
        line_end = text.find("\n", start + len(heading) - 1)
        end = len(text) if line_end < 0 else line_end
        if start >= done:
            parts += [text[done:start], re.sub(r"[^\n]", " ", text[start:end])]
            done = end
    return "".join([*parts, text[done:]])


def read_text(
    name: str, content: bytes, cancelled: Cancel = never
) -> Generator[CheckProgress, None, LoadedDocument]:
    """Read the text of a file in a child process; raises DocumentRefused, also for one that is too long."""
    with TemporaryDirectory(prefix="footnote-") as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        yield CheckProgress(0, 0)
        steps = load_steps(path, name, cancelled=cancelled)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                document: LoadedDocument = end.value
                break
            yield CheckProgress(0, 0)
    if len(document.text) > MAX_TEXT:
        raise DocumentRefused(
            N_(
                "{name} has {number} characters; {max_text} is the limit of a text to check. Check "
                "it in parts.",
                name=shown(name),
                number=f"{len(document.text):,}",
                max_text=f"{MAX_TEXT:,}",
            )
        )
    return document


@dataclass(frozen=True)
class TextChecker:
    """Checker of texts against the documents that a pipeline searches, with a reader where there is one."""

    pipeline: RagPipeline
    reader: StatementReader | None = None

    def check(
        self, name: str, content: bytes, cancelled: Cancel = never
    ) -> Iterator[CheckProgress | CheckedText]:
        """Yield the progress of checking a file, then its checked text.

        Raises DocumentRefused, RetrievalError or Cancelled.
        """
        document = yield from read_text(name, content, cancelled)
        stated = read_statements(document)
        parts = blocks(document.text)
        checked: list[CheckedStatement] = []
        notes: dict[str, None] = {}
        reading = None if self.reader is None else _Reading(self.reader, notes)
        yield CheckProgress(0, min(len(stated), MAX_STATEMENTS))
        for group in _groups(stated[:MAX_STATEMENTS], parts):
            found = self._check_group(group, notes, cancelled)
            for statement, evidence in found if reading is None else reading.read(found, cancelled):
                checked.append(_checked(len(checked) + 1, statement, document.text, evidence))
            yield CheckProgress(len(checked), min(len(stated), MAX_STATEMENTS))
        if len(stated) > MAX_STATEMENTS:
            notes[
                f"Only the first {MAX_STATEMENTS:,} of {len(stated):,} statements were checked. "
                "Check the rest on its own."
            ] = None
        yield CheckedText(
            name=name,
            text=document.text,
            blocks=tuple(parts),
            statements=tuple(checked),
            searched_in=self.pipeline.scope.said,
            notes=tuple(notes),
            media_type=document.media_type,
        )

    def _check_group(
        self, group: Sequence[Statement], notes: dict[str, None], cancelled: Cancel
    ) -> list[tuple[Statement, "_Finding"]]:
        short = [one for one in group if len(one.text) <= MAX_STATEMENT and not one.value]
        found = {id(one): self._find(one, notes, cancelled) for one in short}
        near = _distinct([passage for passages, _ in found.values() for passage in passages])
        checker = Checker(near, embedder=self.pipeline.embedder)
        results = []
        for one in group:
            if id(one) not in found:  # what is only a value says nothing
                results.append((one, _Finding(Evidence("unsupported"), (), too_long=not one.value)))
                continue
            finding = _Finding(checker.check(one.text), near)
            if found[id(one)][1] and finding.evidence.status not in ("verified", "differs"):
                finding = self._check_everywhere(one, near, notes, cancelled)
            results.append((one, finding))
        return results

    def _check_everywhere(
        self, statement: Statement, near: Sequence[Passage], notes: dict[str, None], cancelled: Cancel
    ) -> "_Finding":
        """Check a statement that names documents, and is not in these, against all documents in scope."""
        wide, _ = self._find(statement, notes, cancelled, widened=True)
        passages = _distinct([*near, *wide])
        return _Finding(Checker(passages, embedder=self.pipeline.embedder).check(statement.text), passages)

    def _find(
        self, statement: Statement, notes: dict[str, None], cancelled: Cancel, *, widened: bool = False
    ) -> tuple[Sequence[Passage], bool]:
        """Return the passages for a statement, and True where only documents that it names were searched."""
        if cancelled():
            raise Cancelled(N_("The check was stopped."))
        steps = self.pipeline.find(_query(statement), cancelled, widened=widened)
        narrowed = False
        while True:
            try:
                event = next(steps)
            except StopIteration as end:
                return end.value, narrowed
            narrowed = narrowed or isinstance(event, NarrowedTo)
            if isinstance(event, Degraded):
                notes[event.sentence] = None


@dataclass(frozen=True)
class _Finding:
    evidence: Evidence
    passages: Sequence[Passage]
    too_long: bool = False

    @property
    def is_open(self) -> bool:
        """Return True for a statement that is neither verified nor shown to differ, and may be read for."""
        return self.evidence.status in OPEN and not self.too_long


@dataclass
class _Reading:
    """Reader of one text, which is given up after MOST_UNREAD requests that told nothing."""

    reader: StatementReader
    notes: dict[str, None]
    failed: int = 0

    def read(
        self, found: Sequence[tuple[Statement, _Finding]], cancelled: Cancel
    ) -> list[tuple[Statement, _Finding]]:
        """Return the findings, with the words that the model found for open statements; raises Cancelled."""
        told = [n for n, (_, finding) in enumerate(found) if finding.is_open]
        passages = _distinct([passage for n in told for passage in found[n][1].passages])
        if not passages or self.failed >= MOST_UNREAD:
            return list(found)
        read, reply = read_evidence([found[n][0].text for n in told], passages, self.reader, cancelled)
        if reply.failure or (reply.text and not reply.tested):
            self._fail(reply)
        verified = {told[at]: one for at, one in read.items() if one.status == "verified"}
        return [
            (statement, _Finding(verified[n], passages) if n in verified else finding)
            for n, (statement, finding) in enumerate(found)
        ]

    def _fail(self, reply: Reply) -> None:
        self.failed += 1
        if self.failed == MOST_UNREAD:
            told = N_(
                "The connected model could not settle the open statements, so Footnote stopped asking it."
            )
            self.notes[told] = None
            if reply.failure:
                self.notes[reply.failure] = None


_BARS = re.compile(r"[|\s]+|-{3,}")


def _query(statement: Statement) -> str:
    return _BARS.sub(" ", statement.text).strip()[:MAX_QUERY]


def _groups(stated: Sequence[Statement], parts: Sequence[tuple[int, int]]) -> Iterator[list[Statement]]:
    """Yield neighbouring statements of one block, TOGETHER at most."""
    ends = iter(enumerate(end for _, end in parts))
    at, end = next(ends, (0, 0))
    places = []
    for one in stated:
        while one.start >= end:
            at, end = next(ends, (at, one.start + 1))
        places.append(at)
    for _, numbers in groupby(range(len(stated)), key=places.__getitem__):
        inside = list(numbers)
        for first in range(0, len(inside), TOGETHER):
            yield [stated[number] for number in inside[first : first + TOGETHER]]


def _distinct(passages: Sequence[Passage]) -> list[Passage]:
    return list({passage.id: passage for passage in passages}.values())


def _checked(number: int, statement: Statement, text: str, finding: _Finding) -> CheckedStatement:
    evidence, passages = finding.evidence, finding.passages
    said = " ".join(text[statement.start : statement.end].split())
    place = (number, said, statement.start, statement.end)
    if finding.too_long:
        return CheckedStatement(
            *place,
            "not found",
            N_(
                "It has more than {max_statement} characters and was not checked.",
                max_statement=f"{MAX_STATEMENT:,}",
            ),
        )
    words = tuple(
        SourceWords(passage, passage.start + span.start, passage.start + span.end)
        for span in evidence.spans
        for passage in [passages[span.number - 1]]
    )
    if evidence.status not in ("verified", "differs"):
        closest = words if evidence.status == "related" else ()
        return CheckedStatement(*place, "not found", closest=closest)
    status: CheckStatus = "verified" if evidence.status == "verified" else "differs"
    return CheckedStatement(*place, status, evidence.said or evidence.calculation, words)
