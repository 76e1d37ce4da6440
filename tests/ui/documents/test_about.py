from rag.i18n import in_language
from rag.workspace import Workspace
from storage.records import DocumentFact
from tests.ui.conftest import words
from tests.ui.inert import is_inert
from ui.documents.panel import MOST, lines


def test_a_document_tells_what_it_says_of_itself_with_the_words(page, here: Workspace):
    record, _ = here.library.add("plan.md", b"# Plan\n\nDate: 3 May 2023\nAuthor: Ann Kim\n\nWe dig.")
    list(here.library.read(record.id))
    at = page("documents", document=record.id)
    assert "Ann Kim, from" not in words(at)
    at.session_state[f"about-{record.id}"] = True
    shown = words(at.run())
    assert "3 May 2023, from “Date: 3 May 2023”" in shown and "Ann Kim, from “Author: Ann Kim”" in shown


def test_a_period_is_written_in_the_language_of_the_page():
    with in_language("ko"):
        *_title, shown = lines([DocumentFact("period", "2024-03-01/2027-02-28")], "")
    assert "2024. 3. 1. ~ 2027. 2. 28." in shown.replace("\\", "")


def test_words_of_a_document_stay_text_and_long_lists_are_cut():
    hostile = "<img src=x> **b** [x](http://evil.test) :smile:\n# h"
    facts = [DocumentFact("alias", f"{hostile}{n}", 0, len(hostile), hostile) for n in range(MOST + 3)]
    shown = "\n".join(lines([*facts, DocumentFact("title", hostile)], hostile))
    is_inert(shown)
    assert shown.endswith("and 3 more")
