"""Language models on the settings and start pages: install one, or connect one on a server.

A local model is installed, used and removed; a server's models are listed, one is tested and saved. The start
page offers both where no model is connected, or to go on with search.
"""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st

from rag.errors import LLMError, LLMGarbled, SettingsError
from rag.i18n import N_, _, joined, language, translated
from rag.models.llm import LLM, is_off
from rag.models.llm_errors import host_of, unreachable
from rag.models.local import catalog
from rag.models.local.catalog import OFFERS, HubModel, ModelChoice, ModelOffer, find_package, size
from rag.models.local.install import InstallProgress
from rag.models.protocol import LLMSettings
from rag.settings import Settings, check, fixed_fields
from storage.errors import FootnoteError
from ui import pages
from ui.components.job_progress import follow_job
from ui.components.markdown import label
from ui.components.messages import action, confirm_deletion, flash, flash_errors, show_refusal, show_sentence
from ui.server.services import PageServices
from ui.settings.fields import (
    FIXED,
    KEY,
    LIST_SECONDS,
    MODEL,
    URL,
    reached_server,
    secret_field,
    shared,
    text_field,
)


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
            "“Use this model” under “On this computer”."
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


TRIAL_SECONDS = 60.0
"""Seconds of a test: a server may have to load the model first."""
TRIAL_TOKENS = 1024  # a model that reasons says its first word after some hundred
NO_MODEL = N_("Choose a model, or type its name.")
SENT = N_(
    "To answer, this server is sent the question, the chat before it and the passages found; a whole text "
    "only for questions about whole documents, such as a summary."
)
SENT_FOR_SUMMARIES = N_(
    "Document summaries are set to be written by the model: for them this server is sent the whole text of "
    "every document, also of those added later."
)
_STATE = "model-server"


@dataclass(frozen=True)
class _Attempt:
    """Result of the last attempt with a server, shown as long as its address stays in the form."""

    url: str
    models: tuple[str, ...] = ()
    failure: str = ""
    untested: bool = False
    """True where the model could be saved all the same."""


def show_server_form(server: PageServices, fixed: frozenset[str]) -> None:
    """Show the form; what fails is said below it until the next attempt."""
    settings, last = server.settings, st.session_state.get(_STATE, _Attempt(""))
    st.caption(translated(SENT))
    if settings.raptor == "model":
        st.caption(f":material/warning: {translated(SENT_FOR_SUMMARIES)}")
    with st.form("model", border=False):
        changes = {
            URL: text_field(_("Base URL"), URL, settings.llm_base_url, fixed),
            **secret_field(_("API key"), KEY, settings.llm_api_key, fixed),
        }
        last = last if last.url == changes[URL] else _Attempt(changes[URL])
        listed = st.form_submit_button(_("List models"), icon=":material/list:")
        changes[MODEL] = _model(settings, last, fixed)
        with st.container(horizontal=True):
            tested = st.form_submit_button(_("Test and save"), type="primary")
            untested = last.untested and st.form_submit_button(_("Save without a test"))
    if settings.connected:
        action(_("Disconnect"), "link_off", "disconnect", _disconnect, server, **shared(MODEL, fixed))
    wanted = {name: value for name, value in changes.items() if name not in fixed}
    if listed:
        _attempt(last, lambda: _list_models(settings, changes, wanted))
    if tested or untested:
        _attempt(last, lambda: _save(server, changes, wanted, tested=tested))
    if last.failure:
        show_sentence(last.failure)


def _model(settings: Settings, last: _Attempt, fixed: frozenset[str]) -> str:
    if MODEL in fixed:
        return text_field(_("Model"), MODEL, settings.llm_model, fixed)
    only = last.models[0] if len(last.models) == 1 else None
    chosen = st.session_state.setdefault(MODEL, settings.llm_model or None)
    if not chosen and only:
        st.session_state[MODEL] = only
    names = [name for name in (settings.llm_model, chosen) if name]
    model: str | None = st.selectbox(
        _("Model"),
        list(dict.fromkeys([*last.models, *names])),
        index=None,
        key=MODEL,
        accept_new_options=True,
        placeholder=_("Choose one, or type its name")
        if last.models
        else _("List the models, or type a name"),
    )
    return (model or "").strip()


def _attempt(last: _Attempt, act: Callable[[], tuple[str, ...]]) -> None:
    """Keep what an attempt gave, and draw the page anew with it."""
    try:
        st.session_state[_STATE] = _Attempt(last.url, act() or last.models)
    except FootnoteError as error:
        untested = isinstance(error, LLMError) and bool(st.session_state[MODEL])
        st.session_state[_STATE] = _Attempt(last.url, last.models, str(error), untested)
    st.rerun()


