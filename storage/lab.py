"""Lab of one owner: question sets with copies of the right passages, evaluation runs and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from sqlalchemy import Select, func, select, update
from sqlalchemy.orm import Session

from storage.database import Database, OwnerStore
from storage.errors import NotFound
from storage.events import add_audit_entry
from storage.i18n import N_
from storage.records import (
    AskedRecord,
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
    LabAsked,
    LabFinding,
    LabPassage,
    LabQuestion,
    LabResult,
    LabRun,
    LabSet,
    ensure_user,
    insert_rows,
    new_id,
    now,
    storable,
    to_record,
)

LONGEST_NAME = 120  # characters
RUN = "lab-run"  # kind of the jobs of runs, whose key is the set


class QuestionSets(OwnerStore):
    """The question sets of one owner."""

    def create(self, name: str, origin: Origin) -> QuestionSetRecord:
        """Create a set without questions."""
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            row = LabSet(id=new_id(), owner=self._owner, created=now())
            row.name, row.origin = name[:LONGEST_NAME], origin
            session.add(row)
            session.flush()
            return to_record(QuestionSetRecord, row, questions=0)

    def get(self, set_id: str) -> QuestionSetRecord:
        """Return one set; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            row = self._own(session, LabSet, set_id)
            count = select(func.count()).select_from(LabQuestion).where(LabQuestion.set_id == row.id)
            return to_record(QuestionSetRecord, row, questions=session.scalar(count) or 0)

    def rename(self, set_id: str, name: str) -> None:
        """Rename a set."""
        with self._database.writing(self._owner) as session:
            self._own(session, LabSet, set_id).name = name[:LONGEST_NAME]

    def delete(self, set_id: str) -> None:
        """Delete a set with its questions and its runs."""
        with self._database.writing(self._owner) as session:
            session.delete(self._own(session, LabSet, set_id))
            add_audit_entry(session, self._owner, "question_set_removed", question_set=set_id)

    def add(self, set_id: str, text: str, passages: Sequence[MarkedPassage]) -> QuestionRecord:
        """Append a question to a set, with the passages that answer it."""
        return self.extend(set_id, [(text, passages)])[0]

    def extend(
        self, set_id: str, questions: Sequence[tuple[str, Sequence[MarkedPassage]]]
    ) -> Sequence[QuestionRecord]:
        """Append questions to a set, with their passages, in one commit."""
        with self._database.writing(self._owner) as session:
            row = self._own(session, LabSet, set_id)
            last = select(func.max(LabQuestion.position)).where(LabQuestion.set_id == row.id)
            first = (session.scalar(last) or 0) + 1
            added = [
                QuestionRecord(new_id(), storable(text), tuple(passages)) for text, passages in questions
            ]
            for position, question in enumerate(added, start=first):
                session.add(LabQuestion(id=question.id, set_id=row.id, position=position, text=question.text))
            session.flush()
            session.add_all(
                LabPassage(question_id=question.id, number=number, **asdict(passage))
                for question in added
                for number, passage in enumerate(question.passages, start=1)
            )
            return added

    def questions(self, set_id: str) -> list[QuestionRecord]:
        """List the questions of a set with their passages, in the order they were added."""
        with self._database.reading() as session:
            mine = LabQuestion.set_id == self._own(session, LabSet, set_id).id
            asked = session.scalars(select(LabQuestion).where(mine).order_by(LabQuestion.position)).all()
            marked = select(LabPassage).join(LabQuestion, LabQuestion.id == LabPassage.question_id)
            ordered = marked.where(mine).order_by(LabPassage.question_id, LabPassage.number)
            grouped = groupby(session.scalars(ordered), lambda row: row.question_id)
            passages = {id_: tuple(to_record(MarkedPassage, row) for row in part) for id_, part in grouped}
            return [QuestionRecord(row.id, row.text, passages.get(row.id, ())) for row in asked]

    def remove_question(self, question_id: str) -> None:
        """Delete a question; runs that asked it keep their findings."""
        with self._database.writing(self._owner) as session:
            mine = select(LabQuestion).join(LabSet, LabSet.id == LabQuestion.set_id)
            row = session.scalar(mine.where(LabSet.owner == self._owner, LabQuestion.id == question_id))
            if row is None:
                raise NotFound(N_("There is no question {question_id}.", question_id=repr(question_id)))
            session.delete(row)

    def list(self) -> list[QuestionSetRecord]:
        """List the sets, newest first."""
        count = select(func.count()).where(LabQuestion.set_id == LabSet.id).scalar_subquery()
        mine = select(LabSet, count).where(LabSet.owner == self._owner)
        with self._database.reading() as session:
            rows = session.execute(mine.order_by(LabSet.created.desc(), LabSet.id)).all()
            return [to_record(QuestionSetRecord, row, questions=questions) for row, questions in rows]


MOST_FOUND = 50  # chunks of one finding that are stored
MOST_NAMES = 100  # names of a run's documents that are stored
LONGEST_PLACE = 160  # characters
LONGEST_ERROR = 500  # characters


