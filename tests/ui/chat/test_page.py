import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag.jobs import Cancel
from rag.workspace import Workspace
from storage.answers import Trace
from storage.conversations import Conversations
from storage.records import CitationRecord, LeftOutRecord, Unsearched
from tests.ui.conftest import TEXT, citation, passage, tell, words
from tests.ui.inert import is_inert
from ui.chat.scope import NEXT

Page = Callable[..., AppTest]
QUOTE = "It employed 1,204 people."
ANSWER = f"{QUOTE} [1]"


def test_a_newcomer_is_shown_where_to_add_documents_and_how_to_connect_a_model(page: Page):
    at = page()
    assert not at.exception
    assert at.title[0].value == "Ask your own documents"
    assert at.file_uploader and "Search only" in words(at)


def test_a_newcomer_tries_the_sample_document_and_asks_it_by_one_click(page: Page, here: Workspace):
    at = page()
    at.button(key="add-sample").click().run()
    (record,) = here.library.documents.list()
    assert record.name.startswith("Sample")
    assert not any(button.key == "add-sample" for button in at.button)
    here.introduction(settled(here, record.id)).wait(60)
    at.run()
    assert "In 2025 the harbour handled 4.1 million containers" in words(at)
    at.button(key="introduction-ask-0").click().run()
    (chat,) = here.conversations.list()
    asked = here.conversations.messages(chat.id)
    assert asked[0].content == "How many containers did the harbour handle in 2025?"
    assert here.choices.documents(chat.id) == {record.id}


def settled(here: Workspace, document_id: str) -> str:
    for lane in ("read", "embed"):
        job = here._jobs.get(here.owner, f"{lane}:{document_id}")
        if job is not None:
            job.wait(60)
    return document_id


def test_a_file_that_could_not_be_read_is_named_where_it_was_dropped(page: Page, here: Workspace):
    record, _ = here.library.add("photo.png", b"not a picture")
    here.library.documents.set_state(record.id, "refused", "photo.png is damaged.")
    at = page()
    assert "photo.png" in words(at) and at.error[0].value == "photo.png is damaged."


def test_an_answer_is_shown_with_linked_markers_and_sources(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[citation(1, ANSWER, QUOTE)])
    at = page(chat=turn.conversation_id)
    answer = next(m.value for m in at.markdown if "employed" in m.value)
    assert f"](#cite-{turn.answer_id}-0 " in answer
    assert any(b.label == "1 · report.pdf, page 3" for b in at.button)


def test_the_question_as_it_was_understood_is_shown_when_it_differs(page: Page, here: Workspace):
    turn = tell(here, "And  there?", "Yes.", standalone="And there?")
    tell(here, "And people?", "Yes.", standalone="How many people were there?", chat=turn.conversation_id)
    shown = words(page(chat=turn.conversation_id))
    assert "Searched for: **How many people were there?**" in shown
    assert shown.count("Searched for") == 1


def test_an_answer_says_what_it_was_made_without(page: Page, here: Workspace):
    without = [LeftOutRecord("similarity", "The embedding model <b>x</b> could not be opened.")]
    turn = tell(here, "Who?", ANSWER, passages=[passage()], left_out=without)
    at = page(chat=turn.conversation_id)
    said = next(c.value for c in at.caption if "Searched by words only" in c.value)
    assert "only: the embedding model <b>x</b> could not be opened." in said.replace("\\", "")
    is_inert(said.removeprefix(":material/search_off: "))


def test_a_rating_is_kept_and_taken_back(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()])

    def rating() -> str | None:
        return here.conversations.message(turn.answer_id).rating

    at = page(chat=turn.conversation_id)
    at.button(key=f"rate-up-{turn.answer_id}").click().run()
    assert rating() == "up"
    at = page(chat=turn.conversation_id)
    assert at.button(key=f"rate-up-{turn.answer_id}").label == "Marked helpful"
    at.button(key=f"rate-down-{turn.answer_id}").click().run()
    assert rating() == "down" and at.button(key=f"rate-up-{turn.answer_id}").label == "Helpful"
    at.button(key=f"rate-down-{turn.answer_id}").click().run()
    assert rating() is None


