"""Threads share the pools of memory: counted by glibc itself, in a process of its own."""

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from api.operations import MAX_ARENAS

ROOT = Path(__file__).parents[3]
THREADS = """
import ctypes, sys, threading
libc = ctypes.CDLL(None)
if len(sys.argv) > 1:
    from api.operations import limit_malloc_arenas
    limit_malloc_arenas()
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
together = threading.Barrier(16)
def ask():
    together.wait()
    libc.malloc(1000)
    together.wait()
threads = [threading.Thread(target=ask) for _ in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc.fdopen.restype, libc.fdopen.argtypes = ctypes.c_void_p, [ctypes.c_int, ctypes.c_char_p]
libc.malloc_info.argtypes, libc.fflush.argtypes = [ctypes.c_int, ctypes.c_void_p], [ctypes.c_void_p]
out = libc.fdopen(1, b"w")
libc.malloc_info(0, out)
libc.fflush(out)
"""


TEXTS = """
import sys
from pathlib import Path
if len(sys.argv) > 1:
    from api.operations import limit_malloc_arenas
    limit_malloc_arenas()
def memory():
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) >> 10
freed = bytearray(30 << 20)  # from now on glibc keeps what is smaller
del freed
idle, texts, kept = memory(), [], []
for _ in range(10):
    texts.append(b"x" * (2 << 20))
    kept.append(bytearray(100_000))
del texts
print(memory() - idle)
"""


def run(program: str, *arguments: str) -> str:
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has these settings")


def test_threads_share_two_pools():
    assert run(THREADS).count("<heap nr=") > MAX_ARENAS
    assert run(THREADS, "shared").count("<heap nr=") <= MAX_ARENAS


def test_large_texts_go_back_to_the_system_when_they_are_freed():
    assert int(run(TEXTS)) > 15
    assert int(run(TEXTS, "limited")) < 5
