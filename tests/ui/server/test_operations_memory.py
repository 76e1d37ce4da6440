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


def pools(*arguments: str) -> int:
    ended = subprocess.run(
        [sys.executable, "-c", THREADS, *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return ended.stdout.count("<heap nr=")


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc gives threads pools of their own")
def test_threads_share_two_pools():
    assert pools() > MAX_ARENAS
    assert pools("shared") <= MAX_ARENAS
