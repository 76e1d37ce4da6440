"""Model files from their makers' repositories on a hub, verified by the hash that the hub states.

The HTTP client is passed in, since this package may not import the one that keeps the SSRF policy.
"""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol
from urllib.parse import quote, urlsplit

from rag.errors import Cancelled, FootnoteError, ModelUnavailable
from rag.i18n import N_
from rag.models.local.catalog import HubModel

BLOCK = 1 << 20  # bytes of a file that are hashed at once
DAMAGED = "{title} has the sha256 {found}..., not {stated}... as {host} states, so it was removed. Try again."


class Opened(Protocol):
    """Response whose body is still to be read."""

    @property
    def status(self) -> int:
        """Status code."""
        ...

    def pieces(self) -> Iterator[bytes]:
        """Return the body in pieces."""
        ...


class Web(Protocol):
    """HTTP client; `rag/connectors/http.py` has one that keeps to the SSRF policy on every hop."""

    def open(
        self, url: str, *, headers: Mapping[str, str], cancelled: Callable[[], bool]
    ) -> AbstractContextManager[Opened]:
        """Open the response at an address, after redirects."""
        ...

    def get(self, url: str, *, cancelled: Callable[[], bool]) -> Any:
        """Return the response at an address, which has `checked` and `json`."""
        ...


@dataclass(frozen=True)
class HubFile:
    """File of a repository at one commit: its address, size and hash as the hub states them."""

    url: str
    bytes: int
    sha256: str


class Hub:
    """Hub at an address, such as https://huggingface.co or a mirror of it."""

    def __init__(self, address: str, web: Web):
        self._address, self._web = address.rstrip("/"), web

    @property
    def host(self) -> str:
        """The hub's host."""
        return urlsplit(self._address).netloc

    def find(self, model: HubModel, cancelled: Callable[[], bool]) -> HubFile:
        """Return the model's file at the newest commit of its repository; raises ModelUnavailable."""
        repository = quote(model.repository)
        stated = self._web.get(f"{self._address}/api/models/{repository}?blobs=true", cancelled=cancelled)
        try:
            told = stated.checked().json()
            file = next(one for one in told["siblings"] if one["rfilename"] == model.file)
            url = f"{self._address}/{repository}/resolve/{quote(told['sha'])}/{quote(model.file)}"
            return HubFile(url, int(file["lfs"]["size"]), str(file["lfs"]["sha256"]))
        except (KeyError, TypeError, ValueError, StopIteration) as error:
            raise ModelUnavailable(
                N_(
                    "{host} states no file {file} with a hash in {repository}. Choose another model.",
                    host=self.host,
                    file=model.file,
                    repository=model.repository,
                )
            ) from error

    def download(self, model: HubModel, path: Path, cancelled: Callable[[], bool]) -> Iterator[int]:
        """Put the verified file at `path`, yielding the bytes that have come; a later call goes on.

        Raises ModelUnavailable and Cancelled.
        """
        try:
            stated = self.find(model, cancelled)
            yield from self._complete(model, stated, path, cancelled)
        except (Cancelled, ModelUnavailable):
            raise
        except FootnoteError as error:
            raise ModelUnavailable(
                N_(
                    "{title} could not be fetched from {host}. {reason} A model of the package index "
                    "needs no hub.",
                    title=model.title,
                    host=self.host,
                    reason=error,
                )
            ) from error

    def _complete(
        self, model: HubModel, stated: HubFile, path: Path, cancelled: Callable[[], bool]
    ) -> Iterator[int]:
        coming = path.with_suffix(".partial")
        with coming.open("a+b") as file:
            whole = hashlib.sha256()
            if file.tell() > stated.bytes:  # of another version
                file.truncate(0)
            yield from _hash(file, whole.update, cancelled)
            if file.tell() < stated.bytes:
                yield from self._append(stated, file, whole, cancelled)
            file.flush()
            os.fsync(file.fileno())
            found = whole.hexdigest() if file.tell() == stated.bytes else ""
        if found != stated.sha256:
            coming.unlink()
            raise ModelUnavailable(
                DAMAGED.format(title=model.title, found=found[:12], stated=stated.sha256[:12], host=self.host)
            )
        coming.rename(path)

    def _append(
        self, stated: HubFile, file: IO[bytes], whole: Any, cancelled: Callable[[], bool]
    ) -> Iterator[int]:
        """Append what is missing; a hub that does not resume is read past what has come."""
        have = file.tell()
        headers = {"Range": f"bytes={have}-"} if have else {}
        with self._web.open(stated.url, headers=headers, cancelled=cancelled) as response:
            if response.status not in (200, 206):
                raise ModelUnavailable(
                    N_(
                        "{host} answered with status {status}. Try again later.",
                        host=self.host,
                        status=response.status,
                    )
                )
            known = have if response.status == 200 else 0
            for piece in response.pieces():
                new, known = piece[known:], max(0, known - len(piece))
                file.write(new)
                whole.update(new)
                if file.tell() > stated.bytes:
                    return
                yield file.tell()


def _hash(file: IO[bytes], update: Callable[[bytes], object], cancelled: Callable[[], bool]) -> Iterator[int]:
    """Hash what has come already, and leave the file at its end."""
    file.seek(0)
    while block := file.read(BLOCK):
        if cancelled():
            raise Cancelled(N_("You stopped the download. What has come is kept; it goes on from there."))
        update(block)
        yield file.tell()
