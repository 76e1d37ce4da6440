"""What libraries would tell their makers, or a tracing service, of what is done with them: nothing."""

import os
from collections.abc import MutableMapping

SILENT = {
    # ONNX Runtime's own builds name the machine and report to Microsoft from the moment they are loaded.
    "ORT_DISABLE_TELEMETRY": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "ANONYMIZED_TELEMETRY": "False",  # Chroma's
    "DO_NOT_TRACK": "1",
}
TRACING = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")


def silence(environment: MutableMapping[str, str] = os.environ) -> None:
    """Have no library report by itself. It must be said before they are loaded, whatever was said before."""
    environment.update(SILENT)


def untrace(environment: MutableMapping[str, str] = os.environ) -> None:
    """Have LangChain send no questions and documents away because another program of the user's is traced.

    For the app and the command line; a LangChain program that uses our retrievers may trace them.
    """
    for name in TRACING:
        environment.pop(name, None)
