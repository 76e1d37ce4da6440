"""Interface of all sources: items and their bytes, the state that a sync keeps, and the secrets it needs."""

import hashlib
import os
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, SecretStr, ValidationError

from rag.errors import SourceError
from rag.jobs import Cancel, never


@dataclass(frozen=True)
class Item:
    """One thing at a source that can become a document.

    `id` is the source's own name for it and never changes; `version` changes whenever the content does, and
    an item whose version is known is not fetched. `name` is what people see, its suffix telling the format,
    and `url` where they can see the thing itself, if they can.
    """

    id: str
    name: str
    version: str
    url: str | None = None


@dataclass(frozen=True)
class Unreadable:
    """An item that the source lists but cannot give, and why, in a sentence.

    What is `lasting` is not worth asking for again soon.
    """

    id: str
    name: str
    reason: str
    lasting: bool = False


@dataclass(frozen=True)
class Resting:
    """An item that could not be had, and that was not asked for because it waits for its next try."""

    id: str


@dataclass(frozen=True)
class Gone:
    """An item that is no longer at the source."""

    id: str


@dataclass(frozen=True)
class Mark:
    """What came before is all there is up to here; the next listing may begin from `cursor`.

    After a `whole` listing what was not named since its start is no longer at the source.
    """

    cursor: str
    whole: bool


Listed = Item | Unreadable | Resting | Gone | Mark


class Source(ABC):
    """A place that holds documents. Its methods raise SourceError; ItemFailed concerns one item only."""

    @abstractmethod
    def test(self) -> str:
        """Reach the source and say in one sentence what was reached."""

    @abstractmethod
    def list(self, cursor: str | None = None, cancelled: Cancel = never) -> Iterator[Listed]:
        """Yield what is there, or what changed since the Mark that gave `cursor`; a Mark comes last."""

    @abstractmethod
    def fetch(self, item: Item, cancelled: Cancel = never) -> Iterator[bytes]:
        """Yield the content of an item of the listing, in pieces."""

    def rest(self, ids: Collection[str]) -> None:  # noqa: B027 - most ask for nothing while they list
        """Leave these in peace in the next listing: they could not be had, and wait for their next try."""

    def close(self) -> None:  # noqa: B027 - most hold nothing
        """Give up what the source holds open."""

    def __enter__(self) -> Self:
        """Use the source within a block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the source."""
        self.close()


SOON = timedelta(minutes=15)
DAY = timedelta(days=1)
GIVEN_UP_AFTER = 5  # tries at what lasts: with waits that double those take a month


def wait_after(tries: int, *, lasting: bool) -> timedelta | None:
    """Return how long to wait after so many failures in a row; None where it is not tried again by itself.

    What may pass is tried again at the next sync, then after a quarter of an hour, doubled each time up to a
    day. What is `lasting` (not there, not ours, too large) is left for a day, doubled each time, and then
    given up until it changes.

    >>> [str(wait_after(tries, lasting=False)) for tries in (1, 2, 4, 40)]
    ['0:00:00', '0:15:00', '1:00:00', '1 day, 0:00:00']
    >>> [str(wait_after(tries, lasting=True)) for tries in (1, 5, 6)]
    ['1 day, 0:00:00', '16 days, 0:00:00', 'None']
    """
    if lasting:
        return None if tries > GIVEN_UP_AFTER else DAY * 2 ** (tries - 1)
    return min(SOON * 2 ** min(tries - 2, 10), DAY) if tries > 1 else timedelta(0)


WHOLE_AFTER = timedelta(days=1)


class Reached(BaseModel):
    """How far a source was read: all of it at the time `whole`, as settings of the digest `of` want it."""

    model_config = ConfigDict(frozen=True)

    of: str
    whole: AwareDatetime

    @classmethod
    def read(cls, cursor: str | None, of: str) -> Self | None:
        """Return what a cursor says, or nothing where it is of other settings, or says nothing."""
        try:
            reached = cls.model_validate_json(cursor or "")
        except ValidationError:
            return None
        return reached if reached.of == of else None

    def is_old(self, now: datetime) -> bool:
        """Whether it is time to list all again, for what no list of changes tells."""
        return now - self.whole >= WHOLE_AFTER


def digest(settings: BaseModel, *besides: str) -> str:
    """Return what stands for settings: another one where anything differs but the fields `besides`."""
    wanted = settings.model_dump_json(exclude=set(besides))
    return hashlib.sha256(wanted.encode()).hexdigest()[:16]


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
