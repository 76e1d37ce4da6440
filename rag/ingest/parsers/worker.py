"""Child process of the sandbox: `python -m rag.ingest.parsers.worker TASK SECONDS BYTES [PROGRAM ...]`.

It reads its request as JSON, and writes one line of JSON, then bytes.
"""

import ctypes
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.ingest.parsers.sandbox import BECOME, CONVERT, OUT_OF_MEMORY, TOO_DEEP, close_in

MAX_CONVERTED = 300 << 20  # bytes of a file that a converter writes
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # flags of `unshare`
_EVENTS = """
socket.__new__ socket.connect socket.bind socket.sendto socket.sendmsg socket.getaddrinfo socket.gethostbyname
subprocess.Popen os.system os.exec os.posix_spawn os.spawn os.fork os.forkpty os.kill os.killpg
os.remove os.rename os.rmdir os.mkdir os.link os.symlink os.truncate os.chmod os.chown os.utime os.setxattr
os.removexattr resource.prlimit
"""
_CALLS = frozenset(_EVENTS.split())
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
"""Audit events that a parser never causes; the rest of the guard where the kernel has no walls."""


def confine(seconds: float, memory: int) -> None:
    """Cap time and address space; forbid writing to files, the network and other programs."""
    limit(seconds, memory)
    sys.addaudithook(_forbid)


def limit(seconds: float, memory: int, written: int = 0) -> None:
    """Set the limits of the kernel: time, address space, and bytes written to a file."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (written, written))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
    signal.alarm(int(seconds) + 2)  # ends even an orphan whose parent was killed


def leave_network() -> None:
    """Give this process a network of its own with nothing in it, where the kernel lets it (Linux)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NETWORK)


def _forbid(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _CALLS or (event == "open" and _writes(*arguments)):
        raise PermissionError(f"a parser may not do {event}{arguments!r}")


def _writes(file: object, _: object, flags: int) -> bool:
    """Return True where a file would be made, emptied or written; what is open already may be."""
    return bool(flags & _WRITING) and not isinstance(file, int)


def load(path: Path, name: str) -> tuple[dict[str, Any], bytes]:
    """Read a file into facts and UTF-8 text."""
    from rag.ingest.parsers.detect import parse

    document = parse(path, name)
    facts = asdict(replace(document, attached=()))
    texts = [facts.pop("text").encode("utf-8"), *(content for _, content in document.attached)]
    facts["text"] = len(texts[0])
    facts["attached"] = [(name, len(content)) for name, content in document.attached]
    return facts, b"".join(texts)


def page(path: Path, _name: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
    """Render a PDF page with a passage marked."""
    from rag.ingest.parsers.pdf_highlight import locate

    return locate(path, **arguments)


def picture(path: Path, _name: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
    """Render a page for text recognition."""
    from rag.ingest.parsers.ocr import render_page

    return {}, render_page(path, **arguments)


def figure(path: Path, _name: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
    """Read the picture of a figure in an Office file."""
    from rag.ingest.parsers.figures import extract

    return {}, extract(path, **arguments)


def cutout(path: Path, _name: str, **arguments: Any) -> tuple[dict[str, Any], bytes]:
    """Cut a figure out of a PDF page."""
    from rag.ingest.parsers.figures import cut_out

    return {}, cut_out(path, **arguments)


def comment(path: Path, _name: str, annotations: list[tuple[str, str]]) -> tuple[dict[str, Any], bytes]:
    """Add comments to a Word file."""
    from rag.ingest.parsers.docx_comments import add_comments

    return {}, add_comments(path, annotations)


def web(path: Path, name: str, encoding: str) -> tuple[dict[str, Any], bytes]:
    """Detect the kind of a web response, and read the main content of a page."""
    from rag.ingest.parsers.detect import detect_kind
    from rag.ingest.parsers.html import read_web_page

    if (kind := detect_kind(path, name)) != "html":
        return {"kind": kind}, b""
    text, title = read_web_page(path.read_bytes(), encoding)
    return {"kind": kind, "title": title}, text.encode("utf-8")


TASKS: dict[str, Callable[..., tuple[dict[str, Any], bytes]]] = {
    "load": load,
    "page": page,
    "picture": picture,
    "figure": figure,
    "cutout": cutout,
    "comment": comment,
    "web": web,
}


def main(task: str, seconds: str, memory: str, *command: str) -> None:
    """Run one task and write its result to standard output, or become another program."""
    if task == BECOME:
        limit(float(seconds), int(memory))
        os.execv(command[0], command)  # noqa: S606 - a program that the server found, no shell
    if task == CONVERT:
        leave_network()
        limit(float(seconds), int(memory), MAX_CONVERTED)
        os.execv(command[0], command)  # noqa: S606 - a program that the server found, no shell
    confine(float(seconds), int(memory))
    arguments = json.load(sys.stdin.buffer)
    file = Path(arguments.pop("path"))
    close_in(file)
    try:
        facts, output = TASKS[task](file, arguments.pop("name"), **arguments)
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
