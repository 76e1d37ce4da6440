"""Google Drive's API: credentials and tokens, listings page after page, refusals as sentences."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError

from rag.connectors.base import Credentials
from rag.connectors.google_drive.models import (
    About,
    AccessToken,
    Changes,
    DriveFile,
    DriveRecord,
    FilePage,
    Refused,
    Start,
)
from rag.connectors.http import Fetched, Fetcher
from rag.connectors.rest import FIRST_WAIT, TRIES, Parameters, Rest, understood
from rag.errors import ItemFailed, ItemRefused, SourceError
from rag.jobs import Cancel

if TYPE_CHECKING:
    from google.auth.credentials import Credentials as GoogleCredentials

SCOPE = "https://www.googleapis.com/auth/drive.readonly"
TOKENS = "https://oauth2.googleapis.com/token"


class ServiceAccount(BaseModel):
    """An account of its own, as its key file says it. What is to be read is shared with `account`."""

    model_config = ConfigDict(frozen=True)

    type: Literal["service_account"]
    account: str = Field(alias="client_email")
    private_key: SecretStr
    quota_project: str = Field("", alias="quota_project_id")

    def credentials(self, tokens: str) -> "GoogleCredentials":
        """Return what gets a token at the address `tokens`: a request signed with the account's key."""
        from google.oauth2.service_account import Credentials

        key = self.private_key.get_secret_value()
        info = {"client_email": self.account, "private_key": key, "token_uri": tokens}
        made: Credentials | None
        try:
            made = Credentials.from_service_account_info(info, scopes=[SCOPE])
            made.sign_bytes(b"")  # another kind of key than RSA is noticed only here
        except (ValueError, TypeError):  # their text may hold parts of the key
            made = None
        if made is None:
            raise SourceError("The key of the service account cannot be read. Download its JSON anew.")
        return made


class AuthorizedUser(BaseModel):
    """Somebody's own account, by the lasting token that was given for it."""

    model_config = ConfigDict(frozen=True)

    type: Literal["authorized_user"]
    client_id: str
    client_secret: SecretStr
    refresh_token: SecretStr
    quota_project: str = Field("", alias="quota_project_id")

    @property
    def account(self) -> str:
        """Who it is, as far as the credential tells."""
        return "this account"

    def credentials(self, tokens: str) -> "GoogleCredentials":
        """Return what gets a token for reading at the address `tokens`, even where more is granted."""
        from google.oauth2.credentials import Credentials

        return Credentials(
            None,
            refresh_token=self.refresh_token.get_secret_value(),
            token_uri=tokens,
            client_id=self.client_id,
            client_secret=self.client_secret.get_secret_value(),
            scopes=[SCOPE],
        )


Asker = Annotated[ServiceAccount | AuthorizedUser, Field(discriminator="type")]
_ASKER: TypeAdapter[ServiceAccount | AuthorizedUser] = TypeAdapter(Asker)


def asker(credentials: Credentials, name: str) -> ServiceAccount | AuthorizedUser:
    """Return who the secret called `name` lets ask; SourceError where it is no such secret."""
    try:
        return _ASKER.validate_json(credentials.get(name).get_secret_value())
    except ValidationError:  # which quotes what it was given
        raise SourceError(
            f"The secret {name!r} is not a credential of Google's. It must be the whole JSON of a service "
            "account's key, or of an authorized user with a refresh token."
        ) from None


@dataclass(frozen=True)
class _TokenResponse:
    """Response in the form of google.auth.transport.Response."""

    status: int
    headers: Mapping[str, str]
    data: bytes


def access_token(
    who: ServiceAccount | AuthorizedUser, tokens: str, post: Callable[[str, bytes], Fetched]
) -> str:
    """Return a new token of `who`. `post` sends a form to an address, so google-auth opens no connection."""

    def transport(url: str, *, body: bytes, **_: Any) -> _TokenResponse:
        answer = post(url, body)
        return _TokenResponse(answer.status, answer.headers, answer.body)

    try:
        from google.auth.exceptions import GoogleAuthError

        granted = who.credentials(tokens)
    except ImportError as error:
        raise SourceError(
            "Tokens for Google Drive are asked for by the package google-auth, which is not installed. "
            "Install it: pip install 'footnote[gdrive]'."
        ) from error
    try:
        granted.refresh(transport)
    except GoogleAuthError:  # its text quotes the answer, which may hold a token
        raise refused() from None
    return str(granted.token)


def refused() -> SourceError:
    """Return the error for a credential that Google does not accept."""
    return SourceError(
        "Google does not accept the credential: it was revoked or has expired, or this computer's "
        "clock is wrong. Make a new one and put it into the secret."
    )


R = TypeVar("R", bound=DriveRecord)

_EARLY = timedelta(minutes=5)  # a token is renewed this long before it ends
_UNTIL_THE_NEXT_MINUTE = 7  # tries: Google counts by the minute, and with waits that double these take one
_EVERYWHERE = {"supportsAllDrives": "true", "includeItemsFromAllDrives": "true"}
_SLOW_DOWN = frozenset({"userRateLimitExceeded", "rateLimitExceeded", "sharingRateLimitExceeded"})
_OF_THE_ACCOUNT = {
    **dict.fromkeys(_SLOW_DOWN, "Google asks to be asked less often. Try again in some minutes."),
    "accessNotConfigured": "The Google Drive API is not enabled in the credential's project. "
    "Enable it in Google Cloud's console, under APIs and services.",
    "insufficientPermissions": "The credential may not read Drive. Give it the scope drive.readonly.",
    "dailyLimitExceeded": "Today's quota of the credential's project is used up. Try again tomorrow.",
}
_OF_ONE_FILE = {
    "exportSizeLimitExceeded": "It is too large for Google to export (more than 10 MB). Split it, or "
    "keep it in Drive as a file of its own.",
    "cannotDownloadFile": "Its owner does not allow it to be downloaded.",
    "cannotDownloadAbusiveFile": "Google holds it to be harmful and does not give it out.",
    "downloadQuotaExceeded": "It was downloaded too often of late. Google gives it out again within a day.",
}


