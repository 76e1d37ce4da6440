"""The settings page: the model that writes answers, and how passages are found."""

from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

import streamlit as st

from rag.models.llm import LLM, LLMSettings
from rag.settings import RetrieverName, Settings, fixed_fields
from storage.errors import FootnoteError
from ui.components import messages as notices
from ui.components.labels import OVER_TREES, good_for_all, name_of
from ui.components.markdown import label, verbatim
from ui.server.services import FOR_ADMINISTRATORS, PageServices, services, workspace
from ui.settings.local_model import show_own_model, used
from ui.settings.reindexing import show_reindexing
from ui.settings.reranking import show_reranking
from ui.settings.tree_setting import show_tree_setting
from ui.settings.weighing import show_weighing

EMBEDDING_MODELS = ["multilingual-e5-small", "all-MiniLM-L6-v2", "use-multilingual"]

_ANY_EMBEDDING = (
    "Also `openai:<model>`, or any sentence-transformers model. A change has every document embedded anew."
)
TEST_SECONDS = 10.0
_FIXED = "Set where the server was started; it cannot be changed here."


def show() -> None:
    """Show the settings page."""
    all_of_it = services()
    fixed = fixed_fields()
    st.title("Settings")
    if not all_of_it.administers():
        st.info(FOR_ADMINISTRATORS, icon=":material/lock:")
        return
    _model(all_of_it, fixed)
    _finding(all_of_it, fixed)


def _model(held: PageServices, fixed: frozenset[str]) -> None:
    settings = held.settings
    st.header("Language model")
    st.markdown(used(settings))
    show_own_model(held, fixed)
    st.subheader("A model on a server")
    with st.form("model", border=True):
        changes = {
            "llm_base_url": _text("Base URL", "llm_base_url", settings.llm_base_url, fixed),
            "llm_model": _text("Model (empty: none)", "llm_model", settings.llm_model, fixed),
        }
        key = st.text_input(
            "API key",
            type="password",
            key="llm_api_key",
            placeholder="Kept; type to change it"
            if settings.llm_api_key.get_secret_value()
            else "None, as for local servers",
            disabled="llm_api_key" in fixed,
            help=_FIXED if "llm_api_key" in fixed else "Stored on this computer, and never shown again.",
            autocomplete="off",
        )
        if key:
            changes["llm_api_key"] = key
        with st.container(horizontal=True):
            save = st.form_submit_button("Save", type="primary")
            test = st.form_submit_button("Test the connection", icon=":material/cable:")
    if save and _change(held, changes, fixed):
        st.rerun()
    if test:
        _test(settings, changes)


def _ways(settings: Settings) -> list[str]:
    """Return the ways of searching there are: those over trees where trees are built."""
    trees = settings.raptor != "off"
    return [
        name
        for name in get_args(RetrieverName)
        if trees or name not in OVER_TREES or name == settings.retriever
    ]


def _finding(held: PageServices, fixed: frozenset[str]) -> None:
    settings = held.settings
    st.header("Finding passages")
    with st.form("finding", border=True):
        changes = {
            "retriever": _search(settings, fixed),
            "k": _passages(settings, fixed),
            "embedding_model": _embedding_model(settings, fixed),
        }
        save = st.form_submit_button("Save", type="primary", key="save-finding")
    if save and _change(held, changes, fixed):
        st.rerun()
    show_reindexing(workspace(), settings.embedding_model)
    if settings.retriever == "ensemble-cc":
        show_weighing(workspace())
    for show_part in (show_reranking, partial(show_tree_setting, here=workspace())):
        chosen = show_part(settings, fixed, _FIXED)
        if chosen is not None and _change(held, chosen, fixed):
            st.rerun()


def _search(settings: Settings, fixed: frozenset[str]) -> str:
    ways = _ways(settings)
    return st.selectbox(
        "Search by",
        ways,
        index=ways.index(settings.retriever),
        format_func=name_of,
        disabled="retriever" in fixed,
        help=_FIXED if "retriever" in fixed else good_for_all(),
    )


def _passages(settings: Settings, fixed: frozenset[str]) -> int:
    return st.slider(
        "Passages for each answer",
        1,
        20,
        min(settings.k, 20),
        disabled="k" in fixed,
        help=_FIXED if "k" in fixed else "More passages find more, and take longer to read.",
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


def _change(held: PageServices, changes: Mapping[str, Any], fixed: frozenset[str]) -> bool:
    """Keep what may be changed here; on a wrong value say so, and keep nothing."""
    try:
        held.change({name: value for name, value in changes.items() if name not in fixed})
    except FootnoteError as error:
        st.error(verbatim(str(error)), icon=":material/error:")
        return False
    notices.leave("Saved.", ":material/check:")
    return True


def _test(settings: Settings, changes: Mapping[str, str]) -> None:
    """Ask the server what models it has, with what is typed in the form but not saved yet."""
    try:
        with LLM(_tried(settings, changes)) as llm, st.spinner("Asking the server…"):
            models = llm.models()
    except FootnoteError as error:
        st.error(verbatim(str(error)), icon=":material/error:")
        return
    st.success("The server answers.", icon=":material/check_circle:")
    wanted = changes["llm_model"]
    if wanted and wanted not in models:
        st.warning(f"It has no model called {label(wanted)}.", icon=":material/info:")
    st.markdown("Its models: " + ", ".join(f"**{label(name)}**" for name in models[:30]))


def _tried(settings: Settings, changes: Mapping[str, str]) -> LLMSettings:
    return LLMSettings(
        base_url=changes["llm_base_url"],
        api_key=changes.get("llm_api_key", settings.llm_api_key.get_secret_value()),
        model=changes["llm_model"],
        timeout=TEST_SECONDS,
        idle_timeout=TEST_SECONDS,
        context_tokens=settings.llm_context_tokens,
    )
