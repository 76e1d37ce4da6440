"""Factory functions: libraries, models and the RAG pipeline, made from settings."""

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.retrievers import BaseRetriever

from rag.chat.check_text import PASSAGES, TextChecker
from rag.chat.pipeline import RagPipeline
from rag.chat.rewrite import SMALL_MODEL_REWRITE_SECONDS
from rag.chat.scope import EVERYTHING, LibraryView, Scope, scope_without
from rag.chat.steps import StepLimits
from rag.chat.whole_documents import Budget
from rag.citations.checker import VERIFIED, VERIFIED_UNSPACED, Judge
from rag.citations.judges import CrossEncoderJudge
from rag.citations.reader import StatementReader
from rag.connectors.base import Credentials
from rag.connectors.http import Fetcher
from rag.connectors.registry import ConnectorContext
from rag.errors import EmbeddingError, SettingsError
from rag.grid.extraction import CellReader
from rag.i18n import N_
from rag.index.external import LANCE_OBJECTS, StoreSpec
from rag.ingest.figure_descriptions import FigureModel
from rag.ingest.library import IngestQuota, Library, NoQuota
from rag.models.embeddings import Embedder, open_embedder
from rag.models.llm import LLM
from rag.models.local.catalog import ModelChoice
from rag.models.local.install import Hub
from rag.models.local.server import LocalModel
from rag.models.protocol import LanguageModel, LLMSettings, as_vision_model
from rag.raptor.summarize import ExtractiveSummariser, LLMSummariser, Summariser
from rag.retrieval.degradation import DegradationRecorder
from rag.retrieval.registry import SearchOptions
from rag.retrieval.rerank.base import NAME as RERANKER
from rag.retrieval.rerank.base import Reranker
from rag.retrieval.rerank.cross_encoder import CrossEncoderModel
from rag.retrieval.rerank.registry import NONE as NO_RERANKER
from rag.retrieval.rerank.registry import RerankerParts, automatic_reranker, choose_reranker
from rag.retrieval.weights import describe_weights
from rag.settings import LOCAL_OWNER, RetrieverName, Settings
from rag.sharing import place_of
from rag.text.tokenize import find
from storage.database import Database
from storage.originals import OriginalsPlace, open_originals, shared_folder

if TYPE_CHECKING:
    from rag.index.lance_objects import TableObjects

log = logging.getLogger(__name__)

LLM_JUDGE, NO_JUDGE = "llm", "off"
QUOTED_FROM = 12
"""Passages that an answer without a model is chosen from: the best sentence is not always in the best."""

Current = Callable[[], tuple[Settings, LanguageModel | None]]
"""Returns the present settings and language model, which can change while a server runs."""


def make_embedder(
    settings: Settings, spec: str | None = None, *, opened: Callable[..., Embedder] = open_embedder
) -> Embedder:
    """Open the embedding model of the settings, or of `spec`; raises ModelUnavailable.

    `opened` opens it or shares an open one: see rag/models/embeddings.py.
    """
    return opened(
        spec or settings.embedding_model,
        cache=settings.model_cache,
        base_url=settings.embedding_base_url,
        api_key=settings.embedding_api_key.get_secret_value(),
    )


def make_store(settings: Settings, data: Path | None = None) -> StoreSpec:
    """Return the vector store of the settings; raises SettingsError where there is no such class.

    Copies of tables in an object store lie in the directory `data`, by default that of the settings.
    """
    store = StoreSpec(settings.vector_store, settings.vector_store_arguments)
    store.check()
    if store.name != LANCE_OBJECTS:
        return store
    if not settings.objects:
        raise SettingsError(
            N_(
                "FOOTNOTE_VECTOR_STORE is lance-objects, and FOOTNOTE_OBJECTS is empty. Name an object store "
                "there, such as s3://BUCKET/PREFIX, or a shared folder, file:///FOLDER. Or name another "
                "vector store."
            )
        )
    if folder := shared_folder(settings.objects):
        return replace(store, root=folder)
    return replace(
        store, tables=_tables(data or settings.data, settings.objects, settings.index_copies_mb << 20)
    )


