"""Documents in, cited answers out."""

from rag.telemetry import disable_telemetry

disable_telemetry()
