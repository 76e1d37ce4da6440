"""Whether trees are built, on the settings page: who writes their summaries, and what that takes."""

from typing import Any, get_args

import streamlit as st

from rag.settings import Settings
from rag.workspace import Workspace
from storage.errors import FootnoteError
from ui import pages
from ui.components.markdown import label
from ui.trees.labels import MODES, cost_of

_ABOUT = (
    "“What is the plot?” is near to every passage of a story, and to none. A tree of summaries answers such "
    "questions: passages are clustered and summarised, the summaries again, up to one. Only passages are "
    "cited. Trees are built in the background once documents are read; then two more ways of searching can "
    "be chosen above."
)


def show_tree_setting(
    settings: Settings, fixed: frozenset[str], fixed_help: str, here: Workspace
) -> dict[str, Any] | None:
    """Show the form; return what was set in it when it is saved, else None."""
    modes = get_args(Settings.model_fields["raptor"].annotation)
    st.subheader("Trees of summaries", anchor="trees-of-summaries")
    st.markdown(_ABOUT)
    with st.form("trees", border=True):
        chosen = st.radio(
            "Build trees",
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
            st.page_link(pages.TREES, label="See the trees", icon=":material/account_tree:")
    return {"raptor": chosen} if saved else None


def _captions(settings: Settings, here: Workspace) -> list[str]:
    """Return what each choice means and takes, before it is made."""
    model = f"{label(settings.llm_model or settings.own_model, 60)} reads every document once. "
    unconnected = "None is connected: until then they are made of the documents' own sentences. "
    connected = settings.connected or bool(settings.own_model)
    return [
        "Trees that stand are kept as they are.",
        f"No model is asked. {_takes(here, by_model=False)}",
        f"{model if connected else unconnected}{_takes(here, by_model=connected)}",
    ]


def _takes(here: Workspace, *, by_model: bool) -> str:
    try:
        cost = here.library.forest.cost(by_model=by_model)
    except FootnoteError as error:
        return f"What it takes cannot be said: {label(str(error), 300)}"
    return f"For your documents: {cost_of(cost)}." if cost.leaves else "No tree of yours is to be built now."