@lru_cache(maxsize=4)
def _tables(data: Path, address: str, most_bytes: int) -> "TableObjects":
    """Return the tables for all owners, since their connections and the bound of their copies are shared."""
    from rag.index.lance_objects import TableObjects  # with pyarrow

    return TableObjects.at(address, data, most_bytes)


def make_originals(settings: Settings, data: Path) -> OriginalsPlace:
    """Return the place of the original files; raises StorageError where it is none that can be used."""
    return _originals(data, settings.objects, settings.objects_cache_mb << 20)


@lru_cache(maxsize=4)
def _originals(data: Path, address: str, cache_bytes: int) -> OriginalsPlace:
    """Return one place for all owners, since its connections and its cache are shared."""
    return open_originals(data, address, cache_bytes)


def make_library(
    database: Database,
    owner: str,
    current: Current,
    *,
    opened: Callable[..., Embedder] = open_embedder,
    summariser: Callable[[], Summariser] | None = None,
    quota: IngestQuota = NoQuota(),  # noqa: B008 - it holds nothing
) -> Library:
    """Return an owner's library, which reads the `current` settings and language model at each use.

    Nothing heavy is opened before it is needed. `opened` opens an embedding model, `summariser` overrides
    that of the settings, `quota` is that of a person. Raises SettingsError or StorageError.
    """
    settings, _ = current()
    return Library(
        database,
        owner,
        lambda: make_embedder(current()[0], opened=opened),
        make_store(settings, database.directory),
        analysers=find(settings.korean_japanese_analyzers),
        summariser=summariser or (lambda: make_summariser(*current())),
        open_named=lambda spec: make_embedder(current()[0], spec, opened=opened),
        quota=quota,
        recognition=60 * settings.ocr_minutes,
        most_passages=settings.document_passages,
        originals=make_originals(settings, database.directory).of(owner),
        place=partial(place_of, settings.objects),
    )


def make_bench_library(
    database: Database,
    owner: str,
    open_model: Callable[[], Embedder],
    summariser: Callable[[], Summariser] = ExtractiveSummariser,
) -> Library:
    """Return a library for benchmarks: a given embedding model, no morphological analysers."""
    settings = Settings(korean_japanese_analyzers="off")
    return make_library(
        database, owner, lambda: (settings, None), opened=lambda *_, **__: open_model(), summariser=summariser
    )


def make_means(settings: Settings, owner: str) -> ConnectorContext:
    """Return the connector context of an owner: HTTP client, credentials and allowed folders.

    The local user may read any folder and use every credential; people who sign in may not.
    """
    alone, most = owner == LOCAL_OWNER, settings.max_upload_mb << 20
    return ConnectorContext(
        fetcher=Fetcher(private=settings.private_hosts, max_bytes=most),
        credentials=Credentials.of_this_machine("" if alone else owner),
        folder_roots=(settings.allowed_folders or None) if alone else settings.allowed_folders,
        max_bytes=most,
    )


MAX_MODEL_BYTES = 8_000_000_000
MODEL_SECONDS = 12 * 3600.0  # of a download, which goes on at the next attempt where it was left


def make_hub(settings: Settings) -> Hub:
    """Return the hub of local models, reached as sources are: no private address that is not allowed."""
    return Hub(
        settings.model_hub,
        Fetcher(private=settings.private_hosts, longest=MODEL_SECONDS, max_bytes=MAX_MODEL_BYTES),
    )


def make_summariser(settings: Settings, llm: LanguageModel | None) -> Summariser:
    """Return the summariser of trees: the language model where the settings say so and there is one."""
    if settings.raptor != "model" or llm is None:
        return ExtractiveSummariser()
    return LLMSummariser(llm, lambda error: log.warning("A summary was left out. %s", error))


def make_llm(settings: Settings) -> LLM | LocalModel | None:
    """Return the language model of the settings: on a server, else a local one, or None."""
    if not settings.connected:
        return make_own_model(settings) if settings.local_model else None
    return LLM(
        LLMSettings(
            base_url=settings.llm_base_url,
            api_key=settings.llm_api_key.get_secret_value(),
            model=settings.llm_model,
            timeout=settings.llm_timeout,
            idle_timeout=settings.llm_idle_timeout,
            context_tokens=settings.llm_context_tokens,
        )
    )