def test_why_an_answer_is_not_helpful_is_kept(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()])
    reason, note = f"reason-{turn.answer_id}", f"reason-note-{turn.answer_id}"

    def kept() -> tuple[str | None, str | None]:
        answer = here.conversations.message(turn.answer_id)
        return answer.rating_reason, answer.rating_note

    at = page(chat=turn.conversation_id)
    assert len(at.pills) == 0
    at.button(key=f"rate-down-{turn.answer_id}").click().run()
    at.pills(key=reason).set_value("incomplete").run()
    assert kept() == ("incomplete", None)
    assert not any(field.key == note for field in at.text_input)
    at.pills(key=reason).set_value("other").run()
    at.text_input(key=note).set_value("The year is missing.").run()
    assert kept() == ("other", "The year is missing.")
    at = page(chat=turn.conversation_id)
    assert at.pills(key=reason).value == "other"
    assert at.text_input(key=note).value == "The year is missing."
    at.button(key=f"rate-up-{turn.answer_id}").click().run()
    assert kept() == (None, None) and len(at.pills) == 0


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_only_a_whole_answer_is_rated(page: Page, here: Workspace, state: str):
    turn = tell(here, "Who?", "Half an", passages=[passage()], state=state)
    assert not any("elpful" in b.label for b in page(chat=turn.conversation_id).button)


@pytest.mark.parametrize(
    ("state", "said"),
    [("stopped", "Stopped."), ("interrupted", "Interrupted:"), ("failed", "could not be finished")],
)
def test_an_answer_that_ended_early_says_so_and_can_be_retried(
    page: Page, here: Workspace, state: str, said: str
):
    turn = tell(here, "Who?", "Half an", state=state, error="The server at *example* is away.")
    at = page(chat=turn.conversation_id)
    shown = words(at)
    assert said in shown and "The server at *example* is away." in shown and "Half an" in shown
    assert any(b.label == "Retry" for b in at.button)


def test_what_was_said_is_never_markdown_of_its_own(page: Page, here: Workspace):
    hostile = "![x](http://evil.test/x.png) <img src=x> :smile: $x$ [1](http://evil.test)"
    turn = tell(here, hostile, hostile, passages=[passage(document=hostile)], standalone=hostile + "?")
    here.conversations.rename(turn.conversation_id, hostile)
    at = page(chat=turn.conversation_id)
    shown = [element.value for element in [*at.markdown, *at.caption]] + [b.label for b in at.button]
    assert sum("evil" in text for text in shown) >= 4
    for text in shown:
        is_inert(text)


def press(at: AppTest, label: str) -> None:
    next(b for b in at.button if b.label == label).click().run()


def test_a_long_chat_is_paged_back_and_forth(page: Page, here: Workspace):
    chat = here.conversations.create("Long").id
    for number in range(40):
        tell(here, f"Question {number:02d}", "Yes.", chat=chat)
    at = page(chat=chat)
    assert "Question 25" in words(at) and "Question 24" not in words(at)
    press(at, "Earlier messages")
    assert "Question 24" in words(at) and "Question 10" in words(at) and "Question 25" not in words(at)
    press(at, "Earlier messages")
    assert "Question 00" in words(at) and not any(b.label == "Earlier messages" for b in at.button)
    press(at, "Later messages")
    assert "Question 24" in words(at)
    press(at, "Earlier messages")
    press(at, "Newest messages")
    assert "Question 39" in words(at) and not any(b.label == "Later messages" for b in at.button)


