"""Documents in, cited answers out."""

from rag.reports import silence

silence()
