"""The `footnote serve --no-ui` command: the HTTP interface without the page."""

from contextlib import closing

from rag.cli.common import Commands, Options, say
from rag.services import Services
from rag.settings import Settings

SERVE = """Answer programs over HTTP, without the page: OpenAI's form under /v1, Footnote's own under /api.
Each request needs a key; see `footnote keys`."""


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    serve = commands.add_parser("serve", help="answer programs over HTTP", description=SERVE)
    serve.add_argument("--no-ui", action="store_true", required=True, help="without the page")
    serve.add_argument("--host", default="127.0.0.1", help="the address to listen at (default: %(default)s)")
    serve.add_argument("--port", type=int, default=8501, help="default: %(default)s; 0 takes a free one")
    serve.set_defaults(command=_serve_command)


def _serve_command(settings: Settings, options: Options) -> int:
    from api.headless import serve  # a web server, which no other command needs

    with closing(Services(settings)) as services:
        serve(services, options.host, options.port, say=say)
    return 0
