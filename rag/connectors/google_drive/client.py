"""Client of Google Drive's API: records, credentials and tokens, paged listings, refusals as sentences."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import AliasPath, BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError

from rag.connectors.http import Fetcher, Response
from rag.connectors.rest import FIRST_WAIT, TRIES, Parameters, RestClient, parse_answer
from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.i18n import N_

if TYPE_CHECKING:
    from google.auth.credentials import Credentials as GoogleCredentials

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


SCOPE = "https://www.googleapis.com/auth/drive.readonly"
TOKENS = "https://oauth2.googleapis.com/token"


class _ServiceAccount(BaseModel):
    """Service account by its key file. Files to be read are shared with `client_email`."""

    type: Literal["service_account"]
    client_email: str
    private_key: str
    quota_project_id: str = ""


class _AuthorizedUser(BaseModel):
    """Account of a user, by its refresh token."""

    type: Literal["authorized_user"]
    client_id: str
    client_secret: str
    refresh_token: str
    quota_project_id: str = ""


_ACCOUNT: TypeAdapter[_ServiceAccount | _AuthorizedUser] = TypeAdapter(
    Annotated[_ServiceAccount | _AuthorizedUser, Field(discriminator="type")]
)


def google_credentials(secret: SecretStr, name: str, tokens: str) -> "GoogleCredentials":
    """Return the secret `name` as Google's credentials for read-only tokens from the address `tokens`."""
    try:
        account = _ACCOUNT.validate_json(secret.get_secret_value())
    except ValidationError:  # which quotes what it was given
        raise SourceError(
            N_(
                "The secret {name} is not a credential of Google's. It must be the whole JSON of a "
                "service account's key, or of an authorized user with a refresh token.",
                name=repr(name),
            )
        ) from None
    try:
        from google.oauth2.credentials import Credentials
        from google.oauth2.service_account import Credentials as AccountCredentials
    except ImportError as error:
        raise SourceError(
            N_(
                "Tokens for Google Drive are asked for by the package google-auth, which is not installed. "
                "Install it: pip install 'footnote[gdrive]'."
            )
        ) from error
    given = account.model_dump(exclude={"type"})
    if isinstance(account, _AuthorizedUser):
        return Credentials(None, token_uri=tokens, scopes=[SCOPE], **given)
    project = given.pop("quota_project_id")
    with suppress(ValueError, TypeError):  # their text may hold parts of the key
        made: AccountCredentials = AccountCredentials.from_service_account_info(
            {**given, "token_uri": tokens}, scopes=[SCOPE], quota_project_id=project
        )
        made.sign_bytes(b"")  # another kind of key than RSA is noticed only here
        return made
    raise SourceError(N_("The key of the service account cannot be read. Download its JSON anew."))


def _credential_refused() -> SourceError:
    return SourceError(
        N_(
            "Google does not accept the credential: it was revoked or has expired, or this computer's "
            "clock is wrong. Make a new one and put it into the secret."
        )
    )


R = TypeVar("R", bound=DriveRecord)
P = TypeVar("P", FilePage, Changes)

