"""What a Confluence source is told: the wiki, who asks, and which pages are wanted."""

import re
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

_KEY = re.compile(r"~?[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_PAGE = re.compile(r"(\d{1,20})|https?://\S*?(?:/pages/(?:edit-v2/)?|[?&]pageId=)(\d{1,20})(?:[/?#&].*)?")
_CLOUD = ".atlassian.net"
GATEWAY = "api.atlassian.com"
"""Where tokens of few rights are sent; the wiki's own address is learned from its answers."""


def _address(given: str) -> str:
    """Return a wiki's address as REST paths are put after it: https://a.atlassian.net -> .../wiki."""
    text = given.strip().rstrip("/")
    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise ValueError("copy it from the browser: https://your-company.atlassian.net/wiki") from error
    host = parts.hostname or ""
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.password:
        raise ValueError("it must begin with https:// and hold no password")
    if host.endswith(_CLOUD):
        return f"https://{host}/wiki"
    if host == GATEWAY and not parts.path.endswith("/wiki"):
        return f"{text}/wiki"
    return f"{parts.scheme}://{parts.netloc}{parts.path}"


def _space(given: str) -> str:
    if not _KEY.fullmatch(given.strip()):
        raise ValueError(f"{given!r} is no key of a space. It stands in the space's address: /spaces/KEY")
    return given.strip()


def _page(given: str) -> str:
    """Return the number of a page, given as such or in its address."""
    found = _PAGE.fullmatch(given.strip())
    if found is None:
        raise ValueError(f"{given!r} is no page. Give its address with its number: .../pages/123456/Title")
    return found[1] or found[2]


def _label(given: str) -> str:
    label = given.strip().lower()
    if not label or len(label) > 255 or any(character.isspace() for character in label):
        raise ValueError(f"{given!r} is no label: a label is one word")
    return label


class ConfluenceSettings(BaseModel):
    """Where the wiki is and what is read of it; `credential` names a secret and never holds it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: Annotated[str, AfterValidator(_address)] = Field(
        title="Address",
        description="https://your-company.atlassian.net/wiki, or that of your own server up to where its "
        "pages begin: https://wiki.example.com/confluence",
    )
    email: Annotated[str, AfterValidator(str.strip)] = Field(
        "",
        title="E-mail address",
        description="Of the account whose API token is used, in the Cloud. Leave it empty for your own "
        "server, where a personal access token is enough.",
    )
    credential: Annotated[str, AfterValidator(str.strip)] = Field(
        title="Name of the secret",
        description="The token itself is kept outside Footnote's database: the secret wiki is "
        "FOOTNOTE_SECRET_WIKI in the server's environment, or wiki under [sources] in its secrets file.",
    )
    spaces: tuple[Annotated[str, AfterValidator(_space)], ...] = Field(
        (), title="Spaces", description="Keys of spaces to read whole, one a line: DOCS"
    )
    pages: tuple[Annotated[str, AfterValidator(_page)], ...] = Field(
        (),
        title="Page trees",
        description="Addresses of pages to read with all that is below them, one a line.",
    )
    labels: tuple[Annotated[str, AfterValidator(_label)], ...] = Field(
        (), title="Labels", description="Only pages with one of these labels, one a line. Empty: all pages."
    )
    attachments: bool = Field(
        False, title="Attached files, too", description="Pictures, sounds and films are left out."
    )

    @model_validator(mode="after")
    def _names_something(self) -> Self:
        if not self.spaces and not self.pages:
            raise ValueError("name at least one space or one page")
        return self

    @property
    def cloud(self) -> bool:
        """Whether the wiki is Atlassian's Cloud: a token there belongs to an e-mail address."""
        return bool(self.email)
