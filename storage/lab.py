"""The question sets of one owner: questions, and the passages that answer them, frozen when marked."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, cast

from sqlalchemy import Select, func, insert, select, update
from sqlalchemy.orm import Session

from storage.database import Database
from storage.errors import NotFound
from storage.records import (
    AskedRecord,
    AskedStatus,
    FindingRecord,
    FoundRecord,
    MarkedPassage,
    Origin,
    QuestionRecord,
    QuestionSetRecord,
    ResultRecord,
    RunRecord,
    RunState,
    SearchedRecord,
)
from storage.tables import (
    Base,
    LabAsked,
    LabFinding,
    LabPassage,
    LabQuestion,
    LabResult,
    LabRun,
    LabSet,
    ensure_user,
    storable,
)

LONGEST_NAME = 120


class QuestionSets:
    """The question sets of one owner; anyone else's id is an id that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def create(self, name: str, origin: Origin) -> QuestionSetRecord:
        """Begin a set without questions."""
        with self._database.writing() as session:
            ensure_user(session, self._owner)
            row = LabSet(
                id=secrets.token_hex(8),
                owner=self._owner,
                name=name[:LONGEST_NAME],
                origin=origin,
                created=datetime.now(UTC),
            )
            session.add(row)
            session.flush()
            return _set(row, 0)

    def get(self, set_id: str) -> QuestionSetRecord:
        """Read one set; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            row = self._row(session, set_id)
            count = select(func.count()).select_from(LabQuestion).where(LabQuestion.set_id == row.id)
            return _set(row, session.scalar(count) or 0)

    def rename(self, set_id: str, name: str) -> None:
        """Give a set another name."""
        with self._database.writing() as session:
            self._row(session, set_id).name = name[:LONGEST_NAME]

    def delete(self, set_id: str) -> None:
        """Remove a set with its questions and its runs."""
        with self._database.writing() as session:
            session.delete(self._row(session, set_id))

    def add(self, set_id: str, text: str, passages: Sequence[MarkedPassage]) -> QuestionRecord:
        """Keep a question with the passages that answer it, after the others of the set."""
        return self.extend(set_id, [(text, passages)])[0]

    def extend(
        self, set_id: str, questions: Sequence[tuple[str, Sequence[MarkedPassage]]]
    ) -> Sequence[QuestionRecord]:
        """Keep questions with their passages, after the others of the set, in one commit."""
        with self._database.writing() as session:
            row = self._row(session, set_id)
            last = select(func.max(LabQuestion.position)).where(LabQuestion.set_id == row.id)
            first = (session.scalar(last) or 0) + 1
            added = [
                QuestionRecord(secrets.token_hex(8), storable(text), tuple(passages))
                for text, passages in questions
            ]
            for position, question in enumerate(added, start=first):
                _keep(session, row.id, position, question)
            return added

    def questions(self, set_id: str) -> list[QuestionRecord]:
        """List the questions of a set with their passages, in the order they were added."""
        with self._database.reading() as session:
            mine = LabQuestion.set_id == self._row(session, set_id).id
            asked = session.scalars(select(LabQuestion).where(mine).order_by(LabQuestion.position)).all()
            marked = select(LabPassage).join(LabQuestion, LabQuestion.id == LabPassage.question_id)
            ordered = marked.where(mine).order_by(LabPassage.question_id, LabPassage.number)
            grouped = groupby(session.scalars(ordered), lambda row: row.question_id)
            passages = {id_: tuple(map(_passage, part)) for id_, part in grouped}
            return [QuestionRecord(row.id, row.text, passages.get(row.id, ())) for row in asked]

    def remove_question(self, question_id: str) -> None:
        """Take a question out of its set; runs that asked it keep what they found."""
        with self._database.writing() as session:
            mine = select(LabQuestion).join(LabSet, LabSet.id == LabQuestion.set_id)
            row = session.scalar(mine.where(LabSet.owner == self._owner, LabQuestion.id == question_id))
            if row is None:
                raise NotFound(f"There is no question {question_id!r}.")
            session.delete(row)

    def list(self) -> list[QuestionSetRecord]:
        """Every set, newest first."""
        count = select(func.count()).where(LabQuestion.set_id == LabSet.id).scalar_subquery()
        mine = select(LabSet, count).where(LabSet.owner == self._owner)
        with self._database.reading() as session:
            rows = session.execute(mine.order_by(LabSet.created.desc(), LabSet.id)).all()
            return [_set(row, questions) for row, questions in rows]

    def _row(self, session: Session, set_id: str) -> LabSet:
        return set_row(session, self._owner, set_id)


def set_row(session: Session, owner: str, set_id: str) -> LabSet:
    """Read the row of an owner's set; NotFound when they have no such one."""
    row = session.scalar(select(LabSet).where(LabSet.owner == owner, LabSet.id == set_id))
    if row is None:
        raise NotFound(f"There is no question set {set_id!r}.")
    return row


