"""The table of usage: what each person was answered on each day. It outlives the conversations it counts."""

from sqlalchemy.orm import Mapped, mapped_column

from storage.tables import Base, part_of


class Usage(Base):
    """One day of one owner, as ``2026-11-30`` in UTC; tokens are those read and written by a model."""

    __tablename__ = "usage"
    owner: Mapped[str] = mapped_column(part_of("users.id"), primary_key=True)
    day: Mapped[str] = mapped_column(primary_key=True)
    answers: Mapped[int]
    tokens: Mapped[int]
