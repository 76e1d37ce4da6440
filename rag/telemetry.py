"""Telemetry of third-party libraries, turned off."""

import os
from collections.abc import MutableMapping

SILENT = {
    # Official ONNX Runtime builds report to Microsoft from the moment they are loaded.
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "False",  # Chroma's
    "DO_NOT_TRACK": "1",
}
TRACING = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")


def disable_telemetry(environment: MutableMapping[str, str] = os.environ) -> None:
    """Turn off telemetry in third-party libraries; call it before they are imported."""
    environment.update(SILENT)


def disable_tracing(environment: MutableMapping[str, str] = os.environ) -> None:
    """Turn off LangChain tracing, which would send questions and documents to a tracing service.

    Only the app and the command line call it: a LangChain program may trace our retrievers.
    """
    for name in TRACING:
        environment.pop(name, None)
