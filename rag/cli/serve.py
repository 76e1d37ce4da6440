"""The `footnote serve`, `demo` and `mcp` commands.

The page is served by Streamlit in place of this process. `mcp` is a server on standard input and output, for
an agent on this computer.
"""

import os
import re
import sys
import threading
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.chat.answer import Done, Sources
from rag.citations.support import Citation
from rag.cli.common import PORT, Commands, Options, fetch_model, open_services, run_ingest, say
from rag.errors import ModelUnavailable, SettingsError
from rag.factory import make_pipeline
from rag.i18n import N_, language
from rag.jobs import never
from rag.local_server import LocalServer, find_server
from rag.models.packaged.catalog import find, is_ready
from rag.passage import Passage
from rag.sample import sample_in
from rag.services import Services
from rag.settings import Settings
from storage.lock import DataDirectoryLock

if TYPE_CHECKING:
    from api.mcp import Interface


REACH_SECONDS = 5.0
MCP = """Let an agent on this computer, such as Claude Desktop or Cursor, search, ask, read the documents and
check its statements. Where the app runs, its server is asked; otherwise the data directory is opened."""


def add_mcp_command(commands: Commands) -> None:
    """Add the command to the command line."""
    serving = commands.add_parser("mcp", help="serve an agent over MCP, on stdin and stdout", description=MCP)
    serving.set_defaults(command=_mcp_command)


def _mcp_command(settings: Settings, options: Options) -> int:
    from api.mcp import DocumentTools

    with _interface(settings) as interface:
        DocumentTools(lambda _: interface).server().run("stdio")
    return 0


@contextmanager
def _interface(settings: Settings) -> "Iterator[Interface]":
    """Return the running server's interface, or one in this process.

    Raises DataDirectoryLocked where another process than a server has the data directory.
    """
    import httpx2

    from api.application import create_api
    from api.mcp import Interface

    server = find_server(settings.data)
    if server is not None and _status(server, "/api/documents?limit=1") == 200:
        page = server.url if _status(server, "/") == 200 else None
        yield Interface(server.url, f"Bearer {server.token}", page=page)
        return
    with closing(Services(settings)) as services:
        threading.Thread(target=services.warm_up, name="warm-up", daemon=True).start()
        say("the data directory is open for this agent; `footnote serve` can use it after it ends.")
        transport = httpx2.ASGITransport(create_api(lambda: services), client=("127.0.0.1", 0))
        yield Interface("http://127.0.0.1", f"Bearer {services.local_token}", transport=transport)


def _status(server: LocalServer, path: str) -> int:
    """Return the status of an answer of the server; 0 without one."""
    import httpx2

    try:
        headers = {"Authorization": f"Bearer {server.token}"}
        return httpx2.get(f"{server.url}{path}", headers=headers, timeout=REACH_SECONDS).status_code
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return 0


CONFIG = Path(".streamlit/config.toml")
SERVE = """Serve the page on this computer, and the HTTP interface for requests with a key (`footnote keys`).
Options of Streamlit are read from .streamlit/config.toml, here or in the home folder, and from the
environment, such as STREAMLIT_SERVER_ALLOWED_HOSTS."""
DEMO = """Show Footnote with a sample document: a question and its cited answer here, then the page. The demo
has a data directory of its own, beside the usual one."""


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    add_mcp_command(commands)
    serving = commands.add_parser("serve", help="serve the page", description=SERVE)
    demo = commands.add_parser("demo", help="show a sample document with a cited answer", description=DEMO)
    demo.add_argument("--no-page", action="store_true", help="answer here, and serve no page")
    serving.add_argument("--no-ui", action="store_true", help="the HTTP interface without the page")
    serving.add_argument(
        "--workers",
        type=int,
        choices=range(65),
        metavar="N",
        help="documents read at once; 0: see `work`",
    )
    for command in (serving, demo):
        command.add_argument(
            "--host", help="the address to listen at; default: 127.0.0.1, this computer only"
        )
        command.add_argument("--port", type=int, help=f"default: {PORT}; with --no-ui 0 takes a free one")
        command.add_argument("--open", action="store_true", help="open the page in a browser")
    serving.set_defaults(command=_serve_command)
    demo.set_defaults(command=_demo_command)


def _serve_command(settings: Settings, options: Options) -> int:
    _refuse_second(settings.data)
    if options.workers is not None:
        settings = settings.model_copy(update={"workers": options.workers})
    _get_model_ready(settings)
    if options.no_ui:
        return _serve_without_page(settings, options)
    return _serve_page(settings, options)


def _serve_without_page(settings: Settings, options: Options) -> int:
    from api.application import serve  # a web server, which no other command needs

    port = PORT if options.port is None else options.port
    with closing(Services(settings)) as services:
        serve(services, options.host or "127.0.0.1", port, say=say)
    return 0


