"""How far trees are, on their page: what is due and its cost, a build with a way to stop it, what failed."""

import streamlit as st

from rag.workspace import Workspace
from storage.errors import FootnoteError
from ui import pages
from ui.components.faults import told, tried
from ui.components.markdown import verbatim
from ui.server.services import services
from ui.trees.labels import cost_of, count, share_of, step_of

TICK = 1.0  # seconds between looks


def show_building(here: Workspace) -> None:
    """Show how far the trees are, and what can be done."""
    if here.ingest.grows():
        st.fragment(_follow, run_every=TICK)(here)
        return
    failed = here.ingest.growing_failed()
    if failed is not None:
        said = (
            str(failed)
            if isinstance(failed, FootnoteError)
            else "Something in Footnote went wrong; its log has it."
        )
        st.error(f"The trees could not be built. {verbatim(said)}", icon=":material/error:")
    _show_left_out(here)
    with told():
        _show_due(here)


def _follow(here: Workspace) -> None:
    """Show a build; at its end have the page drawn anew."""
    if not here.ingest.grows():
        st.rerun()
    tended = here.ingest.growing()
    st.progress(share_of(tended), text=f"Building trees. {step_of(tended)}")
    st.button("Stop", icon=":material/stop_circle:", key="tree-stop", on_click=here.ingest.stop_growing)
    st.caption("It goes on when you leave this page. What is made stays when it is stopped.")


def _show_due(here: Workspace) -> None:
    """Say what is not built yet and what that takes, with the way to begin; or what could be made anew."""
    forest, on = here.library.forest, services().settings.raptor != "off"
    due, begun = forest.due(), bool(forest.trees.list())
    if not on:
        _show_off(begun=begun)
    if due and (on or begun):
        st.markdown(
            f"{count(len(due), 'document has', 'documents have')} no tree yet, or one that is not finished. "
            f"To build: {cost_of(forest.cost())}."
        )
        st.button(
            "Go on building" if begun else "Build",
            type="primary",
            icon=":material/play_arrow:",
            key="tree-build",
            on_click=tried(here.ingest.grow),
        )
        if on:
            st.caption("It begins by itself, too, with the next document, or when Footnote is started again.")
    elif on and not due:
        _show_anew(here)


def _show_off(*, begun: bool) -> None:
    kept = " Those that stand are kept as they are; new documents get none." if begun else ""
    st.info(f"No trees are built now: that is a choice on the Settings page.{kept}", icon=":material/info:")
    if services().administers():
        st.page_link(pages.SETTINGS, label="Choose whether trees are built", icon=":material/tune:")


def _show_anew(here: Workspace) -> None:
    """Offer to have summaries written anew that something else wrote than would now."""
    forest = here.library.forest
    others = forest.due(anew=True)
    if not others:
        return
    with st.expander(
        f"Summaries of {count(len(others), 'document')} were written in another way", type="compact"
    ):
        st.markdown(f"They stay until you ask for them anew. That takes {cost_of(forest.cost(anew=True))}.")
        st.button(
            "Write them anew",
            icon=":material/refresh:",
            key="tree-anew",
            on_click=tried(here.ingest.grow),
            kwargs={"anew": True},
        )


def _show_left_out(here: Workspace) -> None:
    """Say which summaries could not be made, and what that means, with the way to try again."""
    left_out = sum(branch.left_out for branch in here.library.forest.trees.list())
    if not left_out:
        return
    st.warning(
        f"{count(left_out, 'summary', 'summaries')} could not be made: the model failed three times, or "
        "wrote nothing that could be used. What it "
        "would have stood above is still searched, but does not hang in the tree.",
        icon=":material/warning:",
    )
    st.button("Try again", icon=":material/refresh:", key="tree-retry", on_click=_try_again, args=(here,))


@tried
def _try_again(here: Workspace) -> None:
    here.library.forest.trees.reopen(incomplete=True)
    here.ingest.grow()
