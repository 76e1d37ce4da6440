"""Sample document for an empty library and for `footnote demo`, and questions that it answers."""

from pathlib import Path

NAME = "Sample: harbour report 2025.md"
QUESTIONS = (
    "How many containers were handled in 2025?",
    "What did the second quay cost?",
    "What does a ship under 100 metres pay?",
)
_FILE = Path(__file__).with_name("sample.md")


def sample_text() -> bytes:
    """Return the sample document's content."""
    return _FILE.read_bytes()
