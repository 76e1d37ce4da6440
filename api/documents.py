"""`/api/documents`: upload, list, state, text, page images and deletion of documents."""

import hashlib
import tempfile
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import IO, Annotated

from fastapi import APIRouter, Header, Query
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import Response

from api.access import Access, Reader, Writer
from api.limits import TOO_LARGE_FILE
from api.paging import Cursor, Limit, newest_first, page
from api.problems import responses
from rag.errors import DocumentRefused, ScopeRefused
from rag.ingest.page_images import WantedPage
from rag.ingest.parsers import unpack
from storage.errors import FootnoteError, NotFound
from storage.idempotency import IdempotentRequests
from storage.records import DocumentRecord, Outcome, State

router = APIRouter(tags=["documents"])
PIECE = 1 << 20
IN_MEMORY = 1 << 20  # bytes of an upload, beyond which it is on the disk
CHOOSE = "This key is limited to collections. Say into which of them the file goes."
NO_FILE = "The form has no file. Send one under the name “file”."


class DocumentOut(BaseModel):
    """A document and its state; `reason` tells why it was refused, `note` what of it could not be read."""

    id: str
    name: str
    sha256: str
    size: int
    state: State
    reason: str | None
    note: str | None
    pages: int | None
    chunks: int
    collection_id: str | None
    created: datetime
    updated: datetime


class AddedOut(DocumentOut):
    """A document that was added, and what came of that."""

    outcome: Outcome


class UploadOut(BaseModel):
    """Documents of an upload, several of a ZIP archive, and sentences on files that were not taken."""

    documents: list[AddedOut]
    refused: list[str]


class DocumentPage(BaseModel):
    """A page of documents, newest first."""

    data: list[DocumentOut]
    next_cursor: str | None


class PageSpanOut(BaseModel):
    """Page `number` is `[start:end)` of the document's text."""

    number: int
    start: int
    end: int


class TextOut(BaseModel):
    """Text of a document, or the part from `start` to `end`, and the pages that it touches."""

    text: str
    start: int
    end: int
    length: int
    pages: list[PageSpanOut]


BODY = {
    "required": True,
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file"],
                "properties": {"file": {"type": "string", "format": "binary"}},
            }
        },
        "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
    },
}
Named = Annotated[
    str | None, Query(max_length=255, description="Name of the file, where the body is the file itself.")
]
Into = Annotated[
    str | None, Query(max_length=200, description="Id or name of the collection that the file goes into.")
]
Idempotency = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="A name of your own for this upload: sent again within a day, the first answer is given.",
    ),
]


@router.post(
    "/api/documents",
    response_model=UploadOut,
    status_code=201,
    responses=responses(404, 409),
    openapi_extra={"requestBody": BODY},
    summary="Add a document",
)
async def upload(
    request: Request, access: Writer, name: Named = None, collection: Into = None, key: Idempotency = None
) -> UploadOut:
    """Add a file as a form, or as the body itself. It is read in the background: see the document's state."""
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        try:
            async with request.form(max_files=1, max_fields=10) as form:
                file = form.get("file")
                if not isinstance(file, UploadFile):
                    raise DocumentRefused(NO_FILE)
                return await run_in_threadpool(
                    _add, access, file.file, name or file.filename or "", collection, key
                )
        except (MultiPartException, HTTPException) as error:
            status = error.status_code if isinstance(error, HTTPException) else 400
            detail = error.detail if isinstance(error, HTTPException) else error.message
            raise HTTPException(status, detail) from error
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as body:
        async for part in request.stream():
            await run_in_threadpool(body.write, part)
        return await run_in_threadpool(_add, access, body, name or "", collection, key)


@router.get("/api/documents", response_model=DocumentPage, responses=responses(404), summary="List documents")
def documents(
    access: Reader,
    limit: Limit = 100,
    cursor: Cursor = None,
    collection: Annotated[str | None, Query(max_length=200, description="Only those of this one.")] = None,
    state: Annotated[State | None, Query(description="Only those in this state.")] = None,
) -> DocumentPage:
    """List the documents, newest first."""
    inside = None if collection is None else access.collection(collection).id
    there = [
        one
        for one in access.workspace.library.documents.list()
        if access.may_see(one)
        and (inside is None or one.collection_id == inside)
        and state in (None, one.state)
    ]
    shown, following = page(there, newest_first, limit, cursor)
    return DocumentPage(data=[document_out(one) for one in shown], next_cursor=following)


@router.get(
    "/api/documents/{document_id}",
    response_model=DocumentOut,
    responses=responses(404),
    summary="Get a document",
)
def document(document_id: str, access: Reader) -> DocumentOut:
    """Return a document with its state."""
    return document_out(access.document(document_id))


