"""Credentials for Google: a service account with its key, or a person who agreed; tokens by google-auth."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError

from rag.errors import SourceError
from rag.sources.credentials import Credentials
from rag.sources.http import Fetched

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


class Person(BaseModel):
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


Asker = Annotated[ServiceAccount | Person, Field(discriminator="type")]
_ASKER: TypeAdapter[ServiceAccount | Person] = TypeAdapter(Asker)


def asker(credentials: Credentials, name: str) -> ServiceAccount | Person:
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


def access_token(who: ServiceAccount | Person, tokens: str, post: Callable[[str, bytes], Fetched]) -> str:
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
