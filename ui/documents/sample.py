"""Offer of the sample document to an empty library."""

from rag.i18n import _
from rag.sample import NAME, sample_text
from rag.workspace import Workspace
from ui.components.messages import action


def offer_sample(here: Workspace) -> None:
    """Show a button that adds the sample document."""
    action(_("Try a sample document"), "draft", "add-sample", _add, here, kind="secondary")


def _add(here: Workspace) -> None:
    here.add(NAME, [sample_text()], None)
