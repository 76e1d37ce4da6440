"""The process in which parsers run: `python -m rag.loaders.child TASK SECONDS BYTES`.

Reads its request from standard input as JSON; writes one line of JSON, then bytes.
Whatever else goes wrong is a traceback and an exit status.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.loaders.sandbox import OUT_OF_MEMORY, TOO_DEEP

_CALLS = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "subprocess.Popen", "os.system", "os.exec")


def confine(seconds: float, memory: int) -> None:
    """Cap time and address space; forbid writing to files, the network and other programs."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    signal.alarm(int(seconds) + 2)  # ends even an orphan whose parent was killed
    sys.addaudithook(_forbid)


def _forbid(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _CALLS:
        raise PermissionError(f"a parser may not do {event}{arguments!r}")


def load(path: Path, name: str) -> tuple[dict[str, Any], bytes]:
    """Read a file into facts and UTF-8 text."""
    from rag.loaders.kinds import read

    document = read(path, name)
    facts = {
        "pages": document.pages,
        "title": document.title,
        "media_type": document.media_type,
        "headings": document.headings,
    }
    return facts, document.text.encode("utf-8")


def page(path: Path, name: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
    """Find a passage on a PDF page and, where asked, render the page."""
    from rag.loaders.pdf_highlight import page as render

    del name
    return render(path, **arguments)


_TASKS: dict[str, Callable[..., tuple[dict[str, Any], bytes]]] = {"load": load, "page": page}


def main(task: str, seconds: str, memory: str) -> None:
    """Run one task and write its result to standard output."""
    confine(float(seconds), int(memory))
    arguments = json.load(sys.stdin.buffer)
    try:
        facts, output = _TASKS[task](Path(arguments.pop("path")), arguments.pop("name"), **arguments)
    except DocumentRefused as error:
        facts, output = {"refused": str(error)}, b""
    except MemoryError:
        os._exit(OUT_OF_MEMORY)
    except RecursionError:
        os._exit(TOO_DEEP)
    sys.stdout.buffer.write(json.dumps(facts).encode() + b"\n")
    sys.stdout.buffer.write(output)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
