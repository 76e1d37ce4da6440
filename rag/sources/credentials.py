"""Secrets that sources need, from the environment or `.streamlit/secrets.toml`, never from the ledger."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from rag.errors import SourceError

SECRETS = Path(".streamlit/secrets.toml")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Credentials:
    """Looks a secret up: `wiki` is `FOOTNOTE_SECRET_WIKI`, or `wiki` in the file's table `[sources]`.

    The environment wins. A value is read when it is asked for, so that a new one counts at once. Where people
    sign in, each has the secrets of the table `[sources_of."their id"]` and no others: a secret that anyone
    may name is one that anyone may send to a server of theirs.
    """

    def __init__(self, environment: Mapping[str, str], file: Path, person: str = ""):
        self._environment = {} if person else environment
        self._file = file
        self._person = person

    @classmethod
    def of_this_machine(cls, person: str = "", file: Path = SECRETS) -> "Credentials":
        """Return those of this process and of the folder it runs in, for one person where people sign in."""
        return cls(os.environ, file, person)

    def get(self, name: str) -> SecretStr:
        """Return the secret called `name`; SourceError, saying where to put it, when there is none."""
        if not _NAME.fullmatch(name):
            raise SourceError(
                f"{name!r} cannot be the name of a secret. Use letters, digits and underscores: my_wiki."
            )
        variable = f"FOOTNOTE_SECRET_{name.upper()}"
        value = self._environment.get(variable) or self._in_file(name)
        if not value:
            raise SourceError(self._missing(name, variable))
        return SecretStr(value)

    def _missing(self, name: str, variable: str) -> str:
        if self._person:
            table = f'[sources_of."{self._person}"]'
            return (
                f"You have no secret {name!r}. Ask whoever runs this server to add "
                f'{name} = "..." under {table} in {self._file}.'
            )
        return (
            f"There is no secret {name!r}. Set {variable} before starting Footnote, or add "
            f'{name} = "..." under [sources] in {self._file}.'
        )

    def _in_file(self, name: str) -> str | None:
        if not self._file.exists():
            return None
        try:
            tables = tomllib.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SourceError(
                f"{self._file} cannot be read: {type(error).__name__}. Mend the file."
            ) from error
        place = ("sources_of", self._person) if self._person else ("sources",)
        value: object = tables
        for key in (*place, name):
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else None
