"""Offer of the sample document to an empty library."""

from rag.i18n import _, language
from rag.sample import sample_in
from rag.workspace import Workspace
from ui.components.messages import action


def offer_sample(here: Workspace) -> None:
    """Show a button that adds the sample document, in the language of the page."""
    action(_("Try a sample document"), "draft", "add-sample", _add, here, kind="secondary")


def _add(here: Workspace) -> None:
    sample = sample_in(language())
    here.add(sample.name, [sample.content], None)
