"""Settings page: language model, search, embedding model, weights, reranking, summaries."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

import streamlit as st

from rag.index.staged import ReindexProgress
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.retrieval.rerank.cross_encoder import DEFAULT_MODEL as USUAL_CROSS_ENCODER
from rag.retrieval.rerank.llm import ListwiseReranker, windows
from rag.retrieval.weights import DEFAULT_WEIGHTS, FEWEST, CalibratedWeights
from rag.settings import RerankerName, RetrieverName, Settings, fixed_fields
from rag.workspace import Workspace
from storage.errors import FootnoteError
from ui import pages
from ui.components.job_progress import follow_job
from ui.components.labels import RECOMMENDED, TREE_RETRIEVERS, retriever_help, retriever_name
from ui.components.markdown import escape_text, label
from ui.components.messages import flash, flash_errors
from ui.server.services import ADMINISTRATORS_ONLY, PageServices, services, workspace
from ui.settings.local_model import model_in_use, show_local_models
from ui.trees.labels import MODES, cost_of

_STEPS = {
    "embedding": "Embedding your documents: {done:,} of {total:,} passages",
    "trees": "Embedding the summary trees: {done:,} of {total:,} summaries and passages",
    "verifying": "Verifying the index: {done:,} of {total:,}",
}


def show_reindexing(workspace: Workspace, chosen: str) -> None:
    """Show the progress of re-indexing with the `chosen` model, or the cost of a change."""
    reindex, job = workspace.library.reindexer, workspace.reindexing.job
    answering = label(reindex.answering or "")
    if job is not None:
        st.markdown(f"Until this is done, search uses **{answering}**.")
        follow_job(job, reindex_progress, key="stop-reindexing")
    elif workspace.reindexing.failed:
        st.error(escape_text(workspace.reindexing.failed), icon=":material/error:")
        st.markdown(f"Search uses **{answering}**.")
        _button(workspace, "Try again")
    elif reindex.begun:
        st.info(
            f"Re-indexing with {label(chosen)} was stopped. Search uses {answering}.",
            icon=":material/info:",
        )
        _button(workspace, "Continue")
    elif reindex.answering:
        st.caption(
            f"Changing the model re-indexes everything (about {reindex.needs() / 1e6:,.0f} MB). Search keeps "
            "working meanwhile."
        )


def reindex_progress(step: ReindexProgress | None) -> tuple[float, str]:
    """Return the share that is done, and a sentence.

    >>> reindex_progress(ReindexProgress("embedding", 500, 2000))
    (0.25, 'Embedding your documents: 500 of 2,000 passages')
    """
    if step is None:
        return 0.0, "Opening the model"
    return step.done / max(1, step.total), _STEPS[step.step].format(done=step.done, total=step.total)


def _button(workspace: Workspace, name: str) -> None:
    st.button(
        name, icon=":material/refresh:", on_click=flash_errors(workspace.reindexing.start), key="reindex"
    )


TICK = 1.0
_WRITINGS = {"ko": "Korean", "ja": "Japanese", "zh": "Chinese", "alphabet": "English and other alphabets"}
_COMPARED = {  # score normalisers
    "min-max": "scores normalised by their range (min-max)",
    "z-score": "scores normalised by their spread (z-score)",
    "theoretical": "scores normalised by the best one (theoretical min-max)",
}
_HOW = (
    "Hybrid search adds the scores of word search and meaning search by weight. The best weight depends on "
    "your documents and on how well the embedding model knows their language, so Footnote measures it: it "
    "searches for your passages with questions made from their sentences, by two methods. The default weight "
    "stays unless both clearly favour another. Each language has its own weight. Weights are recalculated "
    "when half of your documents have changed, with another embedding model, or after an update that changes "
    "the method."
)


def show_weights(workspace: Workspace) -> None:
    """Show the weights of words and meaning, or the progress of measuring them."""
    with st.container(border=True):
        st.markdown("**Weights of words and meaning**")
        if workspace.ingest.weighing() is not None:
            _progress(workspace)
        else:
            _show_found_weights(workspace)
        with st.expander("How the weights are found"):
            st.markdown(_HOW)


@st.fragment(run_every=TICK)
def _progress(workspace: Workspace) -> None:
    tuned = workspace.ingest.weighing()
    if tuned is None:
        st.rerun()
    st.progress(tuned.done / max(1, tuned.total), text=f"Measuring: {tuned.done} of {tuned.total} passages")


def _show_found_weights(workspace: Workspace) -> None:
    st.markdown("\n".join(f"- {line}" for line in weight_lines(workspace.library.weighing.latest)))
    if workspace.library.weighing.latest is not None:
        st.button("Recalculate", icon=":material/refresh:", on_click=flash_errors(workspace.ingest.weigh))


def weight_lines(weighed: CalibratedWeights | None) -> list[str]:
    """Return the weights in words, a line for each language.

    >>> weight_lines(None)[0]
    'English and other alphabets: meaning 55 %, words 45 %.'
    >>> weight_lines(None)[-1]
    'Default weights, until there are 30 passages to measure with.'
    """
    if weighed is None or not weighed.mixture.weights:
        usual = f"Default weights, until there are {FEWEST} passages to measure with."
        return [*_by_writing(DEFAULT_WEIGHTS), usual]
    return [*_by_writing(weighed.mixture.weights), _origin(weighed)]


def _by_writing(weights: Mapping[str, float]) -> list[str]:
    return [f"{_WRITINGS[code]}: {_share(weight).lower()}." for code, weight in sorted(weights.items())]


def _origin(weighed: CalibratedWeights) -> str:
    return (
        f"Found on {weighed.found:%Y-%m-%d} from {weighed.mixture.passages:,} of {weighed.chunks:,} "
        f"passages; {_COMPARED[weighed.mixture.normaliser]}."
    )


def _share(meaning: float) -> str:
    return f"Meaning {meaning:.0%}, words {1 - meaning:.0%}".replace("%", " %")


Options = Callable[[str, str], dict[str, Any]]
"""Function from a setting's name and help text to the arguments of its widget."""
RERANKERS: dict[str, str] = {
    "none": "Off",
    "cross-encoder": "Cross-encoder",
    "pointwise-logprob": "Language model, yes or no",
    "pointwise-score": "Language model, 0 to 100",
    "listwise": "Language model, the whole order",
    "remote": "Reranker on a server",
}


