"""`/api/keys`: for `footnote keys` while the app runs. No key makes, lists or revokes keys."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from api.access import Local
from api.problems import responses
from rag.keys import PersonKeys
from rag.settings import LOCAL_OWNER
from storage.keys import LONGEST_NAME, SCOPES
from storage.records import KeyRecord, KeyScope

router = APIRouter(tags=["keys"])
Owner = Annotated[str, Query(max_length=1000, description="Whose; the local user without one.")]
MOST_DAYS = 36_500


class KeyOut(BaseModel):
    """A key without its secret; `collections` are ids, null for every document."""

    id: str
    owner: str
    name: str
    scopes: list[KeyScope]
    collections: list[str] | None
    created: datetime
    expires: datetime | None
    used: datetime | None


class NewKeyOut(KeyOut):
    """A key with its secret, which is shown once."""

    secret: str


class KeyList(BaseModel):
    """The keys, newest first."""

    data: list[KeyOut]


class NewKey(BaseModel):
    """A key to make; `collections` are names."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "Bot", "scopes": ["ask"]}]}
    )

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    scopes: list[KeyScope] = Field(list(SCOPES), max_length=len(SCOPES))
    collections: list[str] | None = Field(None, max_length=1000)
    days: int | None = Field(None, ge=1, le=MOST_DAYS, description="Until it expires; never without them.")


@router.get("/api/keys", response_model=KeyList, responses=responses(404), summary="List keys")
def keys(access: Local, owner: Owner = LOCAL_OWNER) -> KeyList:
    """List a person's keys, for this computer's own commands alone."""
    return KeyList(data=[_out(one) for one in PersonKeys(access.services.database, owner).list()])


@router.post(
    "/api/keys", response_model=NewKeyOut, status_code=201, responses=responses(404), summary="Create a key"
)
def create_key(body: NewKey, access: Local, owner: Owner = LOCAL_OWNER) -> NewKeyOut:
    """Make a key for a person, for this computer's own commands alone."""
    given = body.name, body.scopes, body.collections, body.days
    record, secret = PersonKeys(access.services.database, owner).create(*given)
    return NewKeyOut(**_out(record).model_dump(), secret=secret)


@router.delete("/api/keys/{key_id}", status_code=204, responses=responses(404), summary="Revoke a key")
def revoke_key(key_id: str, access: Local, owner: Owner = LOCAL_OWNER) -> None:
    """Revoke a person's key, for this computer's own commands alone."""
    PersonKeys(access.services.database, owner).revoke(key_id)


def _out(record: KeyRecord) -> KeyOut:
    limited = None if record.collections is None else sorted(record.collections)
    scopes = [scope for scope in SCOPES if scope in record.scopes]
    return KeyOut(**{**vars(record), "scopes": scopes, "collections": limited})
