"""The question sets of one owner: questions, and the passages that answer them, frozen when marked."""

import secrets
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import groupby
from typing import cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from storage.database import Database
from storage.errors import NotFound
from storage.lab_records import MarkedPassage, Origin, QuestionRecord, QuestionSetRecord
from storage.lab_tables import LabPassage, LabQuestion, LabSet
from storage.tables import ensure_user, storable

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