def _keep(session: Session, set_id: str, position: int, question: QuestionRecord) -> None:
    session.add(LabQuestion(id=question.id, set_id=set_id, position=position, text=question.text))
    session.flush()
    session.add_all(
        LabPassage(question_id=question.id, number=number, **asdict(passage))
        for number, passage in enumerate(question.passages, start=1)
    )


def _set(row: LabSet, questions: int) -> QuestionSetRecord:
    return QuestionSetRecord(
        id=row.id, name=row.name, origin=cast(Origin, row.origin), questions=questions, created=row.created
    )


def _passage(row: LabPassage) -> MarkedPassage:
    return MarkedPassage(
        document_id=row.document_id,
        document=row.document,
        sha256=row.sha256,
        chunk_id=row.chunk_id,
        start=row.start,
        end=row.end,
        quote=row.quote,
    )


# The lab runs of one owner: retrievers asked the questions of a set, and who found what.
MOST_FOUND = 50  # chunks of one finding that are kept
MOST_NAMES = 100  # documents of a run that are named
LONGEST_PLACE = 160  # characters
LONGEST_ERROR = 500


class Runs:
    """The runs of one owner over their question sets; anyone else's id is an id that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def begin(
        self,
        set_id: str,
        *,
        retrievers: Sequence[str],
        k: int,
        embedding: str,
        mixture: str,
        searched: SearchedRecord,
        asked: Sequence[AskedRecord],
    ) -> RunRecord:
        """Keep a run that starts now, with what it is about to ask, in one commit."""
        with self._database.writing() as session:
            row = LabRun(
                id=secrets.token_hex(8),
                set_id=set_row(session, self._owner, set_id).id,
                created=datetime.now(UTC),
                state="running",
                retrievers=list(retrievers),
                k=k,
                embedding=embedding,
                mixture=mixture[:LONGEST_ERROR],
                every_document=searched.every,
                document_count=searched.count,
                document_names=[storable(name)[:LONGEST_NAME] for name in searched.names[:MOST_NAMES]],
                fingerprint=searched.fingerprint,
                chunks=searched.chunks,
            )
            session.add(row)
            session.flush()
            _insert(session, LabAsked, [_asked_values(row.id, question) for question in asked])
            return _runs(session, [row])[0]

    def keep(self, run_id: str, results: Sequence[ResultRecord], findings: Sequence[FindingRecord]) -> None:
        """Add findings to a run, and put results in place of those its retrievers had, in one commit.

        A run that has ended stays as it is; NotFound when its set was deleted meanwhile.
        """
        with self._database.writing() as session:
            row = self._row(session, run_id)
            if row.state != "running":
                return
            for result in results:
                session.merge(LabResult(run_id=row.id, **{**asdict(result), "metrics": dict(result.metrics)}))
            _insert(session, LabFinding, [_finding_values(row.id, finding) for finding in findings])

    def finish(self, run_id: str, state: RunState, error: str | None = None) -> None:
        """End a run; one that has ended stays as it is."""
        with self._database.writing() as session:
            row = self._row(session, run_id)
            if row.state == "running":
                row.state, row.error = state, error and error[:LONGEST_ERROR]

    def get(self, run_id: str) -> RunRecord:
        """Read one run with its results; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return _runs(session, [self._row(session, run_id)])[0]

    def asked(self, run_id: str) -> list[AskedRecord]:
        """List the questions of a run in their order, also those that could not be asked."""
        with self._database.reading() as session:
            mine = select(LabAsked).where(LabAsked.run_id == self._row(session, run_id).id)
            return [_asked(row) for row in session.scalars(mine.order_by(LabAsked.position))]

    def findings(self, run_id: str, position: int | None = None) -> list[FindingRecord]:
        """List who found what, for one question or for all, by question and in the order of retrievers."""
        with self._database.reading() as session:
            run = self._row(session, run_id)
            mine = select(LabFinding).where(LabFinding.run_id == run.id)
            rows = session.scalars(mine if position is None else mine.where(LabFinding.position == position))
            order = {name: number for number, name in enumerate(run.retrievers)}
            ordered = sorted(rows, key=lambda row: (row.position, order.get(row.retriever, len(order))))
            return [_finding(row) for row in ordered]

    def delete(self, run_id: str) -> None:
        """Remove a run with all it found."""
        with self._database.writing() as session:
            session.delete(self._row(session, run_id))

    def list(self, set_id: str | None = None) -> list[RunRecord]:
        """Every run with its results, or those over one set, newest first."""
        with self._database.reading() as session:
            mine = self._mine()
            if set_id is not None:
                mine = mine.where(LabRun.set_id == set_row(session, self._owner, set_id).id)
            return _runs(session, session.scalars(mine.order_by(LabRun.created.desc(), LabRun.id)).all())

    def _mine(self) -> Select[LabRun]:
        return select(LabRun).join(LabSet, LabSet.id == LabRun.set_id).where(LabSet.owner == self._owner)

    def _row(self, session: Session, run_id: str) -> LabRun:
        row = session.scalar(self._mine().where(LabRun.id == run_id))
        if row is None:
            raise NotFound(f"There is no run {run_id!r}.")
        return row


