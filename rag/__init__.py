"""Documents in, cited answers out."""

from rag.telemetry import silence

silence()
