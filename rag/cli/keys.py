"""The `footnote keys` commands: keys of the HTTP interface."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict

from rag.cli.common import Commands, Options, parse_names, positive, say
from rag.cli.remote import RemoteKeys, running_server
from rag.keys import PersonKeys
from rag.settings import LOCAL_OWNER, Settings
from rag.sharing import open_ledger
from storage.errors import DataDirectoryLocked
from storage.keys import SCOPES
from storage.records import KeyRecord

KEYS = "Keys with which programs use Footnote over HTTP. A key is shown once, when it is made."


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    keys = commands.add_parser("keys", help="make, list and revoke keys for programs", description=KEYS)
    keys.add_argument("--owner", default=LOCAL_OWNER, metavar="ID", help="whose, as `footnote users` tells")
    what = keys.add_subparsers(required=True, metavar="WHAT")
    making = what.add_parser("create", help="make a key, and print it")
    making.add_argument("name", help="such as the program that will use it")
    making.add_argument(
        "--scopes",
        type=lambda text: parse_names(text, SCOPES, "scope"),
        default=SCOPES,
        help=f"what it may do (default: {','.join(SCOPES)})",
    )
    making.add_argument("--collection", action="append", metavar="NAME", help="limit it to this one")
    making.add_argument("--days", type=positive, help="days until it expires (default: never)")
    making.set_defaults(command=_create_command)
    listing = what.add_parser("list", help="all keys, without their secrets")
    listing.add_argument("--json", action="store_true", help="one JSON line per key")
    listing.set_defaults(command=_list_command)
    revoking = what.add_parser("revoke", help="refuse a key from now on")
    revoking.add_argument("id", metavar="ID", help="as `footnote keys list` shows it")
    revoking.set_defaults(command=_revoke_command)


def _create_command(settings: Settings, options: Options) -> int:
    with _opened(settings, options) as keys:
        record, secret = keys.create(options.name, options.scopes, options.collection, options.days)
    say(f"The key {record.id}, which is not shown again:")
    print(secret)
    return 0


def _list_command(settings: Settings, options: Options) -> int:
    with _opened(settings, options) as keys:
        for record in keys.list():
            print(json.dumps(asdict(record), default=_json) if options.json else describe(record))
    return 0


def _revoke_command(settings: Settings, options: Options) -> int:
    with _opened(settings, options) as keys:
        keys.revoke(options.id)
    print(f"{options.id} is revoked.")
    return 0


def describe(record: KeyRecord) -> str:
    """Return a key in a line."""
    used = "never used" if record.used is None else f"used {record.used:%Y-%m-%d %H:%M}"
    expires = "" if record.expires is None else f", expires {record.expires:%Y-%m-%d}"
    limited = "" if record.collections is None else f", limited to {len(record.collections)} collections"
    scopes = ",".join(scope for scope in SCOPES if scope in record.scopes)
    return f"{record.id} {record.name}: {scopes}{limited}, {used}{expires}"


@contextmanager
def _opened(settings: Settings, options: Options) -> Iterator[PersonKeys | RemoteKeys]:
    """Open the keys here, or at the server that holds the data directory."""
    try:
        database = open_ledger(settings)
    except DataDirectoryLocked as locked:
        yield RemoteKeys(running_server(settings, locked), options.owner)
        return
    with closing(database):
        yield PersonKeys(database, options.owner)


def _json(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else str(value)
