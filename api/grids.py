"""`/api/grids`: the same questions over many documents, run as a job, with the words behind each cell."""

from collections.abc import AsyncIterator, Mapping
from datetime import date, datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from api.access import Access, Asker, Names, Reader, Writer
from api.following import COMMENT, EVENT_STREAM, SILENCE, event_stream, follow, problem_event, sse
from api.paging import Cursor, Limit, oldest_first, page
from api.problems import responses
from rag.grid.ask import MAX_GRID_QUESTION, GridStatement
from rag.grid.cells import CellState, value_text
from rag.grid.columns import MAX_INSTRUCTIONS, MAX_NAME, MAX_OPTIONS, MAX_QUESTION, Kind
from rag.grid.export import GRID_MEDIA_TYPES, GridForm, figure_to_json, quote_to_json, row_to_json
from rag.grid.figures import disagreements, figures
from rag.grid.grids import MAX_COLUMNS, DocumentCell, Grid
from rag.grid.run import GridProgress
from rag.grid.spec import GridSpec, NamedScope, columns_from_json, typed_value
from rag.jobs import Job
from storage.choices import Kind as ChoiceKind
from storage.grids import MAX_GRID_NAME, GridScope
from storage.records import DocumentRecord

router = APIRouter(tags=["grids"])
LEASES: dict[str, Any] = {
    "name": "Leases",
    "columns": [
        {"name": "Beginning", "question": "On which day does the lease begin?", "kind": "date"},
        {"name": "Rent", "kind": "money"},
    ],
}
EXPORTED: dict[str, Any] = {
    kind: {"schema": {"type": "object"} if form == "json" else {"type": "string", "format": "binary"}}
    for form, kind in GRID_MEDIA_TYPES.items()
}
Option = Annotated[str, Field(min_length=1, max_length=200)]


class GridColumn(BaseModel):
    """A column; one with the id of a column that is there keeps its cells."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field("", max_length=64)
    name: str = Field(min_length=1, max_length=MAX_NAME)
    question: str = Field("", max_length=MAX_QUESTION)
    kind: Kind = "text"
    options: list[Option] = Field([], max_length=MAX_OPTIONS)
    unit: str = Field("", max_length=40)
    instructions: str = Field("", max_length=MAX_INSTRUCTIONS)


Columns = Annotated[list[GridColumn], Field(max_length=MAX_COLUMNS)]


class GridScopeIn(BaseModel):
    """Rows of a grid, by ids or names; all documents without any. New documents of it join."""

    model_config = ConfigDict(extra="forbid")

    collections: Names = []
    documents: Names = []
    tags: Names = []
    types: Annotated[list[Annotated[str, Field(min_length=1, max_length=20)]], Field(max_length=40)] = []
    since: date | None = None
    until: date | None = None

    def named(self) -> NamedScope:
        """Return the scope by names."""
        return NamedScope.from_json(self.model_dump(mode="json"))


class NewGrid(BaseModel):
    """A grid to make: its columns, or those of a template, and its rows."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [LEASES]})

    name: str = Field(min_length=1, max_length=MAX_GRID_NAME)
    columns: Columns = []
    template: Literal["contract", "filing", "paper", "cv", "invoice"] | None = None
    language: Literal["en", "ko", "ja"] = "en"
    scope: GridScopeIn = GridScopeIn()


class GridChange(BaseModel):
    """Changes of a grid; what is not given stays."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "All leases"}]})

    name: str | None = Field(None, min_length=1, max_length=MAX_GRID_NAME)
    columns: Columns | None = None
    scope: GridScopeIn | None = None


class CellChange(BaseModel):
    """A value given by hand, which locks the cell, or null, which takes it back; or a lock alone."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"value": {"amount": "1200", "unit": "EUR"}}, {"locked": True}]},
    )

    value: dict[str, Any] | None = None
    locked: bool | None = None


class ChosenOut(BaseModel):
    """A collection, document, tag or filter that a grid's rows are chosen by."""

    kind: ChoiceKind
    id: str
    name: str
    there: bool


class GridOut(BaseModel):
    """A grid; `note` says why the last run ended early. While it runs, `done` of `cells` are read."""

    id: str
    name: str
    columns: list[GridColumn]
    scope: list[ChosenOut]
    created: datetime
    updated: datetime
    running: bool
    note: str
    done: int
    cells: int


