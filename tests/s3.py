"""An S3 server for tests, moto in an environment of its own, and a link to it that can be cut."""

import os
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PYTHON = Path(sys.prefix) / "s3-server" / "bin" / "python"
MISSING = "needs moto's S3 server in .venv/s3-server, which `make test` installs from tests/s3-server.txt"
BUCKET = "footnote"
_START = 120  # seconds


class S3Server:
    """Running server with an empty bucket; it keeps objects in memory."""

    def __init__(self, port: int) -> None:
        self.port = port

    def make_bucket(self) -> None:
        url = f"http://127.0.0.1:{self.port}/{BUCKET}"
        urllib.request.urlopen(urllib.request.Request(url, method="PUT"), timeout=_START).close()


@contextmanager
def running() -> Iterator[S3Server]:
    """Start a server on a free port, and stop it."""
    assert PYTHON.exists(), MISSING
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [PYTHON, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=log,
            stderr=log,
            env={name: value for name, value in os.environ.items() if not name.startswith("PYTHON")},
        )
        try:
            server = S3Server(port)
            _wait_for(process, server)
            yield server
        finally:
            process.kill()
            process.wait()


def _wait_for(process: "subprocess.Popen[bytes]", server: S3Server) -> None:
    deadline = time.monotonic() + _START
    while True:
        try:
            server.make_bucket()
        except (urllib.error.URLError, OSError):
            assert process.poll() is None and time.monotonic() < deadline, "the S3 server does not start"
            time.sleep(0.05)
        else:
            return


def environment(port: int) -> dict[str, str]:
    """Return the environment variables for a store on a port of this computer."""
    return {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "key-of-the-tests",
        "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests",
        "AWS_REGION": "us-east-1",
    }


def new_address() -> str:
    """Return an address in the bucket where nothing is yet."""
    return f"s3://{BUCKET}/{secrets.token_hex(8)}"


class Link:
    """Port that leads to a server: it can be cut, and change what is sent to the server."""

    def __init__(self, to: int) -> None:
        self._to, self._connections = to, set[socket.socket]()
        self.replaced: tuple[bytes, bytes] = (b"", b"")
        self.requests = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """Refuse connections, and end those that there are."""
        _end(self._listener)
        for connection in list(self._connections):
            _end(connection)

    def mend(self) -> None:
        """Accept connections again."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                here = listener.accept()[0]
                there = socket.create_connection(("127.0.0.1", self._to))
                self._connections |= {here, there}
                for one, other, sent in ((here, there, True), (there, here, False)):
                    threading.Thread(target=self._pass_on, args=(one, other, sent), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket, sent: bool) -> None:
        with suppress(OSError):
            while block := one.recv(1 << 20):
                if sent:
                    self.requests += block.count(b" HTTP/1.1\r\n")
                    block = block.replace(*self.replaced) if self.replaced[0] else block
                other.sendall(block)
        self._connections -= {one, other}
        _end(one)
        _end(other)


def _end(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
