"""The question sets of the lab: which one is looked at, and what is in it."""

from collections.abc import Sequence

import streamlit as st

from rag.workspace import Workspace
from storage.lab_records import MarkedPassage, QuestionRecord, QuestionSetRecord
from storage.records import DocumentRecord
from ui.components import messages as notices
from ui.components.confirming import ask_first
from ui.components.faults import tried
from ui.components.markdown import label, plain, verbatim

PAGE = 10  # questions shown at once
CHOSEN, NEXT = "lab-set", "lab-set-next"
ORIGINS = {
    "typed": "typed",
    "feedback": "from helpful answers",
    "made": "written by a model",
    "sentences": "made from sentences",
}


def choose(here: Workspace) -> QuestionSetRecord | None:
    """Show the choice of a set and return the chosen one; None where there is none."""
    by_id = {one.id: one for one in here.lab.sets.list()}
    if not by_id:
        return None
    wanted = st.session_state.pop(NEXT, None)
    if wanted in by_id:
        st.session_state[CHOSEN] = wanted
    elif st.session_state.get(CHOSEN) not in by_id:
        st.session_state.pop(CHOSEN, None)
    id_ = st.selectbox("Question set", list(by_id), format_func=lambda id_: _name_of(by_id[id_]), key=CHOSEN)
    return by_id[id_]


def choose_next(set_id: str, notice: str) -> None:
    """Have the next run of the page show a set, and say why."""
    st.session_state[NEXT] = set_id
    notices.leave(notice, ":material/science:")


def choose_documents(searchable: Sequence[DocumentRecord], key: str) -> list[str]:
    """Show a choice among documents; none chosen stands for all of them."""
    names = {record.id: record.name for record in searchable}
    return st.multiselect(
        "In these documents",
        list(names),
        format_func=lambda id_: plain(names[id_], 60),
        placeholder=f"All {len(names)} documents" if len(names) > 1 else "Your document",
        key=key,
    )


def show(here: Workspace, chosen: QuestionSetRecord) -> None:
    """Show a set's questions with their right passages, a page at a time, and rename and delete."""
    if chosen.origin == "sentences":
        st.info(
            "These questions repeat words of the sentences that answer them, so search by words looks better "
            "here than it is. Questions that people typed, or that a model wrote, tell more.",
            icon=":material/balance:",
        )
    with st.expander(f"Its {count(chosen.questions)}", icon=":material/list:", key="lab-questions"):
        questions = here.lab.sets.questions(chosen.id)
        last = max(1, -(-len(questions) // PAGE))
        page = min(st.session_state.get(f"lab-questions-page-{chosen.id}", 1), last)
        for number, question in enumerate(questions[(page - 1) * PAGE : page * PAGE], (page - 1) * PAGE + 1):
            _question(number, question, here)
        if last > 1:
            st.pagination(last, key=f"lab-questions-page-{chosen.id}")
        _set_actions(here, chosen)


def count(questions: int) -> str:
    """Return a number of questions in words: ``1 -> "1 question"``."""
    return f"{questions} question{'' if questions == 1 else 's'}"


def right_place(passage: MarkedPassage) -> None:
    """Show the words that answer a question, and whose they are."""
    st.caption(f"Answered in **{label(passage.document, 80)}**:")
    with st.container(border=True):
        st.markdown(verbatim(passage.quote))


def _name_of(one: QuestionSetRecord) -> str:
    return f"{plain(one.name, 60)} ({count(one.questions)}, {ORIGINS[one.origin]})"


def _question(number: int, question: QuestionRecord, here: Workspace) -> None:
    with st.expander(f"{number}\\. {label(question.text, 200)}", type="compact", key=f"lab-q-{question.id}"):
        for passage in question.passages:
            right_place(passage)
        if st.button("Take it out", icon=":material/remove:", key=f"lab-remove-{question.id}"):
            here.lab.sets.remove_question(question.id)
            st.rerun()


def _set_actions(here: Workspace, chosen: QuestionSetRecord) -> None:
    with st.container(horizontal=True, gap="small"):
        with st.popover("Rename", icon=":material/edit:", type="tertiary", key="lab-rename"):
            st.text_input(
                "Name of the set",
                value=chosen.name,
                max_chars=120,
                key=f"lab-name-{chosen.id}",
                on_change=_rename,
                args=(here, chosen.id),
            )
        if st.button("Delete the set", icon=":material/delete:", type="tertiary", key="lab-delete"):
            ask_first(
                "Delete this question set?",
                f"**{label(chosen.name)}** goes, with its questions and all its runs.",
                key=f"lab-delete-{chosen.id}",
                act=lambda: here.lab.delete_set(chosen.id),
            )


@tried
def _rename(here: Workspace, set_id: str) -> None:
    name = " ".join(str(st.session_state[f"lab-name-{set_id}"]).split())
    if name:
        here.lab.sets.rename(set_id, name)
