"""`footnote eval retrieval`: how well each retriever finds what a question set says it should."""

import argparse
import json
import sys
import time
from argparse import ArgumentTypeError
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rag.chat.extractive import decide
from rag.chat.pipeline import RagPipeline
from rag.chat.rewrite import make_standalone
from rag.citations.checker import SCALES, Checker
from rag.citations.judges import Judge
from rag.cli.common import MAX_K, Commands, Options, ProgressBar, count, positive
from rag.errors import EmbeddingError, LLMError, SettingsError
from rag.evaluation.answers import Decided, LabelledTurn, ask_answers, load_turns, report
from rag.evaluation.answers import summary as answers_summary
from rag.evaluation.claims import Claim, Verdict, as_passages, load_claims, measured, verdict
from rag.evaluation.collection import Collection, default_cache, open_collection
from rag.evaluation.datasets import QuestionSet, condensed, load
from rag.evaluation.metrics import METRICS
from rag.evaluation.raptor import ask_all as raptor_ask_all
from rag.evaluation.raptor import load as wholes_load
from rag.evaluation.raptor import planted
from rag.evaluation.raptor import report as raptor_report
from rag.evaluation.reranking import (
    CUTS,
    Candidates,
    Ordered,
    RerankingReport,
    listed,
    pooled,
    rerank_all,
)
from rag.evaluation.reranking import (
    report as reranking_report,
)
from rag.evaluation.rewriting import (
    Turn,
    Written,
    write_all,
)
from rag.evaluation.rewriting import (
    load_turns as rewriting_load_turns,
)
from rag.evaluation.rewriting import (
    report as rewriting_report,
)
from rag.evaluation.runs import Result, ask_all, read_run, summary
from rag.factory import make_embedder, make_judge, make_llm, make_reranker, rephrase_seconds
from rag.langchain import RetrievalQA
from rag.models.embeddings import Embedder
from rag.models.protocol import LanguageModel, Sent
from rag.passage import Passage
from rag.raptor.retrievers import BUDGET
from rag.raptor.summarize import ByModel, Extracting, Summariser
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.llm import LLMReranker
from rag.retrieval.rerank.registry import NAMES, NONE
from rag.retrieval.rerank.remote import RemoteReranker
from rag.settings import Settings
from rag.text.tokenize import find

# The passages of a question set made searchable for an evaluation, and a line on what takes long.
SLOW = {
    "vectors": "embedding {total} passages; they are kept for the next run.",
    "mixture": "weighing words against meaning over {total} passages; the result is kept, too.",
}


def collection_of(
    settings: Settings, questions: QuestionSet, told: ProgressBar
) -> AbstractContextManager[Collection]:
    """Open the set's collection with the settings' embedding model and the analysers there are."""
    return open_collection(
        questions.corpus,
        lambda: make_embedder(settings),
        cache=default_cache(),
        analysers=find(settings.korean_japanese_analyzers),
        waiting=lambda: say("another run uses the indexes of this question set; waiting until it is done."),
        told=told,
    )


def say(sentence: str) -> None:
    """Say a sentence on stderr."""
    print(f"footnote: {sentence}", file=sys.stderr, flush=True)


# `footnote eval answers`: whether citations hold the right words where no language model answers.
ANSWERS_DESCRIPTION = """Ask the questions of a set whose answers are known, as the app asks them without a
language model, and look for the answers in what is cited. Indexes are kept for the next run."""


def add_answers_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    answers = kinds.add_parser("answers", help="how right answers are", description=ANSWERS_DESCRIPTION)
    add = answers.add_argument
    add("dataset", type=Path, metavar="DATASET_DIR", help="a question set whose questions have answers")
    add("--limit", type=_positive, metavar="N", help="only the first N questions")
    add(
        "--unanswerable",
        action="store_true",
        help="how often questions that the documents do not answer are refused, and others with them",
    )
    add("--json", action="store_true", help="one JSON line")
    answers.set_defaults(command=answers_command)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def answers_command(settings: Settings, options: Options) -> int:
    """Print what was measured over the questions of a set."""
    if options.unanswerable:
        return _refusals(settings, options)
    questions = load(options.dataset, limit=options.limit)
    with closing(ProgressBar(SLOW)) as told, collection_of(settings, questions, told) as collection:
        pipeline = _pipeline(settings, collection)
        answers = []
        for answer in ask_answers(questions, pipeline):
            answers.append(answer)
            told("answering", len(answers), len(questions.answers))
    _show(answers_summary(questions.name, answers), options)
    return 0


