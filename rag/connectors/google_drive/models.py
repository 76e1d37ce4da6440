"""Google Drive's settings and the answers of its API; which files are taken, and in which form."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from rag.connectors.base import Item, Unreadable
from rag.connectors.rest import too_large

_ID = re.compile(r"[A-Za-z0-9_-]{10,200}|root")
_URL = re.compile(
    r"https://(?:drive|docs)\.google\.com/\S*?(?:/folders/|/d/|[?&]id=)([A-Za-z0-9_-]{10,200})(?:[/?#&]\S*)?"
)


def _place(given: str) -> str:
    """Return the id of a folder or file, given as such or in its address."""
    text = given.strip()
    if found := _URL.fullmatch(text):
        return found[1]
    if _ID.fullmatch(text):
        return text
    raise ValueError(f"{given!r} is no folder or file. Copy its address from the browser")


class DriveSettings(BaseModel):
    """Which folders and files are read; `credential` names a secret and never holds it."""

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
"""Ids come from answers and go into the next question: they hold nothing that could change it."""


class DriveRecord(BaseModel):
    """Part of an answer: names as Google writes them, and what is not named here is passed over."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, hide_input_in_errors=True)
    fields: ClassVar[str] = ""
    """What an answer of this kind should hold, as requests ask for it."""


class Shortcut(DriveRecord):
    """Where a shortcut leads."""

    target_id: Id = Field("none", alias="targetId")


class Capabilities(DriveRecord):
    """What the account may do with a file."""

    can_download: bool = Field(True, alias="canDownload")


class DriveFile(DriveRecord):
    """A file, a folder or a shortcut. Documents of Google's own have neither size nor checksum."""

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
    shortcut: Shortcut = Field(Shortcut(), alias="shortcutDetails")
    capabilities: Capabilities = Capabilities()


class FilePage(DriveRecord):
    """One page of a listing; not `complete` where some drives could not be searched."""

    fields = f"nextPageToken,incompleteSearch,files({DriveFile.fields})"
    files: tuple[DriveFile, ...] = ()
    next: str = Field("", alias="nextPageToken")
    incomplete: bool = Field(False, alias="incompleteSearch")


class Change(DriveRecord):
    """Something that happened to a file, or to a whole shared drive."""

    kind: str = Field("file", alias="changeType")
    removed: bool = False
    file_id: str = Field("", alias="fileId")
    file: DriveFile | None = None


class Changes(DriveRecord):
    """One page of a log; the last one says where the next reading begins."""

    fields = f"nextPageToken,newStartPageToken,changes(changeType,removed,fileId,file({DriveFile.fields}))"
    changes: tuple[Change, ...] = ()
    next: str = Field("", alias="nextPageToken")
    start: str = Field("", alias="newStartPageToken")


class Start(DriveRecord):
    """Where a log is now."""

    fields = "startPageToken"
    token: str = Field(alias="startPageToken")


class User(DriveRecord):
    """Somebody with an account."""

    name: str = Field("", alias="displayName")
    email: str = Field("", alias="emailAddress")


class About(DriveRecord):
    """Who is signed in."""

    fields = "user(displayName,emailAddress)"
    user: User = User()


class AccessToken(DriveRecord):
    """A token that lets one ask for a while, in seconds."""

    access_token: str
    expires_in: int = 3600


class Reason(DriveRecord):
    """Why something was refused."""

    reason: str = ""


class Refusal(DriveRecord):
    """What is said of a refusal."""

    errors: tuple[Reason, ...] = ()
    status: str = ""


class Refused(DriveRecord):
    """An answer that is an error."""

    error: Refusal = Refusal()


_OFFICE = "application/vnd.openxmlformats-officedocument."
_OF_GOOGLE = "application/vnd.google-apps."
_SEEN_OR_HEARD = ("video/", "audio/")
# Word keeps headings, merged cells, footnotes and descriptions of pictures; Markdown would hold every picture
# as text, which soon is more than Google exports.
_EXPORTED: Mapping[str, tuple[str, str]] = {
    f"{_OF_GOOGLE}document": (f"{_OFFICE}wordprocessingml.document", ".docx"),
    f"{_OF_GOOGLE}spreadsheet": (f"{_OFFICE}spreadsheetml.sheet", ".xlsx"),
    f"{_OF_GOOGLE}presentation": (f"{_OFFICE}presentationml.presentation", ".pptx"),
    f"{_OF_GOOGLE}drawing": ("application/pdf", ".pdf"),
}


def listed(file: DriveFile, most: int) -> Item | Unreadable:
    """Return a file as a listing names it; `most` is how many bytes it may have."""
    reason = _unreadable(file, most)
    if reason:
        return Unreadable(file.id, file.name, reason, lasting=True)
    suffix = _EXPORTED.get(file.mime_type, ("", ""))[1]
    name = file.name if file.name.lower().endswith(suffix) else file.name + suffix
    link = file.link if file.link.startswith("https://") else f"https://drive.google.com/open?id={file.id}"
    return Item(file.id, name, _version(file), link)


def exported(file: DriveFile) -> str:
    """Return the media type that a document of Google's own is exported to; nothing for any other file."""
    return _EXPORTED.get(file.mime_type, ("", ""))[0]


def _version(file: DriveFile) -> str:
    """Return what changes with a file's content: its checksum, or the time where it has none."""
    return file.checksum or (file.modified.isoformat() if file.modified else "")


def _unreadable(file: DriveFile, most: int) -> str:
    if file.mime_type.startswith(_OF_GOOGLE) and file.mime_type not in _EXPORTED:
        kind = file.mime_type.removeprefix(_OF_GOOGLE)
        return f"It is a Google {kind}, which Drive does not give out as a document."
    if file.mime_type.startswith(_SEEN_OR_HEARD):
        return "It is a film or a sound, and holds no text."
    if not file.capabilities.can_download:
        return "Its owner does not allow it to be downloaded."
    if file.size > most:
        return too_large(file.size, most)
    return ""
