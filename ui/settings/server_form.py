"""Form that connects a model server: list its models, test one, save. For Settings and the start page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from rag.errors import LLMError, LLMGarbled, SettingsError
from rag.i18n import N_, _, translated
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.settings import Settings, check
from storage.errors import FootnoteError
from ui.components.messages import action, show_sentence
from ui.server.services import PageServices
from ui.settings.fields import secret_field, shared, text_field
from ui.settings.local_model import flash_writer

URL, MODEL, KEY = "llm_base_url", "llm_model", "llm_api_key"
LIST_SECONDS = 10.0
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
    with LLM(_reached(settings, changes, LIST_SECONDS)) as llm, st.spinner(_("Connecting…")):
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
            _try(_reached(server.settings, changes, TRIAL_SECONDS))
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


def server_of(settings: Settings) -> LLMSettings:
    """Return the connected server, to list its models."""
    return _reached(settings, {URL: settings.llm_base_url, MODEL: settings.llm_model}, LIST_SECONDS)


def _reached(settings: Settings, changes: Mapping[str, str], seconds: float) -> LLMSettings:
    return LLMSettings(
        base_url=changes[URL],
        api_key=changes.get(KEY, settings.llm_api_key.get_secret_value()),
        model=changes[MODEL],
        timeout=seconds,
        idle_timeout=seconds,
        context_tokens=settings.llm_context_tokens,
    )
