"""The `footnote migrate` command: move the original files to another place."""

from rag.cli.common import Commands, Options, ProgressBar, say
from rag.factory import make_originals
from rag.i18n import N_
from rag.settings import Settings, load
from rag.sharing import open_ledger
from storage.originals import copy_originals

HERE = "data"  # names the data directory
MIGRATE = """Copy every original file from its present place to another one, read it back, and compare hashes.
Stop the app first. An interrupted run goes on where it was. The present place is left as it is."""


def add_commands(commands: Commands) -> None:
    """Add the command to the command line."""
    migrate = commands.add_parser(
        "migrate", help="move the original files to an object store, or back", description=MIGRATE
    )
    migrate.add_argument(
        "--objects",
        required=True,
        metavar="ADDRESS",
        help=f"where to: s3://BUCKET/PREFIX, gs://, az://, file:///FOLDER, or {HERE} for the data directory",
    )
    migrate.set_defaults(command=_migrate_command)


def _migrate_command(settings: Settings, options: Options) -> int:
    address = "" if options.objects == HERE else options.objects
    source = make_originals(settings, settings.data)
    target = make_originals(load({"data": settings.data, "objects": address}), settings.data)
    target.check()
    database = open_ledger(settings, alone=N_("Originals are being moved."))
    try:
        with ProgressBar(unit="") as bar:
            moved = copy_originals(database, source, target, lambda done, total: bar("copying", done, total))
    finally:
        database.close()
    print(f"{moved.copied} originals were copied, {moved.there} were there already; all were read back.")
    for name in moved.lost:
        say(f"The original file of {name} is gone or damaged, and was not copied.")
    print(f"Now set FOOTNOTE_OBJECTS={address}" if address else "Now leave FOOTNOTE_OBJECTS out.")
    return 1 if moved.lost else 0