def test_a_deep_link_opens_the_evidence_of_a_document_that_is_gone(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[citation(1, ANSWER, QUOTE)])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    shown = words(at)
    assert "This document was deleted after this answer was written" in shown
    assert "Cited words" in shown
    assert ":yellow-background[It employed 1,204 people.]" in shown and TEXT.split(".")[0] in shown


def test_the_panel_goes_from_citation_to_citation_and_closes(page: Page, here: Workspace):
    first = "The harbour handled 4.1 million containers in 2024."
    answer = f"{QUOTE} [1] {first} [1]"
    cited = [
        citation(1, answer, QUOTE),
        replace(citation(1, answer, first), answer_start=30, answer_end=len(answer)),
    ]
    turn = tell(here, "Who?", answer, passages=[passage()], citations=cited)
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-0")
    assert "1 of 2" in words(at) and at.button(key="source-arrow_upward").disabled
    at.button(key="source-arrow_downward").click().run()
    assert at.query_params["cite"] == f"{turn.answer_id}-1" and "2 of 2" in words(at)
    at.button(key="source-close").click().run()
    assert "cite" not in at.query_params and "Cited words" not in words(at)


def test_evidence_says_when_its_document_has_changed(page: Page, here: Workspace):
    here.library.add("report.pdf", b"another version")
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[citation(1, ANSWER, QUOTE)])
    at = page(chat=turn.conversation_id, cite=f"{turn.answer_id}-p1")
    assert "This document has changed since" in words(at)


@pytest.mark.parametrize("cite", ["nothing", "-", "x-0", "../..-p1"])
def test_an_address_that_names_no_evidence_opens_nothing(page: Page, here: Workspace, cite: str):
    turn = tell(here, "Who?", ANSWER)
    at = page(chat=turn.conversation_id, cite=cite)
    assert not at.exception and "cite" not in at.query_params


def test_who_comes_back_from_another_page_finds_the_chat_open(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()])
    at = page(chat=turn.conversation_id)
    at.session_state["away-from-chat"] = True
    at.query_params.clear()  # as by the link "Chat" on another page
    at.run()
    assert at.query_params["chat"] == turn.conversation_id and "employed" in words(at)
    at.button(key="new-chat").click().run()
    assert "chat" not in at.query_params and "employed" not in words(at)


def test_the_browsers_way_back_from_a_chat_leads_out_of_it(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()])
    at = page(chat=turn.conversation_id)
    at.query_params.clear()
    at.run()
    assert "chat" not in at.query_params and "employed" not in words(at)


def test_an_address_of_no_chat_opens_a_new_one_and_says_so_until_another_place_is_gone_to(page: Page):
    at = page(chat="nobody's")
    assert not at.exception and at.title and "chat" not in at.query_params
    assert "This chat was not found." in words(at) and "This chat was not found." in words(at.run())
    at.button(key="new-chat").click().run()
    assert "This chat was not found." not in words(at)


def test_what_is_ready_and_what_could_not_be_read_is_counted_alike_everywhere(page: Page, here: Workspace):
    for name in ("a.txt", "b.txt"):
        list(here.library.index(here.library.add(name, f"Text of {name}.".encode())[0].id))
    record, _ = here.library.add("empty.pdf", b"nothing")
    here.library.documents.set_state(record.id, "refused", "empty.pdf is empty.")
    at = page()
    assert "2 documents ready." in words(at)
    assert "1 document could not be read and is not searched: empty.pdf." in words(at)
    at.session_state["scope-expander"] = True
    at.run()
    assert "Leave empty to search all 2 documents." in words(at)
    assert at.multiselect[0].options == ["b.txt", "a.txt"]
    assert words(at).count("could not be read and is not searched: empty.pdf.") == 2


