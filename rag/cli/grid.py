"""The `footnote grid` commands: run a grid from a specification, list grids, and write one to a file."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag.cli.common import (
    Commands,
    Options,
    ProgressBar,
    form_of,
    one_line,
    open_services,
    print_json,
    print_result,
    say,
    write_file,
)
from rag.cli.remote import RemoteGrids, running_server
from rag.errors import GridRefused
from rag.grid.export import GRID_FORMS, STATE_SIGNS, GridForm
from rag.grid.spec import GridSpec, kept_columns
from rag.i18n import N_
from rag.ingest.paths import path_text
from rag.settings import LOCAL_OWNER, Settings
from rag.workspace import Workspace
from storage.errors import DataDirectoryLocked, NotFound

LARGEST = 1 << 20  # bytes of a specification
SHOWN = 120  # characters of a value on the screen
LOOK = 0.2  # seconds between two looks at a run


class LocalGrids:
    """Grids of the local user that this process holds, with the methods of RemoteGrids."""

    def __init__(self, workspace: Workspace):
        self._workspace = workspace

    def put(self, spec: Mapping[str, Any]) -> str:
        """Create the grid of a specification, or change the one of its name; return its id."""
        wanted, workspace = GridSpec.from_json(spec), self._workspace
        library, grids = workspace.library, workspace.grids
        scope = wanted.scope.resolved(library.collections, library.documents, workspace.tags)
        there = next((one for one in grids.list() if one.name == wanted.name), None)
        if there is None:
            return grids.create(wanted.name, wanted.columns, scope).id
        columns = kept_columns(wanted.columns, there.columns)
        return grids.change(there.id, columns=columns, scope=scope).id

    def estimate(self, grid_id: str) -> dict[str, Any]:
        """Return cells, requests and seconds of a run."""
        return vars(self._workspace.grids.estimate(grid_id))

    def run(self, grid_id: str) -> Iterator[tuple[int, int]]:
        """Run a grid to its end; yield the cells that are done, of how many."""
        job, seen = self._workspace.grid_runs.start(grid_id), 0
        while not job.done or job.since(seen):
            for event in job.since(seen, LOOK):
                seen += 1
                yield event.done, event.cells

    def note(self, grid_id: str) -> str:
        """Return why the last run ended early."""
        return self._workspace.grids.get(grid_id).note

    def exported(self, grid_id: str, form: GridForm) -> bytes:
        """Return a grid as a file."""
        return self._workspace.exported_grid(grid_id, form)

    def list(self) -> list[dict[str, Any]]:
        """List the grids, with id and name."""
        return [
            {"id": one.id, "name": one.name, "columns": len(one.columns), "running": one.running}
            for one in self._workspace.grids.list()
        ]


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    grid = commands.add_parser("grid", help="the same questions over many documents, as a table")
    parts = grid.add_subparsers(required=True, metavar="COMMAND")
    run = parts.add_parser("run", help="make the grid of a specification, and read what is due")
    run.add_argument("spec", type=Path, metavar="SPEC.json", help="name, columns or template, scope")
    run.add_argument("--json", action="store_true", help="the grid as JSON, as `footnote verify` reads it")
    run.add_argument("--out", type=Path, metavar="FILE", help=f"write to a file: .{', .'.join(GRID_FORMS)}")
    run.set_defaults(command=_run_command)
    listing = parts.add_parser("list", help="the grids that there are")
    listing.add_argument("--json", action="store_true", help="one JSON object a line")
    listing.set_defaults(command=_list_command)
    export = parts.add_parser("export", help="a grid into a file")
    export.add_argument("grid", metavar="GRID", help="its name or its id")
    export.add_argument("--out", type=Path, required=True, metavar="FILE", help=f".{', .'.join(GRID_FORMS)}")
    export.set_defaults(command=_export_command)


@contextmanager
def _grids(settings: Settings) -> Iterator[LocalGrids | RemoteGrids]:
    try:
        with open_services(settings) as (services, _):
            workspace = services.workspace(LOCAL_OWNER)
            workspace.library.recover()
            yield LocalGrids(workspace)
            return
    except DataDirectoryLocked as locked:
        server = running_server(settings, locked)
    yield RemoteGrids(server)


def _run_command(settings: Settings, options: Options) -> int:
    spec, form = _spec(options.spec), form_of(options.out, GRID_FORMS)
    with _grids(settings) as grids:
        grid_id = grids.put(spec)
        estimate = grids.estimate(grid_id)
        say(
            N_(
                "{cells} cells to read, with about {requests} requests to the model, in about {seconds} s.",
                cells=f"{estimate['cells']:,}",
                requests=f"{estimate['requests']:,}",
                seconds=f"{estimate['seconds']:,.0f}",
            )
        )
        with ProgressBar(unit="cell") as bar:
            for done, cells in grids.run(grid_id):
                if cells:
                    bar("Reading", done, cells)
        note, told = grids.note(grid_id), json.loads(grids.exported(grid_id, "json"))
        if form is not None:
            write_file(options.out, grids.exported(grid_id, form))
    if note:
        say(note)
    if options.json:
        print_json(told)
    elif form is None:
        print("\n".join(_lines(told)))
    left = sum(cell["state"] in (None, "failed") for row in told["rows"] for cell in row["cells"])
    return 1 if note or left else 0


def _list_command(settings: Settings, options: Options) -> int:
    with _grids(settings) as grids:
        for one in grids.list():
            print_result(one, f"{one['id']}  {one_line(one['name'], SHOWN)}", options)
    return 0


def _export_command(settings: Settings, options: Options) -> int:
    form = form_of(options.out, GRID_FORMS)
    with _grids(settings) as grids:
        there = grids.list()
        found = [one for one in there if options.grid in (one["id"], one["name"])]
        if not found:
            raise NotFound(N_("There is no {noun} {id}.", noun="grid", id=repr(options.grid)))
        write_file(options.out, grids.exported(found[0]["id"], form or "json"))
    return 0


def _spec(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            fields = json.loads(file.read(LARGEST + 1))
    except OSError as error:
        raise GridRefused(N_("{path} cannot be read. Check the path.", path=path_text(path))) from error
    except (ValueError, RecursionError) as error:
        raise GridRefused(N_("{path} is no JSON. Correct it.", path=path_text(path))) from error
    GridSpec.from_json(fields)
    return dict(fields)


def _lines(told: Mapping[str, Any]) -> Iterator[str]:
    names = {column["id"]: column["name"] for column in told["columns"]}
    for row in told["rows"]:
        yield one_line(row["document"], SHOWN)
        for cell in row["cells"]:
            sign = STATE_SIGNS["verified" if cell["corrected"] else cell["state"]] or " "
            yield f"  {sign} {one_line(names[cell['column_id']], SHOWN)}: {one_line(cell['text'], SHOWN)}"
    yield from (f"= {one_line(figure['sentence'], SHOWN)}" for figure in told["figures"])
