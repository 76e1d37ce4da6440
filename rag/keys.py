"""Keys of one person, as `footnote keys` makes, lists and revokes them, here or at the server that runs."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from rag.errors import QuestionRefused
from rag.i18n import N_
from rag.settings import LOCAL_OWNER
from storage.accounts import People
from storage.collections import Collections
from storage.database import Database
from storage.keys import ApiKeys
from storage.records import KeyRecord, KeyScope


class PersonKeys:
    """Keys of `owner`, with collections by their names and lives in days; raises NotFound for nobody."""

    def __init__(self, database: Database, owner: str):
        if owner != LOCAL_OWNER:
            People(database).get(owner)  # a wrong id would own a key that opens nothing
        self._keys, self._collections = ApiKeys(database, owner), Collections(database, owner)

    def create(
        self, name: str, scopes: Collection[KeyScope], collections: Sequence[str] | None, days: int | None
    ) -> tuple[KeyRecord, str]:
        """Create a key; return it with its secret. Raises QuestionRefused for an unknown collection."""
        inside = None if collections is None else [self._named(one) for one in collections]
        expires = None if days is None else datetime.now(UTC) + timedelta(days=days)
        return self._keys.create(name, scopes, collections=inside, expires=expires)

    def list(self) -> list[KeyRecord]:
        """List the keys, newest first."""
        return self._keys.list()

    def revoke(self, key_id: str) -> None:
        """Revoke a key; raises NotFound."""
        self._keys.revoke(key_id)

    def _named(self, name: str) -> str:
        found = self._collections.named(name)
        if found is None:
            raise QuestionRefused(
                N_("There is no collection {name}. The page shows what there is.", name=repr(name))
            )
        return found.id