class Runs(OwnerStore):
    """The evaluation runs of one owner over their question sets."""

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
        """Store a run that starts now, with the questions it will ask, in one commit."""
        with self._database.writing(self._owner) as session:
            row = LabRun(
                id=new_id(),
                set_id=self._own(session, LabSet, set_id).id,
                created=now(),
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
            insert_rows(session, LabAsked, [{"run_id": row.id, **asdict(question)} for question in asked])
            return _run_records(session, [row])[0]

    def keep(self, run_id: str, results: Sequence[ResultRecord], findings: Sequence[FindingRecord]) -> None:
        """Add findings to a run, and replace its retrievers' results, in one commit.

        A run that has ended stays as it is; NotFound when its set was deleted meanwhile.
        """
        with self._database.writing(self._owner) as session:
            row = self._row(session, run_id)
            if row.state != "running":
                return
            for result in results:
                session.merge(LabResult(run_id=row.id, **{**asdict(result), "metrics": dict(result.metrics)}))
            insert_rows(session, LabFinding, [_finding_values(row.id, finding) for finding in findings])

    def finish(self, run_id: str, state: RunState, error: str | None = None) -> None:
        """End a run; one that has ended stays as it is."""
        with self._database.writing(self._owner) as session:
            row = self._row(session, run_id)
            if row.state == "running":
                row.state, row.error = state, error and error[:LONGEST_ERROR]

    def get(self, run_id: str) -> RunRecord:
        """Return one run with its results; NotFound when this owner has no such one."""
        with self._database.reading() as session:
            return _run_records(session, [self._row(session, run_id)])[0]

    def asked(self, run_id: str) -> list[AskedRecord]:
        """List the questions of a run in their order, also those that could not be asked."""
        with self._database.reading() as session:
            mine = select(LabAsked).where(LabAsked.run_id == self._row(session, run_id).id)
            rows = session.scalars(mine.order_by(LabAsked.position))
            return [to_record(AskedRecord, row, right_ids=tuple(row.right_ids)) for row in rows]

    def findings(self, run_id: str, position: int | None = None) -> list[FindingRecord]:
        """List the findings of one question or of all, by question and in the order of retrievers."""
        with self._database.reading() as session:
            run = self._row(session, run_id)
            mine = select(LabFinding).where(LabFinding.run_id == run.id)
            rows = session.scalars(mine if position is None else mine.where(LabFinding.position == position))
            order = {name: number for number, name in enumerate(run.retrievers)}
            ordered = sorted(rows, key=lambda row: (row.position, order.get(row.retriever, len(order))))
            return [
                to_record(FindingRecord, row, found=tuple(FoundRecord(**found) for found in row.found))
                for row in ordered
            ]

    def list(self, set_id: str | None = None) -> list[RunRecord]:
        """List the runs with their results, or those over one set, newest first."""
        with self._database.reading() as session:
            mine = self._mine()
            if set_id is not None:
                mine = mine.where(LabRun.set_id == self._own(session, LabSet, set_id).id)
            return _run_records(
                session, session.scalars(mine.order_by(LabRun.created.desc(), LabRun.id)).all()
            )

    def _mine(self) -> Select[LabRun]:
        return select(LabRun).join(LabSet, LabSet.id == LabRun.set_id).where(LabSet.owner == self._owner)

    def _row(self, session: Session, run_id: str) -> LabRun:
        row = session.scalar(self._mine().where(LabRun.id == run_id))
        if row is None:
            raise NotFound(N_("There is no run {run_id}.", run_id=repr(run_id)))
        return row


def stop_running(database: Database) -> int:
    """Mark the running runs that no process works on as stopped; return their number."""
    running = select(LabRun.id, LabSet.owner, LabSet.id).join(LabSet, LabSet.id == LabRun.set_id)
    with database.reading() as session:
        found = session.execute(running.where(LabRun.state == "running")).all()
    return sum(_stop(database, *one) for one in found)


def _stop(database: Database, run_id: str, owner: str, set_id: str) -> bool:
    with database.writing(owner) as session:
        if database.queue.is_worked_on(session, owner, RUN, set_id):
            return False
        stopped = update(LabRun).where(LabRun.id == run_id, LabRun.state == "running").values(state="stopped")
        return session.scalar(stopped.returning(LabRun.id)) is not None


def _run_records(session: Session, rows: Sequence[LabRun]) -> list[RunRecord]:
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
    return [_run_record(row, of_run.get(row.id, []), counts) for row in rows]


def _run_record(
    row: LabRun, results: Sequence[LabResult], counts: Mapping[tuple[str, str], int]
) -> RunRecord:
    ordered = sorted(results, key=lambda result: row.retrievers.index(result.retriever))
    return to_record(
        RunRecord,
        row,
        retrievers=tuple(row.retrievers),
        searched=to_record(
            SearchedRecord,
            row,
            every=row.every_document,
            count=row.document_count,
            names=tuple(row.document_names),
        ),
        results=tuple(to_record(ResultRecord, result) for result in ordered),
        **{status: counts.get((row.id, status), 0) for status in ("asked", "gone", "outside")},
    )


def _finding_values(run_id: str, finding: FindingRecord) -> dict[str, Any]:
    found = [
        {**asdict(found), "place": storable(found.place)[:LONGEST_PLACE]}
        for found in finding.found[:MOST_FOUND]
    ]
    error = finding.error and finding.error[:LONGEST_ERROR]
    return {"run_id": run_id, **asdict(finding), "found": found, "error": error}
