"""Personal API keys: one owner's, stored as hashes, and the look-up of the key that a request shows."""

import hmac
import re
import secrets
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import cast

from sqlalchemy import select, update

from storage import tables
from storage.database import Database, OwnerStore
from storage.errors import NameRefused
from storage.events import add_audit_entry
from storage.i18n import N_
from storage.records import KeyRecord, KeyScope
from storage.tables import ApiKeyRow, CollectionRow, ensure_user, new_id, storable, to_record

SCOPES: tuple[KeyScope, ...] = ("read", "ask", "write")
LONGEST_NAME = 80  # characters
USED_EVERY = timedelta(minutes=1)  # between two updates of "last used"
_SECRET = re.compile(r"fnk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NOBODYS = sha256(secrets.token_bytes(32)).hexdigest()  # for an unknown id, so that both take as long


class ApiKeys(OwnerStore):
    """The API keys of one owner."""

    def create(
        self,
        name: str,
        scopes: Iterable[KeyScope] = SCOPES,
        *,
        collections: Collection[str] | None = None,
        expires: datetime | None = None,
    ) -> tuple[KeyRecord, str]:
        """Create a key; return its record and the secret, which is stored nowhere.

        `collections` are the ids that it is limited to, None for everything. Raises NameRefused without a
        name, and NotFound for a collection that this owner does not have.
        """
        tidy = " ".join(storable(name).split())[:LONGEST_NAME]
        if not tidy:
            raise NameRefused(N_("A key needs a name, such as the program that will use it. Type one."))
        id_, part = new_id(), secrets.token_urlsafe(32)
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            limited = collections and [self._own(session, CollectionRow, one).id for one in collections]
            row = ApiKeyRow(
                id=id_,
                owner=self._owner,
                name=tidy,
                sha256=_digest(part),
                scopes=[scope for scope in SCOPES if scope in set(scopes)],
                collections=None if collections is None else sorted(set(limited or ())),
                created=tables.now(),
                expires=expires,
            )
            session.add(row)
            session.flush()
            add_audit_entry(session, self._owner, "key_created", key=id_)
            return _record(row), f"fnk_{id_}_{part}"

    def list(self) -> list[KeyRecord]:
        """List the keys, newest first."""
        mine = select(ApiKeyRow).where(ApiKeyRow.owner == self._owner)
        with self._database.reading() as session:
            return [_record(row) for row in session.scalars(mine.order_by(ApiKeyRow.created.desc()))]

    def revoke(self, key_id: str) -> None:
        """Delete a key: the next request with it is refused."""
        with self._database.writing(self._owner) as session:
            session.delete(self._own(session, ApiKeyRow, key_id))
            add_audit_entry(session, self._owner, "key_revoked", key=key_id)


def find_key(database: Database, secret: str, *, now: datetime | None = None) -> KeyRecord | None:
    """Return the key of a secret, and note that it was used; None for an unknown or expired one."""
    now = now or tables.now()
    parts = _SECRET.fullmatch(secret)
    with database.reading() as session:
        row = session.get(ApiKeyRow, parts[1] if parts else "")
        same = hmac.compare_digest(_digest(parts[2] if parts else ""), row.sha256 if row else _NOBODYS)
        if row is None or not same or (row.expires is not None and row.expires <= now):
            return None
        found = _record(row)
    if found.used is None or now - found.used >= USED_EVERY:
        with database.writing(found.owner) as session:
            session.execute(update(ApiKeyRow).where(ApiKeyRow.id == found.id).values(used=now))
    return found


def _digest(secret: str) -> str:
    """Return the hash of a random secret of 256 bits, which needs no salt and no slow hash."""
    return sha256(secret.encode()).hexdigest()


def _record(row: ApiKeyRow) -> KeyRecord:
    limited = None if row.collections is None else frozenset(row.collections)
    scopes = frozenset(cast(list[KeyScope], row.scopes))
    return to_record(KeyRecord, row, scopes=scopes, collections=limited)
