"""A run question by question: which search found the right passage at which rank, and what else."""

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from rag.workspace import Workspace
from storage.errors import NotFound
from storage.lab_records import AskedRecord, FindingRecord, FoundRecord, QuestionRecord, RunRecord
from ui.components.labels import name_of
from ui.components.markdown import label, verbatim
from ui.lab.sets import count, right_place

PAGE = 10  # questions shown at once
SHOWN = 12  # passages of a question shown, the best first
NONE = "–"
MISSED = 1_000_000  # stands for no rank, after all others
_STATUSES = {"gone": "not asked: in no document any more", "outside": "not asked: in no chosen document"}


def show_questions(here: Workspace, run: RunRecord) -> None:
    """Show the questions of a run a page at a time, each with the rank at which every search was right."""
    st.subheader("Question by question")
    missed_only = st.toggle("Only those that a search missed", key=f"lab-missed-{run.id}")
    findings = _by_position(here.lab.runs.findings(run.id))
    asked = [
        one
        for one in here.lab.runs.asked(run.id)
        if not missed_only or any(f.first_right is None for f in findings.get(one.position, ()))
    ]
    if not asked:
        st.markdown("Every search found what answers each question.")
        return
    st.caption("Where the first right passage stood. Open a question to see who found what.")
    last = max(1, -(-len(asked) // PAGE))
    page = min(st.session_state.get(f"lab-page-{run.id}-{missed_only}", 1), last)
    with st.container(key="lab-asked", gap="small"):
        for one in asked[(page - 1) * PAGE : page * PAGE]:
            _row(one, findings.get(one.position, []), here, run)
    if last > 1:
        st.caption(count(len(asked)))
        st.pagination(last, key=f"lab-page-{run.id}-{missed_only}")


def ranks(findings: Sequence[FindingRecord]) -> str:
    """Return where each search had the first right passage: ``"Rank 1: Words. Not found: Meaning."``."""
    by_rank: dict[int, list[str]] = {}
    for one in findings:
        by_rank.setdefault(one.first_right or MISSED, []).append(name_of(one.retriever))
    if list(by_rank) == [1]:
        return "Every search had it first." if len(findings) > 1 else "It came first."
    return " ".join(f"{_rank_name(rank)}: {'; '.join(by_rank[rank])}." for rank in sorted(by_rank))


def _rank_name(rank: int) -> str:
    return "Not found" if rank == MISSED else f"Rank {rank}"


def _by_position(findings: Iterable[FindingRecord]) -> dict[int, list[FindingRecord]]:
    grouped: dict[int, list[FindingRecord]] = {}
    for one in findings:
        grouped.setdefault(one.position, []).append(one)
    return grouped


def _row(one: AskedRecord, findings: Sequence[FindingRecord], here: Workspace, run: RunRecord) -> None:
    with st.container(gap="xxsmall"):
        if st.button(
            label(f"{one.position}. {one.text}", 160),
            type="tertiary",
            key=f"lab-open-{run.id}-{one.position}",
            disabled=one.status != "asked",
            icon=":material/open_in_full:",
        ):
            st.dialog(label(one.text, 200), width="large", icon=":material/science:")(_panel)(
                one, findings, here, run
            )
        st.caption(_STATUSES.get(one.status) or ranks(findings))


def _panel(one: AskedRecord, findings: Sequence[FindingRecord], here: Workspace, run: RunRecord) -> None:
    question = _question(one, here, run)
    for passage in question.passages if question else ():
        right_place(passage)
    st.markdown("**Who found what**, and at which rank:")
    rows = merged(findings)
    st.table(_matrix(rows[:SHOWN], findings), hide_index=True, alt="Passages and their ranks")
    for finding in findings:
        if finding.error:
            st.warning(f"{name_of(finding.retriever)}: {label(finding.error, 500)}", icon=":material/info:")
    st.markdown("**The passages**")
    texts = here.library.documents.chunks_by_id(found.chunk_id for found, _ in rows[:SHOWN])
    for number, (found, _) in enumerate(rows[:SHOWN], start=1):
        with st.expander(_passage_name(number, found), type="compact", key=f"lab-text-{found.chunk_id}"):
            chunk = texts.get(found.chunk_id)
            st.markdown(verbatim(chunk.text) if chunk else "This passage is no longer there.")
    st.caption("Times: " + ", ".join(f"{name_of(f.retriever)} {f.ms:.1f} ms" for f in findings))


def merged(findings: Sequence[FindingRecord]) -> list[tuple[FoundRecord, Mapping[str, int]]]:
    """Return each passage once with its rank in every search: the right ones first, then by best rank."""
    found: dict[str, FoundRecord] = {}
    places: dict[str, dict[str, int]] = {}
    for finding in findings:
        for one in finding.found:
            found.setdefault(one.chunk_id, one)
            places.setdefault(one.chunk_id, {})[finding.retriever] = one.rank
    order = sorted(
        found, key=lambda id_: (not found[id_].right, min(places[id_].values()), -len(places[id_]), id_)
    )
    return [(found[id_], places[id_]) for id_ in order]


def _matrix(
    rows: Sequence[tuple[FoundRecord, Mapping[str, int]]], findings: Sequence[FindingRecord]
) -> list[dict[str, str]]:
    searches = [finding.retriever for finding in findings]
    return [
        {
            "Passage": _passage_name(number, found),
            **{name_of(name): str(places.get(name, NONE)) for name in searches},
        }
        for number, (found, places) in enumerate(rows, start=1)
    ]


def _passage_name(number: int, found: FoundRecord) -> str:
    place = label(found.place or "a passage that is gone", 90)
    return f"{number}\\. {place}" + (" **(right)**" if found.right else "")


def _question(one: AskedRecord, here: Workspace, run: RunRecord) -> QuestionRecord | None:
    try:
        questions = here.lab.sets.questions(run.set_id)
    except NotFound:
        return None
    return next((question for question in questions if question.id == one.question_id), None)
