"""The `footnote eval` commands: measure retrieval, citations, answers, follow-ups, rerankers and trees."""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from rag.chat.extractive import decide
from rag.chat.rewrite import StandaloneQuestion, make_standalone, search_variants
from rag.chat.steps import as_query, plan_by_rule
from rag.citations.checker import SCALES, Checker
from rag.citations.reader import StatementReader
from rag.cli.common import (
    MAX_K,
    Commands,
    Options,
    ProgressBar,
    count,
    parse_names,
    positive,
    print_result,
    say,
)
from rag.errors import EmbeddingError, SettingsError
from rag.evaluation import answers, raptor, rewriting, runs
from rag.evaluation.collection import Collection, default_cache, open_collection
from rag.evaluation.datasets import QuestionSet, load
from rag.evaluation.metrics import METRICS
from rag.factory import (
    LLM_JUDGE,
    make_embedder,
    make_judge,
    make_llm,
    make_reader,
    make_reranker,
    make_store,
    rephrase_seconds,
)
from rag.i18n import N_
from rag.index.external import BUILT_IN, CHROMA
from rag.langchain import RetrievalQA
from rag.models.embeddings import Embedder
from rag.models.protocol import LanguageModel, Sent
from rag.passage import Passage
from rag.raptor.retrievers import BUDGET
from rag.raptor.summarize import ExtractiveSummariser, LLMSummariser, Summariser
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.llm import LLMReranker
from rag.retrieval.rerank.registry import NAMES, NONE
from rag.retrieval.rerank.remote import RemoteReranker
from rag.settings import Settings
from rag.text.tokenize import find

AddOption = Callable[..., argparse.Action]
SLOW = {
    "vectors": "embedding {total} passages; they are kept for the next run.",
    "mixture": "weighing words against meaning over {total} passages; the result is kept, too.",
    "trees": "building trees over {total} documents; they are kept for the next run.",
    "checking": "checking {total} claims.",
    "condensing": "making {total} questions stand alone.",
}


def add_commands(commands: Commands) -> None:
    """Add the group's commands to the command line."""
    kinds = commands.add_parser("eval", help="measure on a question set").add_subparsers(required=True)
    for add in (_add_retrieval, _add_citations, _add_answers, _add_condense, _add_rerank, _add_raptor):
        add(kinds)


def _add_command(
    kinds: Commands,
    name: str,
    command: Callable[[Settings, Options], int],
    *,
    summary: str,
    description: str,
    dataset: str,
    limit: str | None = "only the first N judged questions",
    json_lines: str,
) -> AddOption:
    """Add a command with the options that all share; return the function that adds its own."""
    parser: argparse.ArgumentParser = kinds.add_parser(name, help=summary, description=description)
    parser.set_defaults(command=command)
    metavar = "FILE" if limit is None else "DATASET_DIR"
    parser.add_argument("dataset", type=Path, metavar=metavar, help=dataset)
    if limit is not None:
        parser.add_argument("--limit", type=positive, metavar="N", help=limit)
    parser.add_argument("--json", action="store_true", help=json_lines)
    add: AddOption = parser.add_argument
    return add


def _collection(
    settings: Settings, questions: QuestionSet, bar: ProgressBar
) -> AbstractContextManager[Collection]:
    make_store(settings)  # raises SettingsError where it is not installed
    return open_collection(
        questions.corpus,
        lambda: make_embedder(settings),
        cache=default_cache(),
        analysers=find(settings.korean_japanese_analyzers),
        store=settings.vector_store if settings.vector_store in BUILT_IN else CHROMA,
        waiting=lambda: say("another run uses the indexes of this question set; waiting until it is done."),
        progress=bar,
    )


def _open_llm(settings: Settings) -> AbstractContextManager[LanguageModel | None]:
    return make_llm(settings) or nullcontext()


def _embedder_if_there(open_embedder: Callable[[], Embedder]) -> Embedder | None:
    """Return the embedding model; None where it cannot be loaded, which always carries terms over."""
    try:
        return open_embedder()
    except EmbeddingError as error:
        say(str(error))
        return None


def _print_report(report: Mapping[str, Any], width: int, point: str, options: Options) -> None:
    lines = [f"{name:<{width}} {value}" for name, value in report.items() if name != "curve"]
    lines += [point.format_map(each) for each in report.get("curve", ())]
    print_result(report, "\n".join(lines), options)


