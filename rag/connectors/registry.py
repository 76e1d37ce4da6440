"""Registry of the kinds of sources: title, settings model and constructor of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from rag.connectors.base import Credentials, Source
from rag.connectors.confluence.client import ConfluenceSettings
from rag.connectors.confluence.source import ConfluenceSource
from rag.connectors.folder import FolderSettings, FolderSource
from rag.connectors.google_drive.source import DriveSettings, DriveSource
from rag.connectors.http import Fetcher
from rag.connectors.web import WebSettings, WebSource
from rag.errors import SourceError
from rag.i18n import N_


@dataclass(frozen=True)
class ConnectorContext:
    """Means of opening sources; `folder_roots` is None where any folder may be read."""

    fetcher: Fetcher
    credentials: Credentials
    folder_roots: Sequence[str] | None
    max_bytes: int


@dataclass(frozen=True)
class SourceKind:
    """Kind of source: its title, a description, its settings and its constructor."""

    title: str
    brings: str
    settings: type[BaseModel]
    open: Callable[[Any, ConnectorContext], Source]


def _folder_roots(context: ConnectorContext) -> Sequence[str]:
    if context.folder_roots is not None and not context.folder_roots:
        raise SourceError(
            N_(
                "Folders cannot be read here, since several people use this server and none of its "
                "folders is meant for them. Whoever runs it can name some in "
                "FOOTNOTE_ALLOWED_FOLDERS."
            )
        )
    return context.folder_roots or ()


KINDS: Mapping[str, SourceKind] = {
    "folder": SourceKind(
        N_("Folder"),
        N_("Files in a folder on the computer that runs Footnote, with those in its subfolders."),
        FolderSettings,
        lambda settings, context: FolderSource(settings, _folder_roots(context)),
    ),
    "web": SourceKind(
        N_("Web pages"),
        N_("The text of web pages, without menus and advertisements."),
        WebSettings,
        lambda settings, context: WebSource(settings, context.fetcher),
    ),
    "confluence": SourceKind(
        "Confluence",
        N_("Pages of a wiki by space or by page tree, with the files attached to them."),
        ConfluenceSettings,
        lambda settings, context: ConfluenceSource(
            settings, context.credentials, context.fetcher, max_bytes=context.max_bytes
        ),
    ),
    "google-drive": SourceKind(
        "Google Drive",
        N_(
            "Files of folders and shared drives; Docs, Sheets and Slides as Word, Excel and PowerPoint files."
        ),
        DriveSettings,
        lambda settings, context: DriveSource(
            settings, context.credentials, context.fetcher, max_bytes=context.max_bytes
        ),
    ),
}


def checked(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a source in their stored form; raise SourceError on the first wrong one."""
    if kind not in KINDS:
        raise SourceError(
            N_(
                "There is no source of the kind {kind}. There are: {kinds}.",
                kind=repr(kind),
                kinds=", ".join(KINDS),
            )
        )
    try:
        return KINDS[kind].settings(**given).model_dump(mode="json")
    except ValidationError as error:
        raise SourceError(_sentence(KINDS[kind].settings, error)) from error


def open_source(kind: str, given: Mapping[str, Any], context: ConnectorContext) -> Source:
    """Open a source by its stored settings; raises SourceError."""
    settings = checked(kind, given)
    return KINDS[kind].open(KINDS[kind].settings(**settings), context)


_MISSING = N_("Field required")


def _sentence(settings: type[BaseModel], error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    field = settings.model_fields.get(name)
    title = (field and field.title) or name or N_("The settings")
    reason = _MISSING if first["type"] == "missing" else _reason(first)
    if reason.endswith("."):
        return N_("{kind}: {reason}", kind=title, reason=reason)
    return N_("{kind}: {reason}.", kind=title, reason=reason)


def _reason(error: ErrorDetails) -> str:
    """Return why a value was refused: the sentence of our own validator, else pydantic's."""
    raised = error.get("ctx", {}).get("error")
    return str(raised.args[0]) if isinstance(raised, ValueError) else error["msg"]
