"""Sample document for an empty library and for `footnote demo`, and a question that it answers."""

from pathlib import Path

NAME = "Sample: harbour report 2025.md"
QUESTION = "How many containers did the harbour handle in 2025?"
_FILE = Path(__file__).with_name("sample.md")


def sample_text() -> bytes:
    """Return the sample document's content."""
    return _FILE.read_bytes()
