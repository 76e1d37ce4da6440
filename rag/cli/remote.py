"""Commands while the app runs: they ask the server that holds the data directory, by its local token."""

import time
from base64 import b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from rag.api_client import ApiClient
from rag.chat.check_export import from_json
from rag.chat.check_text import CheckedText, CheckProgress
from rag.chat.event_json import decode
from rag.cli.common import Options
from rag.errors import ApiError
from rag.grid.columns import Column
from rag.grid.export import GridForm
from rag.grid.spec import GridSpec, kept_columns
from rag.local_server import find_server
from rag.settings import Settings
from storage.errors import DataDirectoryLocked
from storage.records import KeyRecord, KeyScope

KEY_MOMENTS = ("created", "expires", "used")
LOOK = 0.2  # seconds between two looks at a document that is being read


def running_server(settings: Settings, locked: DataDirectoryLocked) -> ApiClient:
    """Return a client of the server that holds the data directory; raises `locked` where there is none."""
    there = find_server(settings.data)
    if there is None:
        raise locked
    client = ApiClient(there.url, there.token)
    try:
        client.call("GET", "/api/collections", params={"limit": "1"})
    except ApiError as error:
        raise locked from error
    return client


def ask_events(
    client: ApiClient, question: str, history: Sequence[tuple[str, str]], options: Options
) -> Iterator[object]:
    """Yield the events of an answer that the server gives, as the pipeline yields them here."""
    body = {
        "question": question,
        "history": [{"role": role, "content": content} for role, content in history],
        "collections": options.collection,
        "retriever": options.retriever,
        "k": options.k,
        "read_all": options.read_all,
        "stream": True,
    }
    for name, fields in client.events("/api/ask", body):
        if (event := decode(name, fields)) is not None:
            yield event


def check_events(
    client: ApiClient, name: str, content: bytes, collections: Sequence[str]
) -> Iterator[CheckProgress | CheckedText]:
    """Yield the events of a check that the server makes."""
    body = {
        "name": name,
        "file": b64encode(content).decode(),
        "collections": list(collections),
        "stream": True,
    }
    for event, fields in client.events("/api/check", body):
        if event == "progress":
            yield CheckProgress(fields["done"], fields["total"])
        elif event == "checked":
            yield from_json(fields)


def ensure_collection(client: ApiClient, name: str) -> None:
    """Create the collection of a name, unless there is one."""
    try:
        client.call("GET", "/api/documents", params={"collection": name, "limit": "1"})
    except ApiError as error:
        if error.status != 404:
            raise
        client.call("POST", "/api/collections", body={"name": name})


def add_file(
    client: ApiClient, name: str, content: bytes, collection: str | None
) -> tuple[str, dict[str, Any]]:
    """Add a file and wait until it is read; return what came of adding it, and the document."""
    params = {"name": name, **({"collection": collection} if collection else {})}
    (added,) = client.call("POST", "/api/documents", content=content, params=params)["documents"]
    document = added
    while document["state"] not in ("ready", "refused") and not _failed(document):
        time.sleep(LOOK)
        document = client.call("GET", f"/api/documents/{added['id']}")
    return added["outcome"], document


class RemoteKeys:
    """Keys of one person at the server, which takes them from this computer's commands alone."""

    def __init__(self, client: ApiClient, owner: str):
        self._client, self._whose = client, {"owner": owner}

    def create(
        self, name: str, scopes: Collection[KeyScope], collections: Sequence[str] | None, days: int | None
    ) -> tuple[KeyRecord, str]:
        """Create a key; return it with its secret."""
        body = {"name": name, "scopes": list(scopes), "collections": collections, "days": days}
        made = self._client.call("POST", "/api/keys", body=body, params=self._whose)
        secret = made.pop("secret")
        return _key_record(made), secret

    def list(self) -> list[KeyRecord]:
        """List the keys, newest first."""
        return [_key_record(one) for one in self._client.call("GET", "/api/keys", params=self._whose)["data"]]

    def revoke(self, key_id: str) -> None:
        """Revoke a key."""
        self._client.call("DELETE", f"/api/keys/{quote(key_id, safe='')}", params=self._whose)


class RemoteGrids:
    """Grids of the local user at the server that holds the data directory."""

    def __init__(self, client: ApiClient):
        self._client = client

    def put(self, spec: Mapping[str, Any]) -> str:
        """Create the grid of a specification, or change the one of its name; return its id."""
        wanted = GridSpec.from_json(spec)
        there = next((one for one in self._pages() if one["name"] == wanted.name), None)
        if there is None:
            return str(self._client.call("POST", "/api/grids", body=spec)["id"])
        columns = kept_columns(wanted.columns, [Column.from_json(one) for one in there["columns"]])
        body = {"columns": [column.to_json() for column in columns], "scope": spec.get("scope") or {}}
        return str(self._client.call("PATCH", f"/api/grids/{there['id']}", body=body)["id"])

    def estimate(self, grid_id: str) -> dict[str, Any]:
        """Return cells, requests and seconds of a run."""
        return self._client.call("GET", f"/api/grids/{grid_id}/estimate")

    def run(self, grid_id: str) -> Iterator[tuple[int, int]]:
        """Run a grid to its end; yield the cells that are done, of how many."""
        grid = self._client.call("POST", f"/api/grids/{grid_id}/run")
        while grid["running"]:
            yield grid["done"], grid["cells"]
            time.sleep(LOOK)
            grid = self._client.call("GET", f"/api/grids/{grid_id}")

    def note(self, grid_id: str) -> str:
        """Return why the last run ended early."""
        return str(self._client.call("GET", f"/api/grids/{grid_id}")["note"])

    def exported(self, grid_id: str, form: GridForm) -> bytes:
        """Return a grid as a file."""
        return self._client.content(f"/api/grids/{grid_id}/export", {"form": form})

    def list(self) -> list[dict[str, Any]]:
        """List the grids, with id and name."""
        return [
            {"id": one["id"], "name": one["name"], "columns": len(one["columns"]), "running": one["running"]}
            for one in self._pages()
        ]

    def _pages(self) -> Iterator[dict[str, Any]]:
        params: dict[str, str] = {}
        while True:
            page = self._client.call("GET", "/api/grids", params=params)
            yield from page["data"]
            if page["next_cursor"] is None:
                return
            params = {"cursor": page["next_cursor"]}


def _key_record(fields: dict[str, Any]) -> KeyRecord:
    limited = fields["collections"]
    moments = {name: fields[name] and datetime.fromisoformat(fields[name]) for name in KEY_MOMENTS}
    scopes, inside = frozenset(fields["scopes"]), None if limited is None else frozenset(limited)
    return KeyRecord(**{**fields, **moments, "scopes": scopes, "collections": inside})


def _failed(document: dict[str, Any]) -> bool:
    """Return True for a document that is found by its words only, as its model is not available."""
    return document["state"] == "searchable_by_words" and bool(document["reason"])
