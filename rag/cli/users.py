"""`footnote users`: who has an account, what each holds and used, and removing one with all they own."""

import json
import sys
from contextlib import closing
from dataclasses import asdict

from rag.cli.common import Commands, Options
from rag.ingest.removal import remove_person
from rag.services import Services
from rag.settings import Settings
from storage.account_records import PersonRecord
from storage.database import Database
from storage.people import People

DESCRIPTION = """People who signed in, each by the id that owns what is theirs. A removal takes their
documents, chats, sources and all that was made from them, for good; cut off, it is finished the next time."""


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    users = commands.add_parser("users", help="see who has an account; remove one", description=DESCRIPTION)
    what = users.add_subparsers(required=True, metavar="WHAT")
    listing = what.add_parser("list", help="everyone, last seen first")
    listing.add_argument("--json", action="store_true", help="one JSON line per person")
    listing.set_defaults(command=list_command)
    removing = what.add_parser("remove", help="remove a person with all they own")
    removing.add_argument("id", metavar="ID", help="as `footnote users list` shows it")
    removing.add_argument("--yes", action="store_true", help="do not ask")
    removing.set_defaults(command=remove_command)


def list_command(settings: Settings, options: Options) -> int:
    """Print a line for each person."""
    with closing(Database.open(settings.data, url=settings.database_url)) as database:
        for record in People(database).list():
            print(json.dumps(asdict(record), default=str) if options.json else line(record))
    return 0


def remove_command(settings: Settings, options: Options) -> int:
    """Remove a person, asked for by their whole id; 1 where that was not confirmed."""
    with closing(Services(settings)) as services:
        people = services.people
        record = people.get(options.id)
        if not (options.yes or _confirmed(record)):
            print("Nothing was removed.", file=sys.stderr)
            return 1
        people.mark(record.id)
        with closing(services.library(record.id)) as library:
            for step in remove_person(people, library, services.jobs):
                print(f"{record.id}: {step}", file=sys.stderr)
    return 0


def line(record: PersonRecord) -> str:
    """Return who someone is, what they hold and what they used, in a line."""
    seen = "never" if record.seen is None else f"{record.seen:%Y-%m-%d %H:%M}"
    called = f" ({record.name})" if record.name and record.name not in record.id else ""
    state = ", being removed" if record.removing else ""
    return (
        f"{record.id}{called}: {record.holds.documents} documents, {record.holds.bytes / 1e6:.1f} MB, "
        f"{record.conversations} chats, {record.used.answers} answers, {record.used.tokens} tokens, "
        f"seen {seen}{state}"
    )


def _confirmed(record: PersonRecord) -> bool:
    print(line(record), file=sys.stderr)
    return input("Remove them with all they own, for good? Type yes: ") == "yes"