def _refusals(settings: Settings, options: Options) -> int:
    """Print how often the decision whether the documents answer at all is wrong, and at which score."""
    turns = load_turns(options.dataset, limit=options.limit)
    questions = load(options.dataset)
    with closing(ProgressBar(SLOW)) as told, collection_of(settings, questions, told) as collection:
        decided = []
        for turn in turns:
            decided.append(_decided(turn, settings, collection))
            told("deciding", len(decided), len(turns))
    _show(report(questions.name, decided), options)
    return 0


def _decided(turn: LabelledTurn, settings: Settings, collection: Collection) -> Decided:
    rarity = collection.words.rarity
    asked = make_standalone(turn.text, turn.history, rarity=rarity, embedder=collection.embedder).text
    found = collection.retriever(settings.retriever, settings.k).invoke(asked)
    scale = SCALES.get(settings.embedding_model)
    passages = [Passage.from_document(document) for document in found]
    decision = decide(asked, passages, rarity, middle=scale.asked if scale else None)
    return Decided(decision.answered, decision.score, turn.answerable)


def _pipeline(settings: Settings, collection: Collection) -> RagPipeline:
    chain = RetrievalQA(
        retriever=collection.retriever(settings.retriever, settings.k),
        embedder=collection.embedder,
        rarity=collection.words.rarity,
    )
    return chain.pipeline()


def _show(told: dict[str, Any], options: Options) -> None:
    if options.json:
        print(json.dumps(told, ensure_ascii=False))
    else:
        print("\n".join(f"{name:<20} {value}" for name, value in told.items() if name != "curve"))
        for point in told.get("curve", ()):
            print("  ".join(f"{name} {value:.2f}" for name, value in point.items()))


# `footnote eval citations`: how often what is shown as verified is right, over claims judged by people.
CLAIMS_DESCRIPTION = """Check each claim of a file against its passages, as the app checks an answer, and
compare with what people found. Reads JSON lines {"claim", "passages", "supported"}, WiCE and ExpertQA."""
LOWEST = 0.3
THRESHOLDS = tuple(round(LOWEST + 0.05 * step, 2) for step in range(15))


def add_claims_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    citations = kinds.add_parser("citations", help="how right citations are", description=CLAIMS_DESCRIPTION)
    add = citations.add_argument
    add("file", type=Path, metavar="FILE", help="claims with their passages and whether they are supported")
    add("--words", action="store_true", help="by words alone, without the embedding model")
    add("--judge", metavar="NAME", help="a cross-encoder's folder or hub id, or llm: the connected model")
    add("--curve", action="store_true", help="precision and recall at other thresholds, too")
    add("--json", action="store_true", help="one JSON line")
    citations.set_defaults(command=citations_command)


def citations_command(settings: Settings, options: Options) -> int:
    """Print what was measured over the claims of a file."""
    claims = load_claims(options.file)
    check = partial(
        Checker,
        embedder=None if options.words else make_embedder(settings),
        judge=_judge(settings, options),
    )
    begun = time.perf_counter()
    verdicts = _verdicts(claims, check)
    spent = time.perf_counter() - begun
    report: dict[str, Any] = {
        "dataset": options.file.stem,
        "claims": len(claims),
        "supported": sum(claim.supported for claim in claims),
        **{status: sum(v.status == status for v in verdicts) for status in ("related", "unsupported")},
        **asdict(measured(verdicts)),
        "ms_per_claim": round(1000 * spent / len(claims), 2),
    }
    if options.curve:
        report["curve"] = _curve(_verdicts(claims, partial(check, judge=None, least=LOWEST)))
    print(json.dumps(report, ensure_ascii=False) if options.json else _lines(report))
    return 0


