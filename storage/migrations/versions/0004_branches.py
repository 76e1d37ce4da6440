"""A conversation as a tree of turns: what each message follows, and which one is shown last."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0004"
down_revision = "0003"

_FOLLOW = """
UPDATE messages SET parent_id = (
    SELECT before.id FROM messages AS before
    WHERE before.conversation_id = messages.conversation_id AND before.position < messages.position
    ORDER BY before.position DESC LIMIT 1
)
"""
_SHOW_LAST = """
UPDATE conversations SET tip_id = (
    SELECT last.id FROM messages AS last WHERE last.conversation_id = conversations.id
    ORDER BY last.position DESC LIMIT 1
)
"""


def upgrade() -> None:
    op.add_column("messages", Column("parent_id", Text(), nullable=True))
    op.add_column("conversations", Column("tip_id", Text(), nullable=True))
    op.create_index("ix_messages_parent_id", "messages", ["parent_id"])
    op.execute(_FOLLOW)
    op.execute(_SHOW_LAST)
