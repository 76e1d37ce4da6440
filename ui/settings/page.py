"""Settings page: language, language model, search, embedding model, weights, reranking, summaries.

Light or dark is chosen here, too, where it is looked for, beside the page's menu.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

import streamlit as st

from rag.i18n import LANGUAGES, N_, _, language, translated, written_day
from rag.index.staged import ReindexProgress
from rag.retrieval.rerank.cross_encoder import DEFAULT_MODEL as USUAL_CROSS_ENCODER
from rag.retrieval.rerank.llm import ListwiseReranker, windows
from rag.retrieval.weights import DEFAULT_WEIGHTS, FEWEST, CalibratedWeights
from rag.settings import RerankerName, RetrieverName, Settings, fixed_fields
from rag.workspace import Workspace
from storage.accounts import Account
from storage.errors import FootnoteError
from ui import language as page_language
from ui import pages
from ui.components.job_progress import follow_job
from ui.components.labels import RECOMMENDED, TREE_RETRIEVERS, USES, described, retriever_name
from ui.components.markdown import label
from ui.components.messages import action, flash, flash_errors, show_refusal, show_sentence
from ui.server.services import ADMINISTRATORS_ONLY, PageServices, services, workspace
from ui.settings.backup import show_backup
from ui.settings.deleted_chats import show_deleted_chats
from ui.settings.fields import secret_field, shared, text_field
from ui.settings.models import model_in_use, show_local_models, show_server_form
from ui.settings.programs import show_keys, show_webhooks
from ui.trees.labels import MODES, cost_of

THEMES = {
    "System": (N_("Automatic"), ":material/contrast:"),
    "Light": (N_("Light"), ":material/light_mode:"),
    "Dark": (N_("Dark"), ":material/dark_mode:"),
}
"""Names of the themes in Streamlit's menu, which the page's script presses there."""


def show_appearance() -> None:
    """Show a button for each theme; the browser keeps the choice."""
    with st.container(key="appearance", gap="xsmall"):
        st.caption(_("Appearance"))
        with st.container(horizontal=True, gap="xsmall"):
            for theme, (name, icon) in THEMES.items():
                st.button(translated(name), icon=icon, key=f"theme-{theme}")


_STEPS = {
    "embedding": N_("Embedding your documents: {done} of {total} passages"),
    "trees": N_("Embedding the summary trees: {done} of {total} summaries and passages"),
    "verifying": N_("Verifying the index: {done} of {total}"),
}
LANGUAGE_KEY = "settings-language-{code}"  # of the page's language: a browser keeps a label it has shown


def _show_reindexing(workspace: Workspace, chosen: str) -> None:
    reindex, job = workspace.library.reindexer, workspace.reindexing.job
    answering = label(reindex.answering or "")
    if job is not None:
        st.markdown(_("Until this is done, search uses **{answering}**.", answering=answering))
        follow_job(job, reindex_progress, key="stop-reindexing")
    elif workspace.reindexing.failed:
        show_sentence(workspace.reindexing.failed)
        st.markdown(_("Search uses **{answering}**.", answering=answering))
        _button(workspace, _("Try again"))
    elif reindex.begun:
        st.info(
            _(
                "Re-indexing with {chosen} was stopped. Search uses {answering}.",
                chosen=label(chosen),
                answering=answering,
            ),
            icon=":material/info:",
        )
        _button(workspace, _("Continue"))
    elif reindex.answering:
        st.caption(
            _(
                "Changing the embedding model re-indexes everything (about {megabytes} MB). Search keeps "
                "working meanwhile.",
                megabytes=f"{reindex.needs() / 1e6:,.0f}",
            )
        )


def reindex_progress(step: ReindexProgress | None) -> tuple[float, str]:
    """Return the share that is done, and a sentence.

    >>> reindex_progress(ReindexProgress("embedding", 500, 2000))
    (0.25, 'Embedding your documents: 500 of 2,000 passages')
    """
    if step is None:
        return 0.0, _("Opening the model")
    return step.done / max(1, step.total), _(
        _STEPS[step.step], done=f"{step.done:,}", total=f"{step.total:,}"
    )


def _button(workspace: Workspace, name: str) -> None:
    action(name, "refresh", "reindex", workspace.reindexing.start, kind="secondary")


TICK = 1.0  # seconds between updates
_WRITINGS = {
    "ko": N_("Korean"),
    "ja": N_("Japanese"),
    "zh": N_("Chinese"),
    "alphabet": N_("English and other alphabets"),
}
_COMPARED = {  # score normalisers
    "min-max": N_("Scores are scaled by their range (min-max)."),
    "z-score": N_("Scores are scaled by their spread (z-score)."),
    "theoretical": N_("Scores are scaled by the best possible one (theoretical min-max)."),
}
_HOW = N_(
    "Hybrid search adds the scores of word search and meaning search by weight. The best weight depends on "
    "your documents and on how well the embedding model knows their language, so Footnote measures it: it "
    "searches for your passages with questions made from their sentences, by two methods. The default weight "
    "stays unless both clearly favour another. Each language has its own weight. Weights are recalculated "
    "when half of your documents have changed, with another embedding model, or after an update that changes "
    "the method."
)


def _show_weights(workspace: Workspace) -> None:
    with st.container(border=True):
        st.markdown(_("**Weights of words and meaning**"))
        if workspace.ingest.weighing() is not None:
            _progress(workspace)
        else:
            latest = workspace.library.weighing.latest
            st.markdown("\n".join(f"- {line}" for line in weight_lines(latest)))
            if latest is not None:
                st.button(
                    _("Recalculate"), icon=":material/refresh:", on_click=flash_errors(workspace.ingest.weigh)
                )
        with st.popover(_("How the weights are found"), type="tertiary"):
            st.markdown(translated(_HOW))


@st.fragment(run_every=TICK)
def _progress(workspace: Workspace) -> None:
    tuned = workspace.ingest.weighing()
    if tuned is None:
        st.rerun()
    st.progress(
        tuned.done / max(1, tuned.total),
        text=_("Measuring: {done} of {total} passages", done=tuned.done, total=tuned.total),
    )


def weight_lines(weighed: CalibratedWeights | None) -> list[str]:
    """Return the weights in words: "Korean: meaning 20 %, words 80 %.", and their origin."""
    if weighed is None or not weighed.mixture.weights:
        usual = _("Default weights, until there are {fewest} passages to measure with.", fewest=FEWEST)
        return [*_by_writing(DEFAULT_WEIGHTS), usual]
    origin = _(
        "Measured on {day} with {passages} of {chunks} passages. {method}",
        day=written_day(weighed.found),
        passages=f"{weighed.mixture.passages:,}",
        chunks=f"{weighed.chunks:,}",
        method=translated(_COMPARED[weighed.mixture.normaliser]),
    )
    return [*_by_writing(weighed.mixture.weights), origin]


def _by_writing(weights: Mapping[str, float]) -> list[str]:
    return [
        _(
            "{language}: meaning {meaning} %, words {words} %.",
            language=translated(_WRITINGS[code]),
            meaning=f"{weight * 100:.0f}",
            words=f"{(1 - weight) * 100:.0f}",
        )
        for code, weight in sorted(weights.items())
    ]


RERANKERS: dict[str, str] = {
    "auto": N_("Automatic"),
    "none": N_("Off"),
    "cross-encoder": N_("Cross-encoder"),
    "pointwise-logprob": N_("Language model, yes or no"),
    "pointwise-score": N_("Language model, 0 to 100"),
    "listwise": N_("Language model, the whole order"),
    "remote": N_("Reranker on a server"),
}


def reranker_costs(settings: Settings) -> dict[str, str]:
    """Return a description of each reranker with its cost, by name."""
    found = settings.fetch_k
    requests = len(
        windows(found, *(ListwiseReranker.model_fields[part].default for part in ("size", "step")))
    )
    each = _("{number} short requests to the language model per question.", number=found)
    return {
        "auto": _(
            "The server at the address below, or the cross-encoder where this computer has a GPU and the "
            "model. Otherwise off."
        ),
        "none": _("Keeps the order of the search. No extra time."),
        "cross-encoder": _(
            "A separate model on this computer reads question and passage together. "
            "{model} is 2.3 GB, downloaded on first use, and takes seconds per "
            "question.",
            model=USUAL_CROSS_ENCODER,
        ),
        "pointwise-logprob": _("Uses the probability of “yes”. {reason}", reason=each),
        "pointwise-score": _("For servers without token probabilities. {reason}", reason=each),
        "listwise": _("{number} long requests to the language model per question.", number=requests),
        "remote": _(
            "Sends question and passages to the address below: Cohere, Jina, TEI, vLLM or llama.cpp."
        ),
    }


def _show_reranking(settings: Settings, fixed: frozenset[str]) -> dict[str, Any] | None:
    st.subheader(_("Reranking"))
    st.markdown(
        _(
            "A reranker can reorder the {fetch_k} best passages before {k} of them are used. It "
            "gets {rerank_seconds} seconds per question at most. If it fails or takes longer, "
            "the order of the search stays, and the answer says so. The smallest models make the "
            "order worse.",
            fetch_k=settings.fetch_k,
            k=settings.k,
            rerank_seconds=f"{settings.rerank_seconds:g}",
        )
    )
    with st.form("reranking", border=True):
        changes = _reranker(settings, fixed)
        changes["lost_in_the_middle_order"] = st.checkbox(
            _("Give the model the best passages first and last"),
            settings.lost_in_the_middle_order,
            key="lost_in_the_middle_order",
            **shared(
                "lost_in_the_middle_order",
                fixed,
                _("Models read the middle of a long prompt worst. Citation numbers do not change."),
            ),
        )
        saved = st.form_submit_button(_("Save"), type="primary", key="save-reranking")
    return changes if saved else None


def _reranker(settings: Settings, fixed: frozenset[str]) -> dict[str, Any]:
    names = get_args(RerankerName)
    costs = reranker_costs(settings)
    chosen = st.selectbox(
        _("Reranker"),
        names,
        index=names.index(settings.reranker),
        format_func=lambda name: translated(RERANKERS[name]),
        key="reranker",
        **shared(
            "reranker",
            fixed,
            "\n".join(f"- {described(translated(RERANKERS[name]), costs[name])}" for name in costs),
        ),
    )
    hint = _(
        "A folder or Hugging Face id, by default `{model}`, or the model's name on the server.",
        model=USUAL_CROSS_ENCODER,
    )
    name = _("Reranker model, for a cross-encoder or a server")
    model = text_field(name, "rerank_model", settings.rerank_model, fixed, hint)
    name, hint = _("Reranker address, for a server"), _("With or without `/rerank` at the end.")
    address = text_field(name, "rerank_base_url", settings.rerank_base_url or "", fixed, hint)
    typed = secret_field(
        _("Reranker API key, for a server"), "rerank_api_key", settings.rerank_api_key, fixed
    )
    return {"reranker": chosen, "rerank_model": model, "rerank_base_url": address or None, **typed}


_ABOUT = N_(
    "Document summaries help with broad questions such as “What is this about?” Footnote builds them in the "
    "background once documents are read, and then offers two more search modes above. Answers still cite the "
    "original passages."
)


def _show_figure_setting(settings: Settings, fixed: frozenset[str]) -> dict[str, Any] | None:
    st.subheader(_("Figure descriptions"))
    with st.form("figures", border=True):
        chosen = st.checkbox(
            _("Let the connected model describe figures, if it can read pictures"),
            settings.describe_figures,
            key="describe_figures",
            **shared(
                "describe_figures",
                fixed,
                _(
                    "Sends each figure of a new PDF, Word file or presentation to the model, {most} of a "
                    "document at most. Descriptions are found by search and never quoted.",
                    most=settings.figures_per_document,
                ),
            ),
        )
        saved = st.form_submit_button(_("Save"), type="primary", key="save-figures")
    return {"describe_figures": chosen} if saved else None


def _show_tree_setting(settings: Settings, fixed: frozenset[str], here: Workspace) -> dict[str, Any] | None:
    modes = get_args(Settings.model_fields["raptor"].annotation)
    st.subheader(_("Document summaries"), anchor="document-summaries")
    st.markdown(translated(_ABOUT))
    with st.form("trees", border=True):
        chosen = st.radio(
            _("Summaries"),
            modes,
            index=modes.index(settings.raptor),
            format_func=lambda mode: translated(MODES[mode]),
            captions=_captions(settings, here),
            key="raptor",
            **shared("raptor", fixed),
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            saved = st.form_submit_button(_("Save"), type="primary", key="save-trees")
            st.page_link(pages.TREES, label=_("Show the trees"), icon=":material/account_tree:")
    return {"raptor": chosen} if saved else None


def _captions(settings: Settings, here: Workspace) -> list[str]:
    return [
        _("Made of quotes, if a model is connected and it takes a few minutes at most."),
        _("Existing summaries are kept."),
        _("Uses no model. {reason}", reason=_cost(here, by_model=False)),
        _by_model(settings, here),
    ]


def _by_model(settings: Settings, here: Workspace) -> str:
    """Return what is sent where, and what it costs, to have the model write summaries."""
    if settings.connected:
        return _(
            "Sends the whole text of every document to the server of {model}, also of those added later. "
            "{reason}",
            model=label(settings.llm_model, 60),
            reason=_cost(here, by_model=True),
        )
    if settings.local_model:
        return _(
            "{model} reads every document once, on this computer. {reason}",
            model=label(settings.local_model, 60),
            reason=_cost(here, by_model=True),
        )
    return _(
        "No model is connected: summaries quote the documents until one is. A connected server is then sent "
        "the whole text of every document. {reason}",
        reason=_cost(here, by_model=False),
    )


def _cost(here: Workspace, *, by_model: bool) -> str:
    try:
        cost = here.library.forest.cost(by_model=by_model)
    except FootnoteError as error:
        return _("The cost cannot be estimated: {reason}", reason=label(translated(str(error)), 300))
    return _("For your documents: {cost}.", cost=cost_of(cost)) if cost.leaves else _("Nothing to build now.")


_MORE = N_("More passages find more, and take longer.")
EMBEDDING_MODELS = ["multilingual-e5-small", "all-MiniLM-L6-v2", "use-multilingual"]
_ANY_EMBEDDING = N_(
    "Also `openai:<model>`, or any sentence-transformers model. Changing the embedding model re-indexes "
    "every document."
)
LOCAL, REMOTE = N_("On this computer"), N_("On a server")


def show() -> None:
    """Show the settings page."""
    server = services()
    fixed = fixed_fields()
    st.title(_("Settings"))
    here = workspace()
    left, right = st.columns(2)
    with left:
        show_language(server.account(here.owner))
    with right:
        show_appearance()
    if not server.administers():
        st.info(translated(ADMINISTRATORS_ONLY), icon=":material/lock:")
        show_deleted_chats(here)
        show_keys(here)
        show_webhooks(here)
        return
    _model(server, fixed)
    busy = bool(here.reindexing.job or here.reindexing.failed or here.library.reindexer.begun)
    with st.expander(_("Advanced: search, embeddings, reranking, summaries"), expanded=busy, key="advanced"):
        _finding(server, fixed)
        st.page_link(
            pages.LAB, label=_("Compare search modes on your own questions"), icon=":material/science:"
        )
        st.page_link(
            pages.ACTIVITY, label=_("Activity: deletions, exports and changes"), icon=":material/history:"
        )
    with st.expander(_("Programs: keys and webhooks"), key="programs"):
        show_keys(here)
        show_webhooks(here)
    show_deleted_chats(here)
    show_backup(server)


def _model(server: PageServices, fixed: frozenset[str]) -> None:
    settings = server.settings
    st.header(_("Language model"))
    st.markdown(model_in_use(settings))
    local, remote = st.tabs(
        [translated(LOCAL), translated(REMOTE)],
        default=translated(REMOTE if settings.connected else LOCAL),
        key="model-place",
    )
    with local:
        show_local_models(server, fixed)
    with remote:
        show_server_form(server, fixed)


def _finding(server: PageServices, fixed: frozenset[str]) -> None:
    settings = server.settings
    st.header(_("Search"))
    with st.form("finding", border=True):
        changes = {
            "retriever": _search(settings, fixed),
            "k": st.slider(
                _("Passages per answer"), 1, 20, min(settings.k, 20), **shared("k", fixed, translated(_MORE))
            ),
            "embedding_model": _embedding_model(settings, fixed),
            **_meaning_options(settings, fixed),
        }
        save = st.form_submit_button(_("Save"), type="primary", key="save-finding")
    if save and _change(server, changes, fixed):
        st.rerun()
    _show_reindexing(workspace(), settings.embedding_model)
    if settings.retriever == "ensemble-cc":
        _show_weights(workspace())
    parts = (_show_reranking, partial(_show_tree_setting, here=workspace()), _show_figure_setting)
    for show_part in parts:
        chosen = show_part(settings, fixed)
        if chosen is not None and _change(server, chosen, fixed):
            st.rerun()


def _search(settings: Settings, fixed: frozenset[str]) -> str:
    trees = settings.raptor not in ("auto", "off")  # those over trees are offered only if trees are built
    offered: list[str] = [
        name
        for name in get_args(RetrieverName)
        if trees or name not in TREE_RETRIEVERS or name == settings.retriever
    ]
    return st.selectbox(
        _("Search mode"),
        offered,
        index=offered.index(settings.retriever),
        format_func=_offer,
        key="retriever",
        **shared(
            "retriever",
            fixed,
            "\n".join(f"- {described(retriever_name(one), translated(USES[one]))}" for one in USES),
        ),
    )


def _offer(name: str) -> str:
    said = retriever_name(name)
    return _("{name} (recommended)", name=said) if name == RECOMMENDED else said


def _meaning_options(settings: Settings, fixed: frozenset[str]) -> dict[str, Any]:
    """Show the options of the modes that search by meaning, and return them by their settings' names."""
    threshold, candidates, weight = st.columns(3)
    with threshold:
        least = st.number_input(
            _("Minimum relevance"),
            0.0,
            1.0,
            settings.score_threshold,
            0.05,
            key="score_threshold",
            **shared(
                "score_threshold",
                fixed,
                _("For “{retriever_name}”.", retriever_name=retriever_name("similarity_score_threshold")),
            ),
        )
    with candidates:
        most = st.number_input(
            _("Candidates for diversity"),
            2,
            500,
            settings.mmr_fetch_k,
            key="mmr_fetch_k",
            **shared(
                "mmr_fetch_k", fixed, _("For “{retriever_name}”.", retriever_name=retriever_name("mmr"))
            ),
        )
    with weight:
        share = st.number_input(
            _("Weight of relevance"),
            0.0,
            1.0,
            settings.mmr_lambda_mult,
            0.05,
            key="mmr_lambda_mult",
            **shared("mmr_lambda_mult", fixed, _("Against diversity. 1 ignores diversity.")),
        )
    return {"score_threshold": least, "mmr_fetch_k": most, "mmr_lambda_mult": share}