def _print_head(columns: Mapping[str, str], options: Options) -> None:
    if not options.json:
        print("  ".join(f"{name:{form.split('.')[0]}}" for name, form in columns.items()))


def _print_row(row: Mapping[str, Any], columns: Mapping[str, str], options: Options) -> None:
    print_result(row, "  ".join(f"{row[name]:{form}}" for name, form in columns.items()), options)


# footnote eval retrieval
RETRIEVERS = ("similarity", "mmr", "bm25", "ensemble-rrf", "ensemble-cc")
RETRIEVAL_COLUMNS = {
    "retriever": "<13",
    "queries": ">7",
    **dict.fromkeys(METRICS, ">9.4f"),
    **dict.fromkeys(("p50_ms", "p95_ms", "index_s"), ">8.2f"),
    "errors": ">6",
}


def _add_retrieval(kinds: Commands) -> None:
    add = _add_command(
        kinds,
        "retrieval",
        _retrieval_command,
        summary="how well passages are found",
        description="""Ask each retriever the questions of a set and measure what it finds. A passage of the
        corpus is searched as it is, not split. Indexes are kept, so that a second run embeds only the
        questions; index_s says what making them, or opening those kept, took this time.""",
        dataset="a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or with one file in SQuAD's form",
        json_lines="one JSON line per retriever",
    )
    add(
        "--retrievers",
        type=partial(parse_names, known=RETRIEVERS, what="retriever"),
        default=RETRIEVERS,
        metavar="NAMES",
        help="default: all, with commas",
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
    add("--model", metavar="NAME", help="the embedding model (default: the one in the settings)")


def _retrieval_command(settings: Settings, options: Options) -> int:
    settings = settings.model_copy(update={"embedding_model": options.model or settings.embedding_model})
    questions = load(options.dataset, limit=options.limit)
    if options.queries == "rewrite":
        questions = questions.rewritten()
    failed = 0
    with ProgressBar(SLOW) as bar, _collection(settings, questions, bar) as collection:
        search = None
        if options.queries == "condensed":
            search = _condensed_search(settings, questions, collection, bar)
        _print_head(RETRIEVAL_COLUMNS, options)
        for name in options.retrievers:
            row = _measure_retriever(collection, questions, name, options.k, search, bar)
            _print_row(row, RETRIEVAL_COLUMNS, options)
            failed += row["errors"]
    return 1 if failed else 0


def _condensed_search(
    settings: Settings, questions: QuestionSet, collection: Collection, bar: ProgressBar
) -> runs.Search:
    asked, rarity = questions.questions, collection.words.rarity
    embedder = _embedder_if_there(lambda: collection.embedder)
    with _open_llm(settings) as llm:
        condensed = (
            make_standalone(text, questions.histories.get(id_, ()), llm=llm, rarity=rarity, embedder=embedder)
            for id_, text in asked.items()
        )
        made = bar.collect("condensing", condensed, len(asked))
    understood = dict(zip(asked, made, strict=True))
    return lambda retriever, id_: _search_in_steps(retriever, understood[id_])


def _search_in_steps(retriever: BaseRetriever, understood: StandaloneQuestion) -> list[Document]:
    """Return what is found for a question: for the steps planned by rule in turn, if it has several parts."""
    steps = plan_by_rule(understood.text)
    queries = [as_query(step.question, understood) for step in steps] or [understood]
    lanes = [search_variants(retriever, one.variants) for one in queries]
    found = (one for turn in zip_longest(*lanes) for one in turn if one is not None)
    return list({one.id or one.page_content: one for one in found}.values())


def _measure_retriever(
    collection: Collection,
    questions: QuestionSet,
    name: str,
    k: int,
    search: runs.Search | None,
    bar: ProgressBar,
) -> dict[str, Any]:
    retriever = {name: collection.retriever(name, k)}
    next(runs.ask_all(questions, retriever))  # what is loaded when first asked is not a question's time
    answered = bar.collect(name, runs.ask_all(questions, retriever, search=search), len(questions.questions))
    result = runs.summarize_results(questions, name, answered)
    if result.errors:
        first = next(answer.error for answer in answered if answer.error)
        say(f"{name} failed for {result.errors} of {result.queries} questions, first with: {first}")
    return {
        "dataset": questions.name,
        "retriever": name,
        "queries": result.queries,
        **result.metrics,
        "p50_ms": result.p50_ms,
        "p95_ms": result.p95_ms,
        "index_s": round(collection.index_seconds(name), 2),
        "errors": result.errors,
    }


# footnote eval citations
LOWEST = 0.3
THRESHOLDS = tuple(round(LOWEST + 0.05 * step, 2) for step in range(15))


def _add_citations(kinds: Commands) -> None:
    add = _add_command(
        kinds,
        "citations",
        _citations_command,
        summary="how right citations are",
        description="""Check each claim of a file against its passages, as the app checks an answer, and
        compare with what people found. Reads JSON lines {"claim", "passages", "supported"}, WiCE and
        ExpertQA.""",
        dataset="claims with their passages and whether they are supported",
        limit=None,
        json_lines="one JSON line",
    )
    add("--words", action="store_true", help="by words alone, without the embedding model")
    add("--judge", metavar="NAME", help="llm: the connected model, off, or a cross-encoder's folder or id")
    add("--curve", action="store_true", help="precision and recall at other thresholds, too")


def _citations_command(settings: Settings, options: Options) -> int:
    settings = settings.model_copy(update={"citation_judge": options.judge or settings.citation_judge})
    judged_claims = answers.load_claims(options.dataset)
    checker = partial(Checker, embedder=None if options.words else make_embedder(settings))
    with _open_llm(settings) as llm:
        judged, reader = partial(checker, judge=make_judge(settings)), make_reader(settings, llm)
        if options.judge == LLM_JUDGE and reader is None:
            raise SettingsError(
                N_("No language model is connected. Set FOOTNOTE_LLM_MODEL, or omit --judge.")
            )
        begun = time.perf_counter()
        verdicts = _verdicts(judged_claims, judged, reader)
        spent = time.perf_counter() - begun
    report: dict[str, Any] = {
        "dataset": options.dataset.stem,
        "claims": len(judged_claims),
        "supported": sum(claim.supported for claim in judged_claims),
        **{
            status: sum(v.status == status for v in verdicts)
            for status in ("differs", "related", "unsupported")
        },
        **answers.score_citations(verdicts),
        "ms_per_claim": round(1000 * spent / len(judged_claims), 2),
    }
    report |= {f"by_{what}": answers.count_by(verdicts, what) for what in answers.GROUPS}
    if options.curve:
        lenient = _verdicts(judged_claims, partial(checker, least=LOWEST))
        scores = {threshold: answers.score_citations(lenient, threshold) for threshold in THRESHOLDS}
        report["curve"] = [
            {"threshold": threshold, "precision": score["precision"], "recall": score["recall"]}
            for threshold, score in scores.items()
        ]
    point = "{threshold:.2f}  precision {precision:.3f}  recall {recall:.3f}"
    _print_report(report, 13, point, options)
    return 0


def _verdicts(
    given: Sequence[answers.Claim], checker: Callable[..., Checker], reader: StatementReader | None = None
) -> list[answers.Verdict]:
    checked = (
        answers.check_claim(claim, checker(answers.as_passages(claim.passages)), reader) for claim in given
    )
    with ProgressBar(SLOW) as bar:
        return bar.collect("checking", checked, len(given))


# footnote eval answers
def _add_answers(kinds: Commands) -> None:
    add = _add_command(
        kinds,
        "answers",
        _answers_command,
        summary="how right answers are",
        description="""Ask the questions of a set whose answers are known, as the app asks them without a
        language model, and look for the answers in what is cited. Indexes are kept for the next run.""",
        dataset="a question set whose questions have answers",
        limit="only the first N questions",
        json_lines="one JSON line",
    )
    add(
        "--unanswerable",
        action="store_true",
        help="how often questions that the documents do not answer are refused, and others with them",
    )


def _answers_command(settings: Settings, options: Options) -> int:
    turns = answers.load_labelled_turns(options.dataset, limit=options.limit) if options.unanswerable else []
    questions = load(options.dataset, limit=None if options.unanswerable else options.limit)
    with ProgressBar(SLOW) as bar, _collection(settings, questions, bar) as collection:
        if options.unanswerable:
            decisions = (_refusal_decision(turn, settings, collection) for turn in turns)
            report = answers.refusal_report(questions.name, bar.collect("deciding", decisions, len(turns)))
        else:
            chain = RetrievalQA(
                retriever=collection.retriever(settings.retriever, settings.k),
                embedder=collection.embedder,
                rarity=collection.words.rarity,
            )
            asked = answers.ask_answers(questions, chain.pipeline())
            answered = bar.collect("answering", asked, len(questions.answers))
            report = answers.summarize_answers(questions.name, answered)
    rates = ("threshold", "refused", "falsely_refused", "balanced_accuracy")
    _print_report(report, 20, "  ".join(f"{name} {{{name}:.2f}}" for name in rates), options)
    return 0


def _refusal_decision(
    turn: answers.LabelledTurn, settings: Settings, collection: Collection
) -> answers.RefusalDecision:
    rarity = collection.words.rarity
    question = make_standalone(turn.text, turn.history, rarity=rarity, embedder=collection.embedder).text
    found = collection.retriever(settings.retriever, settings.k).invoke(question)
    scale = SCALES.get(settings.embedding_model)
    passages = [Passage.from_document(document) for document in found]
    decision = decide(question, passages, rarity, middle=scale.asked if scale else None)
    return answers.RefusalDecision(decision.answered, decision.score, turn.answerable)


# footnote eval condense
def _add_condense(kinds: Commands) -> None:
    _add_command(
        kinds,
        "condense",
        _condense_command,
        summary="how follow-ups are understood",
        description="""Make each follow-up of a set stand alone, as the app does, and compare with the
        rewrites of people: by carrying terms over, and by the connected model too where there is one.""",
        dataset="a folder with queries.jsonl, with rewrites in it",
        limit="only the first N turns",
        json_lines="one JSON line for the rule, one for the model",
    )


def _condense_command(settings: Settings, options: Options) -> int:
    turns = rewriting.load_follow_ups(options.dataset, options.limit)
    embedder = _embedder_if_there(lambda: make_embedder(settings))
    name = options.dataset.resolve().name
    with _open_llm(settings) as connected:
        for by, llm in {"rule": None, **({"model": connected} if connected else {})}.items():
            seconds = rephrase_seconds(settings, llm)
            with ProgressBar(SLOW) as bar:
                rewrites = rewriting.rewrite_all(turns, llm=llm, embedder=embedder, seconds=seconds)
                rewritten = bar.collect("condensing", rewrites, len(turns))
            report = {"dataset": name, "by": by, **rewriting.rewriting_report(rewritten)}
            _print_report(report, 26, "", options)
            if not options.json:
                print(flush=True)
    return 0


# footnote eval rerank
QUESTION_SECONDS = 600.0
"""Time limit for one question: the order is measured, and small machines take minutes for it."""
RERANKING_COLUMNS = {
    "reranker": "<18",
    "queries": ">7",
    **dict.fromkeys((f"ndcg@{cut}" for cut in runs.CUTS), ">8.4f"),
    "s_per_query": ">11.2f",
    "requests": ">8",
    "fallbacks": ">9",
}


def _add_rerank(kinds: Commands) -> None:
    add = _add_command(
        kinds,
        "rerank",
        _rerank_command,
        summary="how well passages are put in order",
        description="""Give each reranker the same passages for each question of a set and measure the
        order that it makes of them. Those that ask a language model ask the connected one.""",
        dataset="a folder with corpus.jsonl, queries.jsonl, qrels.tsv",
        json_lines="one JSON line per reranker",
    )
    add(
        "--rerankers",
        type=rerankers,
        default=(NONE,),
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
    add(
        "--seconds", type=float, default=QUESTION_SECONDS, metavar="S", help="for one question (default: 600)"
    )


def rerankers(text: str) -> tuple[str, ...]:
    """Parse comma-separated rerankers, ``NAME`` or ``NAME:MODEL``; one named twice counts once."""
    choices = tuple(dict.fromkeys(part.strip().removesuffix(":") for part in text.split(",")))
    parse_names(",".join(choice.partition(":")[0] for choice in choices), NAMES, "reranker")
    return choices


def _rerank_command(settings: Settings, options: Options) -> int:
    questions = load(options.dataset, limit=options.limit)
    if options.queries == "rewrite":
        questions = questions.rewritten()
    candidates = (
        runs.candidates_from_run(questions, runs.read_run(options.run))
        if options.run
        else runs.judged_candidates(questions)
    )
    candidates = {id_: given[: options.depth] for id_, given in candidates.items()}
    fallbacks = 0
    with _open_llm(settings) as llm:
        made = [(choice, _reranker(settings, choice, llm, options.seconds)) for choice in options.rerankers]
        _print_head(RERANKING_COLUMNS, options)
        for choice, reranker in made:
            report = _measure_reranker(questions, candidates, choice, reranker)
            _print_row(report, RERANKING_COLUMNS, options)
            fallbacks += report["fallbacks"]
    return 1 if fallbacks else 0


def _reranker(settings: Settings, choice: str, llm: LanguageModel | None, seconds: float) -> Reranker | None:
    """Make a reranker; its failures are reported together, after its last question."""
    name, _, model = choice.partition(":")
    chosen = settings.model_copy(update={"reranker": name, "rerank_model": model or settings.rerank_model})
    return make_reranker(chosen, llm, seconds=seconds, on_failure=lambda *_: None)


def _measure_reranker(
    questions: QuestionSet, candidates: runs.Candidates, name: str, reranker: Reranker | None
) -> dict[str, Any]:
    sent: list[Sent] = []
    recording = reranker.recording(sent) if isinstance(reranker, LLMReranker) else reranker
    slow = {name: f"{name} puts the passages of {{total}} questions in order."} if reranker else {}
    with ProgressBar(slow) as bar:
        done = bar.collect(
            name, runs.rerank_all(questions, candidates, name, recording), len(questions.questions)
        )
    requests = reranker.requests if isinstance(reranker, RemoteReranker) else len(sent)
    _say_failures(name, done)
    return runs.reranking_report(questions, name, done, requests=requests)


def _say_failures(name: str, done: Sequence[runs.QuestionResult]) -> None:
    kept = [one.error for one in done if one.error]
    if kept:
        say(f"{name} left {len(kept)} of {len(done)} questions as they were, the first since: {kept[0]}")
    for note in dict.fromkeys(one.note for one in done if one.note and not one.error):
        say(f"{name}: {note}")


# footnote eval raptor
RAPTOR_HEAD = (
    f"{'questions':<10} {'retriever':<10} {'count':>5}  {'content':>8} {'difference':>26}  "
    f"{'evidence':>8} {'difference':>26} {'p50 ms':>7}"
)


def _add_raptor(kinds: Commands) -> None:
    add = _add_command(
        kinds,
        "raptor",
        _raptor_command,
        summary="what a tree brings",
        description="""Build a tree over each document of a set, and ask its questions of the leaves
        alone (flat), of the collapsed tree and by traversal, each filling the same budget of tokens. Where
        questions have reference summaries, content is the share of their words, in order, that the context
        holds; where they have spans of evidence, evidence is the share of it. Trees are kept for the next
        run.""",
        dataset="a folder with *.docs.jsonl and *.queries.jsonl, or one as for `eval retrieval`",
        limit="only the first N documents, and questions about them",
        json_lines="one JSON line per kind of question and retriever",
    )
    add("--tokens", type=positive, default=BUDGET, metavar="N", help=f"of a context (default: {BUDGET})")
    add("--summaries", choices=("extractive", "model"), default="extractive", help="who writes them")


def _raptor_command(settings: Settings, options: Options) -> int:
    questions = raptor.load_document_questions(options.dataset, limit=options.limit)
    with (
        ProgressBar(SLOW) as bar,
        _open_summariser(settings, options.summaries) as summariser,
        raptor.open_tree_library(
            questions,
            lambda: make_embedder(settings),
            cache=default_cache(),
            progress=bar,
            summariser=summariser,
        ) as (library, ids),
    ):
        scores = list(raptor.score_all(library, ids, questions, tokens=options.tokens, progress=bar))
    if not options.json:
        print(RAPTOR_HEAD)
    for line in raptor.tree_report(questions.name, scores):
        name = f"{line['questions']:<10} {line['retriever']:<10} {line['count']:>5}"
        figures = f"{_figures(line, 'content')}  {_figures(line, 'evidence')}"
        print_result(line, f"{name}  {figures} {line['p50_ms']:>7}", options)
    return 0


@contextmanager
def _open_summariser(settings: Settings, kind: str) -> Iterator[Summariser]:
    if kind == "extractive":
        yield ExtractiveSummariser()
        return
    with _open_llm(settings) as llm:
        if llm is None:
            raise SettingsError(
                N_("No language model is connected to write summaries. Set FOOTNOTE_LLM_MODEL.")
            )
        yield LLMSummariser(llm, lambda error: say(f"a summary was left out: {error}"))


def _figures(line: Mapping[str, Any], name: str) -> str:
    if line[name] is None:
        return f"{'-':>8} {'':>26}"
    difference = f"{line[f'{name}_diff']:+.4f} [{line[f'{name}_low']:+.4f}, {line[f'{name}_high']:+.4f}]"
    return f"{line[name]:>8.4f} {difference:>26}"
