"""First step on the start page where no language model is connected: install one, connect one, or go on."""

import streamlit as st

from rag.i18n import N_, _, translated
from rag.models.local import catalog
from rag.models.local.catalog import OFFERS
from rag.settings import fixed_fields
from ui import pages
from ui.components.messages import action
from ui.server.services import PageServices
from ui.settings.fields import shared
from ui.settings.local_model import show_offers
from ui.settings.server_form import show_server_form

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
        (INSTALLED_ICON, _("Choose the installed model")) if there else (ICONS[INSTALL], translated(INSTALL))
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
