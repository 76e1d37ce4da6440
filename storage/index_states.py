"""Which index of an owner answers: another one takes its place in one commit, or not at all."""

from typing import Any

from sqlalchemy import bindparam, delete, select

from storage.database import Database
from storage.errors import NotFound
from storage.lookups import Lookup, parsed
from storage.tables import IndexState
from storage.tree_tables import TreeBranch

_STATES = Lookup(
    select(IndexState.name, IndexState.state).where(IndexState.owner == bindparam("owner")), IndexState.name
)


def made_with(database: Database, owner: str, index: str) -> dict[str, Any] | None:
    """Tell what an owner's index was made with, which every question asks; None when nothing was recorded."""
    return next((parsed(state) for _, state in database.look_up(_STATES, [index], owner)), None)


class IndexStates:
    """What one owner's indexes were made with, where more than one of them changes at once."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database = database
        self._owner = owner

    def replace(self, standing: str, following: str) -> None:
        """Let the index called `following` be the one called `standing`, which is forgotten.

        With an index of vectors, which has a "fingerprint", the branches of trees name its model: their nodes
        have vectors of it. NotFound where no such index follows.
        """
        with self._database.writing() as session:
            row = session.get(IndexState, (self._owner, following))
            if row is None:
                raise NotFound(f"There is no index {following!r}.")
            state = row.state
            both = IndexState.owner == self._owner, IndexState.name.in_((standing, following))
            session.execute(delete(IndexState).where(*both))
            session.expunge_all()
            session.add(IndexState(owner=self._owner, name=standing, state=state))
            if "fingerprint" not in state:
                return
            for branch in session.scalars(select(TreeBranch).where(TreeBranch.owner == self._owner)):
                branch.made_with = {**branch.made_with, "model": state["fingerprint"]}
