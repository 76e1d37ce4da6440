"""haproxy by the example in `deploy/`, in front of servers of a test."""

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.e2e.conftest import free_port
from tests.faults.replicas import until

EXAMPLE = Path(__file__).parents[2] / "deploy" / "many" / "haproxy.cfg"
HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
MISSING = "needs haproxy (Debian: apt install haproxy)"
COOKIE = "FOOTNOTE_SERVER"


@contextmanager
def proxy(folder: Path, servers: Sequence[str]) -> Iterator[str]:
    """Run haproxy by the example before these addresses; yield its own."""
    port = free_port()
    text = EXAMPLE.read_text().replace("bind :80\n", f"bind 127.0.0.1:{port}\n")
    for number, server in enumerate(servers, 1):
        text = text.replace(f"serve-{number}:8501", server.removeprefix("http://"))
    config = folder / "haproxy.cfg"
    config.write_text(text)
    with (folder / "haproxy.log").open("wb") as log:
        process = subprocess.Popen([str(HAPROXY), "-db", "-f", str(config)], stdout=log, stderr=log)
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: process.poll() is not None or is_ready(url))
        assert process.poll() is None, (folder / "haproxy.log").read_text()
        yield url
    finally:
        process.terminate()
        process.wait()


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False
