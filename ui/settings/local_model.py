"""A model of one's own on the settings page: installed by one click, used, removed."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from rag.models.local import catalog as shelf
from rag.models.local.catalog import MODEL_PACKAGES, ModelChoice, ModelPackage, find_package, size
from rag.models.local.install import InstallProgress
from rag.settings import Settings
from storage.errors import FootnoteError
from ui.components import messages as notices
from ui.components.job_progress import follow_job
from ui.components.markdown import label, verbatim
from ui.components.messages import ask_first, tried
from ui.server.services import PageServices

FIXED = "Set by the server's configuration. It cannot be changed here."


def show_own_model(held: PageServices, fixed: frozenset[str]) -> None:
    """Show the models that can run here: what each costs, how far it is, and which one is used."""
    st.subheader("Local model")
    st.markdown(
        "Runs on this computer: no server, no key, and nothing leaves it. Small models write short, plain "
        "answers from four passages. Every statement is checked."
    )
    for offer in MODEL_PACKAGES:
        with st.container(border=True, key=f"own-{offer.name.replace('.', '-')}"):
            _show_offer(held, offer, fixed)
    _show_file(held, fixed)
    if held.settings.local_model and not held.settings.connected:
        st.button(
            "Use no model",
            key="own-none",
            on_click=tried(_use),
            args=(held, {"local_model": ""}),
            disabled="local_model" in fixed,
            help=FIXED if "local_model" in fixed else "Footnote then only shows matching passages.",
        )


def used(settings: Settings) -> str:
    """Return the sentence that says which model writes the answers."""
    if settings.connected:
        return f"Answers are written by **{label(settings.llm_model)}**."
    if settings.local_model:
        name = ModelChoice.of(settings.local_model, settings.model_cache).name
        return f"Answers are written by **{label(name)}**, on this computer."
    return (
        "No model is connected: Footnote shows matching passages. Install a local model below, or connect "
        "any OpenAI-compatible server, such as OpenAI, Ollama, LM Studio or vLLM."
    )


def _show_offer(held: PageServices, offer: ModelPackage, fixed: frozenset[str]) -> None:
    cache, job = held.settings.model_cache, held.installs.running(offer)
    st.markdown(f"**{label(offer.title)}**: {offer.good_for}.")
    if job is not None:
        follow_job(job, _said, key=f"stop-{offer.name}")
        return
    st.caption(state(offer, held.settings))
    if failure := held.installs.failure(offer):
        st.error(verbatim(failure), icon=":material/error:")
    with st.container(horizontal=True):
        if shelf.is_installed(offer, cache):
            _use_button(held, offer, fixed)
            if st.button(f"Remove {offer.name}", icon=":material/delete:", key=f"remove-{offer.name}"):
                _ask_to_remove(held, offer)
        elif st.button(_install_label(offer, cache), icon=":material/download:", key=f"install-{offer.name}"):
            held.installs.start(offer)
            st.rerun()


def state(offer: ModelPackage, settings: Settings) -> str:
    """Return whether a model is here, and what it takes of the disk and of the memory."""
    memory = f"about {size(offer.memory)} of memory in use"
    if shelf.is_installed(offer, settings.model_cache):
        using = " It writes your answers." if _is_used(offer.name, settings) else ""
        return f"Installed: {offer.size} on disk, {memory}.{using}"
    free = size(_free(settings.model_cache))
    return f"Not installed: {offer.size} to download ({free} free), {memory}."


def _install_label(offer: ModelPackage, cache: Path) -> str:
    """Return what the button says: how much is to come is said before it comes."""
    if begun := shelf.partial_bytes(offer, cache):
        return f"Continue installing {offer.name} ({size(max(0, offer.bytes - begun))} to download)"
    return f"Install {offer.name} ({offer.size} to download)"


def _said(step: InstallProgress | None) -> tuple[float, str]:
    if step is None:
        return 0.0, "Checking existing files"
    if not step.total:
        return 1.0, "Testing the model"
    return step.done / step.total, f"Downloading {step.what}: {size(step.done)} of {size(step.total)}"


def _use_button(held: PageServices, offer: ModelPackage, fixed: frozenset[str]) -> None:
    settings = held.settings
    bound = _bound(settings, fixed)
    instead = f" in place of {label(settings.llm_model)}" if settings.connected else ""
    st.button(
        f"Use {offer.name}{instead}",
        key=f"use-{offer.name}",
        icon=":material/check:",
        on_click=tried(_use),
        args=(held, _alone(offer.name)),
        disabled=bound or _is_used(offer.name, settings),
        help=FIXED if bound else None,
    )


def _bound(settings: Settings, fixed: frozenset[str]) -> bool:
    """Return whether the choice of a model is not this page's."""
    return "local_model" in fixed or (settings.connected and "llm_model" in fixed)


def _alone(spec: str) -> dict[str, str]:
    """Return the changes that have a model of one's own write the answers: a connected server would win."""
    return {"local_model": spec, "llm_model": ""}


def _show_file(held: PageServices, fixed: frozenset[str]) -> None:
    settings = held.settings
    bound = _bound(settings, fixed)
    with st.form("own-file", border=True):
        path = st.text_input(
            "Other model: path of a GGUF file on this computer",
            key="own-file-path",
            value="" if find_package(settings.local_model) else settings.local_model,
            disabled=bound,
            help=FIXED if bound else None,
        )
        if st.form_submit_button("Use this file", disabled=bound) and path.strip():
            _use_file(held, path.strip())


def _use_file(held: PageServices, path: str) -> None:
    try:
        _use(held, _alone(shelf.validate_spec(path)))
    except FootnoteError as error:
        st.error(verbatim(str(error)), icon=":material/error:")
    else:
        st.rerun()


def _use(held: PageServices, changes: Mapping[str, Any]) -> None:
    held.change(changes)
    notices.leave("Saved.", ":material/check:")


def _ask_to_remove(held: PageServices, offer: ModelPackage) -> None:
    ask_first(
        f"Remove {offer.title}?",
        f"This frees {offer.size}. To use the model again, you download it again.",
        key=f"really-remove-{offer.name}",
        act=lambda: _remove(held, offer),
    )


def _remove(held: PageServices, offer: ModelPackage) -> None:
    if held.settings.local_model == offer.name:
        held.change({"local_model": ""})
    shelf.remove(offer, held.settings.model_cache)
    notices.leave("Removed.", ":material/delete:")


def _is_used(spec: str, settings: Settings) -> bool:
    return settings.local_model == spec and not settings.connected


def _free(cache: Path) -> int:
    """Return the bytes that are free where models are kept, or will be."""
    there = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    return shutil.disk_usage(there).free
