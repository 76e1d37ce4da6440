"""`footnote model`: embedding models made ready, and a language model of one's own."""

import sys
from pathlib import Path

from rag import settings as config
from rag.cli.common import Commands, Options
from rag.cli.progress import ProgressBar
from rag.factory import make_embedder
from rag.models.local import shelf
from rag.models.local.catalog import OFFERS, QWEN_1_5B, Offer, named, size
from rag.models.local.install import install, try_out
from rag.models.local.shelf import Choice
from rag.models.packaged.catalog import fetch
from rag.settings import Settings


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    model = commands.add_parser("model", help="embedding models, and a language model of your own")
    model = model.add_subparsers(required=True)
    fetching = model.add_parser("fetch", help="get a model ready, before it is first needed")
    fetching.add_argument("name", nargs="?", help="default: the embedding model in the settings")
    fetching.set_defaults(command=fetch_command)
    installing = model.add_parser("install", help="get a language model that runs here, and use it")
    names = ", ".join(offer.name for offer in OFFERS)
    installing.add_argument("name", nargs="?", default=QWEN_1_5B.name, help=f"{names}, or a GGUF file's path")
    installing.set_defaults(command=install_command)
    model.add_parser("list", help="the language models that can run here").set_defaults(command=list_command)
    removing = model.add_parser("remove", help="remove a language model from this computer")
    removing.add_argument("name")
    removing.set_defaults(command=remove_command)


def fetch_command(settings: Settings, options: Options) -> int:
    """Get an embedding model's files and try them; of a language model get the file and change no setting."""
    name = options.name or settings.embedding_model
    if (offer := named(name)) is not None:
        _install(offer, settings.model_cache)
        print(f"{offer.name} is ready.")
        return 0
    fetch(name, settings.model_cache, progress=lambda message: print(message, file=sys.stderr))
    embedder = make_embedder(settings.model_copy(update={"embedding_model": name}))
    print(f"{embedder.name} is ready: {embedder.dimension} dimensions.")
    return 0


def install_command(settings: Settings, options: Options) -> int:
    """Get a language model, try it, and use it from now on where no server is connected."""
    spec = shelf.checked(options.name)
    choice = Choice.of(spec, settings.model_cache)
    if (offer := named(spec)) is not None:
        _install(offer, settings.model_cache)
    else:
        try_out(choice)
    print(f"{choice.name} is ready.")
    _use(settings, spec)
    return 0


def _install(offer: Offer, cache: Path) -> None:
    if not shelf.here(offer, cache):
        missing = offer.bytes - shelf.begun(offer, cache)
        print(f"footnote: {offer.title}: {size(missing)} to download", file=sys.stderr, flush=True)
    progress = ProgressBar({}, unit="B")
    try:
        for step in install(offer, cache):
            if step.total:
                progress(step.what, step.done, step.total)
    finally:
        progress.close()


def _use(settings: Settings, spec: str) -> None:
    """Keep the choice in the data directory, and say what answers from now on."""
    settings.data.mkdir(parents=True, exist_ok=True)
    config.save(settings.data, {"own_model": spec})
    if settings.connected:
        print(f"Answers are still written by {settings.llm_model}; the Settings page changes that.")
    elif "own_model" in config.fixed_fields():
        print(f"Answers are still written by {settings.own_model}, as FOOTNOTE_OWN_MODEL says.")
    else:
        print("It writes the answers from the next start on.")


def list_command(settings: Settings, options: Options) -> int:
    """Print the models that can be fetched, which are here, and which one writes the answers."""
    for offer in OFFERS:
        state = "here" if shelf.here(offer, settings.model_cache) else "not here"
        print(f"{offer.name:22} {offer.size:>7} {state:9} {offer.good_for}")
    if settings.connected:
        print(f"Answers are written by {settings.llm_model}, on {settings.llm_base_url}.")
    else:
        print(f"Answers are written by {settings.own_model or 'no model'}.")
    return 0


def remove_command(settings: Settings, options: Options) -> int:
    """Remove a model's file, or what has come of it."""
    offer = shelf.offered(options.name)
    freed = shelf.remove(offer, settings.model_cache)
    print(f"{offer.name} is removed: {size(freed)} freed." if freed else f"{offer.name} was not here.")
    if settings.own_model == offer.name:
        config.save(settings.data, {"own_model": ""})
    return 0
