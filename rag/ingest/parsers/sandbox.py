"""Sandbox: a child process for a parser, with limits on time and memory, no writing and no network.

On Linux the kernel sets walls around it, whatever code runs in it. Landlock leaves it the file to parse and
its libraries, to read; seccomp takes sockets, other programs, other processes and changes of the file tree.
Both hold for calls that no audit hook sees, such as those of ctypes, and cannot be taken down again. Where a
kernel has neither, the limits and hooks of `worker` are what is left.
"""

import ctypes
import errno
import json
import logging
import os
import platform
import re
import selectors
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, cast

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.text.document import shown

# linux/prctl.h, seccomp.h, bpf_common.h
_NO_NEW_PRIVILEGES, _SET_SECCOMP, _GET_SECCOMP, _FILTER = 38, 22, 21, 2
_LOAD, _EQUAL, _AT_LEAST, _HAS_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _FAIL = 0x7FFF0000, 0x00050000  # the second with an error number
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in the description of a call
_X32 = 0x40000000  # from here the same calls are numbered again on x86-64
_THREAD = 0x00010000  # flag of `clone`

_CALLS = """
socket 41 198 | connect 42 203 | accept 43 202 | sendto 44 206 | sendmsg 46 211 | bind 49 200
listen 50 201 | socketpair 53 199 | accept4 288 242 | sendmmsg 307 269 | fork 57 - | vfork 58 -
execve 59 221 | execveat 322 281 | kill 62 129 | ptrace 101 117 | process_vm_readv 310 270
process_vm_writev 311 271 | pidfd_open 434 434 | pidfd_send_signal 424 424 | pidfd_getfd 438 438
unshare 272 97 | setns 308 268 | mount 165 40 | bpf 321 280 | userfaultfd 323 282
io_uring_setup 425 425 | keyctl 250 219 | add_key 248 217 | perf_event_open 298 241 | rename 82 -
renameat 264 38 | renameat2 316 276 | unlink 87 - | unlinkat 263 35 | rmdir 84 - | mkdir 83 -
mkdirat 258 34 | link 86 - | linkat 265 37 | symlink 88 - | symlinkat 266 36 | mknod 133 -
mknodat 259 33 | creat 85 - | truncate 76 45 | chmod 90 - | fchmod 91 52 | fchmodat 268 53 | chown 92 -
fchown 93 55 | lchown 94 - | fchownat 260 54 | utimensat 280 88 | fchmodat2 452 452 | utime 132 -
utimes 235 - | futimesat 261 - | setxattr 188 5 | lsetxattr 189 6 | fsetxattr 190 7 | removexattr 197 14
lremovexattr 198 15 | fremovexattr 199 16 | setxattrat 463 463 | removexattrat 466 466
file_setattr 469 469 | tkill 200 130 | rt_sigqueueinfo 129 138 | rt_tgsigqueueinfo 297 240
setpriority 141 140 | ioprio_set 251 30 | sched_setaffinity 203 122 | sched_setscheduler 144 119
sched_setparam 142 118 | sched_setattr 314 274 | process_madvise 440 440 | process_mrelease 448 448
kcmp 312 272 | migrate_pages 256 238 | move_pages 279 239 | shmget 29 194 | shmat 30 196
shmctl 31 195 | semget 64 190 | semop 65 193 | semctl 66 191 | semtimedop 220 192 | msgget 68 186
msgsnd 69 189 | msgrcv 70 188 | msgctl 71 187 | mq_open 240 180 | mq_unlink 241 181 | chroot 161 51
pivot_root 155 41 | umount2 166 39 | fsopen 430 430 | fspick 433 433 | move_mount 429 429
open_tree 428 428 | mount_setattr 442 442 | open_by_handle_at 304 265 | fanotify_init 300 262
personality 135 92
"""
"""Calls that fail with EPERM, with their numbers on x86-64 and on aarch64 (linux/arch/*/syscall tables)."""
_OWN = "tgkill 234 131 | prlimit64 302 261"
"""Calls that may only be about this process: a library ends itself by one, and asks for its limits."""
_MACHINES = {"x86_64": (0, 0xC000003E, 56), "aarch64": (1, 0xC00000B7, 220)}  # column, audit name, `clone`
_CLONE3 = 435

