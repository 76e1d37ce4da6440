"""Answers to requests with an idempotency key: the same request again gets the answer that was given."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete

from storage import tables
from storage.database import OwnerStore
from storage.errors import KeyReused
from storage.i18n import N_
from storage.tables import IdempotentRequest, ensure_user, storable

KEPT = timedelta(days=1)


class IdempotentRequests(OwnerStore):
    """The answered requests of one owner, kept for a day."""

    def answer(self, key: str, request: str, *, now: datetime | None = None) -> Mapping[str, Any] | None:
        """Return the answer given to a request, named by a hash; None for a new key.

        Raises KeyReused where the key came with another request.
        """
        with self._database.reading() as session:
            row = session.get(IdempotentRequest, (storable(self._owner), storable(key)))
            if row is None or row.created + KEPT <= (now or tables.now()):
                return None
            if row.request != request:
                raise KeyReused(
                    N_(
                        "This Idempotency-Key came with another request before. Use a new one for "
                        "each upload."
                    )
                )
            return row.response

    def keep(
        self, key: str, request: str, response: Mapping[str, Any], *, now: datetime | None = None
    ) -> None:
        """Keep the answer to a request; those that are too old are deleted."""
        now = now or tables.now()
        mine = IdempotentRequest.owner == storable(self._owner)
        with self._database.writing(self._owner) as session:
            ensure_user(session, self._owner)
            session.execute(delete(IdempotentRequest).where(mine, IdempotentRequest.created <= now - KEPT))
            session.merge(
                IdempotentRequest(
                    owner=self._owner, key=key, request=request, response=dict(response), created=now
                )
            )