def reranker_costs(settings: Settings) -> dict[str, str]:
    """Return a description of each reranker with its cost, by name."""
    found = settings.fetch_k
    requests = len(
        windows(found, *(ListwiseReranker.model_fields[part].default for part in ("size", "step")))
    )
    each = f"{found} short requests to the language model per question"
    return {
        "none": "Keeps the order of the search. No extra time.",
        "cross-encoder": "A separate model on this computer reads question and passage together. "
        f"{USUAL_CROSS_ENCODER} is 2.3 GB, downloaded on first use, and takes seconds per question.",
        "pointwise-logprob": f"Uses the probability of “yes”. {each}.",
        "pointwise-score": f"For servers without token probabilities. {each}.",
        "listwise": f"{requests} long requests to the language model per question.",
        "remote": "Sends question and passages to the address below: Cohere, Jina, TEI, vLLM or llama.cpp.",
    }


def show_reranking(settings: Settings, fixed: frozenset[str], fixed_help: str) -> dict[str, Any] | None:
    """Show the form; return the changes when it is saved, else None."""

    def options(field: str, text: str) -> dict[str, Any]:
        return {"key": field, "disabled": field in fixed, "help": fixed_help if field in fixed else text}

    st.subheader("Reranking")
    st.markdown(
        f"A reranker can reorder the {settings.fetch_k} best passages before {settings.k} of them are used. "
        f"It gets {settings.rerank_seconds:g} seconds per question at most. If it fails or takes longer, the "
        "order of the search stays, and the answer says so. The smallest models make the order worse."
    )
    with st.form("reranking", border=True):
        changes = {**_reranker(settings, options), **_server(settings, options)}
        changes["lost_in_the_middle_order"] = st.checkbox(
            "Put the best passages first and last in the prompt",
            settings.lost_in_the_middle_order,
            **options(
                "lost_in_the_middle_order",
                "Models read the middle of a long prompt worst. Citation numbers do not change.",
            ),
        )
        saved = st.form_submit_button("Save", type="primary", key="save-reranking")
    return changes if saved else None


def _reranker(settings: Settings, options: Options) -> dict[str, Any]:
    names = get_args(RerankerName)
    chosen = st.selectbox(
        "Reranker",
        names,
        index=names.index(settings.reranker),
        format_func=lambda name: RERANKERS[name],
        **options("reranker", _reranker_help(reranker_costs(settings))),
    )
    model = st.text_input(
        "Reranker model, for a cross-encoder or a server",
        settings.rerank_model,
        **options(
            "rerank_model",
            f"A folder or Hugging Face id, by default `{USUAL_CROSS_ENCODER}`, or the model's name on the "
            "server.",
        ),
    )
    return {"reranker": chosen, "rerank_model": model.strip()}


