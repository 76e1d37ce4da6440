"""The process in which llama.cpp serves a model: `python -m rag.models.local.worker`.

One line of JSON on standard input says what to serve; one on standard output says where, or is missing. The
process ends when its standard input does: no server outlives the app, however that ends.
"""

import json
import os
import sys
from collections.abc import Mapping
from typing import Any

SLOTS = 2
"""Requests answered at once: each keeps what it read last, so that a common beginning is read once."""
KEPT_MB = 256
"""Memory for what was read before that, which a later request may begin with."""
SLEEPS_AFTER = 900
"""Seconds without a question after which the model leaves the memory; the next question loads it again."""
QUIET = 1  # errors only


def main() -> None:
    """Serve until standard input ends."""
    with os.fdopen(os.dup(1), "w") as told:
        os.dup2(2, 1)  # whatever llama.cpp prints is not for the app to read
        server = serve(json.loads(sys.stdin.readline()))
        print(json.dumps({"address": server.listening_address}), file=told, flush=True)
    sys.stdin.read()
    os._exit(0)  # an answer that is being written is nobody's any more


def serve(request: Mapping[str, Any]) -> Any:
    """Start llama.cpp's server on a port of the system's choosing, for holders of the key only."""
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
