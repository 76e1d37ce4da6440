"""A setting that cannot be used, as a sentence: its key as given, and its value unless it is secret."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import AliasChoices, SecretStr, ValidationError
from pydantic.fields import FieldInfo

PREFIX = "FOOTNOTE_"
NEVER_SHOWN = frozenset({"vector_store_arguments"})  # a class may be given keys in any of them
_PERSON = re.compile(r"[^/\s@]*@")  # user and password of an address


def sentence(error: ValidationError, known: Mapping[str, FieldInfo]) -> str:
    """Say what is wrong with the first setting that an error is about; `known` are the settings' fields."""
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else "settings"
    field = next((one for one in known if name in _keys(one, known[one])), name)
    value = "(hidden)" if _is_secret(field, known.get(field)) else shown(first["input"])
    reason = str(first["msg"]).removeprefix("Value error, ")
    return f"The setting {_given(field, known)} is {value}, which cannot be used: {reason}."


def shown(value: object) -> str:
    """Return a value as it may be shown, without a person and a password in an address.

    >>> shown("ftp://ann:secret@host/"), shown(-1)
    ("'ftp://…@host/'", '-1')
    """
    return _PERSON.sub("…@", repr(value))


def http_address(url: str) -> str:
    """Return the address of a server; ValueError where it leads nowhere."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise ValueError(f"it is no address ({error})") from error
    if not usable:
        raise ValueError("must start with http:// or https:// and name a host")
    return url


def _given(field: str, known: Mapping[str, FieldInfo]) -> str:
    """Return the name under which a setting stands in the environment, else its first one."""
    keys = [key for key in _keys(field, known.get(field)) if key.isupper()]
    return next((key for key in keys if key in os.environ), keys[0])


def _keys(field: str, info: FieldInfo | None) -> list[str]:
    alias = info.validation_alias if info else None
    if isinstance(alias, AliasChoices):
        named: Iterable[Any] = alias.choices
    else:
        named = [alias] if alias else [f"{PREFIX}{field.upper()}"]
    return [*map(str, named), field]


def _is_secret(field: str, info: FieldInfo | None) -> bool:
    return field in NEVER_SHOWN or (info is not None and info.annotation is SecretStr)