def _judge(settings: Settings, options: Options) -> Judge | None:
    chosen = settings.model_copy(update={"citation_judge": options.judge or settings.citation_judge})
    return make_judge(chosen, make_llm(chosen))


def _verdicts(claims: Sequence[Claim], check: Callable[..., Checker]) -> list[Verdict]:
    verdicts = []
    with closing(ProgressBar({"checking": "checking {total} claims."})) as told:
        for done, claim in enumerate(claims, 1):
            verdicts.append(verdict(claim, check(as_passages(claim.passages))))
            told("checking", done, len(claims))
    return verdicts


def _curve(verdicts: Sequence[Verdict]) -> list[dict[str, float]]:
    return [
        {"threshold": threshold, "precision": found.precision, "recall": found.recall}
        for threshold in THRESHOLDS
        for found in (measured(verdicts, threshold),)
    ]


def _lines(report: dict[str, Any]) -> str:
    """Return a report as a person reads it: a line a figure, a line a threshold."""
    figures = [f"{name:<13} {value}" for name, value in report.items() if name != "curve"]
    points = [
        f"{point['threshold']:.2f}  precision {point['precision']:.3f}  recall {point['recall']:.3f}"
        for point in report.get("curve", ())
    ]
    return "\n".join([*figures, *points])


# `footnote eval condense`: how follow-ups are made to stand alone, beside what people made of them.
REWRITING_DESCRIPTION = """Make each follow-up of a set stand alone, as the app does, and compare with the
rewrites of people: by carrying terms over, and by the connected model too where there is one."""


def add_rewriting_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    condense = kinds.add_parser(
        "condense", help="how follow-ups are understood", description=REWRITING_DESCRIPTION
    )
    add = condense.add_argument
    add("dataset", type=Path, metavar="DATASET_DIR", help="a folder with queries.jsonl, with rewrites in it")
    add("--limit", type=int, metavar="N", help="only the first N turns")
    add("--json", action="store_true", help="one JSON line for the rule, one for the model")
    condense.set_defaults(command=condense_command)


def condense_command(settings: Settings, options: Options) -> int:
    """Print a line for the rule, and one for the model where one is connected."""
    turns = rewriting_load_turns(options.dataset, options.limit)
    embedder = _embedder(settings)
    name = options.dataset.resolve().name
    for by, llm in {"rule": None, "model": make_llm(settings)}.items():
        if by == "rule" or llm is not None:
            found = asdict(rewriting_report(_written(turns, llm, embedder, rephrase_seconds(settings, llm))))
            line = {"dataset": name, "by": by, **{key: round(value, 4) for key, value in found.items()}}
            print(json.dumps(line) if options.json else _rewriting_lines(line), flush=True)
    return 0


def _embedder(settings: Settings) -> Embedder | None:
    """Return the embedding model; terms are always carried over where it cannot be had."""
    try:
        return make_embedder(settings)
    except EmbeddingError as error:
        print(f"footnote: {error}", file=sys.stderr)
        return None


def _written(
    turns: list[Turn], llm: LanguageModel | None, embedder: Embedder | None, seconds: float
) -> list[Written]:
    done = []
    with closing(ProgressBar({"condensing": "making {total} questions stand alone."})) as told:
        for written in write_all(turns, llm=llm, embedder=embedder, seconds=seconds):
            done.append(written)
            told("condensing", len(done), len(turns))
    return done


def _rewriting_lines(line: dict[str, object]) -> str:
    return "\n".join(f"{name:<26} {value}" for name, value in line.items()) + "\n"


# `footnote eval raptor`: whether a tree over documents brings more of what questions about them ask for.
RAPTOR_DESCRIPTION = """Build a tree over each document of a set, and ask its questions of the leaves
alone (flat), of the collapsed tree and by traversal, each filling the same budget of tokens. Where questions
have reference summaries, content is the share of their words, in order, that the context holds; where they
have spans of evidence, evidence is the share of it. Trees are kept for the next run."""
RAPTOR_SLOW = {"trees": "building trees over {total} documents; they are kept for the next run."}
RAPTOR_HEAD = (
    f"{'questions':<10} {'retriever':<10} {'count':>5}  {'content':>8} {'difference':>26}  "
    f"{'evidence':>8} {'difference':>26} {'p50 ms':>7}"
)