# linux/landlock.h
_CREATE, _ADD, _RESTRICT = 444, 445, 446
_READ_FILE, _READ_DIRECTORY, _EXECUTE = 1 << 2, 1 << 3, 1 << 0
_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}  # number of rights over files by version


def close_in(file: Path) -> tuple[str, ...]:
    """Close the walls around this process for good; return the names of those that stand.

    It may read `file`, the libraries of Python and of the system, and nothing else.
    """
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0):
        return ()
    return (*(["landlock"] if _landlock(libc, file) else []), *(["seccomp"] if _seccomp(libc) else []))


def available() -> tuple[str, ...]:
    """Return the names of the walls that this system offers."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    found = ["landlock"] * (_version(libc) > 0)
    return (*found, *(["seccomp"] * (libc.prctl(_GET_SECCOMP, 0, 0, 0, 0) >= 0)))


def _version(libc: ctypes.CDLL) -> int:
    return int(libc.syscall(_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(1)))


def _landlock(libc: ctypes.CDLL, file: Path) -> bool:
    version = _version(libc)
    if version < 1:
        return False
    handled = (1 << _RIGHTS.get(version, max(_RIGHTS.values()))) - 1
    rules = libc.syscall(_CREATE, struct.pack("=Q", handled), ctypes.c_size_t(8), ctypes.c_uint32(0))
    if rules < 0:
        return False
    try:
        for path in _readable():
            _allow(libc, rules, path, _READ_FILE | _EXECUTE | (_READ_DIRECTORY if path.is_dir() else 0))
        _allow(libc, rules, file, _READ_FILE)
        return bool(libc.syscall(_RESTRICT, rules, ctypes.c_uint32(0)) == 0)
    finally:
        os.close(rules)


def _readable() -> Iterator[Path]:
    """Yield the folders of libraries: never a folder in which an installation may have its data, too."""
    yield Path(__file__).resolve().parents[2]
    for prefix in dict.fromkeys((sys.prefix, sys.base_prefix, "/usr", "/usr/local", "/")):
        yield from (Path(prefix) / name for name in ("lib", "lib32", "lib64"))
    yield from (Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages")))
    yield from map(Path, ("/usr/share", "/nix/store", "/dev/null", "/dev/urandom"))
    yield from (Path("/etc") / name for name in ("fonts", "ld.so.cache", "localtime", "mime.types"))


def _allow(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        rule = struct.pack("=Qi", rights, folder)
        libc.syscall(_ADD, rules, ctypes.c_int(1), rule, ctypes.c_uint32(0))
    finally:
        os.close(folder)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def _seccomp(libc: ctypes.CDLL) -> bool:
    steps = b"".join(_filter(platform.machine(), os.getpid()))
    program = _Program(len(steps) // 8, steps)
    return bool(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0)


def _filter(machine: str, process: int) -> list[bytes]:
    """Return the steps of the filter: unknown machines and the calls of the table fail, threads may begin."""
    column, name, clone = _MACHINES[machine]
    forbidden, unknown, allowed = _end(errno.EPERM), _end(errno.ENOSYS), _step(_RETURN, _ALLOW)
    return [
        _step(_LOAD, _MACHINE),
        *(_step(_EQUAL, name, yes=1), forbidden),
        _step(_LOAD, _NUMBER),
        *(_step(_AT_LEAST, _X32, no=1), forbidden),
        *(_step(_EQUAL, _CLONE3, no=1), unknown),  # its flags lie behind a pointer; libraries fall back
        *_each(_numbers(_CALLS, column), forbidden),
        *(
            _step(_EQUAL, clone, no=4),
            _step(_LOAD, _FIRST_ARGUMENT),
            _step(_HAS_BIT, _THREAD, yes=1),
            forbidden,
            allowed,
        ),
        *(step for number in _numbers(_OWN, column) for step in _own(number, process, forbidden, allowed)),
        allowed,
    ]


def _own(number: int, process: int, forbidden: bytes, allowed: bytes) -> Iterator[bytes]:
    """Yield the steps that allow a call whose first argument is this process, or 0, which means it, too."""
    yield _step(_EQUAL, number, no=5)
    yield _step(_LOAD, _FIRST_ARGUMENT)
    yield _step(_EQUAL, 0, yes=2)
    yield _step(_EQUAL, process, yes=1)
    yield forbidden
    yield allowed


def _numbers(calls: str, column: int) -> list[int]:
    told = [call.split()[1 + column] for line in calls.strip().splitlines() for call in line.split("|")]
    return [int(number) for number in told if number != "-"]


def _each(numbers: Sequence[int], end: bytes) -> Iterable[bytes]:
    for number in numbers:
        yield _step(_EQUAL, number, no=1)
        yield end


def _step(code: int, value: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Return a step; `yes` and `no` are how many steps to pass over after a comparison."""
    return struct.pack("=HBBI", code, yes, no, value)