def _list_models(
    settings: Settings, changes: Mapping[str, str], wanted: Mapping[str, str]
) -> tuple[str, ...]:
    check(settings, wanted)
    if is_off(changes[URL]):  # said at once: the client takes seconds to import
        raise unreachable(host_of(changes[URL]))
    with LLM(reached_server(settings, changes, LIST_SECONDS)) as llm, st.spinner(_("Connecting…")):
        models = tuple(filter(None, llm.models()))
    if not models:
        raise LLMGarbled(N_("{host} lists no models. Type the name of one.", host=llm.settings.host))
    return models


def _save(
    server: PageServices, changes: Mapping[str, str], wanted: Mapping[str, str], *, tested: bool
) -> tuple[str, ...]:
    """Save a model, once it has said a word if it is to be `tested`; one that fails changes nothing."""
    check(server.settings, wanted)
    if not changes[MODEL]:
        raise SettingsError(NO_MODEL)
    if tested:
        with st.container(horizontal=True, vertical_alignment="center"), st.spinner(_("Testing the model…")):
            st.button(_("Cancel"), key="cancel-test")  # any click ends this run, and with it the test
            _try(reached_server(server.settings, changes, TRIAL_SECONDS))
    server.change(wanted)
    flash_writer(server.settings)
    return ()


def _try(reached: LLMSettings) -> None:
    """Have a model say its first word; raises LLMError where it does not."""
    asked = [{"role": "user", "content": "Say yes."}]
    with LLM(reached) as llm:
        next(llm.stream(asked, max_tokens=TRIAL_TOKENS, cancelled=_clicked))


def _clicked() -> bool:
    """Let Streamlit end the run at a click."""
    st.session_state.get("look")
    return False


def _disconnect(server: PageServices) -> None:
    server.change({MODEL: ""})
    st.session_state.pop(MODEL, None)
    flash_writer(server.settings)


INSTALL, CONNECT = str(N_("Install a model")), str(N_("Connect a server"))
ICONS = {INSTALL: ":material/download:", CONNECT: ":material/cable:"}
INSTALLED_ICON = ":material/memory:"
ABOUT = N_(
    "**Search only.** Footnote shows matching passages. With a language model it writes answers from them."
)


def show_first_model(server: PageServices, *, brief: bool = False) -> None:
    """Offer a model to administrators until one is connected or somebody has declined.

    A `brief` offer takes one line above what was added.
    """
    if not server.administers() or not server.settings.offer_model:
        show_search_only(server)
        return
    fixed = fixed_fields()
    names = {INSTALL: _install_name(server), CONNECT: f"{ICONS[CONNECT]} {translated(CONNECT)}"}
    installing = any(server.installs.running(offer) for offer in OFFERS)
    with st.container(border=not brief, key="first-model"):
        if not brief:
            st.markdown(translated(ABOUT))
        with st.container(horizontal=True, vertical_alignment="center"):
            if brief:
                st.markdown(_("**Search only.**"), width="content", help=translated(ABOUT))
            chosen = st.segmented_control(
                _("Language model"),
                list(ICONS),
                default=INSTALL if installing else None,
                format_func=names.__getitem__,
                key="first-model-way",
                label_visibility="collapsed",
            )
            options = shared("offer_model", fixed, _("You can connect a model later in Settings."))
            action(_("Continue without a model"), "search", "first-model-no", _decline, server, **options)
        if chosen == INSTALL:
            st.caption(_("It runs on this computer, without a server or key."))
            show_offers(server, fixed)
        elif chosen == CONNECT:
            st.caption(_("OpenAI, Ollama, LM Studio, vLLM, or any other OpenAI-compatible server."))
            show_server_form(server, fixed)


def _install_name(server: PageServices) -> str:
    there = any(catalog.is_installed(offer, server.settings.model_cache) for offer in OFFERS)
    icon, name = (
        (INSTALLED_ICON, _("Use an installed model")) if there else (ICONS[INSTALL], translated(INSTALL))
    )
    return f"{icon} {name}"


def show_search_only(server: PageServices) -> None:
    """Say on one line that there is no language model, with the way to one for administrators."""
    with st.container(
        key="search-only", horizontal=True, gap="small", vertical_alignment="center", width="content"
    ):
        st.caption(_("Search only. No language model is connected."), width="content")
        if server.administers():
            st.page_link(pages.SETTINGS, label=_("Connect a model"), icon=":material/cable:")


def _decline(server: PageServices) -> None:
    server.change({"offer_model": False})
