"""Local models on the settings page: install, use, remove."""

import shutil
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from rag.i18n import _, joined, language, translated
from rag.models.local import catalog
from rag.models.local.catalog import OFFERS, HubModel, ModelChoice, ModelOffer, find_package, size
from rag.models.local.install import InstallProgress
from rag.settings import Settings
from ui.components.job_progress import follow_job
from ui.components.markdown import label
from ui.components.messages import action, confirm_deletion, flash, flash_errors, show_refusal, show_sentence
from ui.server.services import PageServices
from ui.settings.fields import FIXED


def show_local_models(server: PageServices, fixed: frozenset[str]) -> None:
    """Show the models that can run on this computer, with size, progress and actions."""
    st.caption(
        _(
            "No server, no key, and nothing leaves this computer. Small models write short, "
            "plain answers from four passages. Every statement is checked."
        )
    )
    show_offers(server, fixed)
    with st.popover(_("Use another model file"), icon=":material/draft:", type="tertiary"):
        _show_file(server, fixed)
    if server.settings.local_model and not server.settings.connected:
        st.button(
            _("Use no model"),
            key="own-none",
            on_click=flash_errors(_use),
            args=(server, {"local_model": ""}),
            disabled="local_model" in fixed,
            help=translated(FIXED)
            if "local_model" in fixed
            else _("Footnote then only shows matching passages."),
        )


def show_offers(server: PageServices, fixed: frozenset[str]) -> None:
    """Show the models that can be installed in one field, and what can be done with the chosen one."""
    ordered = sorted(OFFERS, key=lambda offer: -_nearness(server, offer))
    offers = {offer.name: offer for offer in OFFERS}
    with st.container(border=True, key="own-models"):
        name = st.selectbox(
            _("Model on this computer"),
            list(offers),
            index=OFFERS.index(ordered[0]),
            format_func=lambda name: _option(offers[name], server.settings.model_cache),
            key=f"own-model-{language()}",  # the page would keep the chosen name in the language before
        )
        _show_offer(server, offers[name], fixed)


def _nearness(server: PageServices, offer: ModelOffer) -> int:
    """Return how near a model is to be used: the one in use first, then those begun and installed."""
    cache, installs = server.settings.model_cache, server.installs
    if _is_used(offer.name, server.settings):
        return 4
    if installs.running(offer) or installs.failure(offer):
        return 3
    return 2 if catalog.is_installed(offer, cache) else int(catalog.partial_bytes(offer, cache) > 0)


def _option(offer: ModelOffer, cache: Path) -> str:
    if catalog.is_installed(offer, cache):
        return _("{model} (installed)", model=offer.title)
    return f"{offer.title} ({offer.size})"


def origin(offer: ModelOffer, hub: str) -> str:
    """Return where a model comes from, and its licence.

    >>> origin(catalog.HUB_MODELS[0], "https://huggingface.co")
    'From Qwen/Qwen2.5-1.5B-Instruct-GGUF on huggingface.co. Licence: Apache 2.0.'
    """
    if isinstance(offer, HubModel):
        return _(
            "From {repository} on {host}. Licence: {licence}.",
            repository=offer.repository,
            host=urlsplit(hub).netloc,
            licence=offer.licence,
        )
    return _("From the Python package index. Licence: Apache 2.0.")


def model_in_use(settings: Settings) -> str:
    """Return a sentence that names the model in use."""
    if settings.connected:
        return _("Answers are written by **{llm_model}**.", llm_model=label(settings.llm_model))
    if settings.local_model:
        name = ModelChoice.of(settings.local_model, settings.model_cache).name
        return _("Answers are written by **{name}**, on this computer.", name=label(name))
    if any(catalog.is_installed(offer, settings.model_cache) for offer in OFFERS):
        return _(
            "No model is connected: Footnote shows matching passages. One is installed: choose "
            "“Use this model”."
        )
    return _(
        "No model is connected: Footnote shows matching passages. Install one here, or connect any "
        "OpenAI-compatible server, such as OpenAI, Ollama, LM Studio or vLLM."
    )


def flash_writer(settings: Settings) -> None:
    """Tell which model writes the answers from now on, after a change."""
    if settings.connected:
        name = settings.llm_model
    elif settings.local_model:
        name = ModelChoice.of(settings.local_model, settings.model_cache).name
    else:
        flash(_("No model writes answers now. Footnote shows matching passages."), ":material/check:")
        return
    flash(_("Answers are now written by {name}.", name=label(name)), ":material/check:")


