"""`footnote model fetch`: an embedding model made ready before it is first needed."""

import sys

from rag.assembly import make_embedder
from rag.cli.options import Commands, Options
from rag.config import Settings
from rag.embedders.catalog import fetch


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    model = commands.add_parser("model", help="embedding models").add_subparsers(required=True)
    fetching = model.add_parser("fetch", help="get an embedding model ready, before it is first needed")
    fetching.add_argument("name", nargs="?", help="default: the one in the settings")
    fetching.set_defaults(command=fetch_command)


def fetch_command(settings: Settings, options: Options) -> int:
    """Get an embedding model's files and try them."""
    name = options.name or settings.embedding_model
    fetch(name, settings.model_cache, progress=lambda message: print(message, file=sys.stderr))
    embedder = make_embedder(settings.model_copy(update={"embedding_model": name}))
    print(f"{embedder.name} is ready: {embedder.dimension} dimensions.")
    return 0
