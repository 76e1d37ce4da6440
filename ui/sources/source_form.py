"""A form for the settings of a source, made from what its kind wants to be told."""

import types
from collections.abc import Mapping
from typing import Any, Literal, Union, get_args, get_origin

import streamlit as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo


def fields(settings: type[BaseModel], current: Mapping[str, Any], *, key: str) -> dict[str, Any]:
    """Show an input for each setting and return what is in them; `current` is what they begin with."""
    return {
        name: _input(field, current.get(name, _default(field)), f"{key}-{name}")
        for name, field in settings.model_fields.items()
    }


def _default(field: FieldInfo) -> Any:
    return None if field.is_required() else field.get_default(call_default_factory=True)


def _input(field: FieldInfo, value: Any, key: str) -> Any:
    """Show one setting: a box to tick, a choice, a number, a text, or texts a line each."""
    wanted = _plain(field.annotation)
    title, told = field.title or key.rpartition("-")[2], field.description
    if wanted is bool:
        return st.checkbox(title, value=bool(value), help=told, key=key)
    if get_origin(wanted) is Literal:
        options = get_args(wanted)
        return st.selectbox(
            title, options, index=options.index(value) if value in options else 0, help=told, key=key
        )
    if wanted in (int, float):
        return st.number_input(title, value=value, help=told, key=key)
    if get_origin(wanted) in (tuple, list, frozenset, set):
        text = st.text_area(title, "\n".join(value or ()), help=told, key=key, height=100)
        return [line.strip() for line in text.splitlines() if line.strip()]
    return st.text_input(title, value or "", help=told, key=key).strip()


def _plain(annotation: Any) -> Any:
    """Return the type of a setting that may be absent as if it were there: ``str | None`` -> ``str``."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(part for part in get_args(annotation) if part is not type(None))
    return annotation
