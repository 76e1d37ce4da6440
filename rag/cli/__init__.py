"""The command line: `footnote serve | work | demo | doctor | ingest | ask | check | grid | eval ...`."""

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from rag.cli import admin, ask, check, doctor, evaluate, export, grid, ingest, keys, serve
from rag.cli.common import Options, Parser, PlainStream, say
from rag.errors import FootnoteError
from rag.i18n import ENGLISH, N_, in_language, supported
from rag.settings import load
from rag.telemetry import disable_tracing

STANDARD_OUTPUT = 1
READER_GONE = 141  # as the shell says of a program that a closed pipe ended
MODULES = (serve, doctor, ingest, ask, check, grid, evaluate, export, keys, admin)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 when a file was refused, 2 for bad input."""
    options = parser().parse_args(arguments)
    with (
        redirect_stdout(PlainStream(sys.stdout)),
        redirect_stderr(PlainStream(sys.stderr)),
        in_language(_language()),
    ):
        return _run(options)


def _language() -> str:
    """Return the language of the command line: FOOTNOTE_LANGUAGE, else that of the locale."""
    names = ("FOOTNOTE_LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
    return supported(next(filter(None, map(os.environ.get, names)), None)) or ENGLISH


def _run(options: Options) -> int:
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    disable_tracing()
    try:
        status = int(options.command(load({"data": options.data}), options))
        sys.stdout.flush()
        return status
    except FootnoteError as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say(N_("stopped; what was begun goes on at the next start."))
        return 130
    except BrokenPipeError:  # who reads it has enough, as in `footnote ask ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), STANDARD_OUTPUT)
        return READER_GONE


def parser() -> Parser:
    """Return the command line's parser."""
    top = Parser(prog="footnote", description="Chat with your own documents, every statement cited.")
    top.add_argument(
        "--data",
        type=Path,
        help="the data directory (default: FOOTNOTE_DATA, or ./data in a clone, or the platform's)",
    )
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for module in MODULES:
        module.add_commands(commands)
    return top
