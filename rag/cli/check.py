"""The `footnote check` command: check the statements of a text against the documents."""

import sys
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path

from rag.chat.check_export import CHECK_MEDIA_TYPES, SIGNS, CheckForm, as_json, export_check
from rag.chat.check_text import CheckedStatement, CheckedText, CheckProgress
from rag.chat.scope import scope_within
from rag.cli.common import (
    Commands,
    Options,
    ProgressBar,
    form_of,
    one_line,
    open_services,
    print_json,
    say,
    write_file,
)
from rag.cli.remote import check_events, running_server
from rag.errors import DocumentRefused
from rag.factory import make_text_checker
from rag.i18n import N_, translated
from rag.ingest.paths import path_text
from rag.settings import Settings
from storage.errors import DataDirectoryLocked

STANDARD_INPUT = "-"
FORMS = ", ".join(f".{form}" for form in CHECK_MEDIA_TYPES)
SHOWN = 300  # characters of a quote on the screen


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    check = commands.add_parser("check", help="check the statements of a text against your documents")
    check.add_argument("text", metavar="FILE|-", help="a file, or - for standard input")
    check.add_argument(
        "--in",
        "--collection",
        dest="collection",
        action="append",
        default=[],
        metavar="COLLECTION",
        help="search this one; may be repeated",
    )
    check.add_argument("--json", action="store_true", help="one JSON object")
    check.add_argument("--out", type=Path, metavar="FILE", help=f"write to a file that ends with {FORMS}")
    check.set_defaults(command=_check_command)


def _check_command(settings: Settings, options: Options) -> int:
    form = form_of(options.out, tuple(CHECK_MEDIA_TYPES))
    name, content = _read(options.text, settings.max_upload_mb << 20)
    with ProgressBar(unit="statement") as bar:
        checked = _followed(_events(settings, options, name, content), bar)
    for note in checked.notes:
        say(note)
    if form is not None:
        _write(options.out, form, checked, content)
    if options.json:
        print_json(as_json(checked))
    elif form is None:
        print("\n".join(line for one in checked.statements for line in _lines(one)))
    say(f"{checked.summary}.")
    return 0 if checked.verified == len(checked.statements) else 1


def _events(
    settings: Settings, options: Options, name: str, content: bytes
) -> Iterator[CheckProgress | CheckedText]:
    """Yield the events of the check: of this process, or of the server that runs."""
    try:
        with open_services(settings) as (services, library):
            library.recover()
            scope = scope_within(library.collections, options.collection)
            own = sha256(content).hexdigest()
            checker = make_text_checker(settings, library, services.llm, scope=scope, sha256=own)
            yield from checker.check(name, content)
    except DataDirectoryLocked as locked:
        yield from check_events(running_server(settings, locked), name, content, options.collection)


def _read(named: str, limit: int) -> tuple[str, bytes]:
    """Return the name and the bytes of a file, or of standard input."""
    path = Path(named)
    try:
        if named == STANDARD_INPUT:
            name, content = "standard input.md", sys.stdin.buffer.read(limit + 1)
        elif not path.is_file():
            raise DocumentRefused(N_("There is no file {path}. Check the path.", path=path_text(path)))
        else:
            with path.open("rb") as file:
                name, content = path_text(Path(path.name)), file.read(limit + 1)
    except (OSError, ValueError) as error:
        raise DocumentRefused(N_("{path} cannot be read. Check the path.", path=path_text(path))) from error
    if len(content) > limit:
        raise DocumentRefused(
            N_(
                "{name} is larger than {limit} MB, the limit. Check it in parts.",
                name=name,
                limit=limit >> 20,
            )
        )
    return name, content


def _followed(events: Iterable[CheckProgress | CheckedText], bar: ProgressBar) -> CheckedText:
    for event in events:
        if isinstance(event, CheckedText):
            return event
        if event.total:
            bar("Checking", event.done, event.total)
    raise AssertionError("a check ends with its text")


def _write(path: Path, form: CheckForm, checked: CheckedText, content: bytes) -> None:
    made = export_check(checked, form, content)
    write_file(path, made.content)
    if made.note:
        say(made.note)


def _lines(one: CheckedStatement) -> list[str]:
    lines = [f"{SIGNS[one.status]} {one_line(one.text, SHOWN)}"]
    if one.remark != "Verified":
        lines.append(f"    {one_line(one.remark, SHOWN)}")
    for source in one.shown:
        place, quote = one_line(translated(source.place), SHOWN), one_line(source.line, SHOWN)
        lines.append(f"    {place}: “{quote}”")
    return lines
