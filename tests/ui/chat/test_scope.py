from collections.abc import Callable
from datetime import date

import pytest
from streamlit.testing.v1 import AppTest

from rag.chat.scope import scope_of
from rag.i18n import in_language
from rag.workspace import Workspace
from storage.choices import Chosen
from tests.ui.conftest import passage, tell, words
from ui.chat.scope import NEXT, in_page_words, summary

Page = Callable[..., AppTest]


@pytest.fixture
def chat(here: Workspace) -> str:
    """A chat that searches the collection HR and the document a.txt of the two that there are."""
    ids = [here.library.add(f"{name}.txt", f"Text of {name}.".encode())[0].id for name in "ab"]
    chat = here.conversations.create("About HR").id
    here.choices.choose(chat, [here.library.collections.create("HR").id], ids[:1])
    return chat


def control(at: AppTest) -> str:
    return next(one.label for one in at.expander if one.proto.id.endswith("scope-expander"))


def chips(at: AppTest) -> list[str]:
    return [button.label.replace("\\", "") for button in at.button if button.key.startswith("chip-")]


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ([], "All documents"),
        ([Chosen("collection", "1", "HR")], "1 collection"),
        ([Chosen("type", ".md", ".md"), Chosen("since", "2023-01-01", "2023-01-01")], "2 filters"),
        ([Chosen("collection", "1", "HR"), Chosen("document", "2", "a.md")], "1 collection, 1 document"),
        ([Chosen("collection", "1", "HR", there=False)], "nothing (the selection was deleted)"),
        (
            [Chosen("collection", "1", "HR"), Chosen("document", "2", "a.md", there=False)],
            "1 collection (1 deleted)",
        ),
    ],
)
def test_what_is_searched_is_said_in_few_words(chosen, said):
    assert summary(chosen) == said


@pytest.mark.parametrize(
    ("said", "code", "shown"),
    [
        ("Apple Inc. · 2023-07-01", "en", "Apple Inc. · 1 Jul 2023"),
        ("2023-04-02 to 2023-07-01", "en", "2 Apr 2023 – 1 Jul 2023"),
        ("a.pdf, b.pdf and 3 more", "ko", "a.pdf, b.pdf 외 3개"),
        ("2023-07-01", "ja", "2023/07/01"),
        ("2023-07-01 minutes.md", "en", "2023-07-01 minutes.md"),
        ("2023-17-01", "en", "2023-17-01"),
        (
            "HR, Inc. (collection), documents until 2025-12-31",
            "en",
            "HR, Inc. (collection), documents until 31 Dec 2025",
        ),
        ("PDF files, documents from 2023-07-01", "ko", "PDF 파일, 2023. 7. 1. 이후의 문서"),
        ("to 2025-12-31", "en", "documents until 31 Dec 2025"),
    ],
)
def test_what_a_question_names_is_said_in_the_language_of_the_page(said: str, code: str, shown: str):
    with in_language(code):
        assert in_page_words(said) == shown


def test_an_empty_library_has_nothing_to_choose(page: Page):
    assert not any(one.label.startswith("Search in") for one in page("chat").expander)


def test_a_chat_says_what_it_searches_and_another_all_documents(page: Page, here: Workspace, chat: str):
    at = page("chat", chat=chat)
    assert control(at) == "Change" and "Search in:" in words(at)
    assert chips(at) == ["*Remove* HR", "*Remove* a.txt"]
    assert control(page("chat")) == "Search in: All documents"
    here.library.collections.delete(here.library.collections.list()[0].id)
    assert control(page("chat", chat=chat)) == "Search in: 1 document (1 deleted)"


def test_the_choice_is_shown_and_all_documents_are_one_press_away(page: Page, here: Workspace, chat: str):
    at = page("chat", chat=chat)
    at.session_state["scope-expander"] = True
    at.run()
    assert [box.label for box in at.multiselect] == ["Documents", "Collections", "File types"]
    assert at.multiselect[0].options == ["b.txt", "a.txt"]
    at.multiselect[0].set_value(at.multiselect[0].options and here.choices.documents(chat))
    at.button(key="FormSubmitter:scope-form-Search all documents").click().run()
    assert here.choices.of(chat) == () and control(at) == "Search in: All documents"