@router.get(
    "/api/documents/{document_id}/text",
    response_model=TextOut,
    responses=responses(404),
    summary="Read a document",
)
def text(
    document_id: str,
    access: Reader,
    start: Annotated[int, Query(ge=0, le=2**31)] = 0,
    end: Annotated[int | None, Query(ge=0, le=2**31)] = None,
) -> TextOut:
    """Return the text that the quotes of citations count in, or a part of it."""
    id_ = access.document(document_id).id
    whole = access.workspace.library.documents.text(id_)
    last = len(whole) if end is None else min(end, len(whole))
    first = min(start, last)
    spans = [
        PageSpanOut(number=one.number, start=one.start, end=one.end)
        for one in access.workspace.library.documents.pages(id_)
        if one.start < max(last, first + 1) and one.end > first
    ]
    return TextOut(text=whole[first:last], start=first, end=last, length=len(whole), pages=spans)


@router.get(
    "/api/documents/{document_id}/pages/{number}/image",
    response_class=Response,
    responses={
        200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}},
        **responses(404),
    },
    summary="Draw a page",
)
def page_image(
    document_id: str,
    number: int,
    access: Reader,
    start: Annotated[int | None, Query(ge=0, le=2**31, description="First character to mark.")] = None,
    end: Annotated[int | None, Query(ge=0, le=2**31, description="Character after the last one.")] = None,
) -> Response:
    """Draw a page of a PDF as PNG, with a span of the document's text marked."""
    record = access.document(document_id)
    library = access.workspace.library
    span = next((one for one in library.documents.pages(record.id) if one.number == number), None)
    if span is None:
        raise NotFound(f"This document has no page {number}.")
    words = library.documents.text(record.id)[span.start : span.end]
    first, last = max(start or 0, span.start) - span.start, min(end or 0, span.end) - span.start
    spans = ((first, last),) if first < last else ()
    wanted = WantedPage(library.files.path(record.sha256), number, words, spans)
    return Response(access.services.page_images.draw(wanted).png, media_type="image/png")


@router.delete(
    "/api/documents/{document_id}", status_code=204, responses=responses(404), summary="Delete a document"
)
def delete_document(document_id: str, access: Writer) -> None:
    """Delete a document. Answers that rest on it keep their quotes."""
    access.workspace.ingest.remove(access.document(document_id).id)


def document_out(record: DocumentRecord) -> DocumentOut:
    """Return a document."""
    return DocumentOut(**{name: getattr(record, name) for name in DocumentOut.model_fields})


def _add(access: Access, file: IO[bytes], name: str, collection: str | None, key: str | None) -> UploadOut:
    if not name.strip():
        raise DocumentRefused("The file has no name. Give one with ?name=, such as ?name=report.pdf.")
    into = None if collection is None else access.collection(collection).id
    if into is None and access.caller.collections is not None:
        raise ScopeRefused(CHOOSE)
    limit = access.services.settings.max_upload_mb
    if file.seek(0, 2) > limit << 20:
        raise HTTPException(413, TOO_LARGE_FILE.format(limit))
    if key is None:
        return _take(access, file, name, into)
    known, request = (
        IdempotentRequests(access.services.database, access.caller.owner),
        _hash(file, name, into),
    )
    if (given := known.answer(key, request)) is not None:
        return UploadOut.model_validate(given)
    added = _take(access, file, name, into)
    known.keep(key, request, added.model_dump(mode="json"))
    return added


def _take(access: Access, file: IO[bytes], name: str, into: str | None) -> UploadOut:
    archive = unpack(name, _pieces(file))
    if archive is None:
        return UploadOut(documents=[_take_one(access, name, _pieces(file), into)], refused=[])
    added, refused = [], [archive.note] if archive.note else []
    for inside, content in archive.attached:
        try:
            added.append(_take_one(access, inside, iter([content]), into))
        except FootnoteError as error:
            refused.append(f"{inside}: {error}")
    return UploadOut(documents=added, refused=refused)


def _take_one(access: Access, name: str, content: Iterator[bytes], into: str | None) -> AddedOut:
    added, outcome = access.workspace.add(name, content, into)
    record = access.workspace.library.documents.get(added.id)  # now in its collection
    return AddedOut(**document_out(record).model_dump(), outcome=outcome)


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    file.seek(0)
    return iter(partial(file.read, PIECE), b"")


def _hash(file: IO[bytes], *others: str | None) -> str:
    digest = hashlib.sha256(repr(others).encode())
    for piece in _pieces(file):
        digest.update(piece)
    return digest.hexdigest()
