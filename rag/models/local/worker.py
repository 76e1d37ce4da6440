"""Child process in which llama.cpp serves a model: `python -m rag.models.local.worker`.

It reads one line of JSON, the model, and writes one, the address. It ends when its standard input closes.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

SLOTS = 2
"""Concurrent requests; each slot caches its last prompt, so that a common beginning is read once."""
KEPT_MB = 256
"""Memory for the cache of earlier prompts."""
SLEEPS_AFTER = 900
"""Idle seconds after which the model is unloaded; the next request loads it again."""
QUIET = 1  # errors only


def main() -> None:
    """Serve until standard input ends."""
    with os.fdopen(os.dup(1), "w") as output:
        os.dup2(2, 1)  # keeps llama.cpp's output away from the app
        server = serve(json.loads(sys.stdin.readline()))
        print(json.dumps({"address": server.listening_address}), file=output, flush=True)
    sys.stdin.read()
    os._exit(0)  # nobody reads an unfinished answer


def serve(request: Mapping[str, Any]) -> Any:
    """Start llama.cpp's server on a port that the system chooses; it requires the key."""
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = request["path"]
    wanted.model_alias = [request["name"]]
    wanted.api_keys = [request["key"]]
    wanted.hostnames, wanted.port = ["127.0.0.1"], 0
    wanted.n_ctx, wanted.n_parallel, wanted.kv_unified = request["context_tokens"], SLOTS, True
    wanted.cache_ram_mib, wanted.sleep_idle_seconds = KEPT_MB, SLEEPS_AFTER
    wanted.ui = wanted.endpoint_slots = wanted.warmup = False
    wanted.cors_origins, wanted.offline = "", True
    wanted.verbosity = QUIET
    return xllamacpp.Server(wanted)


if __name__ == "__main__":
    main()
