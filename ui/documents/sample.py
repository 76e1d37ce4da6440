"""Sample document for an empty library, and questions that it answers."""

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from rag.workspace import Workspace
from ui.components.messages import action

NAME = "Sample: harbour report 2025.md"
QUESTIONS = (
    "How many containers were handled in 2025?",
    "What did the second quay cost?",
    "What does a ship under 100 metres pay?",
)
_TEXT = Path(__file__).with_name("sample.md")


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
    here.add(NAME, [_TEXT.read_bytes()], None)