def add_raptor_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    raptor = kinds.add_parser("raptor", help="what a tree brings", description=RAPTOR_DESCRIPTION)
    add = raptor.add_argument
    add(
        "dataset",
        type=Path,
        metavar="DATASET_DIR",
        help="a folder with *.docs.jsonl and *.queries.jsonl, or one as for `eval retrieval`",
    )
    add("--tokens", type=positive, default=BUDGET, metavar="N", help=f"of a context (default: {BUDGET})")
    add("--limit", type=positive, metavar="N", help="only the first N documents, and questions about them")
    add("--summaries", choices=("extractive", "model"), default="extractive", help="who writes them")
    add("--json", action="store_true", help="one JSON line per kind of question and retriever")
    raptor.set_defaults(command=raptor_command)


def raptor_command(settings: Settings, options: Options) -> int:
    """Print a line for each kind of question and each way of searching."""
    wholes = wholes_load(options.dataset, limit=options.limit)
    written = _by_model(settings) if options.summaries == "model" else Extracting()
    with (
        closing(ProgressBar(RAPTOR_SLOW)) as told,
        planted(
            wholes,
            lambda: make_embedder(settings),
            cache=default_cache(),
            told=told,
            summariser=lambda: written,
        ) as (library, ids),
    ):
        scored = list(raptor_ask_all(library, ids, wholes, tokens=options.tokens, told=told))
    if not options.json:
        print(RAPTOR_HEAD)
    for line in raptor_report(wholes.name, scored):
        print(json.dumps(line, ensure_ascii=False) if options.json else _row(line), flush=True)
    return 0


def _by_model(settings: Settings) -> Summariser:
    llm = make_llm(settings)
    if llm is None:
        raise SettingsError("No language model is connected to write summaries. Set FOOTNOTE_LLM_MODEL.")
    return ByModel(llm, _left_out)


def _left_out(error: LLMError) -> None:
    say(f"a summary was left out: {error}")


def _row(line: dict[str, Any]) -> str:
    content, evidence = _figures(line, "content"), _figures(line, "evidence")
    named = f"{line['questions']:<10} {line['retriever']:<10} {line['count']:>5}"
    return f"{named}  {content}  {evidence} {line['p50_ms']:>7}"


def _figures(line: dict[str, Any], name: str) -> str:
    if line[name] is None:
        return f"{'-':>8} {'':>26}"
    apart = f"{line[f'{name}_diff']:+.4f} [{line[f'{name}_low']:+.4f}, {line[f'{name}_high']:+.4f}]"
    return f"{line[name]:>8.4f} {apart:>26}"


# `footnote eval rerank`: what rerankers make of the same passages, beside the order they are given in.
RERANKING_DESCRIPTION = """Give each reranker the same passages for each question of a set and measure the
order that it makes of them. Those that ask a language model ask the connected one."""
PATIENCE = 600.0
"""Seconds for one question: what is measured is the order, and small machines take minutes for it."""
RERANKING_COLUMNS = {
    "reranker": "<18",
    "queries": ">7",
    **dict.fromkeys((f"ndcg@{cut}" for cut in CUTS), ">8.4f"),
    "s_per_query": ">11.2f",
    "requests": ">8",
    "fallbacks": ">9",
}
HEAD = "  ".join(f"{name:{form.split('.')[0]}}" for name, form in RERANKING_COLUMNS.items())


@dataclass(frozen=True)
class Named:
    """A reranker as the command names it, `NAME` or `NAME:MODEL`: ``cross-encoder:models/bge``."""

    name: str
    model: str

    def __str__(self) -> str:
        return f"{self.name}:{self.model}" if self.model else self.name


