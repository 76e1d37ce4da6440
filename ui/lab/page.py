"""Lab page: question sets over the user's own documents, and search modes compared on them."""

from collections.abc import Sequence
from functools import partial

import streamlit as st

from rag.chat.export import cases, to_jsonl, unhelpful_to_jsonl
from rag.errors import FootnoteError
from rag.evaluation.lab import MOST_MADE, Lab, RunProgress, searchable
from rag.evaluation.question_maker import MakingProgress
from rag.grid.export import cell_cases
from rag.i18n import N_, _, translated
from rag.jobs import Job
from rag.passage import Passage
from rag.workspace import Workspace
from storage.records import DocumentRecord, QuestionRecord, QuestionSetRecord
from ui import pages
from ui.components.job_progress import follow_job
from ui.components.labels import RETRIEVERS, USES, described, retriever_name
from ui.components.markdown import escape_text, label, plain_line
from ui.components.messages import confirm_deletion, flash, rename_action, show_flash, show_refusal
from ui.components.pagination import paginated
from ui.lab import results
from ui.lab.results import question_count
from ui.server.services import services, workspace

PAGE = 10  # questions shown at once
CHOSEN, NEXT = "lab-set", "lab-set-next"
ORIGINS = {
    "typed": "typed",
    "feedback": N_("from helpful answers"),
    "made": N_("written by a model"),
    "sentences": N_("made from sentences"),
}


def show() -> None:
    """Show the lab page."""
    here = workspace()
    st.title(_("Lab"))
    st.markdown(_("Compare search modes on your own questions."))
    documents = searchable(here.library.documents)
    if not documents:
        st.markdown(_("No documents to search yet. Add documents first."))
        st.page_link(pages.LIBRARY, label=_("Add documents"), icon=":material/upload:")
        return
    st.header(_("Questions"))
    _show_making(here)
    chosen = _choose_set(here)
    if chosen is None:
        st.markdown(_("No questions yet. Add some:"))
        _show_add_questions(here, documents, None)
        return
    _show_set(here, chosen)
    with st.expander(_("Add questions, or start another set"), icon=":material/add:", key="lab-more"):
        _show_add_questions(here, documents, chosen)
    _show_comparison(here.lab, chosen, documents)
    results.show(here, chosen)


def _show_comparison(lab: Lab, chosen: QuestionSetRecord, records: Sequence[DocumentRecord]) -> None:
    st.header(_("Search modes to compare"))
    job = lab.running(chosen.id)
    if job is not None:
        follow_job(job, _run_progress, key="lab-stop-run")
        return
    with st.container(key="lab-searches", gap="xsmall"):
        wanted = [
            name
            for name in RETRIEVERS
            if st.checkbox(
                described(retriever_name(name), translated(USES[name])),
                value=True,
                key=f"lab-compare-{name}",
            )
        ]
    documents = _choose_documents(records, "lab-documents")
    if not wanted:
        st.caption(_("Select at least one search mode."))
    ready = bool(wanted) and chosen.questions > 0
    if not st.button(
        _("Run"), type="primary", icon=":material/play_arrow:", key="lab-run", disabled=not ready
    ):
        return
    with show_refusal():
        lab.start_run(chosen.id, wanted, document_ids=documents or None)
        results.show_newest(chosen.id)
        st.rerun()


def _run_progress(progress: RunProgress | None) -> tuple[float, str]:
    if progress is None:
        return 0.0, _("Waiting for another task of the Lab to finish")
    if not progress.rows:
        return 0.0, _("Opening the indexes")
    return progress.done / progress.total, _(
        "Asked {done} of {total}", done=f"{progress.done:,}", total=f"{progress.total:,}"
    )


def _choose_set(here: Workspace) -> QuestionSetRecord | None:
    by_id = {one.id: one for one in here.lab.sets.list()}
    if not by_id:
        return None
    wanted = st.session_state.pop(NEXT, None)
    if wanted in by_id:
        st.session_state[CHOSEN] = wanted
    elif st.session_state.get(CHOSEN) not in by_id:
        st.session_state.pop(CHOSEN, None)
    names = {
        id_: _(
            "{name} ({questions}, {origin})",
            name=plain_line(one.name, 60),
            questions=question_count(one.questions),
            origin=translated(ORIGINS[one.origin]),
        )
        for id_, one in by_id.items()
    }
    id_ = st.selectbox(_("Question set"), list(by_id), format_func=names.__getitem__, key=CHOSEN)
    return by_id[id_]


def _choose_next(set_id: str, notice: str) -> None:
    st.session_state[NEXT] = set_id
    flash(notice, ":material/science:")


