"""`/api/collections`: list, create, rename and delete collections."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from api.access import Reader, Writer
from api.paging import Cursor, Limit, page
from api.problems import responses
from storage.collections import CollectionRecord

router = APIRouter(tags=["collections"])


class CollectionOut(BaseModel):
    """A collection with its number of documents."""

    id: str
    name: str
    documents: int
    created: datetime


class CollectionPage(BaseModel):
    """A page of collections, by name."""

    data: list[CollectionOut]
    next_cursor: str | None


class CollectionName(BaseModel):
    """Name of a collection."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Reports"}]})

    name: str = Field(min_length=1, max_length=1000)


@router.get(
    "/api/collections", response_model=CollectionPage, responses=responses(), summary="List collections"
)
def collections(access: Reader, limit: Limit = 100, cursor: Cursor = None) -> CollectionPage:
    """List the collections that the key may see, by name."""
    shown, following = page(access.collections(), lambda one: (one.name, one.id), limit, cursor)
    return CollectionPage(data=[_out(one) for one in shown], next_cursor=following)


@router.post(
    "/api/collections",
    response_model=CollectionOut,
    status_code=201,
    responses=responses(),
    summary="Create a collection",
)
def create_collection(body: CollectionName, access: Writer) -> CollectionOut:
    """Create a collection without documents."""
    access.caller.require_everything()
    return _out(access.workspace.library.collections.create(body.name))


@router.get(
    "/api/collections/{collection_id}",
    response_model=CollectionOut,
    responses=responses(404),
    summary="Get a collection",
)
def collection(collection_id: str, access: Reader) -> CollectionOut:
    """Return a collection by its id or name."""
    return _out(access.collection(collection_id))


@router.patch(
    "/api/collections/{collection_id}",
    response_model=CollectionOut,
    responses=responses(404),
    summary="Rename a collection",
)
def rename_collection(collection_id: str, body: CollectionName, access: Writer) -> CollectionOut:
    """Give a collection another name."""
    id_ = access.collection(collection_id).id
    access.workspace.library.collections.rename(id_, body.name)
    return _out(access.collection(id_))


@router.delete(
    "/api/collections/{collection_id}",
    status_code=204,
    responses=responses(404),
    summary="Delete a collection",
)
def delete_collection(collection_id: str, access: Writer) -> None:
    """Delete a collection; its documents stay."""
    access.caller.require_everything()  # its documents are in none afterwards
    access.workspace.library.collections.delete(access.collection(collection_id).id)


def _out(record: CollectionRecord) -> CollectionOut:
    return CollectionOut(id=record.id, name=record.name, documents=record.documents, created=record.created)
