"""Run in a network namespace of its own: start the page, ask, and print what was tried beside loopback.

    unshare --map-root-user --net python offline_start.py ROOT FOLDER [try]

With `try` an address outside is tried as well, to see that it is counted.
"""

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

ROOT, FOLDER = Path(sys.argv[1]), Path(sys.argv[2])
PORT, SECONDS = 8501, 240
UP, GET, SET = 0x1, 0x8913, 0x8914  # IFF_UP, SIOCGIFFLAGS, SIOCSIFFLAGS
# Python's own attempts by name; those of compiled code are in the kernel's counters.
WATCH = """
import os, sys
def watch(event, arguments):
    if event == "socket.getaddrinfo" and arguments[0] not in (None, "", "127.0.0.1", "localhost", "::1"):
        with open(os.environ["LOOKED_UP"], "a") as file:
            print(arguments[0], file=file)
sys.addaudithook(watch)
"""


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        asked = struct.pack("16sh", b"lo", 0)
        (flags,) = struct.unpack("16xh", fcntl.ioctl(control, GET, asked))
        fcntl.ioctl(control, SET, struct.pack("16sh", b"lo", flags | UP))


def unroutable() -> int:
    """Return the kernel's count of packets and connections for which there was no route."""
    names, values = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Ip:")
    )
    six = dict(line.split() for line in Path("/proc/net/snmp6").read_text().splitlines())
    return int(dict(zip(names, values, strict=True))["OutNoRoutes"]) + int(six["Ip6OutNoRoutes"])


def call(path: str, body: bytes | None = None, kind: str = "application/json") -> dict:
    token = json.loads((FOLDER / "data" / "server.json").read_text())["token"]
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
    request = urllib.request.Request(f"http://127.0.0.1:{PORT}{path}", body, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - this computer
        return json.load(answer)


def wait_for(path: str) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        with suppress(OSError):
            call(path)
            return
        time.sleep(0.2)
    raise SystemExit(f"{path} did not answer")


def ask() -> str:
    wait_for("/readyz")
    text = (ROOT / "rag" / "sample.md").read_bytes()
    added = call("/api/documents?name=sample.md", text, "application/octet-stream")["documents"][0]["id"]
    while call(f"/api/documents/{added}")["state"] != "ready":
        time.sleep(0.2)
    question = json.dumps({"question": "How many containers were handled in 2025?"})
    return str(call("/api/ask", question.encode())["text"])


def main() -> None:
    raise_loopback()
    (FOLDER / "sitecustomize.py").write_text(WATCH)
    looked_up = FOLDER / "looked_up"
    looked_up.touch()
    own = {"FOOTNOTE_DATA": str(FOLDER / "data"), "PYTHONPATH": str(FOLDER), "LOOKED_UP": str(looked_up)}
    command = [sys.executable, "-m", "streamlit", "run", str(ROOT / "app.py")]
    with (FOLDER / "log").open("wb") as log:
        server = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **own}, stdout=log, stderr=log)
    try:
        answer = ask()
    finally:
        server.terminate()
        server.wait(60)
    if sys.argv[3:] == ["try"]:
        with suppress(OSError):
            socket.create_connection(("198.51.100.1", 80), timeout=1)
    told = {"answer": answer, "unroutable": unroutable(), "looked_up": looked_up.read_text().split()}
    print(json.dumps(told))


main()
