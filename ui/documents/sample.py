"""Offer of the sample document to an empty library, with its questions."""

from collections.abc import Callable

import streamlit as st

from rag.sample import NAME, QUESTIONS, sample_text
from rag.workspace import Workspace
from ui.components.messages import action


def offer_sample(here: Workspace) -> None:
    """Show a button that adds the sample document."""
    action("Try a sample document", "draft", "add-sample", _add, here, kind="secondary")


def show_sample_questions(here: Workspace, ask: Callable[[str], None]) -> None:
    """Show questions to ask by one click while the sample is the only document."""
    names = [record.name for record in here.library.documents.list()]
    if names == [NAME]:
        with st.container(horizontal=True, gap="small", key="sample-questions"):
            for number, question in enumerate(QUESTIONS):
                st.button(question, key=f"sample-question-{number}", on_click=ask, args=(question,))


def _add(here: Workspace) -> None:
    here.add(NAME, [sample_text()], None)