def make_own_model(settings: Settings) -> LocalModel:
    """Return the local model, which starts, or fails, at its first request."""
    choice = ModelChoice.of(settings.local_model, settings.model_cache)
    return LocalModel(choice.path, name=choice.name, context_tokens=settings.llm_context_tokens)


def rephrase_seconds(settings: Settings, llm: LanguageModel | None) -> float:
    """Return the seconds for rewriting a follow-up: more for a small model, unless they are set."""
    slow = llm is not None and llm.settings.brief and "llm_rephrase_timeout" not in settings.model_fields_set
    return SMALL_MODEL_REWRITE_SECONDS if slow else settings.llm_rephrase_timeout


def make_judge(settings: Settings) -> Judge | None:
    """Return the cross-encoder of the settings that judges citations, if any."""
    spec = settings.citation_judge
    return None if spec in (LLM_JUDGE, NO_JUDGE, "") else _cross_encoder(spec)


def reading_seconds(settings: Settings) -> float | None:
    """Return the seconds in which the connected model reads for open statements; None where it does not."""
    return settings.citation_seconds if settings.citation_judge == LLM_JUDGE else None


def make_reader(settings: Settings, llm: LanguageModel | None) -> StatementReader | None:
    """Return the reader of the settings: the connected model, if it is to read for open statements."""
    seconds = reading_seconds(settings)
    return None if llm is None or seconds is None else StatementReader(llm, seconds)


@lru_cache(maxsize=1)
def _cross_encoder(spec: str) -> CrossEncoderJudge:
    """Return one judge for all turns, since its model takes seconds to load."""
    return CrossEncoderJudge(spec)


def make_reranker(settings: Settings, llm: LanguageModel | None, **options: Any) -> Reranker | None:
    """Return the reranker of the settings, if any; `options` are those of a Reranker.

    Raises SettingsError where a part that it needs is missing.
    """
    parts = RerankerParts(
        llm=llm,
        model=settings.rerank_model,
        base_url=settings.rerank_base_url,
        api_key=settings.rerank_api_key,
        opened=_reranking_model,
    )
    options = {"seconds": settings.rerank_seconds, "threshold": settings.rerank_threshold, **options}
    return choose_reranker(reranker_name(settings), parts, **options)


def reranker_name(settings: Settings) -> str:
    """Return the reranker in use: the chosen one, or that of "auto"."""
    if settings.reranker != "auto":
        return settings.reranker
    return automatic_reranker(settings.rerank_base_url, settings.rerank_model)


@lru_cache(maxsize=1)
def _reranking_model(spec: str) -> CrossEncoderModel:
    """Return one model for all turns, since it takes seconds to load."""
    return CrossEncoderModel(spec)


def _reranker_if_there(
    settings: Settings, llm: LanguageModel | None, k: int, omissions: DegradationRecorder
) -> Reranker | None:
    try:
        return make_reranker(settings, llm, k=k, on_failure=omissions)
    except SettingsError as error:
        omissions(RERANKER, error)
        return None


