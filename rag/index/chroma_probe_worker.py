"""Child process that opens and searches a vector index before the application does.

`python -m rag.index.chroma_probe_worker DIRECTORY NAME SECONDS BYTES`, started by rag/index/chroma_probe.py.
"""

import ctypes
import os
import resource
import signal
import sys
from typing import cast

from langchain_core.embeddings import Embeddings

from rag.index.chroma import ChromaVectorStore
from rag.index.chroma_probe import SOUND, STARTED

_PR_SET_PDEATHSIG = 1  # Linux's number of the signal a process gets when its parent ends


def main(directory: str, name: str, seconds: str, memory: str) -> None:
    """Report the start, then that the index is sound; the parent takes anything else for damage."""
    _limit_resources(int(seconds), int(memory))
    _report(STARTED)
    no_model = cast(Embeddings, None)  # nothing is embedded here
    store = ChromaVectorStore(no_model, collection_name=name, directory=directory)
    store.ids()
    store.check()
    _report(SOUND)
    os._exit(0)  # without waiting for its threads


def _limit_resources(seconds: int, memory: int) -> None:
    """Limit memory and time, and end with the parent: the next process to open the index must be alone."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _report(word: bytes) -> None:
    os.write(1, word + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
