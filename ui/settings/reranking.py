"""How passages are put in order on the settings page: which reranker, and what each one costs, in words."""

from collections.abc import Callable
from typing import Any, get_args

import streamlit as st

from rag.retrieval.rerank.cross_encoder import USUAL
from rag.retrieval.rerank.llm_listwise import ListwiseReranker
from rag.retrieval.rerank.permutation import windows
from rag.settings import RerankerName, Settings

Options = Callable[[str, str], dict[str, Any]]
"""What every field is made with: by its setting's name, and what it is for."""

NAMES: dict[str, str] = {
    "none": "Off",
    "cross-encoder": "Cross-encoder",
    "pointwise-logprob": "Language model, yes or no",
    "pointwise-score": "Language model, 0 to 100",
    "listwise": "Language model, the whole order",
    "remote": "Reranker on a server",
}


def costs(settings: Settings) -> dict[str, str]:
    """Return what each reranker does and what it takes, by name."""
    found = settings.fetch_k
    requests = len(
        windows(found, *(ListwiseReranker.model_fields[part].default for part in ("size", "step")))
    )
    each = f"{found} short requests to the language model for each question"
    return {
        "none": "Passages are used in the order of the search. Nothing is waited for.",
        "cross-encoder": "A model of its own reads question and passage together, on this computer. "
        f"{USUAL} is 2.3 GB, fetched when it is first used, and takes seconds for each question.",
        "pointwise-logprob": f"How likely it finds Yes. {each}.",
        "pointwise-score": f"For servers that do not tell how likely words are. {each}.",
        "listwise": f"{requests} long requests to the language model for each question.",
        "remote": "Question and passages go to the address below: Cohere, Jina, TEI, vLLM or llama.cpp.",
    }


def show_reranking(settings: Settings, fixed: frozenset[str], fixed_help: str) -> dict[str, Any] | None:
    """Show the form; return what was set in it when it is saved, else None."""

    def options(field: str, text: str) -> dict[str, Any]:
        return {"key": field, "disabled": field in fixed, "help": fixed_help if field in fixed else text}

    st.subheader("Order of the passages")
    st.markdown(
        f"The search's {settings.fetch_k} best passages can be put in a better order before {settings.k} of "
        f"them are used. A question waits {settings.rerank_seconds:g} seconds for it at most; where it fails "
        "or takes longer, the search's order stays, and the answer says so. The smallest models make the "
        "order worse, and on two cores even they take longer."
    )
    with st.form("reranking", border=True):
        changes = {**_reranker(settings, options), **_server(settings, options)}
        changes["best_outside"] = st.checkbox(
            "Show a language model the best passages first and last",
            settings.best_outside,
            **options("best_outside", "Models read the middle of a long prompt worst. No number changes."),
        )
        saved = st.form_submit_button("Save", type="primary", key="save-reranking")
    return changes if saved else None


def _reranker(settings: Settings, options: Options) -> dict[str, Any]:
    names = get_args(RerankerName)
    chosen = st.selectbox(
        "Put in order by",
        names,
        index=names.index(settings.reranker),
        format_func=lambda name: NAMES[name],
        **options("reranker", _list_of(costs(settings))),
    )
    model = st.text_input(
        "Its model, for a cross-encoder or a server",
        settings.rerank_model,
        **options("rerank_model", f"A folder or hub id, usually `{USUAL}`; or the server's name for it."),
    )
    return {"reranker": chosen, "rerank_model": model.strip()}


def _server(settings: Settings, options: Options) -> dict[str, Any]:
    """Return the address, and the key if one was typed: else the old one stays."""
    address = st.text_input(
        "Its address, for a server",
        settings.rerank_base_url or "",
        **options("rerank_base_url", "With or without `/rerank` at its end."),
    )
    kept = bool(settings.rerank_api_key.get_secret_value())
    typed = st.text_input(
        "Its API key, for a server",
        type="password",
        placeholder="Kept; type to change it" if kept else "None, as for local servers",
        autocomplete="off",
        **options("rerank_api_key", "Stored on this computer, and never shown again."),
    )
    return {"rerank_base_url": address.strip() or None, **({"rerank_api_key": typed} if typed else {})}


def _list_of(said: dict[str, str]) -> str:
    """Return a Markdown list of what each reranker costs."""
    return "\n".join(f"- **{NAMES[name]}.** {sentence}" for name, sentence in said.items())
