"""From a host's name to a connection: resolved once, every address checked, one of them connected to."""

import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial

from rag.errors import AddressRefused, ConnectionLost, SourceError
from rag.sources.addresses import Address, Allowed
from rag.sources.fetcher_connection import Connection
from rag.sources.fetcher_patience import LOOK, Patience
from rag.sources.urls import Target

Resolve = Callable[[str, int], Sequence[Address]]


class Reach:
    """What can be reached: the hosts that `resolve` knows, at `allowed` addresses, TLS as `tls` trusts it."""

    def __init__(self, allowed: Allowed, resolve: Resolve, tls: ssl.SSLContext):
        self._allowed, self._resolve, self._tls = allowed, resolve, tls

    def connect(self, here: Target, patience: Patience) -> Connection:
        """Connect to a host. Raises AddressRefused before that where any of its addresses is not allowed.

        The addresses that were checked are the ones connected to: a name that resolves to another one the
        next time gains nothing by it.
        """
        addresses = self._addresses(here, patience)
        if not all((here.host, address) in self._allowed for address in addresses):
            raise AddressRefused(
                f"{here.authority} leads into a private network, where Footnote does not go. "
                "Whoever runs the server can allow it with FOOTNOTE_PRIVATE_HOSTS."
            )
        return Connection(here, addresses, self._tls, patience)

    def _addresses(self, here: Target, patience: Patience) -> Sequence[Address]:
        """Resolve a host, in a thread of its own: a resolver takes its time and cannot be stopped."""
        found: Future[Sequence[Address]] = Future()

        def resolve() -> None:
            try:
                found.set_result(self._resolve(here.host, here.port))
            except Exception as error:  # noqa: BLE001 - raised where the result is asked for
                found.set_exception(error)

        threading.Thread(target=resolve, name="resolver", daemon=True).start()
        addresses = patience.until_done(partial(found.result, LOOK))
        if not addresses:
            raise SourceError(f"There is no host {here.host}. Correct the address.")
        return addresses


def resolved(host: str, port: int) -> Sequence[Address]:
    """Return the addresses of a host as this machine resolves it, in the order to try them."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        raise _unknown(host, error) from error
    except UnicodeError as error:
        raise SourceError(f"There is no host {host}. Correct the address.") from error
    return list(dict.fromkeys(ipaddress.ip_address(place[0]) for *_, place in found))


def _unknown(host: str, error: socket.gaierror) -> SourceError:
    if error.errno == socket.EAI_AGAIN:
        return ConnectionLost(
            f"The address of {host} cannot be looked up now. Check the network, and try again."
        )
    return SourceError(f"There is no host {host}. Correct the address.")


def trusted() -> ssl.SSLContext:
    """Return the certificates that this machine trusts, else Mozilla's; `SSL_CERT_FILE` names others."""
    import certifi

    paths = ssl.get_default_verify_paths()
    known = paths.cafile or paths.capath
    return ssl.create_default_context(cafile=None if known else certifi.where())
