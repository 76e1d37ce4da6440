"""Sample document for an empty library."""

from pathlib import Path

from rag.workspace import Workspace
from ui.components.messages import action

NAME = "Sample: harbour report 2025.md"
_TEXT = Path(__file__).with_name("sample.md")


def offer_sample(here: Workspace) -> None:
    """Show a button that adds the sample document."""
    action("Try a sample document", "draft", "add-sample", _add, here, kind="secondary")


def _add(here: Workspace) -> None:
    here.add(NAME, [_TEXT.read_bytes()], None)
