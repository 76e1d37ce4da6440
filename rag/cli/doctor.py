"""The `footnote doctor` command: checks of this computer and the data directory, each with its cure."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rag.cli.common import PORT, Commands, Options, print_json
from rag.errors import FootnoteError
from rag.factory import make_originals, make_store
from rag.ingest.parsers.old_office import MACOS_PATH
from rag.models.embeddings import OPENAI
from rag.models.hub import require_sentence_transformers
from rag.models.llm import server_answers
from rag.models.local.catalog import ModelChoice
from rag.models.local.server import free_memory
from rag.models.packaged.catalog import find, is_ready
from rag.settings import Settings, redacted
from rag.sharing import sharing_of
from storage import postgres, sqlite
from storage.database import try_sharing
from storage.errors import DataDirectoryLocked
from storage.lock import DataDirectoryLock

PYTHONS = ((3, 11), (3, 14))
MIN_FREE = 200_000_000  # bytes: below, nothing can be added
GOOD_FREE = 2_000_000_000  # bytes: the model, its package while it is unpacked, and some documents
GOOD_MEMORY = 1_000_000_000  # bytes: the app with its embedding model
LANGUAGES = ("eng", "kor", "jpn")
LIST_SECONDS = 10
DOCTOR = """Check Python, disk, memory, the port, models, Tesseract, LibreOffice, database, originals, vector
store, the lock of the data directory, and whether several processes may share the ledger. Nothing is changed.
The exit status is 1 where Footnote cannot work."""
Level = Literal["ok", "warning", "failed"]
MARKS: dict[Level, str] = {"ok": "ok", "warning": "!", "failed": "FAILED"}


def add_commands(commands: Commands) -> None:
    """Add the command to the command line."""
    doctor = commands.add_parser(
        "doctor", help="check this computer, and say what to mend", description=DOCTOR
    )
    doctor.add_argument("--port", type=int, default=PORT, help=f"that the page is to have; default: {PORT}")
    doctor.add_argument("--json", action="store_true", help="one JSON line per check")
    doctor.set_defaults(command=_doctor_command)


@dataclass(frozen=True)
class Finding:
    """Result of one check: what was found, and the cure where something is to be done."""

    level: Level
    found: str
    cure: str = ""


def _doctor_command(settings: Settings, options: Options) -> int:
    failed = False
    for name, check in checks(settings, options.port).items():
        finding = run_check(check)
        failed |= finding.level == "failed"
        if options.json:
            print_json({"check": name, **asdict(finding)})
        else:
            cure = f" {finding.cure}" if finding.cure else ""
            print(f"{MARKS[finding.level]:7} {name}: {finding.found}{cure}", flush=True)
    return int(failed)


def checks(settings: Settings, port: int) -> dict[str, Callable[[], Finding]]:
    """Return the checks by name."""
    return {
        "Python": check_python,
        "disk": lambda: check_disk(settings.data),
        "memory": check_memory,
        "port": lambda: check_port(port),
        "embedding model": lambda: check_embedding_model(settings),
        "language model": lambda: check_language_model(settings),
        "Tesseract": check_tesseract,
        "LibreOffice": check_libreoffice,
        "data directory": lambda: check_lock(settings.data),
        "database": lambda: check_database(settings),
        "originals": lambda: check_originals(settings),
        "vector store": lambda: check_vector_store(settings),
        "several processes": lambda: check_sharing(settings),
    }


def run_check(check: Callable[[], Finding]) -> Finding:
    """Run a check; an error of ours says its own cure."""
    try:
        return check()
    except FootnoteError as error:
        return Finding("failed", str(error))


def check_python() -> Finding:
    """Check the version of Python."""
    first, last = (".".join(map(str, version)) for version in PYTHONS)
    found = f"{sys.version_info.major}.{sys.version_info.minor} at {sys.executable}."
    if PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]:
        return Finding("ok", found)
    return Finding(
        "warning", found, f"Footnote is tested with Python {first} to {last}: install one of them."
    )


def check_disk(directory: Path) -> Finding:
    """Check the free space on the disk of a directory, which need not exist yet."""
    free = shutil.disk_usage(_existing(directory)).free
    found = f"{free / 1e9:,.1f} GB free for {directory.absolute()}."
    cure = "Make room there, or choose another data directory (FOOTNOTE_DATA)."
    if free < MIN_FREE:
        return Finding("failed", found, cure)
    return Finding("ok", found) if free >= GOOD_FREE else Finding("warning", found, cure)


def check_memory() -> Finding:
    """Check the free memory, where the system tells it."""
    free = free_memory()
    if free is None:
        return Finding("ok", "This system does not say how much is free. One gigabyte is enough.")
    found = f"{free / 1e9:,.1f} GB free."
    if free >= GOOD_MEMORY:
        return Finding("ok", found)
    return Finding(
        "warning", found, "Close other programs: Footnote needs about 1 GB, a local model 1 to 2 more."
    )


def check_port(port: int) -> Finding:
    """Check that the page can have a port of this computer."""
    try:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except OSError as error:
        cure = "If that is Footnote, all is well; else start with `footnote serve --port 8502`."
        return Finding("warning", f"{port} cannot be had: {error.strerror}.", cure)
    return Finding("ok", f"{port} is free.")


def check_embedding_model(settings: Settings) -> Finding:
    """Check that the embedding model is on this computer, or that its server answers."""
    name = settings.embedding_model
    if name.startswith(OPENAI):
        return _server(settings.embedding_base_url or "https://api.openai.com", "FOOTNOTE_EMBEDDING_BASE_URL")
    if find(name) is None:
        require_sentence_transformers(name)
        return Finding("ok", f"{name}, opened by sentence-transformers.")
    if is_ready(name, settings.model_cache):
        return Finding("ok", f"{name} is in {settings.model_cache}.")
    return Finding(
        "warning", f"{name} is not here yet.", "The first start fetches it; so does `footnote model fetch`."
    )


def check_language_model(settings: Settings) -> Finding:
    """Check the language model, if one is set: that its server answers, or its file is there."""
    if settings.connected:
        return _server(settings.llm_base_url, "FOOTNOTE_LLM_BASE_URL")
    if not settings.local_model:
        cure = "Connect one on the Settings page, or run `footnote model install`, for written answers."
        return Finding("ok", "None: answers are quotes.", cure)
    choice = ModelChoice.of(settings.local_model, settings.model_cache)
    if choice.path.is_file():
        return Finding("ok", f"{choice.name} is at {choice.path}.")
    return Finding(
        "failed", f"{choice.name} is not here.", f"Run `footnote model install {settings.local_model}`."
    )


def _server(url: str, setting: str) -> Finding:
    if server_answers(url):
        return Finding("ok", f"{url} answers.")
    return Finding("failed", f"{url} does not answer.", f"Start that server, or correct {setting}.")


def check_tesseract() -> Finding:
    """Check that Tesseract is installed, with English, Korean and Japanese."""
    cure = "For scans install it: apt-get install tesseract-ocr tesseract-ocr-kor tesseract-ocr-jpn."
    command = shutil.which("tesseract")
    if command is None:
        return Finding("warning", "Not installed, so that scans and images are refused.", cure)
    try:
        ran = subprocess.run(  # noqa: S603 - the program that reads scans
            [command, "--list-langs"], capture_output=True, text=True, timeout=LIST_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Finding("warning", f"{command} does not work: {error}.", cure)
    missing = [language for language in LANGUAGES if language not in ran.stdout.split()]
    if missing:
        return Finding("warning", f"{command} does not know {', '.join(missing)}.", cure)
    return Finding("ok", f"{command}, with {', '.join(LANGUAGES)}.")


def check_libreoffice() -> Finding:
    """Check that LibreOffice is installed."""
    command = shutil.which("soffice") or shutil.which(MACOS_PATH)
    if command is not None:
        return Finding("ok", f"{command}.")
    cure = "For DOC, XLS and PPT install it: apt-get install libreoffice-writer-nogui libreoffice-calc-nogui."
    return Finding("warning", "Not installed, so that old Office files are refused.", cure)


def check_lock(directory: Path) -> Finding:
    """Check that the data directory can be used, or is used by a running Footnote."""
    if not directory.exists():
        parent = _existing(directory)
        if parent.is_dir() and os.access(parent, os.W_OK):
            return Finding("ok", f"{directory.absolute()} is made at the first start.")
        cure = "Give yourself the right to, or choose another one (FOOTNOTE_DATA)."
        return Finding("failed", f"{directory.absolute()} cannot be made in {parent}.", cure)
    lock = DataDirectoryLock(directory)
    try:
        lock.acquire()
    except DataDirectoryLocked as error:
        return Finding("ok", f"In use. {error}")
    lock.release()
    return Finding("ok", f"{directory.absolute()} is free.")


def check_database(settings: Settings) -> Finding:
    """Check the ledger's server, or its file without writing to it, also while the app runs."""
    if settings.database_url:
        postgres.reach(settings.database_url)
        return Finding("ok", "Its server answers.")
    return _sqlite_file(
        settings.data / sqlite.LEDGER,
        "Restore a backup with `footnote restore FILE`; older ones are in its folder backups.",
    )


