"""A conversation as a tree of turns. Questions that follow the same answer are versions of one turn.

One path through the tree is shown, which ends at the conversation's tip. The caller has asked whose it is.
"""

from collections.abc import Iterable

from sqlalchemy import ColumnElement, literal, or_, select
from sqlalchemy.orm import Session, aliased

from storage.tables import Message


def path_to(session: Session, message_id: str | None, limit: int) -> list[Message]:
    """Read the last ``limit`` messages of the path that ends at a message, oldest first."""
    above = (
        select(Message.id, Message.parent_id, literal(1).label("steps"))
        .where(Message.id == message_id)
        .cte("above", recursive=True)
    )
    further = select(Message.id, Message.parent_id, above.c.steps + 1).where(
        Message.id == above.c.parent_id, above.c.steps < limit
    )
    above = above.union_all(further)
    rows = select(Message).join(above, above.c.id == Message.id).order_by(above.c.steps.desc())
    return list(session.scalars(rows))


def opening_of(session: Session, message: Message) -> Message:
    """Return the question that the path of a message begins with."""
    first = select(Message).where(
        Message.conversation_id == message.conversation_id, Message.parent_id.is_(None)
    )
    roots = session.scalars(first).all()
    if len(roots) == 1:
        return roots[0]
    return _climbed(session, message)


def _climbed(session: Session, message: Message) -> Message:
    above = select(Message.id, Message.parent_id).where(Message.id == message.id).cte("above", recursive=True)
    above = above.union_all(select(Message.id, Message.parent_id).where(Message.id == above.c.parent_id))
    root = select(Message).join(above, above.c.id == Message.id).where(Message.parent_id.is_(None))
    return session.scalars(root).one()


def newest_after(session: Session, message: Message) -> str:
    """Return the id of the newest message that follows from this one, or its own where none does."""
    below = select(Message.id, Message.position).where(Message.id == message.id).cte("below", recursive=True)
    child = aliased(Message)
    below = below.union_all(select(child.id, child.position).where(child.parent_id == below.c.id))
    newest = session.scalar(select(below.c.id).order_by(below.c.position.desc()).limit(1))
    return newest or message.id


def versions(session: Session, rows: Iterable[Message]) -> dict[str, tuple[str, ...]]:
    """Return the ids of all versions of each question that has any, its own too, as they were asked."""
    questions = [row for row in rows if row.role == "user"]
    if not questions:
        return {}
    beside: dict[str | None, list[str]] = {}
    asked = (
        select(Message.id, Message.parent_id)
        .where(Message.conversation_id == questions[0].conversation_id, Message.role == "user")
        .where(_follows({row.parent_id for row in questions}))
        .order_by(Message.position)
    )
    for id_, parent in session.execute(asked):
        beside.setdefault(parent, []).append(id_)
    return {row.id: tuple(beside[row.parent_id]) for row in questions if len(beside[row.parent_id]) > 1}


def _follows(parents: set[str | None]) -> ColumnElement[bool]:
    ids = Message.parent_id.in_([parent for parent in parents if parent is not None])
    return or_(ids, Message.parent_id.is_(None)) if None in parents else ids
