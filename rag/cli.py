"""The command line: `footnote ingest | ask | model | reindex | backup | restore`.

The same code as the app, without a browser. Bad input is one sentence on stderr and exit 2.
"""

import argparse
import json
import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NoReturn, get_args

from tqdm import tqdm

from rag.answer import Condensed, Done, Sources, Token
from rag.ask import Timings, checked
from rag.assembly import LOCAL_OWNER, make_asker, make_embedder, make_library, make_llm
from rag.citations import Citation
from rag.config import RetrieverName, Settings, load
from rag.embedders.catalog import fetch
from rag.errors import EmbeddingError, FootnoteError, QuestionRefused
from rag.jobs import never
from rag.library import Library
from rag.passages import Passage
from rag.walk import files_of, shown
from storage.database import Database

Options = argparse.Namespace
MAX_K = 50  # as in the settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 when a file was refused, 2 for bad input."""
    options = parser().parse_args(arguments)
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    try:
        return int(options.command(load({"data": options.data}), options))
    except FootnoteError as error:
        print(f"footnote: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("footnote: stopped; what was begun goes on at the next start.", file=sys.stderr)
        return 130


class Parser(argparse.ArgumentParser):
    """Argparse's, with one sentence for a wrong call."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and end with 2."""
        self.exit(2, f"footnote: {message}. See `{self.prog} --help`.\n")


def parser() -> argparse.ArgumentParser:
    """Return the command line's parser."""
    top = Parser(prog="footnote", description="Chat with your own documents, every statement cited.")
    top.add_argument("--data", type=Path, help="the data directory (default: FOOTNOTE_DATA, or ./data)")
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    ingest = commands.add_parser("ingest", help="add files and folders")
    ingest.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    ingest.add_argument("--json", action="store_true", help="one JSON line per file")
    ingest.set_defaults(command=ingest_command)

    ask = commands.add_parser("ask", help="ask a question")
    ask.add_argument("question")
    ask.add_argument("--history", type=Path, metavar="FILE", help='a JSON list of {"role", "content"}')
    ask.add_argument("--k", type=_count, metavar="N", help=f"how many passages, 1 to {MAX_K}")
    ask.add_argument("--retriever", choices=get_args(RetrieverName))
    ask.add_argument("--json", action="store_true", help="one JSON object")
    ask.set_defaults(command=ask_command)

    model = commands.add_parser("model", help="embedding models").add_subparsers(required=True)
    fetching = model.add_parser("fetch", help="get an embedding model ready, before it is first needed")
    fetching.add_argument("name", nargs="?", help="default: the one in the settings")
    fetching.set_defaults(command=fetch_command)

    reindex = commands.add_parser("reindex", help="embed every document anew, after a change of model")
    reindex.set_defaults(command=reindex_command)

    backup = commands.add_parser("backup", help="copy the ledger of documents and chats into a file")
    backup.add_argument("file", type=Path, metavar="FILE")
    backup.set_defaults(command=backup_command)

    restoring = commands.add_parser("restore", help="put a backup back")
    restoring.add_argument("file", type=Path, metavar="FILE")
    restoring.set_defaults(command=restore_command)
    return top


def ingest_command(settings: Settings, options: Options) -> int:
    """Add every file, one result line each; 1 when any was refused."""
    files = list(files_of(options.paths))
    refused = 0
    with _library(settings) as library:
        library.recover()
        for path, name in files:
            result = _ingest_one(library, path, name, quiet=options.json)
            refused += result["status"] == "refused"
            print(
                json.dumps(result, ensure_ascii=False) if options.json else _ingest_line(result), flush=True
            )
    return 1 if refused else 0


def ask_command(settings: Settings, options: Options) -> int:
    """Answer one question over the library."""
    question, history = checked(options.question), _history(options.history)
    result: dict[str, Any] = {"question": question}
    with _library(settings) as library:
        library.recover()
        asker = make_asker(
            settings, library, make_llm(settings), retriever=options.retriever, k=options.k, on_failure=_warn
        )
        for event in asker.ask(question, history, never):
            if isinstance(event, Token) and not options.json:
                print(event.text, end="", flush=True)
            result.update(_result_of(event, result))
    if options.json:
        result["passages"] = [_passage(passage) for passage in result["passages"]]
        print(json.dumps(result, ensure_ascii=False))
    else:
        print("\n\n" + "\n".join(_source_lines(result["passages"])))
    return 0


def fetch_command(settings: Settings, options: Options) -> int:
    """Get an embedding model's files and try them."""
    name = options.name or settings.embedding_model
    fetch(name, settings.model_cache, progress=lambda message: print(message, file=sys.stderr))
    embedder = make_embedder(settings.model_copy(update={"embedding_model": name}))
    print(f"{embedder.name} is ready: {embedder.dimension} dimensions.")
    return 0


def reindex_command(settings: Settings, options: Options) -> int:
    """Embed every document anew with the model of the settings."""
    with _library(settings) as library:
        library.recover()
        for document_id in library.rebuild_vectors():
            name = library.documents.get(document_id).name
            _run_ingest(library, document_id, name, quiet=False)
            print(f"ready       {name}")
    return 0


def backup_command(settings: Settings, options: Options) -> int:
    """Copy the ledger while nothing else writes."""
    database = Database.open(settings.data)
    try:
        database.backup(options.file)
    finally:
        database.close()
    print(f"The ledger is saved in {options.file}.")
    return 0


def restore_command(settings: Settings, options: Options) -> int:
    """Put a backup in the ledger's place, keeping what was there beside it."""
    kept = Database.restore(settings.data, options.file)
    print(f"Restored from {options.file}." + (f" What was there before is kept as {kept}." if kept else ""))
    return 0


@contextmanager
def _library(settings: Settings) -> Iterator[Library]:
    database = Database.open(settings.data, url=settings.database_url)
    library = make_library(settings, database, LOCAL_OWNER)
    try:
        yield library
    finally:
        library.close()
        database.close()


def _ingest_one(library: Library, path: Path, name: str, *, quiet: bool) -> dict[str, Any]:
    result = {"path": shown(path), "status": "refused", "document_id": None, "pages": None, "chunks": 0}
    try:
        record, outcome = library.add(name, path.read_bytes())
    except OSError as error:
        return {**result, "reason": f"{shown(path)} cannot be read: {error.strerror}."}
    reason = None
    try:
        _run_ingest(library, record.id, name, quiet=quiet)
    except EmbeddingError as error:
        reason = str(error)
    record = library.documents.get(record.id)
    if reason is None and record.state != "refused":
        result["status"] = {"new": "ready", "replaces": "replaced", "unchanged": "unchanged"}[outcome]
    found = {"document_id": record.id, "pages": record.pages, "chunks": record.chunks}
    return {**result, **found, "reason": reason or record.reason}


def _run_ingest(library: Library, document_id: str, name: str, *, quiet: bool) -> None:
    with tqdm(desc=name[:40], unit="chunk", leave=False, disable=quiet or not sys.stderr.isatty()) as bar:
        for progress in library.index(document_id):
            bar.total = progress.total
            bar.update(progress.done - bar.n)


def _ingest_line(result: dict[str, Any]) -> str:
    pages = f"{result['pages']} pages, " if result["pages"] else ""
    detail = result["reason"] or f"{pages}{result['chunks']} chunks"
    return f"{result['status']:<11} {result['path']}  ({detail})"


def _history(path: Path | None) -> list[tuple[str, str]]:
    if path is None:
        return []
    try:
        turns = json.loads(path.read_text(encoding="utf-8"))
        history = [(turn["role"], turn["content"]) for turn in turns]
        if not all(isinstance(part, str) for turn in history for part in turn):
            raise TypeError("role and content must be text")
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise QuestionRefused(
            f'{path} is not a history: it must hold a JSON list of {{"role", "content"}}.'
        ) from error
    return history


def _result_of(event: object, so_far: dict[str, Any]) -> dict[str, Any]:
    """Return what an event adds to the command's result."""
    match event:
        case Condensed(question):
            return {"standalone_question": question}
        case Sources(passages):
            return {"passages": passages}
        case Done():
            citations = [_citation(citation, so_far["passages"]) for citation in event.citations]
            return {"answer": event.text, "citations": citations, "model": event.model}
        case Timings(ms):
            return {"timings_ms": ms}
    return {}


def _citation(citation: Citation, passages: Sequence[Passage]) -> dict[str, Any]:
    passage = passages[citation.marker - 1] if citation.marker else None  # 0 rests on no passage
    return {
        "marker": citation.marker,
        "document": passage and passage.document,
        "page": passage and passage.page,
        "start": citation.quote_start,
        "end": citation.quote_end,
        "quote": citation.quote,
        "status": citation.status,
    }


def _passage(passage: Passage) -> dict[str, Any]:
    keys = ("id", "document", "page", "heading", "text", "score", "found_by")
    return {key: value for key, value in asdict(passage).items() if key in keys}


def _source_lines(passages: Sequence[Passage]) -> Iterator[str]:
    for number, passage in enumerate(passages, start=1):
        page = f", page {passage.page}" if passage.page else ""
        yield f"[{number}] {passage.document}{page}"


def _warn(what: str, error: Exception) -> None:
    print(f"footnote: {what} left out: {error}", file=sys.stderr)


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= MAX_K:
        raise argparse.ArgumentTypeError(f"must be 1 to {MAX_K}, not {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
