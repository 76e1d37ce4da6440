"""`footnote tree`: RAPTOR's trees built over the library, the cost said before."""

import json
from contextlib import closing

from rag.cli.collecting import say
from rag.cli.common import Commands, Options
from rag.cli.library import open_library
from rag.cli.progress import ProgressBar
from rag.ingest.library import Library
from rag.settings import Settings

DESCRIPTION = """Build a tree of summaries over each document that has none, and one over all of them.
Stopped, it goes on where it was the next time. With FOOTNOTE_RAPTOR=model the connected model writes the
summaries."""


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    tree = commands.add_parser(
        "tree", help="build trees of summaries over documents", description=DESCRIPTION
    )
    tree.add_argument("--cost", action="store_true", help="only say what it would take")
    tree.add_argument("--json", action="store_true", help="one JSON line at the end")
    tree.set_defaults(command=tree_command)


def tree_command(settings: Settings, options: Options) -> int:
    """Say what building will take, build, and print what stands; 1 when a summary was left out."""
    with open_library(settings) as library:
        library.recover()
        say(f"{library.forest.cost()}.")
        if options.cost:
            return 0
        _grow(library)
        trees = library.forest.trees
        branches = trees.list()
        found = {
            "documents": sum(branch.document_id is not None for branch in branches),
            "nodes": len(trees.node_ids()),
            "left_out": sum(branch.left_out for branch in branches),
        }
    print(json.dumps(found) if options.json else _line(found), flush=True)
    return 1 if found["left_out"] else 0


def _grow(library: Library) -> None:
    with closing(ProgressBar({})) as told:
        for tended in library.forest.tend():
            step = tended.step
            told(f"{tended.document or 'all documents'}, layer {step.level}", step.done, step.total)


def _line(found: dict[str, int]) -> str:
    left = f"; {found['left_out']} summaries could not be made and were left out" if found["left_out"] else ""
    return f"Trees over {found['documents']} documents, {found['nodes']} nodes{left}."