_RATE_LIMIT_TRIES = 7  # with doubled waits they take a minute, the unit of Google's limits
_ALL_DRIVES = {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true"}
_RATE_LIMITED = frozenset({"userRateLimitExceeded", "rateLimitExceeded", "sharingRateLimitExceeded"})
_ACCOUNT_REASONS = {
    **dict.fromkeys(_RATE_LIMITED, N_("Google asks to be asked less often. Try again in some minutes.")),
    "accessNotConfigured": N_(
        "The Google Drive API is not enabled in the credential's project. "
        "Enable it in Google Cloud's console, under APIs and services."
    ),
    "insufficientPermissions": N_("The credential may not read Drive. Give it the scope drive.readonly."),
    "dailyLimitExceeded": N_("Today's quota of the credential's project is used up. Try again tomorrow."),
}
_FILE_REASONS = {
    "exportSizeLimitExceeded": N_(
        "It is too large for Google to export (more than 10 MB). Split it, or "
        "keep it in Drive as a file of its own."
    ),
    "cannotDownloadFile": N_("Its owner does not allow it to be downloaded."),
    "cannotDownloadAbusiveFile": N_("Google holds it to be harmful and does not give it out."),
    "downloadQuotaExceeded": N_(
        "It was downloaded too often of late. Google gives it out again within a day."
    ),
}


class DriveApi(RestClient):
    """Drive API for one account; `service` is Google's address."""

    def __init__(
        self,
        credential: "GoogleCredentials",
        fetcher: Fetcher,
        *,
        service: str,
        first_wait: float = FIRST_WAIT,
    ):
        super().__init__(fetcher, f"{service.rstrip('/')}/drive/v3", first_wait=first_wait)
        self.account = getattr(credential, "service_account_email", N_("this account"))
        self._credential = credential

    def about(self) -> About:
        """Return the user who is signed in."""
        return self._read(About, "/about", {})

    def file(self, file_id: str) -> DriveFile:
        """Return the record of a file or folder; raise ItemFailed where it is missing or not shared."""
        return self._read(DriveFile, f"/files/{file_id}", {"supportsAllDrives": "true"})

    def files(self, query: str, corpus: Parameters) -> Iterator[FilePage]:
        """Yield the pages of a search among the drives of `corpus`."""
        return self._pages(FilePage, "/files", {"q": query, **corpus}, "")

    def start(self, drive_id: str) -> str:
        """Return the present position of a shared drive's change log, or of the account's own."""
        parameters = {"supportsAllDrives": "true", "driveId": drive_id}
        return self._read(Start, "/changes/startPageToken", parameters).token

    def changes(self, token: str, drive_id: str) -> Iterator[Changes]:
        """Yield the pages of a change log from a position; the last one has the next position."""
        parameters = {"includeRemoved": "true", "driveId": drive_id}
        return self._pages(Changes, "/changes", parameters, token)

    def _pages(self, record: type[P], path: str, parameters: Parameters, token: str) -> Iterator[P]:
        """Yield the pages of a list; raise SourceError where it has no end."""
        common = {"pageSize": 1000, **_ALL_DRIVES, **parameters}
        while True:
            page = self._read(record, path, {**common, "pageToken": token})
            yield page
            if not page.next:
                return
            if page.next == token:
                raise SourceError(N_("Google Drive lists the same again and again, so its list has no end."))
            token = page.next

    def content(self, file: DriveFile, exported: str) -> Iterator[bytes]:
        """Yield a file's content; Google's own documents are exported to a media type."""
        path = f"/files/{file.id}"
        if exported:
            return self.download(f"{path}/export", {"mimeType": exported})
        return self.download(path, {"alt": "media", "supportsAllDrives": "true"})

    def _read(self, record: type[R], path: str, parameters: Parameters) -> R:
        return self.get(record, path, {**parameters, "fields": record.fields})

    def _headers(self) -> Mapping[str, str]:
        if not self._credential.valid:
            self._renew()
        project = self._credential.quota_project_id  # pays the quota where the credential has no project
        payer = {"X-Goog-User-Project": project} if project else {}
        return {"Authorization": f"Bearer {self._credential.token}", **payer}

    def _renew(self) -> None:
        """Get a new token by google-auth, which opens no connection: its form is sent by our client."""
        from google.auth.exceptions import GoogleAuthError

        form = {"Content-Type": "application/x-www-form-urlencoded"}

        def transport(url: str, *, body: bytes, **_: Any) -> SimpleNamespace:
            answer = self._with_retries(
                lambda headers: self._fetcher.post(url, body=body, headers=headers, cancelled=self.cancelled),
                lambda: form,
            )
            if not 200 <= answer.status < 300:
                raise _credential_refused()
            parse_answer(AccessToken, answer)
            return SimpleNamespace(status=answer.status, headers=answer.headers, data=answer.body)

        try:
            self._credential.refresh(transport)
        except GoogleAuthError:  # its text quotes the answer, which may hold a token
            raise _credential_refused() from None

    def _tries(self, answer: Response) -> int:
        if answer.status == 401 and self._credential.token:
            self._credential.token = None  # expired early; the next attempt gets another
            return TRIES
        slower = answer.status == 403 and _reasons(answer) & _RATE_LIMITED
        return _RATE_LIMIT_TRIES if slower else super()._tries(answer)

    def _refusal(self, answer: Response) -> SourceError:
        reasons = _reasons(answer)
        if known := [_ACCOUNT_REASONS[reason] for reason in reasons & _ACCOUNT_REASONS.keys()]:
            return SourceError(known[0])
        if known := [_FILE_REASONS[reason] for reason in reasons & _FILE_REASONS.keys()]:
            passes = "downloadQuotaExceeded" in reasons
            return ItemFailed(known[0]) if passes else ItemRefused(known[0])
        if answer.status == 401:
            return SourceError(N_("Google does not accept the credential's tokens. Make a new credential."))
        if answer.status in (403, 404):
            return ItemRefused(N_("It is not there, or not shared with {account}.", account=self.account))
        return ItemFailed(
            N_("Google Drive could not answer (status {status}). Try again later.", status=answer.status)
        )


def _reasons(answer: Response) -> frozenset[str]:
    try:
        refused = Refused.model_validate_json(answer.body)
    except ValidationError:
        return frozenset()
    return frozenset(reason.reason for reason in refused.reasons)
