"""The kinds of sources by name: what each is called, what it is told, and how it is opened."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from rag.connectors.base import Credentials, Source
from rag.connectors.confluence.models import ConfluenceSettings
from rag.connectors.confluence.source import ConfluenceSource
from rag.connectors.folder import FolderSettings, FolderSource
from rag.connectors.google_drive.models import DriveSettings
from rag.connectors.google_drive.source import DriveSource
from rag.connectors.http import Fetcher
from rag.connectors.web import WebSettings, WebSource
from rag.errors import SourceError


@dataclass(frozen=True)
class Means:
    """What sources are opened with: their way to the network, their secrets, the folders that may be read.

    `folder_roots` is None where any folder may be read; an item of more than `max_bytes` is not taken.
    """

    fetcher: Fetcher
    credentials: Credentials
    folder_roots: Sequence[str] | None
    max_bytes: int


@dataclass(frozen=True)
class Kind:
    """A kind of source: its name, what it brings in a sentence, its settings and how one is opened."""

    title: str
    brings: str
    settings: type[BaseModel]
    opened: Callable[[Any, Means], Source]


def _roots(means: Means) -> Sequence[str]:
    if means.folder_roots is not None and not means.folder_roots:
        raise SourceError(
            "Folders cannot be read here, since several people use this server and none of its folders is "
            "meant for them. Whoever runs it can name some in FOOTNOTE_ALLOWED_FOLDERS."
        )
    return means.folder_roots or ()


KINDS: Mapping[str, Kind] = {
    "folder": Kind(
        "Folder",
        "Files of a folder that the server can read, with those in the folders below.",
        FolderSettings,
        lambda settings, means: FolderSource(settings, _roots(means)),
    ),
    "web": Kind(
        "Web pages",
        "What pages on the web say, without what stands around it.",
        WebSettings,
        lambda settings, means: WebSource(settings, means.fetcher),
    ),
    "confluence": Kind(
        "Confluence",
        "Pages of a wiki by space or by page tree, with the files attached to them.",
        ConfluenceSettings,
        lambda settings, means: ConfluenceSource(
            settings, means.credentials, means.fetcher, max_bytes=means.max_bytes
        ),
    ),
    "google-drive": Kind(
        "Google Drive",
        "Files of folders and shared drives; Docs, Sheets and Slides as Word, Excel and PowerPoint files.",
        DriveSettings,
        lambda settings, means: DriveSource(
            settings, means.credentials, means.fetcher, max_bytes=means.max_bytes
        ),
    ),
}


def checked(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a source as they are kept; SourceError naming the first that is wrong."""
    if kind not in KINDS:
        raise SourceError(f"There is no source of the kind {kind!r}. There are: {', '.join(KINDS)}.")
    try:
        return KINDS[kind].settings(**given).model_dump(mode="json")
    except ValidationError as error:
        raise SourceError(_sentence(KINDS[kind].settings, error)) from error


def open_source(kind: str, given: Mapping[str, Any], means: Means) -> Source:
    """Open a source by what was kept of it; raises SourceError."""
    settings = checked(kind, given)
    return KINDS[kind].opened(KINDS[kind].settings(**settings), means)


def _sentence(settings: type[BaseModel], error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    field = settings.model_fields.get(name)
    title = (field and field.title) or name or "The settings"
    return f"{title}: {first['msg'].removeprefix('Value error, ')}."
