"""The table of choices: which collections and documents a conversation searches, where not all of them."""

from sqlalchemy.orm import Mapped, mapped_column

from storage.tables import Base, part_of


class ChoiceRow(Base):
    """A collection or a document by its id, and its name when it was chosen.

    No foreign key: what was chosen and is gone stays chosen, so that a conversation over one document does
    not become one over all of them when it is deleted.
    """

    __tablename__ = "choices"
    conversation_id: Mapped[str] = mapped_column(part_of("conversations.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    chosen_id: Mapped[str] = mapped_column(primary_key=True, index=True)
    name: Mapped[str]
