"""How words and meaning are weighed here, said in words, and the way to find it anew."""

from collections.abc import Mapping

import streamlit as st

from rag.retrieval.tuning import FEWEST
from rag.retrieval.weighing import Weighed
from rag.retrieval.weights import USUAL
from rag.workspace import Workspace
from ui.components.faults import tried

TICK = 1.0

_WRITINGS = {"ko": "Korean", "ja": "Japanese", "zh": "Chinese", "alphabet": "English and other alphabets"}
_COMPARED = {  # how scores were made comparable, by normaliser
    "min-max": "each search's scores measured by their range (min-max)",
    "z-score": "each search's scores measured by their spread (z-score)",
    "theoretical": "each search's scores measured by its best one (theoretical min-max)",
}
_HOW = (
    "Words and meaning both search, each rates what only the other found, and their scores are added up by "
    "weight. Which weight is right depends on your documents and on how well the embedding model knows their "
    "language. So it is tried out: "
    "passages are looked for by questions made from themselves, by half of the words of a sentence or by a "
    "sentence that was taken out. The usual weight is kept unless both surely speak against it; each "
    "language has its own. The weight is found again when your documents have changed by half, with another "
    "embedding model, or after an update that finds it differently."
)


def show_weighing(workspace: Workspace) -> None:
    """Show how words and meaning are weighed; while it is being found, how far that is."""
    with st.container(border=True):
        st.markdown("**How words and meaning are weighed**")
        if workspace.ingest.weighing() is not None:
            _progress(workspace)
        else:
            _found(workspace)
        with st.expander("Why, and how it is found"):
            st.markdown(_HOW)


@st.fragment(run_every=TICK)
def _progress(workspace: Workspace) -> None:
    tuned = workspace.ingest.weighing()
    if tuned is None:
        st.rerun()
    st.progress(
        tuned.done / max(1, tuned.total), text=f"Trying it out: {tuned.done} of {tuned.total} passages"
    )


def _found(workspace: Workspace) -> None:
    st.markdown("\n".join(f"- {line}" for line in lines(workspace.library.weighing.latest)))
    if workspace.library.weighing.latest is not None:
        st.button("Find it anew", icon=":material/refresh:", on_click=tried(workspace.ingest.weigh))


def lines(weighed: Weighed | None) -> list[str]:
    """Return what to say of a mixture, a line for each language.

    >>> lines(None)[0]
    'English and other alphabets: meaning counts 55 %, words 45 %.'
    >>> lines(None)[-1]
    'These are the usual weights, until there are 30 passages to try them on.'
    """
    if weighed is None or not weighed.mixture.weights:
        usual = f"These are the usual weights, until there are {FEWEST} passages to try them on."
        return [*_by_writing(USUAL), usual]
    return [*_by_writing(weighed.mixture.weights), _origin(weighed)]


def _by_writing(weights: Mapping[str, float]) -> list[str]:
    return [f"{_WRITINGS[code]}: {_share(weight).lower()}." for code, weight in sorted(weights.items())]


def _origin(weighed: Weighed) -> str:
    return (
        f"Found on {weighed.found:%Y-%m-%d} from {weighed.mixture.passages:,} of {weighed.chunks:,} "
        f"passages; {_COMPARED[weighed.mixture.normaliser]}."
    )


def _share(meaning: float) -> str:
    return f"Meaning counts {meaning:.0%}, words {1 - meaning:.0%}".replace("%", " %")
