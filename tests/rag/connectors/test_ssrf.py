"""The policy against the registries of special addresses: iana-ipv4- and iana-ipv6-special-registry."""

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import pytest

from rag.connectors.ssrf import display_url, is_public, parse_allowed, parse_url
from rag.errors import AddressRefused

NOT_REACHABLE = [
    "0.0.0.0/8",
    "0.0.0.0/32",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.0.0/29",
    "192.0.0.8/32",
    "192.0.0.170/32",
    "192.0.0.171/32",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.88.99.2/32",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "240.0.0.0/4",
    "255.255.255.255/32",
    "::1/128",
    "::/128",
    "64:ff9b:1::/48",
    "100::/64",
    "100:0:0:1::/64",
    "2001::/23",
    "2001::/32",
    "2001:2::/48",
    "2001:10::/28",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "fc00::/7",
    "fe80::/10",
]
# Not in those registries: multicast, what was site-local, and the services of a cloud for its own machines.
NO_WEBSITE = ["224.0.0.0/4", "ff00::/8", "fec0::/10", "168.63.129.16/32"]
# Reachable by the registry, and refused: addresses of protocols, in blocks of which most are not reachable.
REFUSED_ANYWAY = [
    "192.0.0.9/32",
    "192.0.0.10/32",
    "2001:1::1/128",
    "2001:1::2/128",
    "2001:1::3/128",
    "2001:3::/32",
    "2001:4:112::/48",
    "2001:20::/28",
    "2001:30::/28",
]
REACHABLE = ["192.31.196.0/24", "192.52.193.0/24", "192.175.48.0/24", "2620:4f:8000::/48"]


def some_of(network: IPv4Network | IPv6Network) -> list[int]:
    return [int(network[0]), int(network[network.num_addresses // 2]), int(network[-1])]


@pytest.mark.parametrize("network", [*NOT_REACHABLE, *NO_WEBSITE, *REFUSED_ANYWAY])
def test_no_special_address_is_public(network: str):
    block = ip_network(network)
    assert not any(is_public(type(block[0])(number)) for number in some_of(block))


@pytest.mark.parametrize(
    "prefix",
    [0xFFFF << 32, 0x2002 << 112, 0x64_FF9B << 96, 0, 0x2606_4700 << 96 | 0x5EFE << 32, 0x2001 << 112],
    ids=["mapped", "6to4", "NAT64", "compatible", "ISATAP", "Teredo"],
)
@pytest.mark.parametrize("network", [one for one in NOT_REACHABLE + NO_WEBSITE if ":" not in one])
def test_no_special_address_is_public_inside_another(network: str, prefix: int):
    shift = 80 if prefix == 0x2002 << 112 else 0
    # Teredo holds the address of its client with each bit turned.
    numbers = [n ^ 0xFFFFFFFF if prefix == 0x2001 << 112 else n for n in some_of(ip_network(network))]
    assert not any(is_public(IPv6Address(prefix | number << shift)) for number in numbers)


@pytest.mark.parametrize("network", REACHABLE)
def test_addresses_that_the_registry_calls_reachable_are_public(network: str):
    block = ip_network(network)
    assert all(is_public(type(block[0])(number)) for number in some_of(block))


@pytest.mark.parametrize(
    "address", ["192.0.0.192", "2002:c000:c0::1", "64:ff9b::c000:c0", "::ffff:192.0.0.192"]
)
def test_the_metadata_server_of_a_cloud_is_not_public(address: str):
    assert not is_public(ip_address(address))


def test_the_port_is_that_of_the_scheme_unless_it_is_named():
    urls = ("http://a.example", "https://a.example", "https://a.example:8443/x")
    assert [parse_url(url).port for url in urls] == [80, 443, 8443]


def test_an_address_of_100_characters_is_shown_whole_and_a_longer_one_shortened():
    whole = "https://a.example/".ljust(100, "x")
    assert display_url(whole) == whole
    assert display_url(whole + "y") == whole[:99] + "…"


@pytest.mark.parametrize(
    ("host", "address", "allowed"),
    [
        ("any.org", "8.8.8.8", True),
        ("any.org", "::ffff:8.8.8.8", True),
        ("Wiki.CORP", "192.168.1.1", True),
        ("wiki.corp", "::ffff:192.168.1.1", True),
        ("wiki.corp", "fd00::1", True),
        ("other.corp", "192.168.1.1", False),
        ("other.corp", "fd00::1", False),
        ("other.corp", "10.1.1.1", True),
        ("other.corp", "::ffff:10.1.1.1", True),
        ("wiki.corp", "169.254.169.254", False),
        ("wiki.corp", "fe80::1", False),
    ],
)
def test_a_private_address_is_allowed_by_its_name_or_its_network_only(host: str, address: str, allowed: bool):
    found = (host, ip_address(address)) in parse_allowed(["wiki.corp", "10.0.0.0/8"])
    assert found is allowed


@pytest.mark.parametrize(
    "url",
    [
        "https://ann:pw@a.example/",
        "https://ann@a.example/",
        "https://-a.example/",
        "https://[fe80::1%25eth0]/",
        f"https://{'a.' * 126}ab/",
    ],
)
def test_a_url_with_a_user_or_without_a_host_is_refused(url: str):
    with pytest.raises(AddressRefused):
        parse_url(url)


def test_a_host_is_written_as_in_dns():
    hosts = ("A.Example.", "b\u00fccher.example", "[2001:DB8::1]", f"{'a.' * 126}a")
    named = ("a.example", "xn--bcher-kva.example", "2001:db8::1", f"{'a.' * 126}a")
    assert tuple(parse_url(f"https://{host}/").host for host in hosts) == named