def _serve_page(settings: Settings, options: Options) -> int:
    command = [sys.executable, "-m", "streamlit", "run", str(_app()), *_flags(options)]
    environment = {**os.environ, "FOOTNOTE_DATA": str(settings.data.absolute())}
    if settings.workers is not None:
        environment["FOOTNOTE_WORKERS"] = str(settings.workers)
    sys.stdout.flush()
    os.execve(sys.executable, command, environment)  # noqa: S606 - our own interpreter


def _refuse_second(data: Path) -> None:
    """Raise DataDirectoryLocked before anything is loaded where another process has the data directory."""
    lock = DataDirectoryLock(data)
    lock.acquire()
    lock.release()


def _get_model_ready(settings: Settings) -> None:
    """Fetch the embedding model before the first start; without it the page serves, and says so."""
    name = settings.embedding_model
    if find(name) is None or is_ready(name, settings.model_cache):
        return
    say("getting the embedding model ready, once")
    try:
        fetch_model(name, settings.model_cache)
    except ModelUnavailable as error:
        say(f"{error} Until then only the words of documents are searched.")


def _app() -> Path:
    """Return the application's file in the package of the page."""
    found = find_spec("ui.start.app")
    if found is None or found.origin is None:
        raise SettingsError(N_("The page is not installed. Install Footnote again."))
    return Path(found.origin)


def _flags(options: Options) -> list[str]:
    given = {
        "server.port": options.port,
        "server.address": options.host,
        "server.headless": False if options.open else None,
    }
    chosen = {key: value for key, value in given.items() if value is not None}
    return streamlit_flags({**_operators_options(), **chosen})


def _operators_options() -> dict[str, Any]:
    """Return the options in the operator's files that Streamlit would read from the application's instead.

    The environment comes before both.
    """
    ours, theirs = _options(_app().parent / CONFIG), {**_options(Path.home() / CONFIG), **_options(CONFIG)}
    return {
        key: value
        for key, value in theirs.items()
        if key in ours and value != ours[key] and environment_name(key) not in os.environ
    }


def _options(path: Path) -> dict[str, Any]:
    try:
        return dict(flattened(tomllib.loads(path.read_text(encoding="utf-8"))))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(
            N_("{path} cannot be read: {reason}. Correct or remove it.", path=path, reason=error)
        ) from error


def flattened(table: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested tables with their dotted keys.

    >>> dict(flattened({"theme": {"light": {"textColor": "black"}}}))
    {'theme.light.textColor': 'black'}
    """
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{within}{name}.")
        else:
            yield within + name, value


def environment_name(key: str) -> str:
    """Return the environment variable of a Streamlit option.

    >>> environment_name("server.allowedHosts")
    'STREAMLIT_SERVER_ALLOWED_HOSTS'
    """
    return "STREAMLIT_" + re.sub(r"(?=[A-Z])", "_", key).replace(".", "_").upper()


def streamlit_flags(values: Mapping[str, Any]) -> list[str]:
    """Return options as flags of `streamlit run`; each item of a list is a flag of its own.

    >>> streamlit_flags({"server.headless": True, "server.allowedHosts": ["a", "b"]})
    ['--server.headless=true', '--server.allowedHosts=a', '--server.allowedHosts=b']
    """
    return [f"--{key}={item}" for key, value in values.items() for item in _items(value)]


def _items(value: Any) -> Iterable[str]:
    if isinstance(value, list):
        return map(str, value)
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _demo_command(settings: Settings, options: Options) -> int:
    own = settings.model_copy(update={"data": settings.data.with_name(f"{settings.data.name}-demo")})
    _refuse_second(own.data)
    _get_model_ready(own)
    _answer_sample(own)
    return 0 if options.no_page else _serve_page(own, options)


def _answer_sample(settings: Settings) -> None:
    """Read the sample document and print the answer to its first question, with what it cites."""
    sample = sample_in(language())
    with open_services(settings) as (services, library):
        library.recover()
        record, outcome = library.add(sample.name, sample.content)
        if outcome != "unchanged":
            run_ingest(library, record.id, sample.name, quiet=False)
        print(f"{sample.question}\n", flush=True)
        for event in make_pipeline(settings, library, services.llm).ask(sample.question, [], never):
            match event:
                case Sources(passages):
                    found = passages
                case Done(text, citations):
                    print(f"{text}\n")
                    _print_quotes(citations, found)


def _print_quotes(citations: Sequence[Citation], found: Sequence[Passage]) -> None:
    for citation in citations:
        if citation.marker:
            document = found[citation.marker - 1].document
            print(f"[{citation.marker}] {citation.status}: “{citation.quote}” ({document})", flush=True)
