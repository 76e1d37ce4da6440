"""A conversation as a tree of turns. Questions that follow the same answer are versions of one turn.

One path through the tree is shown, which ends at the conversation's tip. The caller has asked whose it is.
"""

from collections.abc import Iterable

from sqlalchemy import Boolean, Integer, Select, and_, bindparam, literal, or_, select
from sqlalchemy.orm import Session, aliased

from storage.tables import MessageRow


def _climbing() -> Select[MessageRow]:
    """Return what reads a message and those above it, as many as are asked for, the highest first."""
    above = (
        select(MessageRow.id, MessageRow.parent_id, literal(1).label("steps"))
        .where(MessageRow.id == bindparam("from"))
        .cte("above", recursive=True)
    )
    further = select(MessageRow.id, MessageRow.parent_id, above.c.steps + 1).where(
        MessageRow.id == above.c.parent_id, above.c.steps < bindparam("limit", type_=Integer)
    )
    above = above.union_all(further)
    return select(MessageRow).join(above, above.c.id == MessageRow.id).order_by(above.c.steps.desc())


_PATH = _climbing()
_BESIDE = (
    select(MessageRow.id, MessageRow.parent_id)
    .where(MessageRow.conversation_id == bindparam("conversation"), MessageRow.role == "user")
    .where(
        or_(
            MessageRow.parent_id.in_(bindparam("parents", expanding=True)),
            and_(MessageRow.parent_id.is_(None), bindparam("openings", type_=Boolean)),
        )
    )
    .order_by(MessageRow.position)
)


def path_to(session: Session, message_id: str | None, limit: int) -> list[MessageRow]:
    """Read the last ``limit`` messages of the path that ends at a message, oldest first."""
    return list(session.scalars(_PATH, {"from": message_id, "limit": limit}))


def opening_of(session: Session, message: MessageRow) -> MessageRow:
    """Return the question that the path of a message begins with."""
    first = select(MessageRow).where(
        MessageRow.conversation_id == message.conversation_id, MessageRow.parent_id.is_(None)
    )
    roots = session.scalars(first).all()
    if len(roots) == 1:
        return roots[0]
    return _climbed(session, message)


def _climbed(session: Session, message: MessageRow) -> MessageRow:
    above = (
        select(MessageRow.id, MessageRow.parent_id)
        .where(MessageRow.id == message.id)
        .cte("above", recursive=True)
    )
    above = above.union_all(
        select(MessageRow.id, MessageRow.parent_id).where(MessageRow.id == above.c.parent_id)
    )
    root = select(MessageRow).join(above, above.c.id == MessageRow.id).where(MessageRow.parent_id.is_(None))
    return session.scalars(root).one()


def newest_after(session: Session, message: MessageRow) -> str:
    """Return the id of the newest message that follows from this one, or its own where none does."""
    below = (
        select(MessageRow.id, MessageRow.position)
        .where(MessageRow.id == message.id)
        .cte("below", recursive=True)
    )
    child = aliased(MessageRow)
    below = below.union_all(select(child.id, child.position).where(child.parent_id == below.c.id))
    newest = session.scalar(select(below.c.id).order_by(below.c.position.desc()).limit(1))
    return newest or message.id


def versions(session: Session, rows: Iterable[MessageRow]) -> dict[str, tuple[str, ...]]:
    """Return the ids of all versions of each question that has any, its own too, as they were asked."""
    questions = [row for row in rows if row.role == "user"]
    if not questions:
        return {}
    beside: dict[str | None, list[str]] = {}
    followed = {row.parent_id for row in questions}
    given = {
        "conversation": questions[0].conversation_id,
        "parents": [parent for parent in followed if parent is not None],
        "openings": None in followed,
    }
    for id_, parent in session.execute(_BESIDE, given):
        beside.setdefault(parent, []).append(id_)
    return {row.id: tuple(beside[row.parent_id]) for row in questions if len(beside[row.parent_id]) > 1}