def test_what_is_chosen_before_the_first_question_is_kept_with_the_chat(
    page: Page, here: Workspace, chat: str
):
    (hr,) = here.library.collections.list()
    at = page("chat")
    at.session_state[NEXT] = ((hr.id,), ())
    assert control(at.run()) == "Change" and chips(at) == ["*Remove* HR"]
    at.chat_input[0].set_value("What is there?").run()
    (made,) = [one for one in here.conversations.list() if one.id != chat]
    assert [one.id for one in here.choices.of(made.id)] == [hr.id]
    assert NEXT not in at.session_state


def test_a_new_chat_begins_with_all_documents_whatever_the_one_left_before_it_was_to_search(
    page: Page, here: Workspace, chat: str
):
    (hr,) = here.library.collections.list()
    at = page("chat")
    at.session_state[NEXT] = ((hr.id,), (), (), ())
    assert chips(at.run()) == ["*Remove* HR"]
    at.button(key="new-chat").click().run()
    assert chips(at) == [] and control(at) == "Search in: All documents"
    at.session_state[NEXT] = ((hr.id,), (), (), ())
    at.button(key=f"open-{chat}").click().run()
    at.button(key="new-chat").click().run()
    assert chips(at) == []


def test_a_chosen_collection_and_a_chosen_document_are_both_searched_and_the_form_says_so(
    page: Page, here: Workspace, chat: str
):
    (hr,) = here.library.collections.list()
    other = next(one for one in here.library.documents.list() if one.name == "b.txt")
    here.library.collections.put([other.id], hr.id)
    at = page("chat", chat=chat)
    at.session_state["scope-expander"] = True
    assert "Documents, collections and tags add up." in words(at.run())
    searched = scope_of(here.choices, chat).document_ids
    assert searched == {one.id for one in here.library.documents.list()}


def test_a_document_that_comes_after_the_choice_is_offered_for_it(page: Page, here: Workspace, chat: str):
    at = page("chat")
    at.session_state["scope-expander"] = True
    at.run()
    (hr,) = here.library.collections.list()
    at.multiselect[1].set_value([hr.id])
    here.library.collections.put([here.library.documents.list()[0].id], hr.id)
    at.button(key="FormSubmitter:scope-form-Search these").click().run()
    assert at.session_state[NEXT][0] == (hr.id,) and "not searched" not in words(at)
    record, _ = here.library.add("new *one*.txt", b"A new text.")
    at.run()
    assert "Added since, not searched: new *one*.txt" in words(at)
    at.button(key="scope-added").click().run()
    assert "not searched" not in words(at)
    assert chips(at) == ["*Remove* HR", "*Remove* new *one*.txt"]
    assert at.session_state[NEXT][1] == (record.id,)


def test_answers_say_where_they_were_searched_if_the_chat_searches_elsewhere_now(page: Page, here: Workspace):
    hr = here.library.collections.create("**HR**").id
    chat = tell(here, "When?", "In 1432.", passages=[passage()]).conversation_id
    assert "Searched in" not in words(page("chat", chat=chat))
    here.choices.choose(chat, [hr])
    narrow = here.conversations.begin_turn(chat, "And where?")
    here.conversations.checkpoint(
        narrow.answer_id, "", passages=[passage()], searched_in="**HR** (collection)"
    )
    here.conversations.finish(narrow.answer_id, "complete", "In Busan.")
    said = words(page("chat", chat=chat))
    assert "Searched in: all documents" in said and "Searched in: **HR**" not in said
    here.choices.choose(chat)
    said = words(page("chat", chat=chat))
    assert "Searched in: all documents" not in said and "Searched in: **HR** (collection)" in said


def test_a_file_sent_along_joins_what_is_chosen(here: Workspace, chat: str):
    record, _ = here.add("new.txt", b"A new text.")
    here.ask(chat, "What is new?", after=[record.id])
    assert record.id in (here.choices.documents(chat) or ())
    everything = here.conversations.create().id
    here.ask(everything, "What is new?", after=[record.id])
    assert here.choices.documents(everything) is None


def test_documents_that_a_question_names_are_told_and_left_by_one_press(page: Page, here: Workspace):
    turn = here.conversations.begin_turn(here.conversations.create().id, "How deep is Northwind's moat?")
    answer = turn.answer_id
    here.conversations.checkpoint(answer, "", passages=[passage()], narrowed_to="**Northwind** Inc.")
    here.conversations.finish(answer, "complete", "In 1432.")
    at = page("chat", chat=turn.conversation_id)
    assert "Only documents of:" in words(at)
    assert at.button(key=f"widen-{answer}").label == r"*Remove* \*\*Northwind\*\* Inc."
    at.button(key=f"widen-{answer}").click().run()
    asked = here.conversations.messages(turn.conversation_id)[-2]
    assert (asked.content, asked.narrowed_to) == ("How deep is Northwind's moat?", "")
    assert asked.versions[0] == turn.question_id


