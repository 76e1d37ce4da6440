"""`/api/sources`: list sources, and read them. They are set up on the page, which asks for their settings."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel

from api.access import Access, Reader, Writer
from api.paging import Cursor, Limit, oldest_first, page
from api.problems import responses
from storage.records import SourceRecord, SourceState, Tally

router = APIRouter(tags=["sources"])


class SourceStateOut(BaseModel):
    """A source with the state of its last sync. Its settings, which may name places, are not shown."""

    id: str
    kind: str
    name: str
    state: SourceState
    reason: str | None
    documents: int
    failed: int
    began: datetime | None
    ended: datetime | None


class SourcePage(BaseModel):
    """A page of sources, oldest first."""

    data: list[SourceStateOut]
    next_cursor: str | None


@router.get("/api/sources", response_model=SourcePage, responses=responses(), summary="List sources")
def sources(access: Reader, limit: Limit = 100, cursor: Cursor = None) -> SourcePage:
    """List the sources."""
    access.caller.require_everything()
    shown, following = page(access.workspace.syncing.sources.list(), oldest_first, limit, cursor)
    tallies = access.workspace.syncing.items.tallies()
    return SourcePage(data=[_out(one, tallies.get(one.id, Tally())) for one in shown], next_cursor=following)


@router.get(
    "/api/sources/{source_id}",
    response_model=SourceStateOut,
    responses=responses(404),
    summary="Get a source",
)
def source(source_id: str, access: Reader) -> SourceStateOut:
    """Return a source."""
    access.caller.require_everything()
    return _source(access, source_id)


@router.post(
    "/api/sources/{source_id}/sync",
    response_model=SourceStateOut,
    status_code=202,
    responses=responses(404, 502),
    summary="Read a source",
)
def sync(source_id: str, access: Writer) -> SourceStateOut:
    """Begin to read a source; its state tells when that has ended."""
    access.caller.require_everything()
    _source(access, source_id)
    access.workspace.syncing.start(source_id, by_hand=True)
    return _source(access, source_id)


@router.post(
    "/api/sources/{source_id}/stop",
    response_model=SourceStateOut,
    status_code=202,
    responses=responses(404),
    summary="Stop reading a source",
)
def stop(source_id: str, access: Writer) -> SourceStateOut:
    """Stop reading a source; what was taken stays."""
    access.caller.require_everything()
    _source(access, source_id)
    access.workspace.syncing.stop(source_id)
    return _source(access, source_id)


def _source(access: Access, source_id: str) -> SourceStateOut:
    record = access.workspace.syncing.sources.get(source_id)
    return _out(record, access.workspace.syncing.items.tallies().get(source_id, Tally()))


def _out(record: SourceRecord, tally: Tally) -> SourceStateOut:
    return SourceStateOut(
        id=record.id,
        kind=record.kind,
        name=record.name,
        state=record.state,
        reason=record.reason,
        documents=tally.documents,
        failed=tally.failed,
        began=record.began,
        ended=record.ended,
    )
