import re
from dataclasses import replace

import pytest

from rag.chat.conversation import OLDER
from rag.chat.rewrite import _late, _rejected, _trimmed, rejection_reason
from rag.i18n import in_language, translated
from tests.ui.conftest import passage
from ui.chat.trace_panel import found_by, settings, step_lines


def test_each_line_of_a_stored_setting_is_shown_in_the_readers_language():
    kept = {"steps": "Step 1 found nothing.\nStep 2 found nothing.", "history": str(OLDER)}
    with in_language("ko"):
        steps, history = settings(kept)
    assert steps.endswith("1단계에서는 찾은 것이 없습니다. 2단계에서는 찾은 것이 없습니다.")
    assert "최근 메시지 20개" in history


def test_what_says_nothing_to_a_reader_is_left_to_the_exported_file():
    kept = {"checker": "verified from 0.55", "mixture": "z-score scores, meaning 0.5 in ja", "k": 6}
    assert list(settings(kept)) == ["- Passages per answer, at most: 6"]


def test_a_long_line_is_cut_and_the_next_one_is_shown():
    kept = {"steps": f"Searched again for “{'x' * 400}”.\nStep 2 found nothing."}
    (steps,) = settings(kept)
    assert len(steps) < 300 and steps.endswith("Step 2 found nothing.")


@pytest.mark.parametrize("language", ["ko", "ja"])
def test_notes_on_a_rewrite_and_on_a_check_are_in_the_readers_language(language: str):
    late, name = _late(15), rejection_reason("When did Bob join?", "When did she join?", [("user", "Ann?")])
    kept = {
        "rephrasing": f"{late}\n{_trimmed(4, 20)}",
        "reading": "0 of 1 open statements verified by words that the model found.",
        "judge": "llm",
        "order": "best first and last",
    }
    with in_language(language):
        shown = "\n".join(settings(kept))
        rejected = translated(str(_rejected(name)))
    assert "15" in shown and "20" in shown
    assert not re.findall("[A-Za-z]{2,}", shown)
    assert "Bob" in rejected and not re.findall("[A-Za-z]{2,}", rejected.replace("Bob", ""))


def test_the_passages_of_the_table_stand_in_the_order_of_their_scores():
    given = [replace(passage(number), score=score) for number, score in ((1, 1.7), (2, 1.9), (3, 1.6))]
    assert [row["Score"] for row in found_by(given, {})] == ["1.900", "1.700", "1.600"]


def test_passages_are_named_by_the_numbers_of_their_quotes_and_others_by_their_place():
    given = [
        replace(passage(number), found_by={"step 1": {"rank": number, "score": 1.0}}) for number in (1, 2)
    ]
    rows = [row["Passage"] for row in found_by(given, {2: "1, 3"})]
    assert rows == ["report.pdf, page 3", "1, 3 · report.pdf, page 3"]
    assert list(step_lines(["Who?", "When?"], given, {2: "1, 3"})) == [
        "1. Who?: passages 1, 3",
        "2. When?: none found",
    ]
    assert list(step_lines(["Who?"], given, {})) == ["1. Who?: found, not quoted"]