def _end(error: int) -> bytes:
    return _step(_RETURN, _FAIL | error)


log = logging.getLogger(__name__)

# Exit statuses of a child that has no memory left for a message.
OUT_OF_MEMORY, TOO_DEEP = 77, 78
BECOME = "become"  # the task that executes another program
CONVERT = "convert"  # the same for a program that may write files, and has no network
MAX_OUTPUT = 400 << 20
"""Bytes of a child's output: the text and the files inside of a file that is as large as a file may be."""
_COMPLAINT = 1 << 16  # bytes that are kept of a child's standard error, the last ones
_AT_ONCE = 1 << 16  # bytes
_PROJECT = Path(__file__).resolve().parents[3]
# One thread and one memory arena: a child's address space is capped, and each thread would claim its share.
_ENVIRONMENT = {
    "MALLOC_ARENA_MAX": "1",
    "OMP_NUM_THREADS": "1",
    "OMP_THREAD_LIMIT": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONIOENCODING": "utf-8",
    "PYTHONPATH": str(_PROJECT),
    "PATH": os.defpath,
}


def run(
    task: str, path: Path, name: str, *, timeout: float, memory: int, **arguments: Any
) -> tuple[dict[str, Any], bytes]:
    """Run a task of the worker on a file; return its facts and its bytes. Raises DocumentRefused."""
    with TemporaryFile() as output:
        facts = run_into(output, task, path, name, timeout=timeout, memory=memory, **arguments)
        return facts, output.read()


def run_into(
    output: IO[bytes], task: str, path: Path, name: str, *, timeout: float, memory: int, **arguments: Any
) -> dict[str, Any]:
    """Run a task as `run` does, and leave its bytes in a file, which stands at the first of them."""
    request = json.dumps({"path": str(path.absolute()), "name": name, **arguments}).encode()
    _child(output, [task], request, shown(name), timeout=timeout, memory=memory)
    output.seek(0)
    facts: dict[str, Any] = json.loads(output.readline())
    if "refused" in facts:
        raise DocumentRefused(N_("{name} {reason}", name=shown(name), reason=facts["refused"]))
    return facts


def run_program(command: Sequence[str], given: bytes, what: str, *, timeout: float, memory: int) -> bytes:
    """Run another program with the same limits; return its output for `given`; `what` names that."""
    with TemporaryFile() as output:
        _child(output, [BECOME, *command], given, what, timeout=timeout, memory=memory)
        output.seek(0)
        return output.read()


def run_converter(command: Sequence[str], what: str, *, home: Path, timeout: float, memory: int) -> None:
    """Run a program that converts a file within its `home`; `what` names the file."""
    environment = {**_ENVIRONMENT, "HOME": str(home), "TMPDIR": str(home)}
    with TemporaryFile() as output:
        _child(
            output, [CONVERT, *command], b"", what, timeout=timeout, memory=memory, environment=environment
        )