class GridPage(BaseModel):
    """A page of grids, in the order they were made."""

    data: list[GridOut]
    next_cursor: str | None


class CellQuoteOut(BaseModel):
    """Words of a document: `text` is `[start:end)` of its text, and `sha256` is that of the original file.

    Offsets are in Unicode code points. Chunks have no part in it: they change when a text is split anew.
    """

    number: int
    document_id: str
    document: str
    sha256: str
    start: int
    end: int
    text: str
    page: int | None


class CellOut(BaseModel):
    """A cell: the value that counts, what was found and what was corrected, and the quotes behind it.

    `read` of the document's `total` passages were looked at.
    """

    column_id: str
    state: CellState | None
    value: dict[str, Any] | None
    text: str
    found: dict[str, Any] | None
    corrected: dict[str, Any] | None
    locked: bool
    outdated: bool
    calculated: bool
    read: int
    total: int
    note: str
    updated: datetime | None
    quotes: list[CellQuoteOut]


class RowOut(BaseModel):
    """A document with its cells in the order of the columns; one that is not read yet has empty ones."""

    document_id: str
    document: str
    sha256: str
    readable: bool
    cells: list[CellOut]


class RowPage(BaseModel):
    """A page of rows, by the documents' ids."""

    data: list[RowOut]
    next_cursor: str | None


class EstimateOut(BaseModel):
    """Size of a run: cells that are due, requests of the language model, seconds."""

    cells: int
    requests: int
    seconds: float


class FigureOut(BaseModel):
    """A calculated figure of a column, and the documents whose cells it was calculated from."""

    operation: str
    column_id: str
    value: dict[str, Any]
    counted: dict[str, Any] | None
    sentence: str
    calculation: str
    documents: list[str]
    unconfirmed: int
    left_out: int


class DisagreementOut(BaseModel):
    """Documents that say another thing than the `agreeing` ones."""

    column_id: str
    usual: str
    agreeing: int
    documents: list[str]


class GridQuestion(BaseModel):
    """A question over the cells of a grid."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"question": "Which lease has the highest rent?"}]}
    )

    question: str = Field(min_length=1, max_length=MAX_GRID_QUESTION)


class StatementCell(BaseModel):
    """A cell that a statement rests on, with the words of its quotes, and in `citations` where they stand."""

    document_id: str
    column_id: str
    quotes: list[str]
    citations: list[CellQuoteOut]


class GridStatementOut(BaseModel):
    """A statement of an answer; `unconfirmed` where one of its cells may be wrong."""

    text: str
    calculated: bool
    unconfirmed: bool
    cells: list[StatementCell]


class GridAnswerOut(BaseModel):
    """Answer from the cells; `understood` says what was asked for, or what is missing."""

    statements: list[GridStatementOut]
    understood: str


class FiguresOut(BaseModel):
    """Figures of the columns, and what disagrees."""

    figures: list[FigureOut]
    disagreements: list[DisagreementOut]


@router.get("/api/grids", response_model=GridPage, responses=responses(), summary="List grids")
def grids(access: Reader, limit: Limit = 100, cursor: Cursor = None) -> GridPage:
    """List the grids."""
    shown, following = page(_everything(access).workspace.grids.list(), oldest_first, limit, cursor)
    return GridPage(data=[_out(access, one) for one in shown], next_cursor=following)


@router.post(
    "/api/grids",
    response_model=GridOut,
    status_code=201,
    responses=responses(404),
    summary="Create a grid",
)
def create_grid(body: NewGrid, access: Writer) -> GridOut:
    """Create a grid. Nothing is read before it is run."""
    spec = GridSpec.from_json(body.model_dump(mode="json"))
    workspace = _everything(access).workspace
    return _out(access, workspace.grids.create(spec.name, spec.columns, _scope(access, spec.scope)))


@router.get("/api/grids/{grid_id}", response_model=GridOut, responses=responses(404), summary="Get a grid")
def grid(grid_id: str, access: Reader) -> GridOut:
    """Return a grid, and how far its run is."""
    return _out(access, _everything(access).workspace.grids.get(grid_id))


@router.patch(
    "/api/grids/{grid_id}", response_model=GridOut, responses=responses(404), summary="Change a grid"
)
def change_grid(grid_id: str, body: GridChange, access: Writer) -> GridOut:
    """Change name, columns or rows; cells of columns that are left out are deleted."""
    columns = None if body.columns is None else columns_from_json([one.model_dump() for one in body.columns])
    grids = _everything(access).workspace.grids
    grids.get(grid_id)
    scope = None if body.scope is None else _scope(access, body.scope.named())
    return _out(access, grids.change(grid_id, name=body.name, columns=columns, scope=scope))


@router.delete("/api/grids/{grid_id}", status_code=204, responses=responses(404), summary="Delete a grid")
def delete_grid(grid_id: str, access: Writer) -> None:
    """Delete a grid with its cells, and stop its run."""
    _everything(access).workspace.grid_runs.remove(grid_id)


@router.get(
    "/api/grids/{grid_id}/rows", response_model=RowPage, responses=responses(404), summary="Read the cells"
)
def rows(grid_id: str, access: Reader, limit: Limit = 100, cursor: Cursor = None) -> RowPage:
    """Return rows with their cells, in the order of the documents' ids."""
    there = _everything(access).workspace.grids.rows(grid_id)
    shown, following = page(there, lambda row: (row.document.id, ""), limit, cursor)
    return RowPage(data=[RowOut(**row_to_json(row)) for row in shown], next_cursor=following)


