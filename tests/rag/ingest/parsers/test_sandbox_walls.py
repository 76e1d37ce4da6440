"""What hostile code within a parser's process can do: nothing but read the file it was given."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rag.ingest.parsers import load, sandbox

ATTEMPTS = """
import ctypes, json, os, resource, socket, subprocess, sys, threading
from pathlib import Path
from rag.ingest.parsers import sandbox, worker

given, foreign = map(Path, sys.argv[2:4])
done = {}
if sys.argv[1] == "walls":
    sys.prefix = str(given.parent)  # an installation that has its data beside its libraries
    done["closed"] = sandbox.close_in(given)
else:
    sys.addaudithook(worker._forbid)
libc = ctypes.CDLL(None, use_errno=True)

def refused(name, attempt):
    try:
        result = attempt()
        done[name] = isinstance(result, int) and result < 0
    except OSError:
        done[name] = True

refused("tcp", lambda: socket.socket())
refused("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
refused("resolve", lambda: socket.getaddrinfo("example.org", 80))
refused("spawn", lambda: subprocess.run([sys.executable, "-c", ""], check=True))
refused("fork", lambda: os.fork() or os._exit(0))
refused("delete", foreign.unlink)
refused("rename", lambda: foreign.rename(foreign.with_name("other")))
refused("folder", foreign.with_name("folder").mkdir)
refused("signal", lambda: os.kill(os.getppid(), 0))
refused("empty", lambda: foreign.open("wb"))
refused("limit", lambda: resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE))
if sys.argv[1] == "walls":
    refused("read another's", foreign.read_bytes)
    refused("list", lambda: os.listdir(foreign.parent))
    refused("environment", lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes())
    refused("create", lambda: foreign.with_name("new").touch())
    refused("write", lambda: foreign.open("ab"))
    refused("socket by ctypes", lambda: libc.socket(2, 2, 0))
    refused("fork by ctypes", lambda: libc.fork() or os._exit(0))
    refused("unlink by ctypes", lambda: libc.unlink(bytes(foreign)))
    refused("ptrace by ctypes", lambda: libc.ptrace(16, os.getppid(), 0, 0))
    refused("exec by ctypes", lambda: libc.execve(b"/bin/true", None, None))
    refused("signal to a thread", lambda: libc.tgkill(os.getppid(), os.getppid(), 0))
    refused("queued signal", lambda: libc.sigqueue(os.getppid(), 0, None))
    refused("limits of the server", lambda: libc.prlimit(os.getppid(), 7, None, bytes(16)))
    refused("priority of the server", lambda: libc.setpriority(0, os.getppid(), 19))
    refused("processors of the server", lambda: libc.sched_setaffinity(os.getppid(), 8, bytes([255] * 8)))
    refused("shared memory", lambda: libc.shmget(0, 4096, 0o1600))
    refused("chmod by number", lambda: libc.syscall(452, -100, bytes(foreign), 0o777, 0))
    refused("attribute", lambda: libc.setxattr(bytes(foreign), b"user.a", b"b", 1, 0))
    refused("times", lambda: libc.utimes(bytes(foreign), None))
done["limits its own"] = bool(resource.getrlimit(resource.RLIMIT_NOFILE))
done["reads its own"] = given.read_text() == "given"
thread = threading.Thread(target=lambda: done.update(threads=True))
thread.start()
thread.join()
print(json.dumps(done))
"""


def attempted(how: str, tmp_path: Path) -> dict[str, bool]:
    (tmp_path / "given").write_text("given")
    (tmp_path / "foreign").write_text("foreign")
    command = [sys.executable, "-c", ATTEMPTS, how, str(tmp_path / "given"), str(tmp_path / "foreign")]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (tmp_path / "foreign").read_text() == "foreign" and len(list(tmp_path.iterdir())) == 2
    found: dict[str, bool] = json.loads(output.splitlines()[-1])
    return found


@pytest.mark.skipif(
    sandbox.available() != ("landlock", "seccomp"), reason="needs a Linux kernel with Landlock and seccomp"
)
def test_hostile_code_can_only_read_its_own_file_even_through_ctypes(tmp_path: Path):
    done = attempted("walls", tmp_path)
    assert done.pop("closed") == ["landlock", "seccomp"]
    assert len(done) == 33 and [name for name, holds in done.items() if not holds] == []


def test_without_walls_hooks_refuse_the_same_of_python(tmp_path: Path):
    done = attempted("hooks", tmp_path)
    assert len(done) == 14 and [name for name, holds in done.items() if not holds] == []


TOLD = """
import platform, sys
from pathlib import Path
from rag.ingest.parsers import sandbox

platform.machine = lambda machine=sys.argv[2] or platform.machine(): machine
print(sandbox.available(), sandbox.close_in(Path(sys.argv[1])), sep="|")
"""


@pytest.mark.parametrize("machine", ["", "riscv64"])
def test_the_walls_that_are_told_are_those_that_stand(machine: str, tmp_path: Path):
    (tmp_path / "given").write_text("given")
    command = [sys.executable, "-c", TOLD, str(tmp_path / "given"), machine]
    told, standing = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("|")
    assert told == standing.strip() and (not machine or told == "()")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_passes_over_no_more_steps_than_it_has(machine: str):
    steps = sandbox._filter(machine, 7)
    for at, step in enumerate(steps):
        code, yes, no = step[0], step[2], step[3]
        assert code in (0x20, 0x06) or at + 1 + max(yes, no) < len(steps)
    assert steps[-1] == sandbox._step(0x06, 0x7FFF0000)


def test_a_file_is_read_within_the_walls(tmp_path: Path):
    file = tmp_path / "note.md"
    file.write_text("# Note\n\nThe deposit is three months' rent.\n", "utf-8")
    assert "deposit" in load(file, "note.md").text
