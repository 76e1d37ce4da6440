"""The tables of sources: where documents come from by themselves, and what became of each thing there."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from storage.tables import Base, part_of


class SourceRow(Base):
    """A folder, a wiki, a drive, a list of pages. ``settings`` name a secret, they never hold one.

    ``round`` counts the times that it was read, ``cursor`` is where the next time begins, ``every`` the
    minutes between two of them, if it is read by itself.
    """

    __tablename__ = "sources"
    __table_args__ = (Index(None, "owner", "created"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    owner: Mapped[str] = mapped_column(part_of("users.id"))
    kind: Mapped[str]
    name: Mapped[str]
    settings: Mapped[dict[str, Any]]
    every: Mapped[int | None]
    cursor: Mapped[str | None]
    round: Mapped[int]
    state: Mapped[str]
    reason: Mapped[str | None]
    began: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    created: Mapped[datetime]


class SourceItem(Base):
    """One thing at a source: the version taken last and the document it became, or why it did not.

    What could not be had tells the version that was ``wanted``, how many ``tries`` have failed in a row, and
    when another one is ``due``: never by itself where that is not told.
    """

    __tablename__ = "source_items"
    source_id: Mapped[str] = mapped_column(part_of("sources.id"), primary_key=True)
    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    url: Mapped[str | None]
    version: Mapped[str | None]
    document_id: Mapped[str | None] = mapped_column(
        ForeignKey("documents.id", ondelete="SET NULL"), index=True
    )
    reason: Mapped[str | None]
    round: Mapped[int]
    updated: Mapped[datetime]
    wanted: Mapped[str | None]
    tries: Mapped[int] = mapped_column(default=0, server_default=text("0"))
    due: Mapped[datetime | None]