@router.put(
    "/api/grids/{grid_id}/cells/{document_id}/{column_id}",
    response_model=RowOut,
    responses=responses(404),
    summary="Correct or lock a cell",
)
def change_cell(grid_id: str, document_id: str, column_id: str, body: CellChange, access: Writer) -> RowOut:
    """Correct a cell by hand, or lock it; return its row. What was found is kept beside it."""
    grids, key = _everything(access).workspace.grids, (document_id, column_id)
    column = grids.get(grid_id).column(column_id)
    if "value" in body.model_fields_set:
        grids.correct(grid_id, key, typed_value(body.value, column))
    if body.locked is not None:
        grids.lock(grid_id, key, locked=body.locked)
    return RowOut(**row_to_json(grids.row(grid_id, document_id)))


@router.get(
    "/api/grids/{grid_id}/estimate",
    response_model=EstimateOut,
    responses=responses(404),
    summary="Estimate a run",
)
def estimate(grid_id: str, access: Reader) -> EstimateOut:
    """Return what a run would read now, and what it would take."""
    return EstimateOut(**vars(_everything(access).workspace.grids.estimate(grid_id)))


@router.post(
    "/api/grids/{grid_id}/run",
    response_model=GridOut,
    status_code=202,
    responses=responses(404),
    summary="Run a grid",
)
def run_grid(grid_id: str, access: Writer) -> GridOut:
    """Begin to read the cells that are due; a run goes on after a restart of the server."""
    workspace = _everything(access).workspace
    workspace.grid_runs.start(grid_id)
    return _out(access, workspace.grids.get(grid_id))


@router.post(
    "/api/grids/{grid_id}/stop",
    response_model=GridOut,
    status_code=202,
    responses=responses(404),
    summary="Stop a run",
)
def stop_grid(grid_id: str, access: Writer) -> GridOut:
    """Stop a run; what was read stays, and the next run goes on from there."""
    workspace = _everything(access).workspace
    workspace.grid_runs.stop(grid_id)
    return _out(access, workspace.grids.get(grid_id))


@router.get(
    "/api/grids/{grid_id}/progress",
    response_class=Response,
    responses={
        200: {"description": "Events `progress`, then `grid` or `error`.", "content": EVENT_STREAM},
        **responses(404),
    },
    summary="Follow a run",
)
async def progress(grid_id: str, access: Reader, request: Request) -> Any:
    """Follow a run cell by cell, until its end; a run goes on when the client leaves."""
    access.caller.require_everything()
    await run_in_threadpool(access.workspace.grids.get, grid_id)
    return event_stream(_stream(access, grid_id, request), problem_event)


