"""One run of the lab: retrievers asked the same questions side by side, stored as it goes."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from langchain_core.retrievers import BaseRetriever

from rag.errors import Cancelled, FootnoteError, QuestionRefused
from rag.evaluation.datasets import QuestionSet
from rag.evaluation.runs import Answered, ask_all, summary
from rag.evaluation.targets import Prepared
from rag.jobs import Cancel
from storage.documents import Documents
from storage.errors import NotFound
from storage.lab_records import AskedRecord, FindingRecord, FoundRecord, ResultRecord, RunRecord, RunState
from storage.records import ChunkRecord
from storage.runs import Runs

KEEP_SECONDS = 0.5  # a killed server loses at most this much of a run
UNEXPECTED = "Something unexpected went wrong; the server's log tells what. Run it again."

OnFailure = Callable[[str, Exception], None]
Open = Callable[[str, OnFailure], BaseRetriever]  # a retriever's name, and whom it tells what it left out


@dataclass(frozen=True)
class RunProgress:
    """How far a run is: `done` of `total` searches, and the results so far, one a retriever.

    `total` is questions times retrievers. Until the first search `rows` is empty, and indexes and model
    are being opened.
    """

    run_id: str
    done: int
    total: int
    rows: tuple[ResultRecord, ...]


@dataclass
class _Contender:
    """A retriever in the run: what it answered so far, and what of it is not stored yet."""

    name: str
    retriever: BaseRetriever
    answers: Iterator[Answered]
    gaps: list[str]
    answered: list[Answered] = field(default_factory=list)


class Trial:
    """Asks every retriever every question, question by question, and keeps what each found in `run`.

    So a run that is stopped has asked all retrievers the same questions. Who is asked first changes with
    every question. Each retriever is asked once before the clock runs, so that opening is not measured.
    """

    def __init__(
        self,
        runs: Runs,
        run: RunRecord,
        prepared: Sequence[Prepared],
        documents: Documents,
        open_retriever: Open,
    ):
        self._runs = runs
        self._run = run
        self._documents = documents
        self._open = open_retriever
        self._prepared = {str(number): one for number, one in enumerate(prepared, 1) if one.status == "asked"}
        self._questions = QuestionSet(
            name=run.set_id,
            corpus=(),
            questions={id_: one.question.text for id_, one in self._prepared.items()},
            judgements={id_: one.judgements for id_, one in self._prepared.items()},
        )
        self._contenders: list[_Contender] = []
        self._unsaved: list[FindingRecord] = []
        self._finished = False

    def run(self, cancelled: Cancel) -> Iterator[RunProgress]:
        """Run to the end and yield progress; the run ends as complete, stopped or failed."""
        try:
            yield from self._ask(cancelled)
            self._finish("complete")
        except Cancelled:
            self._finish("stopped")
        except NotFound:  # the set was deleted while its questions were asked
            self._finished = True
        except FootnoteError as error:
            self._finish("failed", str(error))
            raise
        except Exception:
            self._finish("failed", UNEXPECTED)
            raise
        finally:
            self._finish("stopped")

    def _ask(self, cancelled: Cancel) -> Iterator[RunProgress]:
        yield self._progress(())
        if not self._prepared:
            raise QuestionRefused(
                "None of the questions can be asked: their right passages are not in the chosen documents."
            )
        self._contenders = [self._contender(name, cancelled) for name in self._run.retrievers]
        self._warm_up(cancelled)
        saved = time.monotonic()
        for number in range(len(self._prepared)):
            answers = [(one, next(one.answers)) for one in _rotated(self._contenders, number)]
            for contender, answer in answers:
                self._take(contender, answer)
            if time.monotonic() - saved >= KEEP_SECONDS:
                yield self._progress(self._save())
                saved = time.monotonic()
        yield self._progress(self._save())

    def _contender(self, name: str, cancelled: Cancel) -> _Contender:
        gaps: list[str] = []
        retriever = self._open(name, lambda what, error: gaps.append(f"Without {what}: {error}"))
        answers = ask_all(self._questions, {name: retriever}, cancelled)
        return _Contender(name, retriever, answers, gaps)

    def _warm_up(self, cancelled: Cancel) -> None:
        first = self._questions.asking(dict(list(self._questions.questions.items())[:1]))
        for contender in self._contenders:
            for _ in ask_all(first, {contender.name: contender.retriever}, cancelled):
                contender.gaps.clear()

    def _take(self, contender: _Contender, answer: Answered) -> None:
        """Note one answer; chunks that hold the same right passage count as that passage."""
        gaps, targets = " ".join(contender.gaps), self._prepared[answer.question_id].targets
        contender.gaps.clear()
        answer = replace(answer, error=answer.error or gaps or None)
        self._unsaved.append(self._finding(answer, targets))
        contender.answered.append(replace(answer, found=tuple(targets.get(id_, id_) for id_ in answer.found)))

    def _finding(self, answer: Answered, targets: Mapping[str, str]) -> FindingRecord:
        chunks = self._documents.chunks_by_id(answer.found)
        found = tuple(
            FoundRecord(id_, rank, place_of(chunks.get(id_)), id_ in targets)
            for rank, id_ in enumerate(answer.found, start=1)
        )
        return FindingRecord(
            position=int(answer.question_id),
            retriever=answer.retriever,
            found=found,
            first_right=next((one.rank for one in found if one.right), None),
            ms=round(answer.ms, 2),
            error=answer.error,
        )

    def _save(self) -> tuple[ResultRecord, ...]:
        """Keep what has come since the last time; return the results so far."""
        rows = tuple(self._row(contender) for contender in self._contenders if contender.answered)
        self._runs.keep(self._run.id, rows, self._unsaved)
        self._unsaved = []
        return rows

    def _row(self, contender: _Contender) -> ResultRecord:
        asked = {
            answer.question_id: self._questions.questions[answer.question_id] for answer in contender.answered
        }
        result = summary(self._questions.asking(asked), contender.name, contender.answered)
        return ResultRecord(
            retriever=contender.name,
            queries=result.queries,
            metrics={name: round(value, 4) for name, value in result.metrics.items()},
            p50_ms=round(result.p50_ms, 2),
            p95_ms=round(result.p95_ms, 2),
            errors=result.errors,
        )

    def _progress(self, rows: tuple[ResultRecord, ...]) -> RunProgress:
        done = sum(len(contender.answered) for contender in self._contenders)
        return RunProgress(self._run.id, done, len(self._prepared) * len(self._run.retrievers), rows)

    def _finish(self, state: RunState, error: str | None = None) -> None:
        if self._finished:
            return
        self._finished = True
        try:
            if self._unsaved:
                self._save()
            self._runs.finish(self._run.id, state, error)
        except NotFound:  # deleted with its set
            return


def asked_records(prepared: Sequence[Prepared]) -> list[AskedRecord]:
    """Return the questions as a run keeps them, numbered from 1."""
    return [
        AskedRecord(number, one.question.id, one.question.text, one.status, tuple(one.targets))
        for number, one in enumerate(prepared, start=1)
    ]


def place_of(chunk: ChunkRecord | None) -> str:
    """Return where a chunk stands, in words: ``"report.pdf, page 3"``, ``"guide.md, Guide > Install"``."""
    if chunk is None:
        return ""
    place = f"page {chunk.page}" if chunk.page is not None else chunk.heading
    return f"{chunk.document}, {place}" if place else chunk.document


def _rotated(contenders: Sequence[_Contender], by: int) -> list[_Contender]:
    at = by % len(contenders)
    return [*contenders[at:], *contenders[:at]]
