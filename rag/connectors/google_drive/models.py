"""Settings of a Google Drive source, records of its API, and the files that are taken."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, AliasPath, BaseModel, ConfigDict, Field

from rag.connectors.base import Item, Unreadable
from rag.connectors.rest import too_large

_ID = re.compile(r"[A-Za-z0-9_-]{10,200}|root")
_URL = re.compile(
    r"https://(?:drive|docs)\.google\.com/\S*?(?:/folders/|/d/|[?&]id=)([A-Za-z0-9_-]{10,200})(?:[/?#&]\S*)?"
)


def _place(given: str) -> str:
    """Return the id of a folder or file, given as an id or an address."""
    text = given.strip()
    if found := _URL.fullmatch(text):
        return found[1]
    if _ID.fullmatch(text):
        return text
    raise ValueError(f"{given!r} is no folder or file. Copy its address from the browser")


class DriveSettings(BaseModel):
    """Folders and files to sync; `credential` names a secret and never holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    places: tuple[Annotated[str, AfterValidator(_place)], ...] = Field(
        title="Folders and files",
        description="Their addresses in the browser, one a line. A shared drive is a folder, too; root is "
        "the account's own drive.",
        min_length=1,
    )
    subfolders: bool = Field(True, title="Folders within them, too")
    credential: Annotated[str, AfterValidator(str.strip)] = Field(
        title="Name of the secret",
        description="The whole JSON of a service account's key, or of an authorized user, kept outside "
        "Footnote's database: the secret drive is FOOTNOTE_SECRET_DRIVE in the server's environment, or "
        "drive under [sources] in its secrets file.",
    )


FOLDER = "application/vnd.google-apps.folder"
SHORTCUT = "application/vnd.google-apps.shortcut"
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,200}$")]
# Ids of responses go into further requests, so they hold nothing that could change those.


class DriveRecord(BaseModel):
    """Record of a response; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, hide_input_in_errors=True)
    fields: ClassVar[str] = ""
    """Fields of this record, as requests name them."""


class DriveFile(DriveRecord):
    """File, folder or shortcut. Google's own documents have neither size nor checksum."""

    fields = (
        "id,name,mimeType,md5Checksum,modifiedTime,size,webViewLink,trashed,parents,driveId,"
        "shortcutDetails(targetId),capabilities(canDownload)"
    )
    id: Id
    name: str
    mime_type: str = Field(alias="mimeType")
    checksum: str = Field("", alias="md5Checksum")
    modified: datetime | None = Field(None, alias="modifiedTime")
    size: int = 0
    link: str = Field("", alias="webViewLink")
    trashed: bool = False
    parents: tuple[str, ...] = ()
    drive_id: Id | Literal[""] = Field("", alias="driveId")
    shortcut_target: Id = Field("none", validation_alias=AliasPath("shortcutDetails", "targetId"))
    can_download: bool = Field(True, validation_alias=AliasPath("capabilities", "canDownload"))


class FilePage(DriveRecord):
    """One page of a listing; `incomplete` where some drives could not be searched."""

    fields = f"nextPageToken,incompleteSearch,files({DriveFile.fields})"
    files: tuple[DriveFile, ...] = ()
    next: str = Field("", alias="nextPageToken")
    incomplete: bool = Field(False, alias="incompleteSearch")

    @property
    def is_last(self) -> bool:
        """True for the last page of a listing."""
        return not self.next


class Change(DriveRecord):
    """Change of a file, or of a whole shared drive."""

    kind: str = Field("file", alias="changeType")
    removed: bool = False
    file_id: str = Field("", alias="fileId")
    file: DriveFile | None = None


class Changes(DriveRecord):
    """One page of a change log; the last one has the start of the next reading."""

    fields = f"nextPageToken,newStartPageToken,changes(changeType,removed,fileId,file({DriveFile.fields}))"
    changes: tuple[Change, ...] = ()
    next: str = Field("", alias="nextPageToken")
    start: str = Field("", alias="newStartPageToken")

    @property
    def is_last(self) -> bool:
        """True for the last page of a log."""
        return bool(self.start)


class Start(DriveRecord):
    """Present position of a change log."""

    fields = "startPageToken"
    token: str = Field(alias="startPageToken")


class About(DriveRecord):
    """User who is signed in."""

    fields = "user(displayName,emailAddress)"
    name: str = Field("", validation_alias=AliasPath("user", "displayName"))
    email: str = Field("", validation_alias=AliasPath("user", "emailAddress"))


class AccessToken(DriveRecord):
    """Access token, and its lifetime in seconds."""

    access_token: str
    expires_in: int = 3600


class Reason(DriveRecord):
    """Code of a refusal."""

    reason: str = ""


class Refused(DriveRecord):
    """Error response."""

    reasons: tuple[Reason, ...] = Field((), validation_alias=AliasPath("error", "errors"))


_OFFICE = "application/vnd.openxmlformats-officedocument."
_GOOGLE = "application/vnd.google-apps."
_AUDIO_VIDEO = ("video/", "audio/")
# Word keeps headings, merged cells, footnotes and descriptions of pictures; Markdown would contain every
# picture as text and soon exceed what Google exports.
_EXPORTED: Mapping[str, tuple[str, str]] = {
    f"{_GOOGLE}document": (f"{_OFFICE}wordprocessingml.document", ".docx"),
    f"{_GOOGLE}spreadsheet": (f"{_OFFICE}spreadsheetml.sheet", ".xlsx"),
    f"{_GOOGLE}presentation": (f"{_OFFICE}presentationml.presentation", ".pptx"),
    f"{_GOOGLE}drawing": ("application/pdf", ".pdf"),
}


def to_item(file: DriveFile, max_bytes: int) -> Item | Unreadable:
    """Return a file as an item of a listing, if it has at most `max_bytes`."""
    reason = _reason_unreadable(file, max_bytes)
    if reason:
        return Unreadable(file.id, file.name, reason, lasting=True)
    suffix = _EXPORTED.get(file.mime_type, ("", ""))[1]
    name = file.name if file.name.lower().endswith(suffix) else file.name + suffix
    link = file.link if file.link.startswith("https://") else f"https://drive.google.com/open?id={file.id}"
    return Item(file.id, name, _version(file), link)


def export_type(file: DriveFile) -> str:
    """Return the media type for the export of Google's own document; nothing for any other file."""
    return _EXPORTED.get(file.mime_type, ("", ""))[0]


def _version(file: DriveFile) -> str:
    """Return a file's version: its checksum, or its time of change where it has none."""
    return file.checksum or (file.modified.isoformat() if file.modified else "")


def _reason_unreadable(file: DriveFile, max_bytes: int) -> str:
    if file.mime_type.startswith(_GOOGLE) and file.mime_type not in _EXPORTED:
        kind = file.mime_type.removeprefix(_GOOGLE)
        return f"It is a Google {kind}, which Drive does not give out as a document."
    if file.mime_type.startswith(_AUDIO_VIDEO):
        return "It is a film or a sound, and holds no text."
    if not file.can_download:
        return "Its owner does not allow it to be downloaded."
    if file.size > max_bytes:
        return too_large(file.size, max_bytes)
    return ""
