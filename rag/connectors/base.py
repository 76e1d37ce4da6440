"""Interface of all sources: listings of items, their content, the stored state of a sync, and secrets."""

import hashlib
import os
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, SecretStr, ValidationError

from rag.errors import SourceError
from rag.i18n import N_
from rag.jobs import Cancel, never

SOON = timedelta(minutes=15)
DAY = timedelta(days=1)
MAX_LASTING_TRIES = 5  # with doubled delays they take a month
WHOLE_AFTER = DAY
SECRETS = Path(".streamlit/secrets.toml")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True)
class Item:
    """Item that can become a document: `id` never changes, `version` changes with its content."""

    id: str
    name: str
    version: str
    url: str | None = None


@dataclass(frozen=True)
class Unreadable:
    """Item that the source cannot deliver, and why; an early retry of a `lasting` one is useless."""

    id: str
    name: str
    reason: str
    lasting: bool = False


@dataclass(frozen=True)
class Deferred:
    """Item that failed earlier and was not requested, because its next retry is not due."""

    id: str


@dataclass(frozen=True)
class Gone:
    """Item that is no longer at the source."""

    id: str


@dataclass(frozen=True)
class Checkpoint:
    """End of a listing; what a `whole` one did not name is gone. The next one begins at the `cursor`."""

    cursor: str
    whole: bool


Listed = Item | Unreadable | Deferred | Gone | Checkpoint


class Source(ABC):
    """Source of documents. Its methods raise SourceError; ItemFailed concerns one item only."""

    @abstractmethod
    def test(self) -> str:
        """Connect to the source, and return one sentence on what was found."""

    @abstractmethod
    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield all items, or the changes since the Checkpoint with `cursor`; a Checkpoint comes last."""

    @abstractmethod
    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield the content of an item of the listing, in pieces."""

    def defer(self, ids: Collection[str]) -> None:  # noqa: B027 - most request no items while they list
        """Do not request these failed items in the next listing, since their retry is not due."""


# Retries


def retry_delay(tries: int, *, lasting: bool) -> timedelta | None:
    """Return the delay after so many failures in a row; None for no further automatic retry.

    >>> [str(retry_delay(tries, lasting=False)) for tries in (1, 2, 4, 40)]
    ['0:00:00', '0:15:00', '1:00:00', '1 day, 0:00:00']
    >>> [str(retry_delay(tries, lasting=True)) for tries in (1, 5, 6)]
    ['1 day, 0:00:00', '16 days, 0:00:00', 'None']
    """
    if lasting:
        return None if tries > MAX_LASTING_TRIES else DAY * 2 ** (tries - 1)
    return min(SOON * 2 ** min(tries - 2, 10), DAY) if tries > 1 else timedelta(0)


# State of a sync


class SyncState(BaseModel):
    """Cursor of a source: the time of the last `whole` listing, and the digest `of` the settings it used."""

    model_config = ConfigDict(frozen=True)

    of: str
    whole: AwareDatetime

    @classmethod
    def parse(cls, cursor: str | None, of: str) -> Self | None:
        """Return the state of a cursor; None where it is of other settings, or none at all."""
        try:
            state = cls.model_validate_json(cursor or "")
        except ValidationError:
            return None
        return state if state.of == of else None

    def is_old(self, now: datetime) -> bool:
        """Return whether it is time for a whole listing, which finds what no list of changes has."""
        return now - self.whole >= WHOLE_AFTER


def digest(settings: BaseModel, *besides: str) -> str:
    """Return a hash of settings without the fields `besides`."""
    wanted = settings.model_dump_json(exclude=set(besides))
    return hashlib.sha256(wanted.encode()).hexdigest()[:16]


# Secrets


class Credentials:
    """Secrets by name: `wiki` is `FOOTNOTE_SECRET_WIKI`, or `wiki` in the file's table `[sources]`.

    The environment wins. Where people sign in, each has only the table `[sources_of."their id"]`: anyone
    could send a secret of everyone to a server of their own.
    """

    def __init__(self, environment: Mapping[str, str], file: Path, person: str = ""):
        self._environment = {} if person else environment
        self._file = file
        self._person = person

    @classmethod
    def of_this_machine(cls, person: str = "") -> "Credentials":
        """Return the secrets of this process and its working folder, for one person where people sign in."""
        return cls(os.environ, SECRETS, person)

    def get(self, name: str) -> SecretStr:
        """Return the secret `name`; raise SourceError, with instructions, where there is none."""
        if not _NAME.fullmatch(name):
            raise SourceError(
                N_(
                    "{name} cannot be the name of a secret. Use letters, digits and underscores: my_wiki.",
                    name=repr(name),
                )
            )
        variable = f"FOOTNOTE_SECRET_{name.upper()}"
        value = self._environment.get(variable) or self._in_file(name)
        if not value:
            raise SourceError(self._missing(name, variable))
        return SecretStr(value)

    def _missing(self, name: str, variable: str) -> str:
        if self._person:
            table = f'[sources_of."{self._person}"]'
            return N_(
                'You have no secret {quoted}. Ask whoever runs this server to add {name} = "..." '
                "under {table} in {file}.",
                quoted=repr(name),
                name=name,
                table=table,
                file=self._file,
            )
        return N_(
            "There is no secret {quoted}. Set {variable} before starting Footnote, or add {name} "
            '= "..." under [sources] in {file}.',
            quoted=repr(name),
            variable=variable,
            name=name,
            file=self._file,
        )

    def _in_file(self, name: str) -> str | None:
        if not self._file.exists():
            return None
        try:
            value: Any = tomllib.loads(self._file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SourceError(
                N_(
                    "{file} cannot be read: {name}. Mend the file.",
                    file=self._file,
                    name=type(error).__name__,
                )
            ) from error
        for key in (*(("sources_of", self._person) if self._person else ("sources",)), name):
            value = value.get(key) if isinstance(value, dict) else None
        return value if isinstance(value, str) else None
