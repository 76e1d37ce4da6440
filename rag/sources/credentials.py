"""Secrets that sources need, from the environment or `.streamlit/secrets.toml`, never from the ledger."""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from rag.errors import SourceError

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


class Credentials:
    """Looks a secret up: `wiki` is `FOOTNOTE_SECRET_WIKI`, or `wiki` in the file's table `[sources]`.

    The environment wins. A value is read when it is asked for, so that a new one counts at once.
    """

    def __init__(self, environment: Mapping[str, str], file: Path):
        self._environment = environment
        self._file = file

    @classmethod
    def of_this_machine(cls, file: Path = Path(".streamlit/secrets.toml")) -> "Credentials":
        """Return those of this process and of the folder it runs in."""
        return cls(os.environ, file)

    def get(self, name: str) -> SecretStr:
        """Return the secret called `name`; SourceError, saying where to put it, when there is none."""
        if not _NAME.fullmatch(name):
            raise SourceError(
                f"{name!r} cannot be the name of a secret. Use letters, digits and underscores: my_wiki."
            )
        variable = f"FOOTNOTE_SECRET_{name.upper()}"
        value = self._environment.get(variable) or self._in_file(name)
        if not value:
            raise SourceError(
                f"There is no secret {name!r}. Set {variable} before starting Footnote, or add "
                f'{name} = "..." under [sources] in {self._file}.'
            )
        return SecretStr(value)

    def _in_file(self, name: str) -> str | None:
        if not self._file.exists():
            return None
        try:
            table = tomllib.loads(self._file.read_text(encoding="utf-8")).get("sources", {})
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SourceError(
                f"{self._file} cannot be read: {type(error).__name__}. Mend the file."
            ) from error
        value = table.get(name) if isinstance(table, dict) else None
        return value if isinstance(value, str) else None