def add_reranking_command(kinds: Commands) -> None:
    """Add the command to `footnote eval`."""
    rerank = kinds.add_parser(
        "rerank", help="how well passages are put in order", description=RERANKING_DESCRIPTION
    )
    add = rerank.add_argument
    add(
        "dataset",
        type=Path,
        metavar="DATASET_DIR",
        help="a folder with corpus.jsonl, queries.jsonl, qrels.tsv",
    )
    add(
        "--rerankers",
        type=rerankers,
        default=(Named(NONE, ""),),
        metavar="NAMES",
        help=f"with commas between them: {', '.join(NAMES)}; a model as in cross-encoder:FOLDER_OR_HUB_ID",
    )
    add("--run", type=Path, metavar="RUN.tsv", help="the passages to order (default: all that are judged)")
    add("--depth", type=positive, default=50, metavar="N", help="only the first N passages (default: 50)")
    add(
        "--queries",
        choices=("text", "rewrite"),
        default="text",
        help="follow-ups as they were asked, or as a person rewrote them",
    )
    add("--limit", type=positive, metavar="N", help="only the first N judged questions")
    add("--seconds", type=float, default=PATIENCE, metavar="S", help="for one question (default: 600)")
    add("--json", action="store_true", help="one JSON line per reranker")
    rerank.set_defaults(command=rerank_command)


def rerankers(text: str) -> tuple[Named, ...]:
    """Read rerankers with commas between them; one named twice counts once."""
    named = [Named(*part.strip().partition(":")[::2]) for part in text.split(",")]
    for one in named:
        if one.name not in NAMES:
            raise argparse.ArgumentTypeError(
                f"there is no reranker {one.name!r}: choose among {', '.join(NAMES)}"
            )
    return tuple(dict.fromkeys(named))


def rerank_command(settings: Settings, options: Options) -> int:
    """Print a line per reranker as soon as it is done; 1 when one left a question's order as it was."""
    questions = load(options.dataset, limit=options.limit)
    questions = questions.rewritten() if options.queries == "rewrite" else questions
    candidates = listed(questions, read_run(options.run)) if options.run else pooled(questions)
    candidates = {id_: given[: options.depth] for id_, given in candidates.items()}
    fallbacks = 0
    with make_llm(settings) or nullcontext() as llm:
        made = [(named, _made(settings, named, llm, options.seconds)) for named in options.rerankers]
        if not options.json:
            print(HEAD)
        for named, reranker in made:
            found = _reranking_measured(questions, candidates, str(named), reranker)
            _reranking_show(found, as_json=options.json)
            fallbacks += found.fallbacks
    return 1 if fallbacks else 0


def _made(settings: Settings, named: Named, llm: LanguageModel | None, seconds: float) -> Reranker | None:
    update = {"reranker": named.name, "rerank_model": named.model or settings.rerank_model}
    return make_reranker(settings.model_copy(update=update), llm, seconds=seconds, on_failure=_unsaid)


def _unsaid(what: str, error: Exception) -> None:
    """Say nothing of one failure: the first of a reranker is said with their number."""


def _reranking_measured(
    questions: QuestionSet, candidates: Candidates, name: str, reranker: Reranker | None
) -> RerankingReport:
    sent: list[Sent] = []
    noting = reranker.noting(sent) if isinstance(reranker, LLMReranker) else reranker
    done: list[Ordered] = []
    slow = {name: f"{name} puts the passages of {{total}} questions in order."} if reranker else {}
    with closing(ProgressBar(slow)) as told:
        for ordered in rerank_all(questions, candidates, noting):
            done.append(ordered)
            told(name, len(done), len(questions.questions))
    requests = reranker.requests if isinstance(reranker, RemoteReranker) else len(sent)
    found = reranking_report(questions, name, done, requests=requests)
    _say_why(name, done)
    return found


def _say_why(name: str, done: list[Ordered]) -> None:
    kept = [one.kept for one in done if one.kept]
    if kept:
        say(f"{name} left {len(kept)} of {len(done)} questions as they were, the first since: {kept[0]}")
    for note in dict.fromkeys(one.note for one in done if one.note and not one.kept):
        say(f"{name}: {note}")


def _reranking_show(found: RerankingReport, *, as_json: bool) -> None:
    row = found.as_dict()
    line = "  ".join(f"{row[name]:{form}}" for name, form in RERANKING_COLUMNS.items())
    print(json.dumps(row, ensure_ascii=False) if as_json else line, flush=True)