def _choose_documents(records: Sequence[DocumentRecord], key: str) -> list[str]:
    names = {record.id: record.name for record in records}
    return st.multiselect(
        _("Documents"),
        list(names),
        format_func=lambda id_: plain_line(names[id_], 60),
        placeholder=_("All {number} documents", number=len(names)) if len(names) > 1 else _("Your document"),
        key=key,
    )


def _show_set(here: Workspace, chosen: QuestionSetRecord) -> None:
    if chosen.origin == "sentences":
        st.info(
            _(
                "These questions repeat words of their answers, which favours search by words. Useful as a "
                "sanity check, not for choosing a mode."
            ),
            icon=":material/balance:",
        )
    with st.expander(
        _("Questions ({number})", number=chosen.questions), icon=":material/list:", key="lab-questions"
    ):
        questions = here.lab.sets.questions(chosen.id)
        with paginated(len(questions), PAGE, f"lab-questions-page-{chosen.id}") as part:
            for number, question in enumerate(questions[part], part.start + 1):
                _question(number, question, here)
        _set_actions(here, chosen)


def _question(number: int, question: QuestionRecord, here: Workspace) -> None:
    with st.expander(f"{number}\\. {label(question.text, 200)}", type="compact", key=f"lab-q-{question.id}"):
        for passage in question.passages:
            results.show_marked_passage(passage)
        if st.button(_("Remove"), icon=":material/remove:", key=f"lab-remove-{question.id}"):
            here.lab.sets.remove_question(question.id)
            st.rerun()


def _set_actions(here: Workspace, chosen: QuestionSetRecord) -> None:
    with st.container(horizontal=True, gap="small"):
        key = f"lab-name-{chosen.id}"
        rename = partial(_rename, here, chosen.id, key)
        rename_action(_("Set name"), chosen.name, 120, key, rename, at="lab-rename")
        if st.button(_("Delete set"), icon=":material/delete:", type="tertiary", key="lab-delete"):
            confirm_deletion(
                _("Delete this question set?"),
                _("**{name}** will be deleted with its questions and runs.", name=label(chosen.name)),
                key=f"lab-delete-{chosen.id}",
                act=lambda: here.lab.delete_set(chosen.id),
            )


def _rename(here: Workspace, set_id: str, key: str) -> None:
    name = " ".join(str(st.session_state[key]).split())
    if name:
        here.lab.sets.rename(set_id, name)


SOURCES = {
    "made": N_("Generate from documents"),
    "typed": N_("Type a question"),
    "feedback": N_("Collect helpful answers"),
}
SENTENCES = str(N_("Made from the documents' sentences"))
MODEL = str(N_("Written by the connected model"))
TYPED, MARKED, JOB = "lab-typed", "lab-marked", "lab-making"


def _show_add_questions(
    here: Workspace, records: Sequence[DocumentRecord], chosen: QuestionSetRecord | None
) -> None:
    way = st.segmented_control(
        _("How"),
        list(SOURCES),
        format_func=lambda way: translated(SOURCES[way]),
        default="made",
        required=True,
        key="lab-way",
    )
    if way == "made":
        _make(here, records)
    elif way == "typed":
        _type(here, chosen)
    else:
        _collect(here)


def _show_making(here: Workspace) -> None:
    job: Job[MakingProgress] | None = here.lab.making() or st.session_state.get(JOB)
    if job is None:
        return
    if not job.done:
        st.session_state[JOB] = job
        follow_job(job, _making_progress, key="lab-stop-making")
        return
    st.session_state.pop(JOB, None)
    made = job.latest
    if job.error is not None:
        st.warning(label(translated(str(job.error)), 500), icon=":material/info:")
    if made is not None and made.set_id is not None:
        _choose_next(made.set_id, _("{questions} created.", questions=question_count(made.done)))
        show_flash()


def _making_progress(progress: MakingProgress | None) -> tuple[float, str]:
    if progress is None:
        return 0.0, _("Waiting for another task of the Lab to finish")
    said = _("Created {done} of {questions}", done=progress.done, questions=question_count(progress.total))
    if progress.latest:
        said = f"{said}: {label(progress.latest, 80)}"
    return progress.done / progress.total, said


def _make(here: Workspace, records: Sequence[DocumentRecord]) -> None:
    by = _choose_author()
    documents = _choose_documents(records, "lab-made-of")
    number = st.number_input(_("Number of questions"), 1, MOST_MADE, 20, key="lab-made-count")
    name = st.text_input(_("Set name"), _("Questions from my documents"), max_chars=120, key="lab-made-name")
    if not st.button(_("Create questions"), type="primary", icon=":material/science:", key="lab-make"):
        return
    with show_refusal():
        st.session_state[JOB] = here.lab.start_making(
            name.strip() or _("Questions"),
            document_ids=documents or None,
            count=number,
            use_model=by == MODEL,
        )
        st.rerun()


