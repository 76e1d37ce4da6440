"""Who asks Google: a service account with its key, or a person who agreed once; how each gets a token."""

import base64
import json
from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, TypeAdapter, ValidationError

from rag.errors import SourceError
from rag.sources.credentials import Credentials

SCOPE = "https://www.googleapis.com/auth/drive.readonly"
TOKENS = "https://oauth2.googleapis.com/token"
_LIFE = 3600  # seconds that a signed request is good for; Google takes no longer ones


class ServiceAccount(BaseModel):
    """An account of its own, as its key file says it. What is to be read is shared with `account`."""

    model_config = ConfigDict(frozen=True)

    type: Literal["service_account"]
    account: str = Field(alias="client_email")
    private_key: SecretStr
    quota_project: str = Field("", alias="quota_project_id")

    def form(self, now: datetime) -> dict[str, str]:
        """Return what asks for a token: a request signed with the account's key (RFC 7523)."""
        issued = int(now.timestamp())
        claims: dict[str, str | int] = {
            "iss": self.account,
            "scope": SCOPE,
            "aud": TOKENS,
            "iat": issued,
            "exp": issued + _LIFE,
        }
        return {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": signed(claims, self.private_key),
        }


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

    def form(self, now: datetime) -> dict[str, str]:
        """Return what asks for a token: one for reading, even where the lasting one may do more."""
        del now
        return {
            "grant_type": "refresh_token",
            "scope": SCOPE,
            "client_id": self.client_id,
            "client_secret": self.client_secret.get_secret_value(),
            "refresh_token": self.refresh_token.get_secret_value(),
        }


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


def signed(claims: dict[str, str | int], key: SecretStr) -> str:
    """Return claims as a JSON Web Token signed with RS256 (RFC 7515, 7518)."""
    parts = [_packed({"alg": "RS256", "typ": "JWT"}), _packed(claims)]
    signature = _signature(".".join(parts).encode("ascii"), key)
    return ".".join([*parts, _encoded(signature)])


def _signature(text: bytes, key: SecretStr) -> bytes:
    try:
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError as error:
        raise SourceError(
            "A service account's requests are signed by the package cryptography, which is not installed. "
            "Install it: pip install 'footnote[gdrive]'."
        ) from error
    try:
        loaded = load_pem_private_key(key.get_secret_value().encode(), password=None)
    except (ValueError, TypeError):  # their text may hold parts of the key
        loaded = None
    if not isinstance(loaded, RSAPrivateKey):
        raise SourceError("The key of the service account cannot be read. Download its JSON anew.")
    return loaded.sign(text, PKCS1v15(), SHA256())


def _packed(values: dict[str, str] | dict[str, str | int]) -> str:
    return _encoded(json.dumps(values, separators=(",", ":")).encode())


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode("ascii")
