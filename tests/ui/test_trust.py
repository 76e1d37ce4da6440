"""What a reader sees of how far an answer can be trusted: counts, words, badges, and how it came about."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from storage.answers import SentRecord, Trace
from storage.records import CitationRecord, Unsearched
from tests.rag.ingest.parsers import makers
from tests.rag.ingest.parsers.makers import Placed
from tests.ui.conftest import TEXT, citation, passage, tell, words
from tests.ui.inert import is_inert
from ui.chat.trace_panel import timing

Page = Callable[..., AppTest]
QUOTE = "It employed 1,204 people."
LIE = "It was sold to a bank."
ANSWER = f"{QUOTE} [1] {LIE}"
TRUE = citation(1, ANSWER, QUOTE)
FALSE = CitationRecord(0, TRUE.answer_end + 1, len(ANSWER), "unsupported", 0, 0, "")
FOUND = {"bm25": {"rank": 2, "score": 7.512, "normalised": 1.0}}
HOSTILE = "![x](http://evil.test/x.png) <img src=x> :smile: $x$ [1](http://evil.test)"


def answer_text(at: AppTest) -> str:
    return next(m.value for m in at.markdown if "employed" in m.value)


def test_an_answer_of_a_model_says_how_much_of_it_is_verified_and_no_more(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[TRUE, FALSE], model="fake")
    at = page(chat=turn.conversation_id)
    assert any("1 of 2 statements verified" in c.value for c in at.caption)
    assert "badge" not in answer_text(at)


def test_an_answer_of_which_nothing_is_verified_says_so_plainly(page: Page, here: Workspace):
    open_ = CitationRecord(1, 0, len(LIE), "related", 100, 110, "words")
    turn = tell(here, "Who?", LIE, passages=[passage()], citations=[open_], model="fake")
    at = page(chat=turn.conversation_id)
    assert any("None of this could be confirmed in your documents." in m.value for m in at.markdown)
    assert not any("statement verified" in c.value for c in at.caption)


def test_an_answer_of_quotes_has_no_count(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[TRUE])
    assert not any("verified" in c.value for c in page(chat=turn.conversation_id).caption)


def test_an_answer_that_states_nothing_is_not_counted(page: Page, here: Workspace):
    turn = tell(here, "Hello", "Hello. What would you like to know?")
    assert not any("verified" in c.value for c in page(chat=turn.conversation_id).caption)


@pytest.mark.parametrize(("name", "said"), [("report.pdf", "changed since"), ("other.pdf", "removed since")])
def test_beside_an_old_source_stands_what_became_of_its_document(
    page: Page, here: Workspace, name: str, said: str
):
    here.library.add(name, b"another version")
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[TRUE])
    before = here.conversations.message(turn.answer_id)
    at = page(chat=turn.conversation_id)
    assert any(m.value == f":gray-badge[{said}]" for m in at.markdown)
    assert here.conversations.message(turn.answer_id) == before


def test_a_source_that_is_as_it_was_has_no_badge(page: Page, here: Workspace):
    record, _ = here.library.add("report.pdf", b"this version")
    same = replace(passage(), document_id=record.id, sha256=record.sha256)
    turn = tell(here, "Who?", ANSWER, passages=[same], citations=[TRUE])
    assert "since]" not in words(page(chat=turn.conversation_id))


def test_a_document_that_was_removed_and_added_again_is_here(page: Page, here: Workspace):
    record, _ = here.library.add("report.md", TEXT.encode())
    same = replace(passage(page=None), sha256=record.sha256, start=0, end=len(TEXT))
    quoted = replace(TRUE, quote_start=TEXT.index(QUOTE), quote_end=len(TEXT))
    list(here.library.read(record.id))
    turn = tell(here, "Who?", ANSWER, passages=[same], citations=[quoted])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    assert not at.exception and "since" not in words(at)
    assert any(f"containers in 2024. :yellow-background[{QUOTE}]" in m.value for m in at.markdown)


def test_a_source_that_was_carried_over_says_so(page: Page, here: Workspace):
    found = {"rank": 1, "score": 1.0, "normalised": 1.0}
    carried = replace(passage(), found_by={"previous question": found})
    turn = tell(here, "Why?", ANSWER, passages=[carried, replace(passage(), number=2)], citations=[TRUE])
    at = page(chat=turn.conversation_id)
    assert words(at).count("from your previous question") == 1
    at = page(chat=turn.conversation_id, how=turn.answer_id)
    assert "Previous question" in at.table[0].value.columns


def test_a_citation_is_marked_as_a_wrong_source_and_the_mark_taken_back(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[TRUE, FALSE])

    def feedback() -> str | None:
        return here.conversations.message(turn.answer_id).citations[0].feedback

    for label, kept in (("Wrong source", "wrong"), ("Marked as wrong source", None)):
        at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
        button = at.button(key=f"wrong-{turn.answer_id}-0")
        assert button.label == label
        button.click().run()
        assert feedback() == kept


def test_a_passage_that_no_statement_cites_cannot_be_a_wrong_source(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[TRUE])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-p1")
    assert not any("wrong source" in b.label.lower() for b in at.button)


def test_how_an_answer_was_made_opens_from_its_button_with_all_that_was_kept(page: Page, here: Workspace):
    trace = Trace(
        {"retriever": "bm25", "k": 6, "server": "http://127.0.0.1:11434", "later": HOSTILE},
        (SentRecord("answer", (("system", "Use only the passages."), ("user", HOSTILE))),),
        cut=1200,
    )
    found = replace(passage(document=HOSTILE), found_by=FOUND)
    laps = {"condense": 1.0, "retrieve": 52.0, "total": 2350.0}
    turn = tell(here, "Who?", ANSWER, passages=[found], standalone=HOSTILE, trace=trace, timings_ms=laps)
    at = page(chat=turn.conversation_id)
    at.button(key=f"how-{turn.answer_id}").click().run()
    assert at.query_params["how"] in (turn.answer_id, [turn.answer_id])
    shown = words(at)
    assert "51 ms to search" in shown and "2.4 s in all" in shown
    assert "Search: Words" in shown and "Passages per answer, at most: 6" in shown
    assert "1,200 more characters were sent" in shown
    assert [code.value for code in at.code] == ["Use only the passages.", HOSTILE]
    (table,) = at.table
    assert table.value["Words"].tolist() == ["rank 2, score 7.51"]
    for text in [*(m.value for m in at.markdown), *table.value["Passage"], *(c.value for c in at.caption)]:
        is_inert(text.replace(":material/", ""))


def test_an_answer_from_before_traces_says_what_was_not_kept(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()])
    at = page(chat=turn.conversation_id, how=turn.answer_id)
    assert "from an earlier version of Footnote" in words(at)


@pytest.mark.parametrize("how", ["nothing", "../x"])
def test_an_address_that_names_no_answer_opens_nothing(page: Page, here: Workspace, how: str):
    turn = tell(here, "Who?", ANSWER)
    for address in (how, turn.question_id):
        at = page(chat=turn.conversation_id, how=address)
        assert not at.exception and "how" not in at.query_params


def test_a_page_opens_one_panel_at_a_time(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[TRUE])
    at = page(chat=turn.conversation_id, how=turn.answer_id, cite=f"{turn.answer_id}-0")
    assert not at.exception and "how" not in at.query_params
    assert "Cited words" in words(at)


def test_where_nothing_was_found_one_sentence_and_what_was_not_searched_are_shown(
    page: Page, here: Workspace
):
    files = (Unsearched("locked.pdf", "refused"), Unsearched("new *one*.md", "searchable_by_words"))
    turn = tell(
        here,
        "Which moon?",
        "Your documents do not seem to answer this.",
        passages=[passage(1), passage(2, "Other words.")],
        trace=Trace({}, unsearched=files, unsearched_count=40),
        timings_ms={"retrieve": 3.0},
    )
    at = page(chat=turn.conversation_id)
    shown = words(at)
    assert not any("Closest" in one.label for one in at.expander)
    assert "locked.pdf: could not be read" in shown and "Not searched, or only by their words:" in shown
    assert "new *one*.md: still indexing, searched by words only" in shown and "and 38 more" in shown
    assert "backed" not in shown


def test_times_of_an_answer_that_ended_early_are_those_that_are_known():
    assert timing({"condense": 3.0}) == "3 ms to understand the question: 3 ms in all."
    assert timing({}) == "Not recorded."


def test_a_chat_can_be_downloaded_in_every_form(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[TRUE, FALSE])
    at = page(chat=turn.conversation_id)
    names = [element.proto.label for element in at.get("download_button")]
    assert names == ["Markdown", "Web page", "JSON (for programs)"]
    for form in ("md", "html", "json"):
        assert QUOTE in here.exported(turn.conversation_id, form)


def test_words_that_run_over_a_pages_end_are_shown_on_both(page: Page, here: Workspace, tmp_path: Path):
    line = "The harbour was closed in the winter of the year"
    path = makers.pdf(tmp_path / "a.pdf", [[Placed(line, 30, 40)], [Placed("1931 by the board.", 30, 400)]])
    record, _ = here.library.add("report.pdf", path.read_bytes())
    list(here.library.read(record.id))
    (chunk, *_) = here.library.documents.chunks(record.id)
    text = here.library.documents.text(record.id)
    read = replace(
        passage(1, text, page=1), document_id=record.id, sha256=record.sha256, start=0, end=len(text)
    )
    quoted = CitationRecord(1, 0, 10, "verified", 4, len(text), text[4:])
    turn = tell(here, "When?", "In 1931 [1].", passages=[read], citations=[quoted])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    assert not at.exception and chunk.page == 1
    captions = [caption.value for caption in at.caption]
    assert "Pages 1 and 2 · Figures" in captions
    drawn = [str(image.proto) for image in at.get("image")]
    assert len(drawn) == 2
    assert all(f"Page {n}, cited words highlighted" in said for n, said in enumerate(drawn, 1))