def make_pipeline(
    settings: Settings,
    library: Library,
    llm: LanguageModel | None,
    *,
    retriever: RetrieverName | None = None,
    k: int | None = None,
    scope: Scope = EVERYTHING,
    read_all: bool = False,
) -> RagPipeline:
    """Return the RAG pipeline over the documents of a library that are in `scope`.

    `retriever` and `k` override the settings. With `read_all` whole documents are read without asking.
    """
    retriever, k, omissions = retriever or settings.retriever, k or settings.k, DegradationRecorder()
    reranker = _reranker_if_there(settings, llm, k, omissions)
    fetch_k = max(k, settings.fetch_k if reranker else 0, QUOTED_FROM if llm is None else 0)
    options = SearchOptions(settings.score_threshold, settings.mmr_fetch_k, settings.mmr_lambda_mult)
    within = partial(_retriever, library, retriever, fetch_k, omissions, options)
    return RagPipeline(
        retriever=within(scope.document_ids),
        corpus=LibraryView(
            library.rarity,
            documents=library.documents,
            trees=library.forest.trees,
            scope=scope,
            profiles=library.profiles,
            word_search=library.texts_about,
            collections=library.collections,
        ),
        scope=scope,
        within=within,
        reranker=reranker,
        fetch_k=fetch_k,
        lost_in_the_middle_order=settings.lost_in_the_middle_order,
        conversation_tokens=settings.conversation_tokens,
        steps=StepLimits(settings.steps_seconds, settings.steps_requests),
        tree=partial(_retriever, library, "raptor-collapsed", k, omissions, options),
        reading_budget=Budget(settings.reading_requests, settings.reading_requests_most, read_all),
        llm=llm,
        embedder=_embedder_if_there(library, omissions, needed=llm is None),
        judge=None if llm is None else make_judge(settings),
        reading_seconds=reading_seconds(settings),
        omissions=omissions,
        k=k,
        rephrase_seconds=rephrase_seconds(settings, llm),
        made_with=_made_with(settings, library, llm, retriever, k) | _reranked_with(settings),
    )


def make_text_checker(
    settings: Settings,
    library: Library,
    llm: LanguageModel | None = None,
    *,
    scope: Scope = EVERYTHING,
    sha256: str = "",
) -> TextChecker:
    """Return the checker of texts against the documents in scope, which are searched without a reranker.

    A language model only reads for what the code leaves open, if it is to. The document with the hash
    `sha256`, the text itself, is left out.
    """
    plain = settings.model_copy(update={"reranker": NO_RERANKER})
    others = scope_without(library.documents, scope, sha256)
    found_in = make_pipeline(plain, library, None, k=PASSAGES, scope=others)
    return TextChecker(found_in, make_reader(settings, llm))


def make_figure_model(settings: Settings, llm: LanguageModel | None) -> FigureModel | None:
    """Return the model that figures are shown to, if they are to be described and it may take pictures."""
    model = as_vision_model(llm) if settings.describe_figures else None
    return None if model is None else FigureModel(model, settings.figures_per_document)


def make_cell_reader(library: Library, llm: LanguageModel | None) -> CellReader:
    """Return the reader of cells of grids over the documents of a library."""
    return CellReader(library, llm)


def _retriever(
    library: Library,
    name: RetrieverName,
    k: int,
    omissions: DegradationRecorder,
    options: SearchOptions,
    document_ids: frozenset[str] | None,
) -> BaseRetriever:
    return library.retriever(name, k, document_ids=document_ids, on_failure=omissions, options=options)


def _made_with(
    settings: Settings, library: Library, llm: LanguageModel | None, retriever: RetrieverName, k: int
) -> dict[str, Any]:
    made_with: dict[str, Any] = {
        "retriever": retriever,
        "k": k,
        "embedding_model": library.reindexer.answering or settings.embedding_model,
        "checker": f"verified from {VERIFIED:g}, in writing without spaces from {VERIFIED_UNSPACED:g}",
    }
    if retriever == "ensemble-cc":
        made_with["mixture"] = describe_weights(library.weighing.mixture)
    if llm is not None:
        model = llm.settings
        made_with |= {"judge": settings.citation_judge} if settings.citation_judge else {}
        made_with |= {"model": model.model, "server": model.host, "context_tokens": model.context_tokens}
    return made_with


def _reranked_with(settings: Settings) -> dict[str, Any]:
    shown = {"order": N_("best first and last")} if settings.lost_in_the_middle_order else {}
    name = reranker_name(settings)
    if name == NO_RERANKER:
        return shown
    named = " ".join(part for part in (name, settings.rerank_model) if part)
    return {"reranker": named, "fetch_k": settings.fetch_k, **shown}


def _embedder_if_there(library: Library, omissions: DegradationRecorder, *, needed: bool) -> Embedder | None:
    try:
        return library.indexes.embedder
    except EmbeddingError as error:
        if needed:
            omissions("embedding model", error)
        return None
