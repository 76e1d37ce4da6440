import re
import threading
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from rag.chat.check_text import CheckProgress, TextCheck
from rag.jobs import Cancel
from rag.workspace import Workspace
from tests.ui.conftest import words
from tests.ui.inert import is_inert
from ui.check import page as check_page

Page = Callable[..., AppTest]
CASTLE = "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n"
SIGN = re.compile(r"^[✓≠–] (?=\d+ · )")
DRAFT = """# Guide

The castle of Aldenburg was built in 1432 [7]. The king kept forty dogs there.

<img src=x onerror=alert(1)> The <script>king</script> had [a cat](http://evil.test) :smile: $x$.
"""


@pytest.fixture
def castle(here: Workspace) -> str:
    record, _ = here.library.add("castle.md", CASTLE.encode())
    for _ in here.library.read(record.id):
        pass
    return record.id


def checked(at: AppTest, text: str) -> AppTest:
    """Paste a text, check it, and wait for the result."""
    at.text_area[0].set_value(text)
    next(one for one in at.button if one.label == "Check").click().run()
    if check_page.JOB in at.session_state:
        at.session_state[check_page.JOB].job.wait(60)
        at.run()
    return at


def test_without_documents_there_is_nothing_to_check_against(page: Page):
    assert "Add documents first" in words(page("check"))


def test_each_statement_has_its_state_and_its_words_beside_it(page: Page, castle: str):
    at = checked(page("check"), DRAFT)
    assert not at.exception
    shown = words(at)
    assert "1 of 3 statements verified" in shown
    assert "✓ 1 · Verified" in shown and "“The castle of Aldenburg was built in 1432”" in shown
    assert "– 2 · Not found in your documents" in shown
    assert [one.label for one in at.button if one.label.startswith("1 ·")] == ["1 · castle.md"]
    assert not [one for one in at.button if one.label.startswith("2 ·")]


def test_a_pasted_text_keeps_its_line_ends(page: Page, castle: str):
    at = checked(page("check"), "Dear Ann,\nthe moat is nine metres deep.\n- one\n- two\n\nTom")
    left = [one.value for one in at.markdown if "Dear Ann" in one.value]
    assert (
        len(left) == 1 and left[0].startswith("Dear Ann,  \nthe moat") and left[0].endswith("- one  \n- two")
    )
    assert "Tom" in [one.value for one in at.markdown]


def test_a_wrong_number_has_the_words_on_its_subject_beside_it(page: Page, castle: str):
    at = checked(page("check"), "The castle of Aldenburg was built in 1532.")
    shown = words(at)
    assert "0 of 1 statement verified" in shown
    assert "1 · Source says: 1432" in shown
    assert "“The castle of Aldenburg was built in 1432.”" in shown
    next(one for one in at.button if one.label == "1 · castle.md").click().run()
    assert "Statement: The castle of Aldenburg was built in 1532." in words(at)


def test_the_words_open_in_their_document(page: Page, castle: str):
    at = checked(page("check"), DRAFT)
    next(one for one in at.button if one.label == "1 · castle.md").click().run()
    shown = words(at)
    assert "**Cited words**" in shown and "Statement: The castle of Aldenburg was built in 1432." in shown
    assert "Wrong source" not in [one.label for one in at.button]  # it is no answer that is kept


def test_the_text_and_its_words_are_never_html(page: Page, castle: str):
    at = checked(page("check"), DRAFT)
    for one in [*at.markdown, *at.caption]:
        is_inert(SIGN.sub("", one.value))
    assert not any(one.allow_html for one in at.markdown)


def test_what_is_not_verified_can_be_seen_alone(page: Page, castle: str):
    at = checked(page("check"), DRAFT)
    at.segmented_control(key="check-show").set_value("others").run()
    assert "2 · Not found" in words(at) and "Guide" not in words(at)


def test_a_check_is_there_after_a_reload_until_another_text_is_checked(page: Page, castle: str):
    checked(page("check"), DRAFT)
    reloaded = page("check")  # a new session
    assert "1 of 3 statements verified" in words(reloaded)
    next(one for one in reloaded.button if one.label == "Check another text").click().run()
    assert reloaded.text_area[0].value == DRAFT
    assert "statements verified" not in words(page("check"))


def test_a_check_that_runs_is_followed_by_another_tab(page: Page, castle: str, here: Workspace):
    begun = threading.Event()

    def slow(cancelled: Cancel) -> Iterator[CheckProgress]:
        yield CheckProgress(1, 2)
        begun.wait(60)

    here.text_check = TextCheck(here._jobs.start(here.owner, "check:slow", slow, lane="check"), b"", "A.")
    try:
        assert "Continues if you leave this page." in words(page("check"))
    finally:
        begun.set()


def test_a_chat_opens_while_a_text_is_checked(page: Page, castle: str, here: Workspace):
    begun = threading.Event()

    def slow(cancelled: Cancel) -> Iterator[CheckProgress]:
        yield CheckProgress(0, 1)
        begun.wait(60)

    turn = here.ask(None, "When was the castle of Aldenburg built?", after=[castle])
    assert (answering := here.answering(turn.answer_id)) is None or answering.wait(60)
    here._jobs.start(here.owner, "check:slow", slow, lane="check")
    try:
        assert here.checking() == frozenset()
        assert not page("chat", chat=turn.conversation_id).exception
    finally:
        begun.set()


def test_an_empty_text_is_refused_in_a_sentence(page: Page, castle: str):
    at = checked(page("check"), "  ")
    assert "There is no text to check" in words(at)


def test_a_text_without_statements_is_shown(page: Page, castle: str):
    at = checked(page("check"), "Why?")
    assert "0 of 0 statements verified" in words(at) and not at.exception


def test_a_strangers_documents_are_never_quoted(here: Workspace, castle: str):
    stranger = Workspace(here.library.documents._database, "bob", here._jobs, here._current)
    record, _ = stranger.library.add(
        "own.md", b"# Bob\n\nThe dog of Bob is called Rex and has a red collar.\n"
    )
    for _ in stranger.library.read(record.id):
        pass
    for scope in ({}, {"documents": [castle]}):
        job = stranger.check_text("a.md", CASTLE.encode() + b"\nThe dog of Bob is called Rex.\n", **scope)
        job.wait(60)
        found = [source.passage.document for one in job.latest.statements for source in one.sources]
        assert found == ([] if scope else ["own.md"])
    stranger.library.close()
