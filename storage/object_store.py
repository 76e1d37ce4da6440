"""Objects below one address, by obstore: S3 and what speaks it, Google Cloud Storage, Azure.

Credentials and the endpoint come from the usual environment variables, such as AWS_ACCESS_KEY_ID and
AWS_ENDPOINT_URL. Errors are sentences without a host or a key.
"""

import builtins
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from storage.errors import NotFound, ObjectStoreAway, StorageError
from storage.i18n import N_

CONNECT_SECONDS = 5.0
SILENT_SECONDS = 20.0  # without a byte, after which a request has failed
WHOLE_SECONDS = 600.0  # of one request with its content
RETRIES = 4  # of a request that failed on its way or in the store
PATIENCE = 10.0  # seconds from the first attempt, after which there is no other
BLOCK = 1 << 20  # bytes read at once
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")
_DENIED = ("PermissionDeniedError", "UnauthenticatedError")
_AWAY = N_(
    "The object store at FOOTNOTE_OBJECTS does not answer, or its address cannot be used. Nothing that was "
    "stored is lost, and Footnote goes on once it is back. See that it runs, and that the address and the "
    "endpoint are right."
)
_REFUSED = N_(
    "The object store at FOOTNOTE_OBJECTS refuses the credentials, or they lack the right to read, write, "
    "list and delete. Give them as the environment variables of the store, then start again."
)
_MISSING = N_(
    "There is no bucket or container of the name in FOOTNOTE_OBJECTS. Make it, or correct the setting."
)
_OVERWRITES = N_(
    "The object store at FOOTNOTE_OBJECTS overwrites an object that exists where it was asked not to: it "
    "does not know conditional writes (If-None-Match). Use another store, or a newer version of this one."
)


@dataclass(frozen=True)
class ObjectInfo:
    """An object: its key below the address, its size in bytes, and when it was last written."""

    key: str
    size: int
    written: datetime


class ObjectStore:
    """Objects by key. Raises ObjectStoreAway, or another StorageError, where a request fails."""

    def __init__(self, store: Any):
        self._store = store

    @classmethod
    def connect(cls, address: str) -> "ObjectStore":
        """Return the store at an address such as ``s3://bucket/prefix``; nothing is asked yet."""
        try:
            from obstore.exceptions import BaseError
            from obstore.store import from_url
        except ModuleNotFoundError as error:
            raise StorageError(
                N_(
                    "FOOTNOTE_OBJECTS needs the Python package {name}: pip install 'footnote[objects]'.",
                    name=error.name,
                )
            ) from error
        try:
            store = from_url(
                address,
                client_options={
                    "allow_http": True,  # where the endpoint says so
                    "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
                    "read_timeout": timedelta(seconds=SILENT_SECONDS),
                    "timeout": timedelta(seconds=WHOLE_SECONDS),
                },
                retry_config={"max_retries": RETRIES, "retry_timeout": timedelta(seconds=PATIENCE)},
            )
        except (BaseError, ValueError) as error:
            raise StorageError(
                N_(
                    "The address in FOOTNOTE_OBJECTS cannot be used. Write s3://BUCKET/PREFIX, "
                    "gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER."
                )
            ) from error
        return cls(store)

    def check(self) -> None:
        """Raise StorageError unless objects can be written, read and deleted, and are never overwritten."""
        key = f"check/{secrets.token_hex(8)}"
        try:
            self.create(key, b"first")
            refused = not self.create(key, b"second")
            kept = b"".join(self.read(key)) == b"first"
            self.delete([key])
        except NotFound as error:
            raise StorageError(_MISSING) from error
        if not (refused and kept):
            raise StorageError(_OVERWRITES)

    def create(self, key: str, content: Path | bytes) -> bool:
        """Write an object as a whole; return False, and write nothing, where there is one."""
        from obstore.exceptions import AlreadyExistsError

        try:
            self._put(key, content, "create")
        except AlreadyExistsError:
            return False
        return True

    def replace(self, key: str, content: Path | bytes) -> None:
        """Write an object as a whole, in place of what is there."""
        self._put(key, content, "overwrite")

    def read(self, key: str) -> Iterator[bytes]:
        """Yield the bytes of an object; raises NotFound."""
        import obstore

        with _explained():
            for block in obstore.get(self._store, key).stream(min_chunk_size=BLOCK):
                yield bytes(block)

    def info(self, key: str) -> ObjectInfo | None:
        """Return what is known of an object, or None."""
        import obstore

        try:
            with _explained():
                return _info(obstore.head(self._store, key))
        except NotFound:
            return None

    def list(self, folder: str) -> Iterator[ObjectInfo]:
        """Yield the objects whose keys begin with a folder and a slash."""
        import obstore

        with _explained():
            for some in obstore.list(self._store, folder):
                yield from map(_info, some)

    def folders(self, folder: str) -> "builtins.list[str]":
        """Return the names of the folders in a folder, in which there is anything."""
        import obstore

        with _explained():
            found = obstore.list_with_delimiter(self._store, folder)["common_prefixes"]
        return [prefix.rstrip("/").rpartition("/")[2] for prefix in found]

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; one that does not exist is no error."""
        import obstore

        wanted = list(keys)
        try:
            with _explained():
                obstore.delete(self._store, wanted)
        except NotFound:  # Azure and Google say so, and leave the others
            for key in wanted if len(wanted) > 1 else ():
                self.delete([key])

    def _put(self, key: str, content: Path | bytes, mode: Any) -> None:
        import obstore

        # In one request: parts of a larger one that was cut off would stay, unseen and paid for.
        with _explained():
            obstore.put(self._store, key, content, mode=mode, use_multipart=False)


def _info(meta: Any) -> ObjectInfo:
    return ObjectInfo(str(meta["path"]), int(meta["size"]), meta["last_modified"])


@contextmanager
def _explained() -> Iterator[None]:
    """Turn obstore's errors, whose text names hosts and keys, into ours."""
    from obstore.exceptions import AlreadyExistsError, BaseError

    try:
        yield
    except AlreadyExistsError:
        raise
    except FileNotFoundError as error:
        if any(said in str(error) for said in _NO_BUCKET):
            raise StorageError(_MISSING) from error
        raise NotFound(N_("There is no such object in the object store.")) from error
    except BaseError as error:
        said = type(error).__name__
        raise StorageError(_REFUSED) if said in _DENIED else ObjectStoreAway(_AWAY) from error
