"""The `footnote ask` command: answer one question over the library."""

import json
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict
from itertools import starmap
from pathlib import Path
from typing import Any, get_args

from rag.chat.answer import Condensed, Done, Sources, Token
from rag.chat.map_reduce import BatchRead, Coverage, ReadingPlan
from rag.chat.pipeline import Timings, validated_question
from rag.chat.scope import NarrowedTo, SearchedIn, scope_within
from rag.chat.steps import Planned
from rag.citations.reader import Checked
from rag.citations.support import Citation
from rag.cli.common import MAX_K, Commands, Options, count, open_services, print_json, say
from rag.cli.remote import ask_events, running_server
from rag.errors import QuestionRefused
from rag.factory import make_pipeline
from rag.i18n import N_
from rag.jobs import never
from rag.passage import Passage
from rag.retrieval.degradation import Degraded
from rag.settings import RetrieverName, Settings
from rag.text.language import language
from storage.errors import DataDirectoryLocked


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    ask = commands.add_parser("ask", help="ask a question")
    ask.add_argument("question")
    ask.add_argument("--history", type=Path, metavar="FILE", help='a JSON list of {"role", "content"}')
    ask.add_argument("--k", type=count, metavar="N", help=f"how many passages, 1 to {MAX_K}")
    ask.add_argument("--retriever", choices=get_args(RetrieverName))
    ask.add_argument(
        "--collection", action="append", default=[], metavar="NAME", help="search this one; may be repeated"
    )
    ask.add_argument(
        "--read-all",
        action="store_true",
        help="read all of the scope for a question about whole documents, however many requests it takes",
    )
    ask.add_argument("--json", action="store_true", help="one JSON object")
    ask.set_defaults(command=_ask_command)


def _said(event: object) -> str:
    """Return what is said beside the answer: the cost and progress of reading, and what failed."""
    match event:
        case Degraded():
            return event.sentence
        case ReadingPlan(begun=True):
            return f"reading {event}."
        case ReadingPlan():
            return f"not all was read; --read-all reads {event}."
        case BatchRead(done, total) if done:
            return f"read {done:,} of {total:,} batches."
    return ""


_NOTES = ("searched_in", "narrowed_to", "coverage", "reading_offer")


def _ask_command(settings: Settings, options: Options) -> int:
    question, history = validated_question(options.question), _history(options.history)
    result: dict[str, Any] = {"question": question, **dict.fromkeys(_NOTES), "steps": [], "left_out": []}
    with closing(_events(settings, options, question, history)) as events:
        for event in events:
            if told := _said(event):
                say(told)
            if isinstance(event, Sources) and result["steps"] and not options.json:
                print("\n".join(f"{n}. {step}" for n, step in enumerate(result["steps"], 1)) + "\n")
            if isinstance(event, Token) and not options.json:
                print(event.text, end="", flush=True)
            result.update(_result_of(event, result))
            if isinstance(event, Timings) and not options.json:
                break  # nothing more is shown
    if options.json:
        del result["cited"]
        keys = ("id", "document", "page", "heading", "text", "score", "found_by")
        passages = map(asdict, result["passages"])
        result["passages"] = [{key: passage[key] for key in keys} for passage in passages]
        print_json(result)
    else:
        coverage = f"{result['coverage']}\n\n" if result["coverage"] else ""
        print(f"\n\n{coverage}" + "\n".join(starmap(_source_line, enumerate(result["passages"], start=1))))
    return 0


def _events(
    settings: Settings, options: Options, question: str, history: Sequence[tuple[str, str]]
) -> Generator[object]:
    """Yield the events of the answer and of its check: of this process, or of the server that runs."""
    try:
        with open_services(settings) as (services, library):
            library.recover()
            pipeline = make_pipeline(
                settings,
                library,
                services.llm,
                retriever=options.retriever,
                k=options.k,
                scope=scope_within(library.collections, options.collection),
                read_all=options.read_all,
            )
            passages: Sequence[Passage] = ()
            done: Done | None = None
            asked = question
            for event in pipeline.ask(question, history, never):
                passages = event.passages if isinstance(event, Sources) else passages
                done = event if isinstance(event, Done) else done
                asked = event.question if isinstance(event, Condensed) else asked
                yield event
            if done is not None:
                yield from pipeline.check(done.text, done.citations, passages, question=asked)
    except DataDirectoryLocked as locked:
        yield from ask_events(running_server(settings, locked), question, history, options)


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
            N_('{path} is not a history: it must hold a JSON list of {{"role", "content"}}.', path=path)
        ) from error
    return history


def _result_of(event: object, so_far: dict[str, Any]) -> dict[str, Any]:
    match event:
        case Condensed() | Planned() | SearchedIn() | NarrowedTo() | Coverage():
            return _note_of(event, language(so_far["question"]))
        case ReadingPlan(passages, requests, tokens, begun=False):
            offer = {"passages": passages, "requests": requests, "tokens": tokens}
            return {"reading_offer": offer}
        case Degraded():
            return {"left_out": [*so_far["left_out"], event.sentence]}
        case Sources(passages):
            return {"passages": passages}
        case Done() | Checked():
            return _cited(event, so_far)
        case Timings(ms):
            return {"timings_ms": ms}
    return {}


def _note_of(
    event: Condensed | Planned | SearchedIn | NarrowedTo | Coverage, code: str
) -> dict[str, str | list[str]]:
    match event:
        case Condensed(question):
            return {"standalone_question": question}
        case SearchedIn(said):
            return {"searched_in": said}
        case NarrowedTo(said):
            return {"narrowed_to": said}
        case Planned(_, steps):
            return {"steps": [step.question for step in steps]}
        case Coverage():
            return {"coverage": event.said(code)}


def _cited(event: Done | Checked, so_far: dict[str, Any]) -> dict[str, Any]:
    citations = [_citation(citation, so_far["passages"]) for citation in event.citations]
    model = {"model": event.model} if isinstance(event, Done) else {}
    return {"answer": event.text, "citations": citations, "cited": event.citations, **model}


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
        "note": citation.note,
    }


def _source_line(number: int, passage: Passage) -> str:
    return f"[{number}] {passage.document}" + (f", page {passage.page}" if passage.page else "")