def stop_running(database: Database) -> int:
    """At the start, mark every run that was under way as stopped, with what it has; returns how many."""
    with database.writing() as session:
        stopped = update(LabRun).where(LabRun.state == "running").values(state="stopped")
        return len(session.scalars(stopped.returning(LabRun.id)).all())


def _insert(session: Session, table: type[Base], values: list[dict[str, Any]]) -> None:
    if values:
        session.execute(insert(table), values)


def _runs(session: Session, rows: Sequence[LabRun]) -> list[RunRecord]:
    """Make records of runs, in their order, with two queries for the results and counts of all."""
    ids = [row.id for row in rows]
    counted = (
        select(LabAsked.run_id, LabAsked.status, func.count())
        .where(LabAsked.run_id.in_(ids))
        .group_by(LabAsked.run_id, LabAsked.status)
    )
    counts = {(run_id, status): count for run_id, status, count in session.execute(counted)}
    results = session.scalars(
        select(LabResult).where(LabResult.run_id.in_(ids)).order_by(LabResult.run_id, LabResult.retriever)
    )
    of_run = {id_: list(part) for id_, part in groupby(results, lambda row: row.run_id)}
    return [_run(row, of_run.get(row.id, []), counts) for row in rows]


def _run(row: LabRun, results: Sequence[LabResult], counts: dict[tuple[str, str], int]) -> RunRecord:
    ordered = sorted(results, key=lambda result: row.retrievers.index(result.retriever))
    return RunRecord(
        id=row.id,
        set_id=row.set_id,
        created=row.created,
        state=cast(RunState, row.state),
        error=row.error,
        retrievers=tuple(row.retrievers),
        k=row.k,
        embedding=row.embedding,
        mixture=row.mixture,
        searched=_searched(row),
        asked=counts.get((row.id, "asked"), 0),
        gone=counts.get((row.id, "gone"), 0),
        outside=counts.get((row.id, "outside"), 0),
        results=tuple(map(_result, ordered)),
    )


def _searched(row: LabRun) -> SearchedRecord:
    return SearchedRecord(
        every=row.every_document,
        count=row.document_count,
        names=tuple(row.document_names),
        fingerprint=row.fingerprint,
        chunks=row.chunks,
    )


def _result(row: LabResult) -> ResultRecord:
    return ResultRecord(
        retriever=row.retriever,
        queries=row.queries,
        metrics=row.metrics,
        p50_ms=row.p50_ms,
        p95_ms=row.p95_ms,
        errors=row.errors,
    )


def _asked_values(run_id: str, asked: AskedRecord) -> dict[str, Any]:
    return {"run_id": run_id, **asdict(asked), "right_ids": list(asked.right_ids)}


def _asked(row: LabAsked) -> AskedRecord:
    return AskedRecord(
        position=row.position,
        question_id=row.question_id,
        text=row.text,
        status=cast(AskedStatus, row.status),
        right_ids=tuple(row.right_ids),
    )


def _finding_values(run_id: str, finding: FindingRecord) -> dict[str, Any]:
    found = [
        {**asdict(found), "place": storable(found.place)[:LONGEST_PLACE]}
        for found in finding.found[:MOST_FOUND]
    ]
    error = finding.error and finding.error[:LONGEST_ERROR]
    return {"run_id": run_id, **asdict(finding), "found": found, "error": error}


def _finding(row: LabFinding) -> FindingRecord:
    return FindingRecord(
        position=row.position,
        retriever=row.retriever,
        found=tuple(FoundRecord(**found) for found in row.found),
        first_right=row.first_right,
        ms=row.ms,
        error=row.error,
    )
