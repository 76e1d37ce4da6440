"""Who comes in, and how the server knows it: one local user, OpenID, or a proxy that says who it is."""

import importlib.util
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from rag.errors import EntryRefused, SettingsError
from rag.settings import LOCAL_OWNER, Settings

HOW = "See docs/operator/sign-in.md."
SECRET_LENGTH = 32  # characters: what signs the sessions' cookies must not be guessed
PROVIDER = ("client_id", "client_secret", "server_metadata_url")
LONGEST = 255
_HEADER = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True)
class Alone:
    """Nobody signs in: whoever sits at this computer is the one user."""

    name = "alone"


@dataclass(frozen=True)
class OpenID:
    """People sign in at one of the `providers`, and anew after so many `hours`."""

    providers: tuple[str, ...]
    hours: float
    name = "openid"


@dataclass(frozen=True)
class Proxy:
    """A proxy in one of the `networks` tells in `header` who is asking; from anyone else it is ignored."""

    header: str
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
    name = "proxy"

    def believes(self, peer: str | None) -> bool:
        """Tell whether what this peer says of a person is true, for an address such as "10.0.0.7"."""
        address = _address(peer or "")
        return address is not None and any(address in network for network in self.networks)


Entrance = Alone | OpenID | Proxy


@dataclass(frozen=True)
class Visitor:
    """Who is at a page: `id` owns what they keep. They signed in at `since`, and are called `name`."""

    id: str
    name: str = ""
    email: str = ""
    since: datetime = field(default=datetime.min.replace(tzinfo=UTC))
    admin: bool = False


LOCAL_VISITOR = Visitor(LOCAL_OWNER, admin=True)


class Secrets(Protocol):
    """Streamlit's secrets."""

    def load_if_toml_exists(self) -> bool:
        """Read the files, where there are any; tell whether there are."""

    def __contains__(self, key: object, /) -> bool: ...

    def __getitem__(self, key: str, /) -> Any: ...


def read_entrance(settings: Settings, secrets: Secrets) -> Entrance:
    """Return how people come in, by these settings and what the secrets say; raises SettingsError."""
    there = secrets.load_if_toml_exists() and "auth" in secrets
    return entrance_of(settings, dict(secrets["auth"]) if there else None)


def entrance_of(settings: Settings, auth: Mapping[str, Any] | None) -> Entrance:
    """Return how people come in, by settings and the `[auth]` table of the secrets; raises SettingsError."""
    if settings.trusted_header and auth:
        raise SettingsError(
            "FOOTNOTE_TRUSTED_HEADER is set, and .streamlit/secrets.toml has an [auth] table: use only one "
            "of them."
        )
    if auth:
        return _openid(auth, settings.sign_in_hours)
    return _proxy(settings) if settings.trusted_header or settings.trusted_proxies else Alone()


def on_this_machine(address: str | None) -> bool:
    """Tell whether a server bound to `address` can be reached from this computer only.

    >>> [on_this_machine(it) for it in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "192.168.1.5", None)]
    [True, True, True, False, False, False]
    """
    found = _address(address or "")
    return address == "localhost" if found is None else found.is_loopback


def by_token(claims: Mapping[str, Any], settings: Settings, now: datetime) -> Visitor:
    """Return whom an ID token is about: its issuer and subject, since an e-mail address may change hands.

    Raises EntryRefused for a token without them, one that is too old, and one who is not admitted.
    """
    issuer, subject, issued = (claims.get(name) for name in ("iss", "sub", "iat"))
    if not (isinstance(issuer, str) and isinstance(subject, str) and isinstance(issued, int | float)):
        raise EntryRefused("The sign-in service did not identify you. Ask your administrator.")
    since = datetime.fromtimestamp(issued, UTC)
    if now - since > timedelta(hours=settings.sign_in_hours):
        raise EntryRefused("Your session has expired. Sign in again.")
    verified = claims.get("email_verified") in (True, "true")
    email = str(claims.get("email") or "") if verified else ""
    shown = str(claims.get("name") or claims.get("preferred_username") or email or subject)
    return _admitted(Visitor(f"{issuer}#{subject}", shown[:LONGEST], email, since), subject, settings)


def by_header(value: str, settings: Settings, since: datetime) -> Visitor:
    """Return whom a trusted proxy names; raises EntryRefused for one who is not admitted."""
    email = value if "@" in value else ""
    return _admitted(Visitor(f"proxy:{value}", value, email, since), value, settings)


def _admitted(visitor: Visitor, called: str, settings: Settings) -> Visitor:
    admin = _is_named(settings.admins, visitor, called)
    if settings.allowed_users and not admin and not _is_named(settings.allowed_users, visitor, called):
        raise EntryRefused(
            f"{visitor.name} has no account here. Sign in as someone else, or ask your administrator."
        )
    return Visitor(visitor.id, visitor.name, visitor.email, visitor.since, admin)


def _is_named(names: tuple[str, ...], visitor: Visitor, called: str) -> bool:
    """Tell whether one is among ids, e-mail addresses and, as `@example.org`, domains."""
    email = visitor.email.casefold()
    spelled = {visitor.id, called, email, email[email.rfind("@") :] if email else ""} - {""}
    return any(name in spelled or name.casefold() in spelled - {visitor.id, called} for name in names)


def _openid(auth: Mapping[str, Any], hours: float) -> OpenID:
    where = "The [auth] table of .streamlit/secrets.toml"
    if importlib.util.find_spec("authlib") is None:
        raise SettingsError(f"{where} turns on sign-in, which needs Authlib: pip install 'footnote[oidc]'.")
    if not auth.get("redirect_uri"):
        raise SettingsError(f"{where} has no redirect_uri, such as https://docs.example.org/oauth2callback.")
    if len(str(auth.get("cookie_secret", ""))) < SECRET_LENGTH:
        raise SettingsError(
            f"{where} has no cookie_secret of at least {SECRET_LENGTH} characters. "
            "Make one: openssl rand -hex 32"
        )
    sections = {name: value for name, value in auth.items() if isinstance(value, Mapping)}
    sections = {name: value for name, value in sections.items() if "client_id" in value}
    if "client_id" in auth:
        sections = {"": auth, **sections}
    if not sections:
        raise SettingsError(f"{where} names no provider: it needs {', '.join(PROVIDER)}. {HOW}")
    for name, section in sections.items():
        missing = [key for key in PROVIDER if not section.get(key)]
        if missing:
            raise SettingsError(
                f"{where}{name and f', provider {name!r},'} lacks {', '.join(missing)}. {HOW}"
            )
    return OpenID(tuple(sections), hours)


def _proxy(settings: Settings) -> Proxy:
    if not settings.trusted_proxies:
        raise SettingsError(
            "FOOTNOTE_TRUSTED_HEADER is set without FOOTNOTE_TRUSTED_PROXIES: anyone could send that header. "
            "Name the proxy's address, such as 127.0.0.1, or its network."
        )
    if not _HEADER.fullmatch(settings.trusted_header):
        raise SettingsError(
            f"The setting FOOTNOTE_TRUSTED_HEADER is {settings.trusted_header!r}, which no header is called. "
            "Name the one in which the proxy says who someone is, such as X-Forwarded-User."
        )
    return Proxy(settings.trusted_header.lower(), tuple(map(_network, settings.trusted_proxies)))


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise SettingsError(
            f"The setting FOOTNOTE_TRUSTED_PROXIES names {text!r}, which is no network: {error}."
        ) from error


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Read an address; one of IPv4 in the clothes of IPv6 is the one of IPv4. None where it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
