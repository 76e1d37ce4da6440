"""`footnote backup` and `footnote restore`: the ledger into a file and back."""

from pathlib import Path

from rag.cli.options import Commands, Options
from rag.config import Settings
from storage.database import Database


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    backup = commands.add_parser("backup", help="copy the ledger of documents and chats into a file")
    backup.add_argument("file", type=Path, metavar="FILE")
    backup.set_defaults(command=backup_command)

    restoring = commands.add_parser("restore", help="put a backup back")
    restoring.add_argument("file", type=Path, metavar="FILE")
    restoring.set_defaults(command=restore_command)


def backup_command(settings: Settings, options: Options) -> int:
    """Copy the ledger while nothing else writes."""
    database = Database.open(settings.data)
    try:
        database.backup(options.file)
    finally:
        database.close()
    print(f"The ledger is saved in {options.file}.")
    return 0


def restore_command(settings: Settings, options: Options) -> int:
    """Put a backup in the ledger's place, keeping what was there beside it."""
    kept = Database.restore(settings.data, options.file)
    print(f"Restored from {options.file}." + (f" What was there before is kept as {kept}." if kept else ""))
    return 0
