"""The tables of the lab: question sets, runs and findings. They hold words, not references to documents."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables import Base, part_of


class LabSet(Base):
    """A set of questions whose right passages are known."""

    __tablename__ = "lab_sets"
    __table_args__ = (Index(None, "owner", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    name: Mapped[str]
    origin: Mapped[str]
    created: Mapped[datetime]


class LabQuestion(Base):
    """A question of a set."""

    __tablename__ = "lab_questions"
    __table_args__ = (Index(None, "set_id", "position", unique=True),)
    id: Mapped[str] = mapped_column(primary_key=True)
    set_id: Mapped[str] = mapped_column(part_of("lab_sets.id"))
    position: Mapped[int]
    text: Mapped[str]


class LabPassage(Base):
    """The words that answer a question, frozen as they were when they were marked."""

    __tablename__ = "lab_passages"
    question_id: Mapped[str] = mapped_column(part_of("lab_questions.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    document_id: Mapped[str]
    document: Mapped[str]
    sha256: Mapped[str]
    chunk_id: Mapped[str]
    start: Mapped[int]
    end: Mapped[int]
    quote: Mapped[str]


class LabRun(Base):
    """Retrievers asked the questions of a set, and what they searched: enough to compare with other runs."""

    __tablename__ = "lab_runs"
    __table_args__ = (Index(None, "set_id", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    set_id: Mapped[str] = mapped_column(part_of("lab_sets.id"))
    created: Mapped[datetime]
    state: Mapped[str]
    error: Mapped[str | None]
    retrievers: Mapped[list[Any]]
    k: Mapped[int]
    embedding: Mapped[str]
    mixture: Mapped[str]
    every_document: Mapped[bool]
    document_count: Mapped[int]
    document_names: Mapped[list[Any]]
    fingerprint: Mapped[str]
    chunks: Mapped[int]


class LabResult(Base):
    """How well one retriever did in a run, over the questions asked so far."""

    __tablename__ = "lab_results"
    run_id: Mapped[str] = mapped_column(part_of("lab_runs.id"), primary_key=True)
    retriever: Mapped[str] = mapped_column(primary_key=True)
    queries: Mapped[int]
    metrics: Mapped[dict[str, Any]]
    p50_ms: Mapped[float]
    p95_ms: Mapped[float]
    errors: Mapped[int]


class LabAsked(Base):
    """A question as a run asked it, or did not: it outlives the question."""

    __tablename__ = "lab_asked"
    run_id: Mapped[str] = mapped_column(part_of("lab_runs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    question_id: Mapped[str]
    text: Mapped[str]
    status: Mapped[str]
    right_ids: Mapped[list[Any]]


class LabFinding(Base):
    """What one retriever found for one question of a run."""

    __tablename__ = "lab_findings"
    run_id: Mapped[str] = mapped_column(part_of("lab_runs.id"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    retriever: Mapped[str] = mapped_column(primary_key=True)
    found: Mapped[list[Any]]
    first_right: Mapped[int | None]
    ms: Mapped[float]
    error: Mapped[str | None]