def test_the_document_that_the_next_chat_searches_is_introduced_and_no_other(page: Page, here: Workspace):
    lease = "The rent of the mill is 4,200 euros and falls due on the first day of each month. "
    ids = [here.library.add(f"{name}.txt", f"{lease} {name}".encode())[0].id for name in ("one", "two")]
    for id_ in ids:
        list(here.library.index(id_))
        here.introduction(id_).wait(60)
    at = page()
    assert "**two.txt**" not in words(at)  # both were added at once: a line for each
    at.session_state[NEXT] = ((), (ids[0],), (), ())
    at.run()
    assert "**one.txt**" in words(at) and "**two.txt**" not in words(at)
    at.session_state[NEXT] = ((), tuple(ids), (), ())
    at.run()
    assert "**one.txt**" not in words(at) and "**two.txt**" not in words(at)


def test_files_added_at_once_have_a_line_each_and_questions_of_them_all(page: Page, here: Workspace):
    texts = {
        "mill.md": "The mill of Aldenburg was built in 1432 by the monks of the valley.",
        "crane.md": "The crane of Busan was built in 1999 by a company from the city of Kobe.",
        "empty.md": "",
        "tower.md": "The tower of Ulm was opened in 1890 by the king and by the mayor of the town.",
        "gate.md": "The gate of Lisbon was renovated in 1755 after the earthquake by its merchants.",
    }
    ids = {name: here.library.add(name, text.encode())[0].id for name, text in texts.items()}
    for id_ in ids.values():
        here.ingest.start(id_)
        settled(here, id_)
        if here.library.documents.get(id_).state != "refused":
            here.introduction(id_).wait(60)
    at = page()
    labels = {button.key: button.label for button in at.button if button.key}
    lines = [name for name, id_ in ids.items() if f"introduction-open-{id_}" in labels]
    assert lines == ["crane.md", "tower.md", "gate.md"]  # of those that were read, the newest three
    assert [link.label for link in at.get("page_link")].count("and 1 more document") == 1
    assert "built in 1999 by a company" in words(at) and "built in 1432" not in words(at)
    asked = [labels[f"introduction-ask-{number}"] for number in range(3)]
    assert [question.split()[3] for question in asked] == ["gate", "tower", "crane"]
    at.button(key="introduction-ask-1").click().run()
    (chat,) = here.conversations.list()
    assert here.choices.documents(chat.id) == {ids["tower.md"]}


def nothing_found(here: Workspace, chat: str, *, searched_in: str | None = None, unread: str = "") -> str:
    """Store a turn whose answer found nothing; return the id of its answer."""
    turn = here.conversations.begin_turn(chat, "Which moon?")
    said = "Your documents do not seem to answer this."
    here.conversations.checkpoint(
        turn.answer_id, said, passages=[passage()], searched_in=searched_in, standalone_question="Which moon?"
    )
    trace = Trace({}, unsearched=(Unsearched(unread, "refused"),), unsearched_count=1) if unread else None
    here.conversations.finish(turn.answer_id, "complete", said, timings_ms={"retrieve": 3.0}, trace=trace)
    return turn.answer_id


def test_an_answer_that_found_nothing_in_some_documents_is_searched_in_all_by_one_click(
    page: Page, here: Workspace
):
    record, _ = here.library.add("a.txt", b"The castle was built in 1432.")
    list(here.library.index(record.id))
    chat = here.conversations.create("Moons").id
    here.choices.choose(chat, (), [record.id])
    answer = nothing_found(here, chat, searched_in="a.txt")
    at = page(chat=chat)
    assert "Searched only in: a.txt" in words(at)
    at.button(key=f"everywhere-{answer}").click().run()
    assert here.choices.of(chat) == ()
    _question, again = here.conversations.messages(chat)
    assert again.id != answer and not again.searched_in
    job = here.answering(again.id)
    assert job is None or job.wait(60)


