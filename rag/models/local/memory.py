"""Whether a model fits into the memory that is free, told before it is tried."""

import re
from pathlib import Path

from rag.errors import OwnModelUnusable
from rag.models.local.catalog import size

MEMORY = Path("/proc/meminfo")
OVERHEAD = 200_000_000
"""Bytes beside the weights and what is read: Python, llama.cpp and its working space, measured."""
REARRANGED = 0.7
"""The weights' second copy, as a share of the file: most are arranged anew for the processor. Measured."""


def require_memory(model: Path, name: str, read_bytes: int) -> None:
    """Raise OwnModelUnusable where less is free than the model needs; `read_bytes` is for what it reads."""
    free = free_memory()
    needed = needed_memory(model.stat().st_size, read_bytes)
    if free is not None and free < needed:
        raise OwnModelUnusable(
            f"{name} needs about {size(needed)} of memory, and {size(free)} are free. "
            "Close other programs, or choose a smaller model."
        )


def needed_memory(file_bytes: int, read_bytes: int) -> int:
    """Return about how much must be free; the file itself may leave the memory again.

    >>> needed_memory(1_117_320_768, 8192 * 28_672)
    1217005561
    """
    return int(REARRANGED * file_bytes) + read_bytes + OVERHEAD


def free_memory(told: Path = MEMORY) -> int | None:
    """Return how many bytes programs could still take; None where the system does not tell as Linux does."""
    if not told.exists():
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB$", told.read_text(encoding="ascii"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None
