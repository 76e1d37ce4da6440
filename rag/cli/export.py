"""The `footnote export` and `footnote verify` commands: write a chat to a file, and check its quotes."""

import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from rag.chat.export import FORMS, FormName, cases, export, to_jsonl
from rag.chat.verify import CheckedQuote, read_export, verify
from rag.cli.common import Commands, Options, one_line, print_result, say, write_file
from rag.errors import ExportRefused
from rag.grid.export import cell_cases
from rag.i18n import N_
from rag.settings import LOCAL_OWNER, Settings
from rag.sharing import open_ledger
from rag.text.normalize import clean
from storage.answers import Feedback
from storage.audit_log import AuditLog
from storage.conversations import Conversations
from storage.database import Database
from storage.errors import NotFound
from storage.events import Kind
from storage.grids import GridStore

ALL_MESSAGES = 1_000_000  # limit of messages read from a chat
SHOWN = 60  # characters of a quote on the screen


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    exporting = commands.add_parser("export", help="a chat, or the feedback on answers, into a file")
    exporting.add_argument("chat", nargs="?", metavar="CHAT", help="its id in the address, or its title")
    exporting.add_argument("--format", choices=get_args(FormName), default="md")
    exporting.add_argument(
        "--feedback",
        action="store_true",
        help="what readers said of citations, as cases for `eval citations`",
    )
    exporting.add_argument("--output", type=Path, metavar="FILE", help="write to a file, not to the screen")
    exporting.set_defaults(command=_export_command)

    checking = commands.add_parser("verify", help="check the quotes of a chat exported as JSON")
    checking.add_argument("export", type=Path, metavar="EXPORT.json")
    checking.add_argument("--files", type=Path, required=True, metavar="DIR", help="the original files")
    checking.add_argument("--json", action="store_true", help="one JSON object a line")
    checking.set_defaults(command=_verify_command)


def _export_command(settings: Settings, options: Options) -> int:
    if bool(options.chat) == options.feedback:
        raise ExportRefused(N_("Name the chat to export, or ask for --feedback: one of the two."))
    with closing(open_ledger(settings)) as database:
        text = _feedback(database) if options.feedback else _chat(database, options.chat, options.format)
        given: Kind = "feedback_exported" if options.feedback else "chat_exported"
        AuditLog(database, LOCAL_OWNER).record(given)
    if options.output is None:
        sys.stdout.write(text)
        return 0
    write_file(options.output, text.encode())
    return 0


def _verify_command(settings: Settings, options: Options) -> int:
    del settings
    quotes = read_export(options.export)
    stand = 0
    for checked in verify(quotes, options.files):
        stand += checked.stands
        print_result(_fields(checked), _line(checked), options)
    say(f"{stand} of {len(quotes)} quotes stand.")
    return 0 if stand == len(quotes) else 1


def _chat(database: Database, wanted: str, form: FormName) -> str:
    conversations = Conversations(database, LOCAL_OWNER)
    found = [chat for chat in conversations.list() if wanted in (chat.id, chat.title)]
    if not found:
        raise NotFound(
            N_(
                "There is no chat {wanted}. Give its title, or its id: what follows ?chat= in its address.",
                wanted=repr(wanted),
            )
        )
    if len(found) > 1:
        ids = ", ".join(chat.id for chat in found[:5])
        raise ExportRefused(
            N_(
                "{number} chats are called {wanted}. Give the id of one: {ids}.",
                number=len(found),
                wanted=repr(wanted),
                ids=ids,
            )
        )
    messages = conversations.messages(found[0].id, limit=ALL_MESSAGES)
    return FORMS[form](export(found[0], messages, datetime.now(UTC)))


def _feedback(database: Database) -> str:
    found = list(cases(Feedback(database, LOCAL_OWNER).answers()))
    found += cell_cases(GridStore(database, LOCAL_OWNER))
    if not found:
        raise ExportRefused(
            N_("There is no feedback to export yet. Rate answers, or mark a citation as a wrong source.")
        )
    return to_jsonl(found)


def _line(checked: CheckedQuote) -> str:
    quote = checked.quote
    reason = f" ({checked.reason})" if checked.reason else ""
    short = one_line(quote.text, SHOWN)
    return f"[{quote.number}] {checked.verdict:<15} {clean(quote.document)}: “{short}”{reason}"


def _fields(checked: CheckedQuote) -> dict[str, object]:
    quote = checked.quote
    return {
        "number": quote.number,
        "verdict": checked.verdict,
        "stands": checked.stands,
        "document": quote.document,
        "sha256": quote.sha256,
        "reason": checked.reason,
    }
