"""The reader's word on single citations, and the answers on which there is any. One owner's."""

from collections.abc import Sequence

from sqlalchemy import exists, or_, select

from storage import messages, tables
from storage.database import Database
from storage.errors import NotFound
from storage.records import CitationFeedback, Message


class Feedback:
    """What one owner said of the citations in their answers; anyone else's id is one that does not exist."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def mark(self, answer_id: str, position: int, feedback: CitationFeedback | None) -> None:
        """Note a word on the citation at ``position`` of an answer, from 0; None takes it back.

        The citation itself stays as it is. Raises NotFound when there is no such.
        """
        with self._database.writing() as session:
            answer = messages.owned(session, self._owner, answer_id, "assistant")
            row = session.get(tables.CitationRow, (answer.id, position))
            if row is None:
                raise NotFound(f"There is no citation {position} in the answer {answer_id!r}.")
            row.feedback = feedback

    def answers(self, limit: int = 1000) -> Sequence[Message]:
        """Read the newest complete answers that are rated, or have a citation marked, newest first."""
        message = tables.MessageRow
        marked = exists().where(
            tables.CitationRow.message_id == message.id, tables.CitationRow.feedback.is_not(None)
        )
        mine = (
            select(message)
            .join(tables.ConversationRow, tables.ConversationRow.id == message.conversation_id)
            .where(tables.ConversationRow.owner == self._owner, message.state == "complete")
            .where(or_(message.rating.is_not(None), marked))
        )
        with self._database.reading() as session:
            newest = mine.order_by(message.created.desc(), message.id).limit(limit)
            return messages.read(session, session.scalars(newest).all())