def _show_offer(server: PageServices, offer: ModelOffer, fixed: frozenset[str]) -> None:
    cache, job = server.settings.model_cache, server.installs.running(offer)
    said = translated(offer.good_for)
    good_for = _("{reason}.", reason=f"{said[0].upper()}{said[1:]}")
    if job is not None:
        st.markdown(good_for)
        follow_job(job, _install_progress, key=f"stop-{offer.name}")
        return
    about = [good_for, state(offer, server.settings)]
    if not catalog.is_installed(offer, cache):
        about.append(origin(offer, server.settings.model_hub))
    st.caption(joined(about))
    if failure := server.installs.failure(offer):
        show_sentence(failure)
    with st.container(horizontal=True):
        if catalog.is_installed(offer, cache):
            _use_button(server, offer, fixed)
            if st.button(_("Remove"), icon=":material/delete:", type="tertiary", key=f"remove-{offer.name}"):
                confirm_deletion(
                    _("Remove {title}?", title=offer.title),
                    _("This frees {size}. To use the model again, you download it again.", size=offer.size),
                    key=f"really-remove-{offer.name}",
                    act=lambda: _remove(server, offer),
                )
        elif st.button(_install_label(offer, cache), icon=":material/download:", key=f"install-{offer.name}"):
            server.installs.start(offer)
            st.rerun()


def state(offer: ModelOffer, settings: Settings) -> str:
    """Return in words if a model is installed, with its disk and memory use."""
    memory = _("about {size} of memory when running", size=size(offer.memory))
    if catalog.is_installed(offer, settings.model_cache):
        if _is_used(offer.name, settings):
            return _(
                "Installed: {size} on disk, {memory}. It writes your answers.", size=offer.size, memory=memory
            )
        return _("Installed: {size} on disk, {memory}.", size=offer.size, memory=memory)
    cache = settings.model_cache
    there = next(folder for folder in (cache, *cache.absolute().parents) if folder.exists())
    free = size(shutil.disk_usage(there).free)
    return _(
        "Not installed: {size} to download ({free} free), {memory}.",
        size=offer.size,
        free=free,
        memory=memory,
    )


def _install_label(offer: ModelOffer, cache: Path) -> str:
    if begun := catalog.partial_bytes(offer, cache):
        return _(
            "Continue installing {name} ({size} to download)",
            name=offer.name,
            size=size(max(0, offer.bytes - begun)),
        )
    return _("Install {name} ({size} to download)", name=offer.name, size=offer.size)


def _install_progress(step: InstallProgress | None) -> tuple[float, str]:
    if step is None:
        return 0.0, _("Checking existing files")
    if not step.total:
        return 1.0, _("Testing the model")
    return step.done / step.total, _(
        "Downloading {what}: {done} of {total}",
        what=step.what,
        done=size(step.done),
        total=size(step.total),
    )


def _use_button(server: PageServices, offer: ModelOffer, fixed: frozenset[str]) -> None:
    settings = server.settings
    bound = _is_fixed(settings, fixed)
    use, hint = partial(_use, server, _select_local(offer.name)), translated(FIXED) if bound else None
    off = bound or _is_used(offer.name, settings)
    name = (
        _("Use this model in place of {other}", other=label(settings.llm_model))
        if settings.connected
        else _("Use this model")
    )
    action(name, "check", f"use-{offer.name}", use, kind="secondary", disabled=off, help=hint)


def _is_fixed(settings: Settings, fixed: frozenset[str]) -> bool:
    return "local_model" in fixed or (settings.connected and "llm_model" in fixed)


def _select_local(spec: str) -> dict[str, str]:
    """Return the changes that select a local model; a connected server would win, so it is unset."""
    return {"local_model": spec, "llm_model": ""}


def _show_file(server: PageServices, fixed: frozenset[str]) -> None:
    settings = server.settings
    bound = _is_fixed(settings, fixed)
    with st.form("own-file", border=True):
        path = st.text_input(
            _("Other model: path of a GGUF file on this computer"),
            key="own-file-path",
            value="" if find_package(settings.local_model) else settings.local_model,
            disabled=bound,
            help=translated(FIXED) if bound else None,
        )
        if st.form_submit_button(_("Use this file"), disabled=bound) and path.strip():
            with show_refusal():
                _use(server, _select_local(catalog.validate_spec(path.strip())))
                st.rerun()


def _use(server: PageServices, changes: Mapping[str, Any]) -> None:
    server.change(changes)
    flash_writer(server.settings)


def _remove(server: PageServices, offer: ModelOffer) -> None:
    if server.settings.local_model == offer.name:
        server.change({"local_model": ""})
    catalog.remove(offer, server.settings.model_cache)
    flash(_("Removed."), ":material/delete:")


def _is_used(spec: str, settings: Settings) -> bool:
    return settings.local_model == spec and not settings.connected
