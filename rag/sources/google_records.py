"""What Google Drive's API answers, as far as it is used."""

from datetime import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

FOLDER = "application/vnd.google-apps.folder"
SHORTCUT = "application/vnd.google-apps.shortcut"
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,200}$")]
"""Ids come from answers and go into the next question: they hold nothing that could change it."""


class Record(BaseModel):
    """Part of an answer: names as Google writes them, and what is not named here is passed over."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, hide_input_in_errors=True)
    fields: ClassVar[str] = ""
    """What an answer of this kind should hold, as requests ask for it."""


class Shortcut(Record):
    """Where a shortcut leads."""

    target_id: Id = Field("none", alias="targetId")


class Capabilities(Record):
    """What the account may do with a file."""

    can_download: bool = Field(True, alias="canDownload")


class DriveFile(Record):
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


class Files(Record):
    """One page of a listing; not `complete` where some drives could not be searched."""

    fields = f"nextPageToken,incompleteSearch,files({DriveFile.fields})"
    files: tuple[DriveFile, ...] = ()
    next: str = Field("", alias="nextPageToken")
    incomplete: bool = Field(False, alias="incompleteSearch")


class Change(Record):
    """Something that happened to a file, or to a whole shared drive."""

    kind: str = Field("file", alias="changeType")
    removed: bool = False
    file_id: str = Field("", alias="fileId")
    file: DriveFile | None = None


class Changes(Record):
    """One page of a log; the last one says where the next reading begins."""

    fields = f"nextPageToken,newStartPageToken,changes(changeType,removed,fileId,file({DriveFile.fields}))"
    changes: tuple[Change, ...] = ()
    next: str = Field("", alias="nextPageToken")
    start: str = Field("", alias="newStartPageToken")


class Start(Record):
    """Where a log is now."""

    fields = "startPageToken"
    token: str = Field(alias="startPageToken")


class User(Record):
    """Somebody with an account."""

    name: str = Field("", alias="displayName")
    email: str = Field("", alias="emailAddress")


class About(Record):
    """Who is signed in."""

    fields = "user(displayName,emailAddress)"
    user: User = User()


class Token(Record):
    """A token that lets one ask for a while, in seconds."""

    access_token: str
    expires_in: int = 3600


class Reason(Record):
    """Why something was refused."""

    reason: str = ""


class Refusal(Record):
    """What is said of a refusal."""

    errors: tuple[Reason, ...] = ()
    status: str = ""


class Refused(Record):
    """An answer that is an error."""

    error: Refusal = Refusal()
