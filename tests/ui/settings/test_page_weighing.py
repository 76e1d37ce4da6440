from collections.abc import Callable
from datetime import UTC, datetime

from streamlit.testing.v1 import AppTest

from rag.retrieval.weights import CalibratedWeights, HybridWeights
from rag.workspace import Workspace
from tests.ui.conftest import words
from ui.settings.page import weight_lines


def test_the_settings_page_says_how_words_and_meaning_are_weighed(
    page: Callable[..., AppTest], here: Workspace
):
    at = page("settings")
    assert "English and other alphabets: meaning 55 %, words 45 %." in words(at)
    assert "questions made from their sentences" in words(at)


def test_what_was_found_is_said_language_by_language():
    mixture = HybridWeights("z-score", {"ko": 0.2, "alphabet": 0.55}, passages=2000)
    said = weight_lines(CalibratedWeights(mixture, datetime(2026, 11, 21, tzinfo=UTC), 5712, "f", 1))
    assert said == [
        "English and other alphabets: meaning 55 %, words 45 %.",
        "Korean: meaning 20 %, words 80 %.",
        "Measured on 21 Nov 2026 with 2,000 of 5,712 passages. Scores are scaled by their spread (z-score).",
    ]