RETRIEVERS = ("similarity", "mmr", "bm25", "ensemble-rrf", "ensemble-cc")
DESCRIPTION = """Ask each retriever the questions of a set and measure what it finds. A passage of the
corpus is searched as it is, not split. Indexes are kept, so that a second run embeds only the questions;
index_s says what making them, or opening those kept, took this time."""
COLUMNS = {
    "retriever": "<13",
    "queries": ">7",
    **dict.fromkeys(METRICS, ">9.4f"),
    **dict.fromkeys(("p50_ms", "p95_ms", "index_s"), ">8.2f"),
    "errors": ">6",
}


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    kinds = commands.add_parser("eval", help="measure on a question set").add_subparsers(required=True)
    retrieval = kinds.add_parser("retrieval", help="how well passages are found", description=DESCRIPTION)
    add = retrieval.add_argument
    add(
        "dataset",
        type=Path,
        metavar="DATASET_DIR",
        help="a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or with one file in SQuAD's form",
    )
    add(
        "--retrievers", type=retrievers, default=RETRIEVERS, metavar="NAMES", help="default: all, with commas"
    )
    add(
        "--queries",
        choices=("text", "rewrite", "condensed"),
        default="text",
        help="follow-ups as they were asked, as a person rewrote them, or as the app condenses them",
    )
    add(
        "--k",
        type=count,
        default=10,
        metavar="N",
        help=f"passages for a question, 1 to {MAX_K} (default: 10)",
    )
    add("--limit", type=positive, metavar="N", help="only the first N judged questions")
    add("--model", metavar="NAME", help="the embedding model (default: the one in the settings)")
    add("--json", action="store_true", help="one JSON line per retriever")
    retrieval.set_defaults(command=retrieval_command)
    add_claims_command(kinds)
    add_answers_command(kinds)
    add_rewriting_command(kinds)
    add_reranking_command(kinds)
    add_raptor_command(kinds)


def retrievers(text: str) -> tuple[str, ...]:
    """Read names of retrievers with commas between them; one named twice counts once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in RETRIEVERS:
            known = ",".join(RETRIEVERS)
            raise argparse.ArgumentTypeError(f"there is no retriever {name!r}: choose among {known}")
    return names


def retrieval_command(settings: Settings, options: Options) -> int:
    """Print a line per retriever as soon as all its answers are there; 1 when a search failed."""
    chosen = settings.model_copy(update={"embedding_model": options.model or settings.embedding_model})
    questions = load(options.dataset, limit=options.limit)
    if options.queries == "rewrite":
        questions = questions.rewritten()
    show = _show_json if options.json else _show_row
    failed = 0
    with closing(ProgressBar(SLOW)) as told, collection_of(chosen, questions, told) as collection:
        if options.queries == "condensed":
            questions = _condensed(chosen, questions, collection, told)
        if not options.json:
            print(HEAD)
        for name in options.retrievers:
            result = _measured(collection, questions, name, options.k, told)
            show(result)
            failed += result.errors
    return 1 if failed else 0


def _condensed(
    settings: Settings, questions: QuestionSet, collection: Collection, told: ProgressBar
) -> QuestionSet:
    return condensed(
        questions,
        llm=make_llm(settings),
        rarity=collection.words.rarity,
        embedder=collection.embedder_if_there(),
        told=lambda done, total: told("condensing", done, total),
    )


def _measured(collection: Collection, questions: QuestionSet, name: str, k: int, told: ProgressBar) -> Result:
    retriever = collection.retriever(name, k)
    next(ask_all(questions, {name: retriever}))  # what is loaded when first asked is not a question's time
    answered = []
    for answer in ask_all(questions, {name: retriever}):
        answered.append(answer)
        told(name, len(answered), len(questions.questions))
    result = summary(questions, name, answered, index_s=collection.index_seconds(name))
    if result.errors:
        first = next(answer.error for answer in answered if answer.error)
        say(f"{name} failed for {result.errors} of {result.queries} questions, first with: {first}")
    return result


def _show_json(result: Result) -> None:
    print(json.dumps(result.as_dict(), ensure_ascii=False), flush=True)


def _show_row(result: Result) -> None:
    row = result.as_dict()
    print("  ".join(f"{row[name]:{form}}" for name, form in COLUMNS.items()), flush=True)
