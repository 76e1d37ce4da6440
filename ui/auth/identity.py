"""Sign-in modes: one local user, OpenID Connect, or a trusted proxy; and the visitor they identify."""

import importlib.util
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rag.admission import administers, admits
from rag.errors import EntryRefused, SettingsError
from rag.i18n import N_
from rag.local_server import ip_address
from rag.settings import LOCAL_OWNER, Settings

GUIDE = N_("See docs/operator/sign-in.md.")
SECRET_LENGTH = 32  # characters, at least, of the secret that signs session cookies
PROVIDER_KEYS = ("client_id", "client_secret", "server_metadata_url")
MAX_NAME = 255
_HEADER = re.compile(r"[A-Za-z0-9-]+")


@dataclass(frozen=True)
class LocalUser:
    """Mode without sign-in: one user, on this computer only."""

    name = "alone"


@dataclass(frozen=True)
class OpenID:
    """Sign-in at one of the `providers`."""

    providers: tuple[str, ...]
    name = "openid"


@dataclass(frozen=True)
class Proxy:
    """Sign-in by a proxy in one of the `networks`, which names the user in `header`."""

    header: str
    networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
    name = "proxy"

    def trusts(self, peer: str | None) -> bool:
        """Return True if the peer with this address may name the user."""
        address = ip_address(peer or "")
        return address is not None and any(address in network for network in self.networks)


AuthMode = LocalUser | OpenID | Proxy


@dataclass(frozen=True)
class Visitor:
    """Signed-in person: `id` owns their data, `since` is when they signed in."""

    id: str
    name: str = ""
    email: str = ""
    since: datetime = field(default=datetime.min.replace(tzinfo=UTC))
    admin: bool = False


LOCAL_VISITOR = Visitor(LOCAL_OWNER, admin=True)


def auth_mode(settings: Settings, auth: Mapping[str, Any] | None) -> AuthMode:
    """Return the sign-in mode from settings and the `[auth]` table of the secrets; raises SettingsError."""
    if settings.trusted_header and auth:
        raise SettingsError(
            N_(
                "FOOTNOTE_TRUSTED_HEADER is set, and .streamlit/secrets.toml has an [auth] table: "
                "use only one of them."
            )
        )
    if auth:
        return _openid(auth)
    return _proxy(settings) if settings.trusted_header or settings.trusted_proxies else LocalUser()


def visitor_from_token(claims: Mapping[str, Any], settings: Settings, now: datetime) -> Visitor:
    """Return the visitor of an ID token, by issuer and subject: e-mail addresses can change hands.

    Raises EntryRefused for an incomplete or expired token, and for a person who is not admitted.
    """
    issuer, subject, issued = (claims.get(name) for name in ("iss", "sub", "iat"))
    if not (isinstance(issuer, str) and isinstance(subject, str) and isinstance(issued, int | float)):
        raise EntryRefused(N_("The sign-in service did not identify you. Ask your administrator."))
    since = datetime.fromtimestamp(issued, UTC)
    if now - since > timedelta(hours=settings.sign_in_hours):
        raise EntryRefused(N_("Your session has expired. Sign in again."))
    verified = claims.get("email_verified") in (True, "true")
    email = str(claims.get("email") or "") if verified else ""
    shown = str(claims.get("name") or claims.get("preferred_username") or email or subject)
    return _admitted(Visitor(f"{issuer}#{subject}", shown[:MAX_NAME], email, since), subject, settings)


def visitor_from_header(value: str, settings: Settings, since: datetime) -> Visitor:
    """Return the visitor that a trusted proxy names; raises EntryRefused for one who is not admitted."""
    email = value if "@" in value else ""
    return _admitted(Visitor(f"proxy:{value}", value, email, since), value, settings)


def _admitted(visitor: Visitor, called: str, settings: Settings) -> Visitor:
    if not admits(settings, visitor.id, visitor.email, called):
        raise EntryRefused(
            N_(
                "{name} has no account here. Sign in as someone else, or ask your administrator.",
                name=visitor.name,
            )
        )
    admin = administers(settings, visitor.id, visitor.email, called)
    return Visitor(visitor.id, visitor.name, visitor.email, visitor.since, admin)


def _openid(auth: Mapping[str, Any]) -> OpenID:
    where = N_("The [auth] table of .streamlit/secrets.toml")
    if importlib.util.find_spec("authlib") is None:
        raise SettingsError(
            N_("{place} turns on sign-in, which needs Authlib: pip install 'footnote[oidc]'.", place=where)
        )
    if not auth.get("redirect_uri"):
        raise SettingsError(
            N_("{place} has no redirect_uri, such as https://docs.example.org/oauth2callback.", place=where)
        )
    if len(str(auth.get("cookie_secret", ""))) < SECRET_LENGTH:
        raise SettingsError(
            N_(
                "{place} has no cookie_secret of at least {number} characters. Make one: "
                "openssl rand -hex 32",
                place=where,
                number=SECRET_LENGTH,
            )
        )
    sections = {name: value for name, value in auth.items() if isinstance(value, Mapping)}
    sections = {name: value for name, value in sections.items() if "client_id" in value}
    if "client_id" in auth:
        sections = {"": auth, **sections}
    if not sections:
        raise SettingsError(
            N_(
                "{place} names no provider: it needs {names}. {reason}",
                place=where,
                names=", ".join(PROVIDER_KEYS),
                reason=GUIDE,
            )
        )
    for name, section in sections.items():
        missing = [key for key in PROVIDER_KEYS if not section.get(key)]
        if missing:
            raise SettingsError(
                N_(
                    "{place} lacks {names}. {reason}",
                    place=N_("{place}, provider {name},", place=where, name=repr(name)) if name else where,
                    names=", ".join(missing),
                    reason=GUIDE,
                )
            )
    return OpenID(tuple(sections))


def _proxy(settings: Settings) -> Proxy:
    if not settings.trusted_proxies:
        raise SettingsError(
            N_(
                "FOOTNOTE_TRUSTED_HEADER is set without FOOTNOTE_TRUSTED_PROXIES: anyone could send "
                "that header. Name the proxy's address, such as 127.0.0.1, or its network."
            )
        )
    if not _HEADER.fullmatch(settings.trusted_header):
        raise SettingsError(
            N_(
                "The setting FOOTNOTE_TRUSTED_HEADER is {value}, which no header is called. "
                "Name the one in which the proxy says who someone is, such as X-Forwarded-User.",
                value=repr(settings.trusted_header),
            )
        )
    return Proxy(settings.trusted_header.lower(), tuple(map(_network, settings.trusted_proxies)))


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise SettingsError(
            N_(
                "The setting FOOTNOTE_TRUSTED_PROXIES names {value}, which is no network: {reason}.",
                value=repr(text),
                reason=error,
            )
        ) from error
