"""Address at which a data directory's server answers this computer, and the token of its commands.

The server writes both to a file that only its user can read; whoever reads it could read the data directory.
"""

import ipaddress
import json
import os
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

NAME = "server.json"
PROXY_HEADERS = ("forwarded", "x-forwarded-for", "x-real-ip", "via")  # of a request that came through a proxy


def new_token() -> str:
    """Return a random token of 256 bits."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class LocalServer:
    """Address of a running server, such as ``http://127.0.0.1:8501``, and its local token."""

    url: str
    token: str = field(repr=False)

    def announce(self, directory: Path) -> None:
        """Write the file of a data directory, readable by its user only, as a whole."""
        part = directory / f".{NAME}.part"
        part.unlink(missing_ok=True)
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(self), file)
        part.replace(directory / NAME)

    def withdraw(self, directory: Path) -> None:
        """Remove the file, unless another server has written its own since."""
        if find_server(directory) == self:
            (directory / NAME).unlink(missing_ok=True)


def find_server(directory: Path) -> LocalServer | None:
    """Return the server that a data directory's file names, running or not; None without a whole file."""
    try:
        return LocalServer(**json.loads((directory / NAME).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def is_loopback(address: str | None) -> bool:
    """Return True if a server bound to `address` can be reached from this computer only.

    >>> [is_loopback(it) for it in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "192.168.1.5", None)]
    [True, True, True, False, False, False]
    """
    found = ip_address(address or "")
    return address == "localhost" if found is None else found.is_loopback


def ip_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Parse an IP address, unwrapping IPv4 in IPv6; None if it is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address