class DriveApi(Rest):
    """Drive, asked in the name of `asker`; `service` and `tokens` are where Google is."""

    def __init__(
        self,
        asker: ServiceAccount | AuthorizedUser,
        fetcher: Fetcher,
        *,
        service: str,
        tokens: str,
        now: Callable[[], datetime],
        first_wait: float = FIRST_WAIT,
    ):
        super().__init__(fetcher, f"{service.rstrip('/')}/drive/v3", first_wait=first_wait)
        self.account = asker.account
        self._asker, self._now, self._tokens = asker, now, tokens
        self._token, self._ends = "", now()

    def about(self, cancelled: Cancel) -> About:
        """Return who is signed in."""
        return self._read(About, "/about", {}, cancelled)

    def file(self, file_id: str, cancelled: Cancel) -> DriveFile:
        """Return what is known of a file or folder; ItemFailed where it is not ours to see."""
        return self._read(DriveFile, f"/files/{file_id}", {"supportsAllDrives": "true"}, cancelled)

    def files(self, query: str, corpus: Parameters, cancelled: Cancel) -> Iterator[FilePage]:
        """Yield the pages of a search among the drives of `corpus`."""
        asked: Parameters = {"q": query, "pageSize": 1000, **_EVERYWHERE, **corpus}
        token = ""
        while True:
            page = self._read(FilePage, "/files", {**asked, "pageToken": token}, cancelled)
            yield page
            if not page.next:
                return
            if page.next == token:
                raise _endless()
            token = page.next

    def start(self, drive_id: str, cancelled: Cancel) -> str:
        """Return where the log of a shared drive is now, or that of the account where none is named."""
        asked = {"supportsAllDrives": "true", "driveId": drive_id}
        return self._read(Start, "/changes/startPageToken", asked, cancelled).token

    def changes(self, token: str, drive_id: str, cancelled: Cancel) -> Iterator[Changes]:
        """Yield the pages of a log from a place on; the last one has the next place."""
        asked: Parameters = {
            "pageSize": 1000,
            "includeRemoved": "true",
            "driveId": drive_id,
            **_EVERYWHERE,
        }
        while True:
            page = self._read(Changes, "/changes", {**asked, "pageToken": token}, cancelled)
            yield page
            if page.start:
                return
            if not page.next or page.next == token:
                raise _endless()
            token = page.next

    def content(self, file: DriveFile, exported: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield a file's bytes, or those of a document of Google's own `exported` to a media type."""
        path = f"{self._base}/files/{file.id}"
        if exported:
            return self.download(f"{path}/export", {"mimeType": exported}, cancelled)
        return self.download(path, {"alt": "media", "supportsAllDrives": "true"}, cancelled)

    def _read(self, record: type[R], path: str, parameters: Parameters, cancelled: Cancel) -> R:
        return self.get(record, self._base + path, {**parameters, "fields": record.fields}, cancelled)

    def _headers(self, cancelled: Cancel) -> Mapping[str, str]:
        if self._now() >= self._ends - _EARLY or not self._token:
            self._renew(cancelled)
        project = self._asker.quota_project  # whose quota it is, where the credential is of no project
        payer = {"X-Goog-User-Project": project} if project else {}
        return {"Authorization": f"Bearer {self._token}", **payer}

    def _renew(self, cancelled: Cancel) -> None:
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        life = timedelta(0)

        def post(url: str, body: bytes) -> Fetched:
            nonlocal life
            answer = self._answered(
                lambda headers: self._fetcher.post(url, body=body, headers=headers, cancelled=cancelled),
                lambda: form,
                cancelled,
            )
            if not 200 <= answer.status < 300:
                raise refused()
            life = timedelta(seconds=understood(AccessToken, answer).expires_in)
            return answer

        self._token = access_token(self._asker, self._tokens, post)
        self._ends = self._now() + life

    def _tries(self, answer: Fetched) -> int:
        if answer.status == 401 and self._token:
            self._token = ""  # ended before its time; the next try gets another
            return TRIES
        slower = answer.status == 403 and _reasons(answer) & _SLOW_DOWN
        return _UNTIL_THE_NEXT_MINUTE if slower else super()._tries(answer)

    def _refused(self, answer: Fetched) -> SourceError:
        reasons = _reasons(answer)
        if told := [_OF_THE_ACCOUNT[reason] for reason in reasons & _OF_THE_ACCOUNT.keys()]:
            return SourceError(told[0])
        if told := [_OF_ONE_FILE[reason] for reason in reasons & _OF_ONE_FILE.keys()]:
            passes = "downloadQuotaExceeded" in reasons
            return ItemFailed(told[0]) if passes else ItemRefused(told[0])
        if answer.status == 401:
            return SourceError("Google does not accept the credential's tokens. Make a new credential.")
        if answer.status in (403, 404):
            return ItemRefused(f"It is not there, or not shared with {self.account}.")
        return ItemFailed(f"Google Drive could not answer (status {answer.status}). Try again later.")


def _reasons(answer: Fetched) -> frozenset[str]:
    """Return why something was refused, in Google's words; nothing where it does not say."""
    try:
        error = Refused.model_validate_json(answer.body).error
    except ValidationError:
        return frozenset()
    return frozenset(reason.reason for reason in error.errors)


def _endless() -> SourceError:
    return SourceError("Google Drive lists the same again and again, so its list has no end.")