def check_originals(settings: Settings) -> Finding:
    """Check that the original files can be written, read and deleted where they are kept."""
    if not settings.objects:
        return Finding("ok", "In the data directory.")
    make_originals(settings, settings.data).check()
    return Finding("ok", f"{redacted(settings.objects)} can be written, read and deleted.")


def check_vector_store(settings: Settings) -> Finding:
    """Check the vector store of the settings, and Chroma's files without writing to them."""
    make_store(settings)
    for path in sorted(settings.data.rglob("chroma.sqlite3")):
        finding = _sqlite_file(path, "Stop Footnote and run `footnote reindex`, which makes the index anew.")
        if finding.level != "ok":
            return finding
    return Finding("ok", f"{settings.vector_store} can be used.")


def check_sharing(settings: Settings) -> Finding:
    """Check whether several processes may use the ledger, and that those which do admit one like this."""
    if not settings.database_url:
        return Finding("ok", "One process has the ledger, which is in the data directory.")
    sharing = sharing_of(settings)
    if sharing.together:
        try_sharing(settings.database_url, sharing)
        return Finding("ok", "May use this ledger: originals and indexes are shared.")
    cure = "For several processes change that: docs/operator/scaling.md."
    return Finding("warning" if settings.objects else "ok", f"One has the ledger. {sharing.missing}", cure)


def _sqlite_file(path: Path, cure: str) -> Finding:
    try:
        stored = sqlite.inspect(path)
    except (sqlite3.Error, OSError) as error:
        return Finding("failed", f"{path} is damaged: {error}.", cure)
    return Finding("ok", f"{path} is whole." if stored else "Nothing is stored yet.")


def _existing(path: Path) -> Path:
    """Return the path, or its nearest parent that exists."""
    path = path.absolute()
    return next(one for one in (path, *path.parents) if one.exists())
