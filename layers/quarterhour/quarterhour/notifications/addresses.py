"""The addresses that webhooks may be sent to: https, a name of the public DNS, and public IP addresses behind it.

One expression reads an address, and what it read is what a request is made of. So no second parser can read it in
another way. A name is resolved once for each attempt: all its addresses are checked, and the connection goes to one
that was checked.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

EXPECTED: Final = (
    "https://, a lower-case name of the public DNS, perhaps a port of 443, 8443 or 1024 to 65535, and perhaps a path; "
    "at most 500 characters of ASCII, without user, blank or fragment"
)
LONGEST: Final = 500
HTTPS: Final = 443
_LONGEST_NAME: Final = 253
_LOWEST_PORT: Final = 1024
_HIGHEST_PORT: Final = 65535
_LABEL: Final = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# A top-level domain has a letter first: so no form of an IPv4 address, decimal, octal or hexadecimal, is a name.
_ADDRESS: Final = re.compile(
    rf"https://(?P<host>(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9]))(?::(?P<port>[1-9][0-9]{{0,4}}))?"
    r"(?P<target>(?:/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*)?(?:\?[A-Za-z0-9._~!$&'()*+,;=:@%/?-]*)?)",
    re.ASCII,
)
_LOCAL: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>127\.0\.0\.1|localhost)(?::(?P<port>[1-9][0-9]{0,4}))?(?P<target>/[!-~]*)?",
    re.ASCII,
)
_RESERVED: Final = (
    *("alt", "arpa", "corp", "example", "home", "internal", "intranet", "invalid", "lan", "local", "localdomain"),
    *("localhost", "onion", "private", "test"),
)
"""Top-level domains that are never in the public DNS, or that are for the infrastructure of networks."""
_REFUSED_V4: Final = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24"),
            *("192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
            *("224.0.0.0/4", "240.0.0.0/4"),
        ),
    )
)
_PUBLIC_V6: Final = IPv6Network("2000::/3")
"""The only global unicast addresses. IPv4 in IPv6 (mapped, compatible, NAT64), local and multicast are outside."""
_REFUSED_V6: Final = tuple(
    map(IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "3ffe::/16"))
)
"""Teredo and other protocols, documentation, 6to4, AS112, the former 6bone."""


@dataclass(frozen=True, slots=True)
class Address:
    """The parts of an address: name, port, path with query. ``plain``: without TLS, on this machine only."""

    host: str
    port: int
    target: str
    plain: bool = False
    local: bool = False


def read_address(text: str, *, local: bool = False) -> Address | None:
    """Parse an address; ``None`` if webhooks may not be sent to it. ``local``: this machine is allowed, too."""
    if local and (match := _LOCAL.fullmatch(text)):
        port = int(match["port"] or HTTPS)
        return Address(match["host"], port, match["target"] or "/", plain=match["scheme"] == "http", local=True)
    match = _ADDRESS.fullmatch(text)
    if match is None or len(text) > LONGEST or len(match["host"]) > _LONGEST_NAME:
        return None
    host, port = match["host"], int(match["port"] or HTTPS)
    if host.rpartition(".")[2] in _RESERVED or not (port in {443, 8443} or _LOWEST_PORT <= port <= _HIGHEST_PORT):
        return None
    target = match["target"]
    return Address(host, port, target if target.startswith("/") else f"/{target}")


def is_public(text: str) -> bool:
    """Return whether an IP address, as the resolver returned it, is one of the public internet."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    match address:
        case IPv4Address():
            return not any(address in network for network in _REFUSED_V4)
        case IPv6Address(scope_id=None):
            return address in _PUBLIC_V6 and not any(address in network for network in _REFUSED_V6)
        case _:
            return False


def checked(resolved: Iterable[str]) -> list[str]:
    """Return the addresses that a name resolved to, IPv4 first; none if one of them is not public."""
    found = list(dict.fromkeys(resolved))
    return sorted(found, key=lambda one: ":" in one) if all(map(is_public, found)) else []
