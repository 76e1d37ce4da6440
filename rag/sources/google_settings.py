"""What a Google Drive source is told: who asks, and which folders and files are wanted."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

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
