"""Inputs of one setting each, disabled where the configuration decides it, and the server they connect."""

from collections.abc import Mapping
from typing import TypedDict

import streamlit as st
from pydantic import SecretStr

from rag.i18n import N_, _, translated
from rag.models.protocol import LLMSettings
from rag.settings import Settings

FIXED = N_("Set by the server's configuration. It cannot be changed here.")


class Shared(TypedDict):
    """Options that every input of a setting has."""

    disabled: bool
    help: str | None


def shared(field: str, fixed: frozenset[str], text: str | None = None) -> Shared:
    """Return the options of an input; a fixed setting is disabled, and says why in place of `text`."""
    return {"disabled": field in fixed, "help": translated(FIXED) if field in fixed else text}


def text_field(name: str, field: str, value: str, fixed: frozenset[str], hint: str | None = None) -> str:
    """Show the input of a text and return it, stripped."""
    return st.text_input(name, value=value, key=field, **shared(field, fixed, hint)).strip()


def secret_field(name: str, field: str, saved: SecretStr, fixed: frozenset[str]) -> dict[str, str]:
    """Show the input of a key and return it by its setting's name, nothing where none was typed."""
    typed = st.text_input(
        name,
        type="password",
        key=field,
        placeholder=_("Saved. Type to change it")
        if saved.get_secret_value()
        else _("None (local servers need none)"),
        autocomplete="off",
        **shared(field, fixed, _("Stored on this computer and not shown again.")),
    )
    return {field: typed} if typed else {}


URL, MODEL, KEY = "llm_base_url", "llm_model", "llm_api_key"

LIST_SECONDS = 10.0


def server_of(settings: Settings) -> LLMSettings:
    """Return the connected server, to list its models."""
    return reached_server(settings, {URL: settings.llm_base_url, MODEL: settings.llm_model}, LIST_SECONDS)


def reached_server(settings: Settings, changes: Mapping[str, str], seconds: float) -> LLMSettings:
    """Return the server that the changed settings name, with so many seconds for an answer."""
    return LLMSettings(
        base_url=changes[URL],
        api_key=changes.get(KEY, settings.llm_api_key.get_secret_value()),
        model=changes[MODEL],
        timeout=seconds,
        idle_timeout=seconds,
        context_tokens=settings.llm_context_tokens,
    )