def _child(
    output: IO[bytes],
    task: Sequence[str],
    given: bytes,
    what: str,
    *,
    timeout: float,
    memory: int,
    environment: Mapping[str, str] = _ENVIRONMENT,
) -> None:
    """Run a child to its end, its output into a file; its limits follow the task's name."""
    caps = [str(timeout), str(memory)]
    command = [sys.executable, "-P", "-m", "rag.ingest.parsers.worker", task[0], *caps, *task[1:]]
    with (
        _containing(given) as request,
        subprocess.Popen(  # noqa: S603 - our own interpreter and module; the request goes by standard input
            command,
            stdin=request,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd="/",
            start_new_session=True,
        ) as child,
    ):
        try:
            complaint = _drain(child, output, what, time.monotonic() + timeout)
        except subprocess.TimeoutExpired as error:
            raise DocumentRefused(
                N_("{what} took longer than {timeout} seconds to read.", what=what, timeout=f"{timeout:g}")
            ) from error
        finally:
            with suppress(ProcessLookupError):  # none of its session is left
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
    if child.returncode != 0:
        raise DocumentRefused(_reason(what, child.returncode, complaint, timeout, memory))


def _containing(given: bytes) -> IO[bytes]:
    file = TemporaryFile()  # noqa: SIM115 - the caller closes it
    file.write(given)
    file.seek(0)
    return file


def _drain(child: subprocess.Popen[bytes], output: IO[bytes], what: str, deadline: float) -> bytes:
    """Write a child's output to a file until it ends; return the end of its standard error.

    Nothing of the output stays in memory. Raises TimeoutExpired, and DocumentRefused above MAX_OUTPUT.
    """
    complaint = b""
    for pipe, part in _parts(child, deadline):
        if pipe is child.stderr:
            complaint = (complaint + part)[-_COMPLAINT:]
        elif output.tell() + len(part) > MAX_OUTPUT:
            raise DocumentRefused(
                N_(
                    "{what} holds more than {max_output} MB of text and files. Split it and add the parts.",
                    what=what,
                    max_output=MAX_OUTPUT >> 20,
                )
            )
        else:
            output.write(part)
    child.wait(max(deadline - time.monotonic(), 0.1))
    return complaint


def _parts(child: subprocess.Popen[bytes], deadline: float) -> Iterator[tuple[Any, bytes]]:
    """Yield what a child writes, each part with its pipe; raises TimeoutExpired after the deadline."""
    with selectors.DefaultSelector() as pipes:
        for pipe in (child.stdout, child.stderr):
            pipes.register(cast("IO[bytes]", pipe), selectors.EVENT_READ)
        while pipes.get_map():
            ready = pipes.select(max(deadline - time.monotonic(), 0))
            if not ready or time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(child.args, 0)
            for key, _ in ready:
                if part := os.read(key.fd, _AT_ONCE):
                    yield key.fileobj, part
                else:
                    pipes.unregister(key.fileobj)


_NO_MEMORY = re.compile(
    rb"bad_alloc|MemoryError|memory allocation|cannot allocate memory|out of memory|not enough memory", re.I
)
"""Words that libraries of parsers write when they get no memory."""
_DEEP = b"Excessive depth in document"
"""Words that libxml2 writes of elements in elements, thousands deep."""


def _reason(what: str, status: int, complaint: bytes, timeout: float, memory: int) -> str:
    """Return the reason of a child's end, by its exit status (negative: a signal) and its standard error."""
    last = complaint.decode("utf-8", "replace").strip().rpartition("\n")[2]
    log.warning("reading %s ended with status %s: %s", what, status, last[:300])
    if status in (-signal.SIGXCPU, -signal.SIGALRM):
        return N_("{what} took longer than {timeout} seconds to read.", what=what, timeout=f"{timeout:g}")
    if status == OUT_OF_MEMORY or _NO_MEMORY.search(complaint):
        return N_(
            "{what} needs more than {megabytes} MB of memory to read.", what=what, megabytes=memory >> 20
        )
    if status == TOO_DEEP or _DEEP in complaint:
        return N_("{what} is nested too deeply to read.", what=what)
    if status < 0:
        return N_("{what} is damaged: it made its reader crash.", what=what)
    return N_("{what} is damaged and cannot be read.", what=what)