@pytest.mark.parametrize("question", ["Who painted the lighthouse red?", "Zxqv blorp?"])
def test_without_a_model_what_is_not_in_the_chosen_document_is_searched_in_all_by_one_click(
    page: Page, here: Workspace, question: str
):
    ids = []
    for name, text in (
        ("castle.txt", b"The castle was built in 1432. It has a tower and a moat around its walls."),
        ("light.txt", b"The lighthouse was painted red by Ann Miller in 1901."),
    ):
        record, _ = here.library.add(name, text)
        list(here.library.index(record.id))
        list(here.library.embed(record.id))
        ids.append(record.id)
    chat = here.conversations.create("Lights").id
    here.choices.choose(chat, (), ids[:1])
    turn = here.ask(chat, question)
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(60)
    at = page(chat=chat)
    assert "Searched only in: castle.txt" in words(at)
    at.button(key=f"everywhere-{turn.answer_id}").click().run()
    _question, again = here.conversations.messages(chat)
    job = here.answering(again.id)
    assert job is None or job.wait(60)
    assert ("Ann Miller" in words(page(chat=chat))) == ("lighthouse" in question)


def test_an_answer_that_found_nothing_anywhere_offers_no_other_documents(page: Page, here: Workspace):
    chat = here.conversations.create("Moons").id
    answer = nothing_found(here, chat)
    at = page(chat=chat)
    assert "Searched only in" not in words(at)
    assert f"everywhere-{answer}" not in [button.key for button in at.button]


def test_a_file_that_could_not_be_read_is_listed_under_the_first_answer_only(page: Page, here: Workspace):
    chat = here.conversations.create("Moons").id
    nothing_found(here, chat, unread="locked.pdf")
    nothing_found(here, chat, unread="locked.pdf")
    nothing_found(here, chat, unread="other.pdf")
    shown = words(page(chat=chat))
    assert shown.count("locked.pdf: could not be read") == 1 == shown.count("other.pdf: could not be read")


def test_chats_of_equal_titles_are_told_apart_by_their_time(page: Page, here: Workspace):
    ids = [here.conversations.create(title).id for title in ("How many?", "How many?", "Why?")]
    at = page()
    labels = {button.key: button.label for button in at.sidebar.button}
    one, other, single = (labels[f"open-{id_}"] for id_ in ids)
    assert one.endswith(" · How many?") and other.endswith(" · How many?")
    assert single == "Why?"


def test_a_chat_is_renamed_found_and_deleted(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER)
    at = page(chat=turn.conversation_id)
    at.text_input(key=f"title-{turn.conversation_id}").set_value(" 항구\n보고서 ").run()
    assert here.conversations.open(turn.conversation_id).title == "항구 보고서"
    at.text_input(key="search-chats").set_value("없는 말").run()
    assert "No matching chats." in words(at)
    at.text_input(key="search-chats").set_value("보고서").run()
    assert any(b.label == "항구 보고서" for b in at.sidebar.button)
    at.text_input(key="search-chats").set_value("").run()
    at.button(key="delete-chat").click().run()
    assert at.title and here.conversations.list() == [] and "Chat “항구 보고서” deleted." in words(at)
    at.button(key="undo-delete").click().run()
    assert [chat.title for chat in here.conversations.list()] == ["항구 보고서"]
    assert at.query_params["chat"] == turn.conversation_id  # it is open again
    at.button(key="delete-chat").click().run()
    here.deletions.finish()
    assert here.conversations.list() == []


def test_a_link_to_a_deleted_chat_offers_to_restore_it(page: Page, here: Workspace):
    chat = tell(here, "Who?", ANSWER).conversation_id
    here.conversations.discard(chat)
    at = page(chat=chat)
    assert "This chat was deleted. You can restore it." in words(at)
    at.button(key="restore-missing").click().run()
    assert not at.exception and at.query_params["chat"] == chat and "Who?" in words(at)


@pytest.mark.parametrize("question", ["   ", "x" * 8001])
def test_a_question_that_cannot_be_asked_is_refused_with_a_sentence(
    page: Page, here: Workspace, question: str
):
    at = page()
    at.chat_input[0].set_value(question).run()
    assert not at.exception and here.conversations.list() == []
    assert len(at.error) == (1 if question.strip() else 0)


