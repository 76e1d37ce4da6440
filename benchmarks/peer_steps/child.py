"""A process that measures on request: a JSON line in, a JSON line out."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

Steps = dict[str, Callable[..., Any]]


def timed(action: Callable[[Any], Any], over: Iterable[Any]) -> list[float]:
    """Return how long the action takes for each item, in milliseconds."""
    spent = []
    for item in over:
        began = time.perf_counter()
        action(item)
        spent.append((time.perf_counter() - began) * 1000)
    return spent


def resident_mb() -> float:
    """Return the memory that this process holds."""
    import psutil

    return float(psutil.Process(os.getpid()).memory_info().rss / 1e6)


def serve(steps: Steps) -> None:
    """Answer requests, `{"step": name, ...arguments}`, until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # what libraries print is no answer
    for line in sys.stdin:
        request = json.loads(line)
        result = steps[request.pop("step")](**request)
        print(json.dumps(result), file=answers, flush=True)