def _choose_author() -> str:
    if services().llm is not None:
        captions = [_("Writes a question for each passage."), translated(_FAVOURS_WORDS)]
        return str(
            st.radio(
                _("Questions are"),
                [MODEL, SENTENCES],
                format_func=translated,
                captions=captions,
                key="lab-made-by",
            )
        )
    st.markdown(
        _("Questions are made from the documents' sentences. {reason}", reason=translated(_FAVOURS_WORDS))
    )
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption(_("A connected model writes better questions."), width="content")
        st.page_link(pages.SETTINGS, label=_("Connect a model"), icon=":material/cable:")
    return SENTENCES


_FAVOURS_WORDS = N_(
    "They repeat words of their answers, which favours search by words. Useful as a sanity check, not for "
    "choosing a mode."
)


def _type(here: Workspace, chosen: QuestionSetRecord | None) -> None:
    with st.form("lab-type", border=False):
        question = st.text_input(_("Question"), key=TYPED, placeholder=_("As you would ask it"))
        st.form_submit_button(_("Find passages"), icon=":material/search:")
    if not question.strip():
        return
    with show_refusal():
        _choose_right(here, chosen, question, here.lab.candidates(question))


def _choose_right(
    here: Workspace, chosen: QuestionSetRecord | None, question: str, passages: Sequence[Passage]
) -> None:
    if not passages:
        st.markdown(_("No passage found. Try other words."))
        return
    st.markdown(_("**Select every passage that answers the question.**"))
    quotable = [passage for passage in passages if not passage.is_from_picture]
    marked = [passage.id for passage in quotable if _mark(passage)]
    add = _("Add to “{name}”", name=label(chosen.name, 40)) if chosen else _("Add to a new set")
    if st.button(add, type="primary", key="lab-add-typed", disabled=not marked):
        _keep(here, chosen, question, marked)


def _mark(passage: Passage) -> bool:
    document = label(passage.document, 60)
    place = (
        document
        if passage.page is None
        else _("{document}, page {page}", document=document, page=passage.page)
    )
    heading = f" · {label(passage.heading, 80)}" if passage.heading else ""
    with st.container(border=True):
        yes = st.checkbox(f"**{place}**{heading}", key=f"{MARKED}-{passage.id}")
        st.markdown(escape_text(passage.text))
    return yes


def _keep(here: Workspace, chosen: QuestionSetRecord | None, question: str, marked: Sequence[str]) -> None:
    into = chosen or here.lab.sets.create(_("My questions"), "typed")
    here.lab.add_typed(into.id, question, marked)
    for key in [TYPED, *(f"{MARKED}-{id_}" for id_ in marked)]:
        st.session_state.pop(key, None)
    _choose_next(into.id, _("Question added."))
    st.rerun()


def _collect(here: Workspace) -> None:
    st.markdown(
        _(
            "Collects every answer you marked as helpful: its question, with the passages it "
            "cites as the right ones."
        )
    )
    name = st.text_input(_("Set name"), _("Helpful answers"), max_chars=120, key="lab-collect-name")
    collecting = st.button(_("Collect"), icon=":material/thumb_up:", key="lab-collect")
    _show_cases_download(here)
    if not collecting:
        return
    try:
        collected, skipped = here.lab.from_feedback(name.strip() or _("Helpful answers"))
    except FootnoteError as error:
        st.info(label(translated(str(error)), 500), icon=":material/info:")
        return
    said = _("{questions} collected.", questions=question_count(collected.questions))
    if skipped:
        left = _("{number} without exact citations skipped.", number=skipped)
        said = f"{said} {left}"
    _choose_next(collected.id, said)
    st.rerun()


def _show_cases_download(here: Workspace) -> None:
    st.markdown(
        _(
            "Test cases for the citation checker: verified citations of helpful answers, and citations you "
            "marked as wrong. One claim with its passage per line."
        )
    )
    st.download_button(
        _("Download test cases"),
        data=lambda: _exported_cases(here),
        file_name="feedback.jsonl",
        mime="application/jsonl",
        icon=":material/download:",
        on_click="ignore",
        key="lab-cases",
    )
    st.download_button(
        _("Download unhelpful answers"),
        data=lambda: _exported_unhelpful(here),
        file_name="unhelpful.jsonl",
        mime="application/jsonl",
        icon=":material/download:",
        on_click="ignore",
        help=_("The answers that you marked as not helpful, with the reasons you gave"),
        key="lab-unhelpful",
    )


def _exported_unhelpful(here: Workspace) -> bytes:
    here.note("feedback_exported")
    answers = here.feedback.answers()
    return unhelpful_to_jsonl(answers, lambda id_: here.conversations.message(id_).content).encode()


def _exported_cases(here: Workspace) -> bytes:
    here.note("feedback_exported")
    return to_jsonl([*cases(here.feedback.answers()), *cell_cases(here.grids.store)]).encode()
