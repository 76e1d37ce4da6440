"""Which network addresses Footnote may connect to: public ones, and those that are named as allowed."""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from rag.errors import SettingsError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
_ISATAP = (0x00005EFE, 0x02005EFE)
# Global by the registry of special addresses or unknown to it, and yet nobody's website.
_NEVER = (
    ipaddress.ip_network("192.88.99.0/24"),  # relays of 6to4, given up
    ipaddress.ip_network("2001::/23"),  # protocols' own, Teredo among them
    ipaddress.ip_network("2001:db8::/32"),
    ipaddress.ip_network("3fff::/20"),
)
# What a host that may be private may resolve to. Link-local is not in it: cloud machines tell secrets there.
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
    """Whether anyone on the internet would reach the same machine under this address.

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
    return address.is_global and not address.is_multicast and not _within(address, _NEVER)


@dataclass(frozen=True)
class Allowed:
    """What may be reached beside the public internet: hosts by name, and networks by their numbers.

    A named host may have a private or loopback address; what else is special (link-local, multicast) must be
    named as a network.
    """

    hosts: frozenset[str] = frozenset()
    networks: tuple[Network, ...] = ()

    def __contains__(self, place: tuple[str, Address]) -> bool:
        """Whether `(host, address)` may be connected to."""
        host, address = place
        plain = _mapped(address) or address
        if is_public(plain) or _within(plain, self.networks):
            return True
        return host.lower() in self.hosts and _within(plain, _PRIVATE)


def allowed(private: Collection[str]) -> Allowed:
    """Read names and networks that may be private: `wiki.corp`, `10.0.0.0/8`, `127.0.0.1`, `::1`.

    Raises SettingsError for what is neither.
    """
    hosts, networks = set(), []
    for entry in filter(None, map(str.strip, private)):
        network = _network(entry)
        if network is not None:
            networks.append(network)
        elif _is_name(entry):
            hosts.add(entry.lower().rstrip("."))
        else:
            raise SettingsError(
                f"{entry!r} is neither a host nor a network that may be private. "
                "Write a host as wiki.corp and a network as 10.0.0.0/8."
            )
    return Allowed(frozenset(hosts), tuple(networks))


def _network(entry: str) -> Network | None:
    try:
        return ipaddress.ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return None


def _is_name(entry: str) -> bool:
    return not any(character.isspace() or character in "/:@[]?#\\*" for character in entry)


def _mapped(address: Address) -> IPv4Address | None:
    return address.ipv4_mapped if isinstance(address, IPv6Address) else None


def _within(address: Address, networks: Collection[Network]) -> bool:
    return any(address.version == network.version and address in network for network in networks)