@pytest.mark.parametrize("reading", ["messages", "pending", "turn"])
def test_a_chat_that_is_deleted_elsewhere_while_it_is_drawn_is_said_to_be_gone(
    page: Page, here: Workspace, monkeypatch: pytest.MonkeyPatch, reading: str
):
    turn = here.conversations.begin_turn(here.conversations.create("About the harbour").id, "Who?")
    read, chats = getattr(Conversations, reading), [turn.conversation_id]

    def read_too_late(mine: Conversations, *given: Any, **options: Any) -> Any:
        if chats:
            here.conversations.delete(chats.pop())
        return read(mine, *given, **options)

    monkeypatch.setattr(Conversations, reading, read_too_late)
    at = page(chat=turn.conversation_id)
    assert not chats and not at.exception
    assert "This chat was not found. It may have been deleted." in words(at)
    assert at.title[0].value == "Ask your own documents"


@pytest.mark.parametrize("pressed", ["rename", "delete"])
def test_a_chat_that_was_deleted_elsewhere_is_neither_renamed_nor_deleted_again(
    page: Page, here: Workspace, pressed: str
):
    chat = tell(here, "Who?", "Yes.").conversation_id
    at = page(chat=chat)
    here.conversations.delete(chat)
    if pressed == "rename":
        at.text_input(key=f"title-{chat}").set_value("Another").run()
    else:
        at.button(key="delete-chat").click().run()
    assert not at.exception
    assert at.title[0].value == "Ask your own documents"


def test_a_question_is_drawn_once_though_its_answer_ends_before_its_turn_is_drawn(
    page: Page, here: Workspace
):
    turn = tell(here, "Who?", "Ann did.")
    at = page()
    at.session_state["question-on-its-way"] = turn
    at.query_params["chat"] = turn.conversation_id
    at.run()
    assert not at.exception
    assert [shown.value for shown in at.markdown].count("Who?") == 1


def test_a_question_that_was_refused_is_kept_until_it_is_taken(page: Page, here: Workspace):
    at = page()
    at.chat_input[0].set_value("Why? " * 2000).run()
    kept = at.text_area(key="reworded-question")
    assert kept.value == "Why? " * 2000
    kept.set_value("Why, " * 2000).run()
    at.button(key="ask-again").click().run()
    assert at.error and at.text_area(key="reworded-question").value == "Why, " * 2000
    at.text_area(key="reworded-question").set_value("Why?").run()
    at.button(key="ask-again").click().run()
    assert not at.exception and not at.error and not at.text_area
    assert [chat.title for chat in here.conversations.list()] == ["Why?"]


def test_a_question_that_was_refused_is_let_go_at_another_place(page: Page, here: Workspace):
    chat = tell(here, "Who?", "Yes.").conversation_id
    at = page()
    at.chat_input[0].set_value("Why? " * 2000).run()
    at.button(key=f"open-{chat}").click().run()
    assert not at.text_area and not at.error


def box() -> None:
    """A page with the box to ask in, and one without."""
    import streamlit as st

    from ui.chat import input as asking
    from ui.server.services import workspace

    if not st.session_state.get("elsewhere"):
        asking.show_refused_question(workspace())
        asking.show_box(workspace(), 1)


def test_a_question_that_was_refused_is_there_still_after_another_page(here: Workspace):
    del here
    at = AppTest.from_function(box, default_timeout=100).run()
    at.chat_input[0].set_value("Why? " * 2000).run()
    for elsewhere in (True, False):
        at.session_state["elsewhere"] = elsewhere
        at.run()
    assert at.text_area(key="reworded-question").value == "Why? " * 2000