@router.get(
    "/api/grids/{grid_id}/figures",
    response_model=FiguresOut,
    responses=responses(404),
    summary="Calculate figures",
)
def calculated(grid_id: str, access: Reader) -> FiguresOut:
    """Return sums, means and counts of the columns, and the documents that disagree with most."""
    grids = _everything(access).workspace.grids
    there = grids.rows(grid_id)
    found = [one for column in grids.get(grid_id).columns for one in figures(there, column)]
    return FiguresOut(
        figures=[FigureOut(**figure_to_json(one)) for one in found],
        disagreements=[
            DisagreementOut(
                column_id=one.column.id,
                usual=value_text(one.usual),
                agreeing=one.agreeing,
                documents=[cell.document_id for cell in one.cells],
            )
            for one in disagreements(there)
        ],
    )


@router.post(
    "/api/grids/{grid_id}/ask",
    response_model=GridAnswerOut,
    responses=responses(404),
    summary="Ask a grid",
)
def ask(grid_id: str, body: GridQuestion, access: Asker) -> GridAnswerOut:
    """Answer a question from the cells: the highest, a sum, how many, by groups, or the cells that it names.

    A connected language model plans what to filter, group and calculate; without one, rules do.
    """
    workspace = _everything(access).workspace
    rows = workspace.grids.rows(grid_id)
    answer = workspace.ask_grid(body.question, workspace.grids.get(grid_id).columns, rows)
    documents = {row.document.id: row.document for row in rows}
    return GridAnswerOut(
        statements=[_statement(one, documents) for one in answer.statements], understood=answer.understood
    )


@router.get(
    "/api/grids/{grid_id}/export",
    response_class=Response,
    responses={200: {"content": EXPORTED}, **responses(404)},
    summary="Export a grid",
)
def export(
    grid_id: str,
    access: Reader,
    request: Request,
    form: Annotated[GridForm, Query(description="Form of the file.")] = "json",
) -> Response:
    """Return a grid as a file. `footnote verify` checks the quotes of the JSON."""
    workspace = _everything(access).workspace
    address = str(request.base_url).rstrip("/")
    content = workspace.exported_grid(grid_id, form, address)
    return Response(content, media_type=GRID_MEDIA_TYPES[form])


async def _stream(access: Access, grid_id: str, request: Request) -> AsyncIterator[str]:
    job: Job[GridProgress] | None = access.workspace.grid_runs.job(grid_id)
    if job is not None:
        async for event in follow(job, request, cancels=False):
            yield COMMENT if event is SILENCE else sse("progress", vars(event))
    there = await run_in_threadpool(access.workspace.grids.get, grid_id)
    ended = await run_in_threadpool(_out, access, there)
    yield sse("grid", ended.model_dump(mode="json"))


def _statement(one: GridStatement, documents: Mapping[str, DocumentRecord]) -> GridStatementOut:
    cells = [_statement_cell(cell, documents[cell.document_id]) for cell in one.cells]
    return GridStatementOut(
        text=one.text, calculated=one.calculated, unconfirmed=one.unconfirmed, cells=cells
    )


def _statement_cell(cell: DocumentCell, document: DocumentRecord) -> StatementCell:
    quotes = cell.found.quotes if cell.found is not None else ()
    return StatementCell(
        document_id=cell.document_id,
        column_id=cell.column.id,
        quotes=[quote.text for quote in quotes],
        citations=[
            CellQuoteOut(**quote_to_json(number, document, quote)) for number, quote in enumerate(quotes, 1)
        ],
    )


def _everything(access: Access) -> Access:
    access.caller.require_everything()
    return access


def _scope(access: Access, named: NamedScope) -> GridScope:
    library = access.workspace.library
    return named.resolved(library.collections, library.documents, access.workspace.tags)


def _out(access: Access, one: Grid) -> GridOut:
    job = access.workspace.grid_runs.job(one.id)
    latest = None if job is None else job.latest
    return GridOut(
        id=one.id,
        name=one.name,
        columns=[GridColumn(**column.to_json()) for column in one.columns],
        scope=[ChosenOut(**vars(chosen)) for chosen in access.workspace.grids.scope(one.id)],
        created=one.created,
        updated=one.updated,
        running=one.running,
        note=one.note,
        done=0 if latest is None else latest.done,
        cells=0 if latest is None else latest.cells,
    )