def test_documents_are_chosen_by_type_and_date(page: Page, here: Workspace):
    texts = {
        "a.md": "Date: 3 May 2023",
        "b.md": "Date: 3 May 2024",
        "c.txt": "Date: 3 May 2023",
        "d.md": "No date",
    }
    ids = {}
    for name, text in texts.items():
        record, _ = here.library.add(name, f"# Memo\n\n{text}\n".encode())
        list(here.library.read(record.id))
        ids[name] = record.id
    chat = here.conversations.create("Memos").id
    at = page("chat", chat=chat)
    at.session_state["scope-expander"] = True
    at.run()
    at.multiselect(key="scope--types").set_value([".md"])
    at.date_input(key="scope--until").set_value(date(2023, 12, 31))
    next(button for button in at.button if button.label == "Search these").click().run()
    assert scope_of(here.choices, chat, here.library.profiles).document_ids == {ids["a.md"]}
    assert chips(at) == ["*Remove* MD files", "*Remove* Documents until 31 Dec 2023"]
    late, _ = here.library.add("late.md", b"# Memo\n\nDate: 5 May 2023\n")
    list(here.library.read(late.id))
    assert late.id in (scope_of(here.choices, chat, here.library.profiles).document_ids or ())
    at.button(key="chip-until-2023-12-31").click().run()
    assert chips(at) == ["*Remove* MD files"]
    assert ids["b.md"] in (scope_of(here.choices, chat, here.library.profiles).document_ids or ())


def test_a_filter_that_no_document_passes_leaves_the_choice(page: Page, here: Workspace, chat: str):
    before = here.choices.of(chat)
    at = page("chat", chat=chat)
    at.session_state["scope-expander"] = True
    at.run()
    at.date_input(key="scope--until").set_value(date(1950, 1, 1))
    next(button for button in at.button if button.label == "Search these").click().run()
    assert here.choices.of(chat) == before


def test_each_choice_is_a_chip_and_one_click_removes_it(page: Page, here: Workspace, chat: str):
    (hr,) = here.library.collections.list()
    (document,) = [one for one in here.choices.of(chat) if one.kind == "document"]
    here.library.collections.delete(hr.id)
    at = page("chat", chat=chat)
    assert chips(at) == ["*Remove* HR (deleted)", "*Remove* a.txt"]
    at.button(key=f"chip-collection-{hr.id}").click().run()
    assert [one.id for one in here.choices.of(chat)] == [document.id]
    at.button(key=f"chip-document-{document.id}").click().run()
    assert here.choices.of(chat) == () and control(at) == "Search in: All documents" and chips(at) == []


def test_a_chip_of_a_chat_that_has_not_begun_is_removed(page: Page, here: Workspace, chat: str):
    (hr,) = here.library.collections.list()
    at = page("chat")
    at.session_state[NEXT] = ((hr.id,), (), (), (("since", "2023-01-01"),))
    assert len(chips(at.run())) == 2
    at.button(key=f"chip-collection-{hr.id}").click().run()
    assert chips(at) == ["*Remove* Documents from 1 Jan 2023"]


def is_open(at: AppTest) -> bool:
    return bool(at.session_state["scope-expander"])


def opened(at: AppTest) -> AppTest:
    at.session_state["scope-expander"] = True
    return at.run()


def test_the_form_closes_after_a_choice_and_in_another_chat(page: Page, here: Workspace, chat: str):
    at = opened(page("chat", chat=chat))
    at.button(key="FormSubmitter:scope-form-Search these").click().run()
    assert not is_open(at)
    opened(at)
    here.conversations.delete(chat)
    assert not is_open(at.run())


def test_nothing_chosen_leaves_the_form_open_and_says_so(page: Page, here: Workspace, chat: str):
    at = opened(page("chat"))
    at.button(key="FormSubmitter:scope-form-Search these").click().run()
    assert is_open(at) and NEXT not in at.session_state
    assert [one.value for one in at.toast] == ["Nothing is chosen. Choose what to search in first."]


def test_a_date_that_no_document_has_is_named_alone(page: Page, here: Workspace, chat: str):
    at = opened(page("chat"))
    at.date_input[0].set_value(date(2031, 1, 1))
    at.button(key="FormSubmitter:scope-form-Search these").click().run()
    assert [one.value for one in at.toast] == [
        "No document has a date in that time. The choice is unchanged."
    ]