def test_open_statements_say_that_they_are_being_checked_until_they_are(page: Page, here: Workspace):
    said = f"{ANSWER} It is big [1]."
    loose = CitationRecord(1, len(ANSWER) + 1, len(said), "related", 100, 110, TEXT[:10])
    cited = [citation(1, said, QUOTE), loose]
    turn = tell(here, "Who?", said, passages=[passage()], citations=cited, model="m")
    stop = threading.Event()

    def waiting(cancelled: Cancel) -> Iterator[None]:
        while not (cancelled() or stop.is_set()):
            stop.wait(0.01)
        yield None

    job = here._jobs.start(here.owner, f"reading:{turn.conversation_id}:{turn.answer_id}", waiting)
    shown = page(chat=turn.conversation_id)
    marks = next(m.value for m in shown.markdown if "employed" in m.value)
    assert "Checking 1 statement…" in words(shown) and "statements verified" not in words(shown)
    assert marks.replace("\\", "").count("Checking: ") == 1
    shown.button(key=f"stop-checking-{turn.answer_id}").click().run()
    assert job.wait(5)
    assert "1 of 2 statements verified" in words(page(chat=turn.conversation_id))


def test_an_attached_file_is_shown_with_its_question(page: Page, here: Workspace):
    record, _ = here.add("<b>lease</b>.md", b"The rent is 700 euros.")
    turn = here.ask(None, "Summarise this file", after=[record.id])
    job = here.answering(turn.answer_id)
    assert job is None or job.wait(60)
    at = page("chat", chat=turn.conversation_id)
    assert any("attach_file" in one.value and "lease" in one.value for one in at.caption)


def test_a_question_waits_where_the_file_with_it_was_not_added(page: Page, here: Workspace):
    at = page()
    at.chat_input[0].upload("files.zip", b"PK\x03\x04 and no more").set_value("Summarise this").run()
    assert "files.zip" in at.error[0].value
    assert at.text_area(key="reworded-question").value == "Summarise this"
    assert here.conversations.list() == []


def test_a_chat_is_opened_at_the_words_that_it_was_found_by(page: Page, here: Workspace):
    chat = tell(here, "Where is the crane?", "The crane is in Busan.").conversation_id
    for number in range(40):
        tell(here, f"Question {number}?", f"Answer {number}.", chat=chat)
    assert "Busan" not in words(page(chat=chat))
    at = page(chat=chat, find="CRANE busan")
    assert "Busan" in words(at) and "Answer 39." not in words(at)
    assert "Answer 39." in words(page(chat=chat, find="answer 39"))
    assert "Answer 39." in words(page(chat=chat, find="no such words"))


def test_a_row_of_the_chat_list_leads_to_what_was_searched_for(page: Page, here: Workspace):
    chat = tell(here, "Where is the crane?", "In Busan.").conversation_id
    at = page()
    at.text_input(key="search-chats").set_value("busan").run()
    at.button(key=f"open-{chat}").click().run()
    assert (at.query_params["chat"], at.query_params["find"]) == (chat, "busan")


def test_one_answer_is_exported_and_linked(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], citations=[citation(1, ANSWER, QUOTE)])
    tell(here, "Why?", "Another answer.", chat=turn.conversation_id)
    at = page(chat=turn.conversation_id)
    at.button(key=f"share-{turn.answer_id}").click().run()
    assert not at.exception
    assert "A link that opens this chat at the answer" in words(at)
    text = here.exported(turn.conversation_id, "md", answer_id=turn.answer_id)
    assert "Who?" in text and "Why?" not in text and "Another answer" not in text


def test_how_an_answer_was_made_is_shown_beside_it(page: Page, here: Workspace):
    turn = tell(here, "Who?", ANSWER, passages=[passage()], timings_ms={"total": 5.0})
    at = page(chat=turn.conversation_id)
    at.button(key=f"how-{turn.answer_id}").click().run()
    assert "**How was this answered?**" in words(at)
    at.button(key="source-close").click().run()
    assert "**How was this answered?**" not in words(at) and "how" not in at.query_params
