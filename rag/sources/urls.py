"""A URL taken apart once: what is checked is what is connected to."""

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from rag.errors import AddressRefused

PORTS = {"http": 80, "https": 443}
LONGEST = 8_000  # characters; servers take no longer ones
_SAFE = "%/:?@!$&'()*+,;=~-._[]"
_STRANGE = re.compile("[\x00-\x20\x7f\\\\\ud800-\udfff]")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?")


@dataclass(frozen=True)
class Target:
    """Where a request goes: `host` as DNS has it, in ASCII; `path` with its query, percent-encoded."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """Who is trusted with credentials: scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The host as requests and sentences name it: the port only where it is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL, without the fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"


def target(url: str) -> Target:
    """Take a URL apart; AddressRefused where it is not plain http or https to a host.

    >>> target("https://Example.org/한국?q=1#top").url
    'https://example.org/%ED%95%9C%EA%B5%AD?q=1'
    """
    parts, port = _split(url)
    if parts.scheme not in PORTS:
        raise AddressRefused(f"{shown(url)} does not begin with https:// or http://, so it is not fetched.")
    if "@" in parts.netloc:
        raise AddressRefused(
            f"The URL of {shown(parts.hostname or '')} holds a user or password. Take them out of it."
        )
    path = quote(parts.path or "/", safe=_SAFE)
    path += f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    return Target(parts.scheme, _host(parts.hostname or "", url), port or PORTS[parts.scheme], path)


def onward(here: Target, location: str) -> Target:
    """Return where a redirect leads; AddressRefused as for any URL."""
    return target(urljoin(here.url, location.strip().replace(" ", "%20")))


def shown(url: str) -> str:
    r"""Return a URL fit for a sentence: without user and query, which may be secret, and not too long.

    >>> shown("https://ann:pw@example.org/a?key=1")
    'https://example.org/a'
    """
    plain = re.sub(r"//[^/?#]*@", "//", re.split(r"[?#]", url.strip(), maxsplit=1)[0])
    printable = "".join(character if character.isprintable() else "?" for character in plain)
    return (printable if len(printable) <= 100 else printable[:99] + "…") or "An empty line"


def _split(url: str) -> tuple[SplitResult, int | None]:
    """Return a URL's parts and its port; what a parser might read otherwise than another is none."""
    text = url.strip()
    strange = _STRANGE.search(text)
    try:
        if strange or len(text) > LONGEST:
            raise ValueError
        parts = urlsplit(text)
        return parts, parts.port
    except ValueError as error:
        raise AddressRefused(f"{shown(url)} is not a URL. Copy it again from the browser.") from error


def _host(name: str, url: str) -> str:
    """Return a host as DNS has it; names in other scripts as punycode, numbers as they are."""
    import idna

    try:
        if ":" in name:
            return str(IPv6Address(name.replace("%", "?")))  # an address of one network card alone is none
        host = (name if name.isascii() else idna.encode(name, uts46=True).decode("ascii")).lower().rstrip(".")
    except (idna.IDNAError, AddressValueError) as error:
        raise AddressRefused(f"{shown(url)} does not name a host. Correct the address.") from error
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise AddressRefused(f"{shown(url)} does not name a host. Correct the address.")
    return host
