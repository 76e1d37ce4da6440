"""SSRF policy: which URLs may be fetched, and which network addresses may be connected to. Pure."""

import ipaddress
import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv4Address, IPv4Network, IPv6Address, IPv6Network
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from rag.errors import AddressRefused, SettingsError
from rag.i18n import N_

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
# The registries of special addresses. Python's own copy differs between versions, and calls parts of
# 192.0.0.0/24 global, where a cloud keeps its metadata server. Of IPv6 only 2000::/3 is public at all.
_SPECIAL = tuple(
    ipaddress.ip_network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",  # services of a cloud for its own machines; no registry lists it
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.88.99.0/24",  # relays of 6to4, no longer in use
        "192.168.0.0/16",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/4",
        "240.0.0.0/4",
        "2001::/23",  # for protocols, such as Teredo
        "2001:db8::/32",
        "3fff::/20",
    )
)
# Networks of hosts that are allowed by name. Link-local is missing, since cloud machines offer secrets there.
_PRIVATE = tuple(
    ipaddress.ip_network(network)
    for network in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "fc00::/7",
        "::1/128",
    )
)

PORTS = {"http": 80, "https": 443}
MAX_URL = 8_000  # characters; servers accept no longer ones
_SAFE = "%/:?@!$&'()*+,;=~-._[]"
_STRANGE = re.compile("[\x00-\x20\x7f\\\\\ud800-\udfff]")
_HOST = re.compile(r"[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?\.?")


def embedded(address: Address) -> IPv4Address | None:
    """Return the IPv4 address that an IPv6 address stands for or leads to, if any.

    >>> embedded(ipaddress.ip_address("::ffff:10.0.0.1"))
    IPv4Address('10.0.0.1')
    >>> embedded(ipaddress.ip_address("64:ff9b::7f00:1"))
    IPv4Address('127.0.0.1')
    """
    if isinstance(address, IPv4Address):
        return None
    if mapped := address.ipv4_mapped or address.sixtofour:
        return mapped
    number = int(address)
    if address in _NAT64 or address in _COMPATIBLE or (number >> 32) & 0xFFFFFFFF in _ISATAP:
        return IPv4Address(number & 0xFFFFFFFF)
    return None


def is_public(address: Address) -> bool:
    """Return whether an address leads to the same machine from anywhere on the internet.

    >>> is_public(ipaddress.ip_address("8.8.8.8")), is_public(ipaddress.ip_address("169.254.169.254"))
    (True, False)
    """
    inner = embedded(address)
    if inner is not None and not is_public(inner):
        return False
    if inner is not None and (address in _NAT64 or _mapped(address)):
        return True
    if isinstance(address, IPv6Address) and address not in _GLOBAL_UNICAST:
        return False
    return not _within(address, _SPECIAL)


@dataclass(frozen=True)
class Allowed:
    """Hosts that may have a private or loopback address, and networks that may be connected to."""

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    def __contains__(self, place: tuple[str, Address]) -> bool:
        """Return whether a connection to `(host, address)` is allowed."""
        host, address = place
        plain = _mapped(address) or address
        if is_public(plain) or _within(plain, self.networks):
            return True
        return host.lower() in self.hosts and _within(plain, _PRIVATE)


def parse_allowed(private: Collection[str]) -> Allowed:
    """Parse hosts and networks such as `wiki.corp`, `10.0.0.0/8`, `::1`; SettingsError for others."""
    hosts, networks = set(), []
    for entry in filter(None, map(str.strip, private)):
        network = _network(entry)
        if network is not None:
            networks.append(network)
        elif not re.search(r"[\s/:@[\]?#\\*]", entry):
            hosts.add(entry.lower().rstrip("."))
        else:
            raise SettingsError(
                N_(
                    "{entry} is neither a host nor a network that may be private. Write a host as "
                    "wiki.corp and a network as 10.0.0.0/8.",
                    entry=repr(entry),
                )
            )
    return Allowed(frozenset(hosts), tuple(networks))


def _network(entry: str) -> Network | None:
    try:
        return ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return None


def _mapped(address: Address) -> IPv4Address | None:
    return address.ipv4_mapped if isinstance(address, IPv6Address) else None


def _within(address: Address, networks: Collection[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)


@dataclass(frozen=True)
class Target:
    """Parsed URL of a request: `host` in ASCII, as in DNS; `path` with its query, percent-encoded."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        """Scheme, host and port, which credentials are limited to."""
        return self.scheme, self.host, self.port

    @property
    def authority(self) -> str:
        """The host, with its port unless that is the default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The URL, without the fragment."""
        return f"{self.scheme}://{self.authority}{self.path}"


def parse_url(url: str) -> Target:
    """Parse a URL; raise AddressRefused unless it is plain http or https to a host.

    >>> parse_url("https://Example.org/한국?q=1#top").url
    'https://example.org/%ED%95%9C%EA%B5%AD?q=1'
    """
    parts, port = _split(url)
    if parts.scheme not in PORTS:
        raise AddressRefused(
            N_("{url} does not begin with https:// or http://, so it is not fetched.", url=display_url(url))
        )
    if "@" in parts.netloc:
        raise AddressRefused(
            N_(
                "The URL of {url} holds a user or password. Take them out of it.",
                url=display_url(parts.hostname or ""),
            )
        )
    path = quote(parts.path or "/", safe=_SAFE)
    path += f"?{quote(parts.query, safe=_SAFE)}" if parts.query else ""
    return Target(parts.scheme, _host(parts.hostname or "", url), port or PORTS[parts.scheme], path)


def redirect_target(here: Target, location: str) -> Target:
    """Return the target of a redirect; raise AddressRefused as for any URL."""
    return parse_url(urljoin(here.url, location.strip().replace(" ", "%20")))


def display_url(url: str) -> str:
    r"""Return a URL for a message: without user and query, which may be secret, and not too long.

    >>> display_url("https://ann:pw@example.org/a?key=1")
    'https://example.org/a'
    """
    plain = re.sub(r"//[^/?#]*@", "//", re.split(r"[?#]", url.strip(), maxsplit=1)[0])
    printable = "".join(character if character.isprintable() else "?" for character in plain)
    return (printable if len(printable) <= 100 else printable[:99] + "…") or "An empty line"


def _split(url: str) -> tuple[SplitResult, int | None]:
    """Return a URL's parts and port; refuse one that parsers might read differently."""
    text = url.strip()
    strange = _STRANGE.search(text)
    try:
        if strange or len(text) > MAX_URL:
            raise ValueError
        parts = urlsplit(text)
        return parts, parts.port
    except ValueError as error:
        raise AddressRefused(
            N_("{url} is not a URL. Copy it again from the browser.", url=display_url(url))
        ) from error


def _host(name: str, url: str) -> str:
    """Return a host as in DNS: names in other scripts as punycode, addresses unchanged."""
    import idna

    try:
        if ":" in name:
            return str(IPv6Address(name.replace("%", "?")))  # an address with a zone is refused
        host = (name if name.isascii() else idna.encode(name, uts46=True).decode("ascii")).lower().rstrip(".")
    except (idna.IDNAError, AddressValueError) as error:
        raise AddressRefused(
            N_("{url} does not name a host. Correct the address.", url=display_url(url))
        ) from error
    if not _HOST.fullmatch(host) or len(host) > 253:
        raise AddressRefused(N_("{url} does not name a host. Correct the address.", url=display_url(url)))
    return host