def _embedding_model(settings: Settings, fixed: frozenset[str]) -> str:
    names = list(dict.fromkeys([*EMBEDDING_MODELS, settings.embedding_model]))
    return st.selectbox(
        _("Embedding model"),
        names,
        index=names.index(settings.embedding_model),
        accept_new_options=True,
        **shared("embedding_model", fixed, translated(_ANY_EMBEDDING)),
    )


def _change(server: PageServices, changes: Mapping[str, Any], fixed: frozenset[str]) -> bool:
    """Save the changes, except of fixed settings; show an error and save nothing if one is invalid."""
    with show_refusal():
        server.change({name: value for name, value in changes.items() if name not in fixed})
        flash(_("Saved."), ":material/check:")
        return True
    return False


def show_language(account: Account) -> None:
    """Show the languages; the one that is chosen is taken at once."""
    options: list[str] = ["", *LANGUAGES]
    chosen = st.session_state.get(page_language.CHOSEN, "")
    browser, key = LANGUAGES[page_language.browser_language()], LANGUAGE_KEY.format(code=language())

    def shown(code: str) -> str:
        return LANGUAGES.get(code) or _("As in the browser ({language})", language=browser)

    def choose() -> None:
        page_language.choose(str(st.session_state[key]), account)

    st.selectbox(
        _("Language"),
        options,
        index=options.index(chosen) if chosen in options else 0,
        format_func=shown,
        key=key,
        on_change=flash_errors(choose),
    )
