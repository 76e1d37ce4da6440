"""Many documents, or messages, in one commit, for tests of what is done to them at once."""

from dataclasses import replace

from storage import messages
from storage.database import Database
from storage.documents import new_document, queue_document
from storage.records import TurnRecord
from storage.tables import ConversationRow, MessageRow, ensure_user, new_id


def add_many(database: Database, owner: str, count: int) -> list[str]:
    """Queue documents as `Documents.add` does, which commits each of them, and return their ids."""
    with database.writing(owner) as session:
        ensure_user(session, owner)
        rows = [new_document(owner, f"{number:064x}") for number in range(count)]
        for number, row in enumerate(rows):
            queue_document(row, f"{number}.md", 1, None)
        session.add_all(rows)
        session.flush()
        return [row.id for row in rows]


def repeat_turn(database: Database, owner: str, turn: TurnRecord, count: int) -> None:
    """Add turns after one that is complete, as `begin_turn` and `finish` do, which commit each of them.

    Its question is that of a number, such as ``q0``; those after it count on.
    """
    with database.writing(owner) as session:
        rows = [session.get_one(MessageRow, id_) for id_ in (turn.question_id, turn.answer_id)]
        asked, answered = messages.to_messages(session, rows)
        place, follows = rows[-1].position, answered.id
        for number in range(1, count + 1):
            question = replace(asked, id=new_id(), content=f"q{number}")
            answer = replace(answered, id=new_id(), content=f"Q{number}", question_id=question.id)
            for message in (question, answer):
                place += 1
                session.add(messages.message_row(turn.conversation_id, message, place, follows=follows))
                follows = message.id
        session.get_one(ConversationRow, turn.conversation_id).tip_id = follows
