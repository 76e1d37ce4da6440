"""The `footnote work` command: reads and embeds the documents that wait in the ledger, without a page."""

import argparse
import signal
import threading
from contextlib import closing

from rag.cli.common import Commands, Options, parse_names, positive, say
from rag.i18n import N_plural
from rag.services import Services
from rag.settings import Settings
from storage.documents import EMBED, READ

KINDS = (READ, EMBED)
LOOK_SECONDS = 0.5  # between two looks whether anything is left
WORK = """Read and embed the documents that wait in the ledger, by the same code as `footnote serve`. A
document whose worker was killed is taken over. Where processes share everything (docs/operator/operating.md)
any number of workers may run beside `footnote serve --workers 0`; elsewhere stop it meanwhile."""


def add_commands(commands: Commands) -> None:
    """Add the group's command to the command line."""
    work = commands.add_parser("work", help="read and embed waiting documents", description=WORK)
    work.add_argument(
        "--kinds",
        type=_kinds,
        default=KINDS,
        help=f"what to do, of {' and '.join(KINDS)}; default: both",
    )
    work.add_argument("--concurrency", type=positive, default=1, help="documents of each kind at once")
    work.add_argument("--once", action="store_true", help="end when nothing is left to do")
    work.set_defaults(command=_work_command)


def _kinds(text: str) -> tuple[str, ...]:
    return parse_names(text, KINDS, "kind of work")


def _work_command(settings: Settings, options: Options) -> int:
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    lanes = dict.fromkeys(options.kinds, options.concurrency)
    with closing(Services(settings, documents=lanes)) as services:
        waiting = services.database.queue.waiting(options.kinds)
        say(N_plural("{count} document waits", "{count} documents wait", waiting))
        services.warm_up()
        while not stopped.wait(LOOK_SECONDS):
            if options.once and not _left(services, options):
                break
    return 0


def _left(services: Services, options: argparse.Namespace) -> bool:
    here = any(kind in options.kinds for kind, _ in services.jobs.standing())
    return here or services.database.queue.waiting(options.kinds) > 0