def _server(settings: Settings, options: Options) -> dict[str, Any]:
    """Return the address, and the key if one was typed; otherwise the old key stays."""
    address = st.text_input(
        "Reranker address, for a server",
        settings.rerank_base_url or "",
        **options("rerank_base_url", "With or without `/rerank` at the end."),
    )
    kept = bool(settings.rerank_api_key.get_secret_value())
    typed = st.text_input(
        "Reranker API key, for a server",
        type="password",
        placeholder="Saved. Type to change it" if kept else "None (local servers need none)",
        autocomplete="off",
        **options("rerank_api_key", "Stored on this computer and not shown again."),
    )
    return {"rerank_base_url": address.strip() or None, **({"rerank_api_key": typed} if typed else {})}


def _reranker_help(sentences: dict[str, str]) -> str:
    """Return a Markdown list of what each reranker costs."""
    return "\n".join(f"- **{RERANKERS[name]}.** {sentence}" for name, sentence in sentences.items())


_ABOUT = (
    "Document summaries help with broad questions such as “What is this about?” Footnote builds them in the "
    "background once documents are read, and then offers two more search modes above. Answers still cite the "
    "original passages."
)


def show_tree_setting(
    settings: Settings, fixed: frozenset[str], fixed_help: str, here: Workspace
) -> dict[str, Any] | None:
    """Show the form; return the changes when it is saved, else None."""
    modes = get_args(Settings.model_fields["raptor"].annotation)
    st.subheader("Document summaries", anchor="document-summaries")
    st.markdown(_ABOUT)
    with st.form("trees", border=True):
        chosen = st.radio(
            "Summaries",
            modes,
            index=modes.index(settings.raptor),
            format_func=MODES.__getitem__,
            captions=_captions(settings, here),
            key="raptor",
            disabled="raptor" in fixed,
            help=fixed_help if "raptor" in fixed else None,
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            saved = st.form_submit_button("Save", type="primary", key="save-trees")
            st.page_link(pages.TREES, label="Show the trees", icon=":material/account_tree:")
    return {"raptor": chosen} if saved else None


def _captions(settings: Settings, here: Workspace) -> list[str]:
    """Return a description of each choice with its cost."""
    model = f"{label(settings.llm_model or settings.local_model, 60)} reads every document once. "
    unconnected = "No model is connected. Until then, summaries quote the documents. "
    connected = settings.connected or bool(settings.local_model)
    return [
        "Existing summaries are kept.",
        f"Uses no model. {_cost(here, by_model=False)}",
        f"{model if connected else unconnected}{_cost(here, by_model=connected)}",
    ]


def _cost(here: Workspace, *, by_model: bool) -> str:
    try:
        cost = here.library.forest.cost(by_model=by_model)
    except FootnoteError as error:
        return f"The cost cannot be estimated: {label(str(error), 300)}"
    return f"For your documents: {cost_of(cost)}." if cost.leaves else "Nothing to build now."


EMBEDDING_MODELS = ["multilingual-e5-small", "all-MiniLM-L6-v2", "use-multilingual"]
_ANY_EMBEDDING = (
    "Also `openai:<model>`, or any sentence-transformers model. Changing the model re-indexes every document."
)
TEST_SECONDS = 10.0
_FIXED = "Set by the server's configuration. It cannot be changed here."


def show() -> None:
    """Show the settings page."""
    server = services()
    fixed = fixed_fields()
    st.title("Settings")
    if not server.administers():
        st.info(ADMINISTRATORS_ONLY, icon=":material/lock:")
        return
    _model(server, fixed)
    _finding(server, fixed)


def _model(server: PageServices, fixed: frozenset[str]) -> None:
    settings = server.settings
    st.header("Language model")
    st.markdown(model_in_use(settings))
    show_local_models(server, fixed)
    st.subheader("Model server")
    with st.form("model", border=True):
        changes = {
            "llm_base_url": _text("Base URL", "llm_base_url", settings.llm_base_url, fixed),
            "llm_model": _text("Model (leave empty to turn off)", "llm_model", settings.llm_model, fixed),
        }
        key = st.text_input(
            "API key",
            type="password",
            key="llm_api_key",
            placeholder="Saved. Type to change it"
            if settings.llm_api_key.get_secret_value()
            else "None (local servers need none)",
            disabled="llm_api_key" in fixed,
            help=_FIXED if "llm_api_key" in fixed else "Stored on this computer and not shown again.",
            autocomplete="off",
        )
        if key:
            changes["llm_api_key"] = key
        with st.container(horizontal=True):
            save = st.form_submit_button("Save", type="primary")
            test = st.form_submit_button("Test connection", icon=":material/cable:")
    if save and _change(server, changes, fixed):
        st.rerun()
    if test:
        _test(settings, changes)


def _retrievers(settings: Settings) -> list[str]:
    """Return the retrievers to offer; those over trees only if trees are built."""
    trees = settings.raptor != "off"
    return [
        name
        for name in get_args(RetrieverName)
        if trees or name not in TREE_RETRIEVERS or name == settings.retriever
    ]


def _finding(server: PageServices, fixed: frozenset[str]) -> None:
    settings = server.settings
    st.header("Search")
    with st.form("finding", border=True):
        changes = {
            "retriever": _search(settings, fixed),
            "k": _passages(settings, fixed),
            "embedding_model": _embedding_model(settings, fixed),
        }
        save = st.form_submit_button("Save", type="primary", key="save-finding")
    if save and _change(server, changes, fixed):
        st.rerun()
    show_reindexing(workspace(), settings.embedding_model)
    if settings.retriever == "ensemble-cc":
        show_weights(workspace())
    for show_part in (show_reranking, partial(show_tree_setting, here=workspace())):
        chosen = show_part(settings, fixed, _FIXED)
        if chosen is not None and _change(server, chosen, fixed):
            st.rerun()


def _search(settings: Settings, fixed: frozenset[str]) -> str:
    retrievers = _retrievers(settings)
    return st.selectbox(
        "Search mode",
        retrievers,
        index=retrievers.index(settings.retriever),
        format_func=lambda name: retriever_name(name) + (" (recommended)" if name == RECOMMENDED else ""),
        disabled="retriever" in fixed,
        help=_FIXED if "retriever" in fixed else retriever_help(),
    )


def _passages(settings: Settings, fixed: frozenset[str]) -> int:
    return st.slider(
        "Passages per answer",
        1,
        20,
        min(settings.k, 20),
        disabled="k" in fixed,
        help=_FIXED if "k" in fixed else "More passages find more, and take longer.",
    )


def _embedding_model(settings: Settings, fixed: frozenset[str]) -> str:
    names = list(dict.fromkeys([*EMBEDDING_MODELS, settings.embedding_model]))
    return st.selectbox(
        "Embedding model",
        names,
        index=names.index(settings.embedding_model),
        accept_new_options=True,
        disabled="embedding_model" in fixed,
        help=_FIXED if "embedding_model" in fixed else _ANY_EMBEDDING,
    )


def _text(name: str, field: str, value: str, fixed: frozenset[str]) -> str:
    return st.text_input(
        name, value=value, key=field, disabled=field in fixed, help=_FIXED if field in fixed else None
    ).strip()


def _change(server: PageServices, changes: Mapping[str, Any], fixed: frozenset[str]) -> bool:
    """Save the changes, except of fixed settings; show an error and save nothing if one is invalid."""
    try:
        server.change({name: value for name, value in changes.items() if name not in fixed})
    except FootnoteError as error:
        st.error(escape_text(str(error)), icon=":material/error:")
        return False
    flash("Saved.", ":material/check:")
    return True


def _test(settings: Settings, changes: Mapping[str, str]) -> None:
    """List the server's models, using the unsaved values of the form."""
    try:
        with LLM(_unsaved_settings(settings, changes)) as llm, st.spinner("Connecting…"):
            models = llm.models()
    except FootnoteError as error:
        st.error(escape_text(str(error)), icon=":material/error:")
        return
    st.success("Connected.", icon=":material/check_circle:")
    wanted = changes["llm_model"]
    if wanted and wanted not in models:
        st.warning(f"The server has no model named {label(wanted)}.", icon=":material/info:")
    st.markdown("Available models: " + ", ".join(f"**{label(name)}**" for name in models[:30]))


def _unsaved_settings(settings: Settings, changes: Mapping[str, str]) -> LLMSettings:
    return LLMSettings(
        base_url=changes["llm_base_url"],
        api_key=changes.get("llm_api_key", settings.llm_api_key.get_secret_value()),
        model=changes["llm_model"],
        timeout=TEST_SECONDS,
        idle_timeout=TEST_SECONDS,
        context_tokens=settings.llm_context_tokens,
    )
