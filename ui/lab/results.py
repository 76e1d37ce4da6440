"""Results of a lab run: table, chart, comparison with other runs, results by question, default retriever."""

from collections.abc import Callable, Iterable, Mapping, Sequence

import streamlit as st

from rag.errors import FootnoteError
from rag.evaluation.lab import differences
from rag.settings import fixed_fields
from rag.workspace import Workspace
from storage.errors import NotFound
from storage.records import (
    AskedRecord,
    FindingRecord,
    FoundRecord,
    QuestionRecord,
    QuestionSetRecord,
    ResultRecord,
    RunRecord,
)
from ui.components.labels import retriever_name
from ui.components.markdown import escape_text, label
from ui.components.messages import flash
from ui.lab.sets import count, show_marked_passage
from ui.server.services import services

PAGE = 10  # questions shown at once
SHOWN = 12  # passages of a question shown, the best first
NONE = "–"
MISSED = 1_000_000  # rank of a passage that was not found
_STATUSES = {
    "gone": "not asked: its document was deleted",
    "outside": "not asked: not in the selected documents",
}


def show_questions(here: Workspace, run: RunRecord) -> None:
    """Show the questions of a run a page at a time, with the rank of the right passage in each search."""
    st.subheader("Results by question")
    missed_only = st.toggle("Only questions that a search missed", key=f"lab-missed-{run.id}")
    findings = _by_position(here.lab.runs.findings(run.id))
    asked = [
        one
        for one in here.lab.runs.asked(run.id)
        if not missed_only or any(f.first_right is None for f in findings.get(one.position, ()))
    ]
    if not asked:
        st.markdown("Every search found every answer.")
        return
    st.caption("Rank of the first right passage. Open a question for details.")
    last = max(1, -(-len(asked) // PAGE))
    page = min(st.session_state.get(f"lab-page-{run.id}-{missed_only}", 1), last)
    with st.container(key="lab-asked", gap="small"):
        for one in asked[(page - 1) * PAGE : page * PAGE]:
            _row(one, findings.get(one.position, []), here, run)
    if last > 1:
        st.caption(count(len(asked)))
        st.pagination(last, key=f"lab-page-{run.id}-{missed_only}")


def rank_line(findings: Sequence[FindingRecord]) -> str:
    """Return the rank of the first right passage in each search: ``"Rank 1: Words. Not found: Meaning."``."""
    by_rank: dict[int, list[str]] = {}
    for one in findings:
        by_rank.setdefault(one.first_right or MISSED, []).append(retriever_name(one.retriever))
    if list(by_rank) == [1]:
        return "First in every search." if len(findings) > 1 else "First."
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
        st.caption(_STATUSES.get(one.status) or rank_line(findings))


def _panel(one: AskedRecord, findings: Sequence[FindingRecord], here: Workspace, run: RunRecord) -> None:
    question = _question(one, here, run)
    for passage in question.passages if question else ():
        show_marked_passage(passage)
    st.markdown("**Rank in each search**")
    rows = merge_findings(findings)
    st.table(_matrix(rows[:SHOWN], findings), hide_index=True, alt="Passages and their ranks")
    for finding in findings:
        if finding.error:
            st.warning(
                f"{retriever_name(finding.retriever)}: {label(finding.error, 500)}", icon=":material/info:"
            )
    st.markdown("**Passages**")
    texts = here.library.documents.chunks_by_id(found.chunk_id for found, _ in rows[:SHOWN])
    for number, (found, _) in enumerate(rows[:SHOWN], start=1):
        with st.expander(_passage_name(number, found), type="compact", key=f"lab-text-{found.chunk_id}"):
            chunk = texts.get(found.chunk_id)
            st.markdown(escape_text(chunk.text) if chunk else "This passage no longer exists.")
    st.caption("Times: " + ", ".join(f"{retriever_name(f.retriever)} {f.ms:.1f} ms" for f in findings))


def merge_findings(findings: Sequence[FindingRecord]) -> list[tuple[FoundRecord, Mapping[str, int]]]:
    """Return each passage once with its rank in every search, right ones first, then by best rank."""
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
            **{retriever_name(name): str(places.get(name, NONE)) for name in searches},
        }
        for number, (found, places) in enumerate(rows, start=1)
    ]


def _passage_name(number: int, found: FoundRecord) -> str:
    place = label(found.place or "deleted passage", 90)
    return f"{number}\\. {place}" + (" **(right)**" if found.right else "")


def _question(one: AskedRecord, here: Workspace, run: RunRecord) -> QuestionRecord | None:
    try:
        questions = here.lab.sets.questions(run.set_id)
    except NotFound:
        return None
    return next((question for question in questions if question.id == one.question_id), None)


METRICS = {
    "recall@1": "Recall@1",
    "recall@5": "Recall@5",
    "recall@10": "Recall@10",
    "mrr@10": "MRR",
    "ndcg@10": "nDCG@10",
}
CHARTED = {**METRICS, "p50_ms": "Median time, ms"}
STATES = {
    "running": "Still running. Results so far:",
    "stopped": "Stopped. Every search was asked the same questions.",
    "failed": "The run failed.",
}
_MEANING = """
Each question has one or more passages that answer it. A search returns a list of passages; the numbers say
how far up in it the right ones stand, from 0 (never found) to 1 (always first).

- **Recall@5** is the part of the right passages that are among the first five. An answer is written from
  about that many.
- **MRR** is 1 where the first right passage stands first, ½ where it stands second, ⅓ where third.
  **nDCG@10** looks at all right passages among the first ten in the same way.
- **Median** and **95 %** are times in milliseconds: half of the searches, and 95 of 100, took no longer.
"""


def show(here: Workspace, chosen: QuestionSetRecord) -> None:
    """Show the newest run of a question set, or a chosen one."""
    runs = here.lab.compare(chosen.id)
    st.header("Results")
    if not runs:
        st.markdown("No results yet. Select search modes above, then press **Run**.")
        return
    run = _choose_run(chosen.id, runs)
    _show_state(run)
    if not run.results:
        return
    st.markdown(verdict(run.results))
    st.table(_table(run.results), hide_index=True, alt="How well each search did")
    st.caption(f"With {count(run.asked)}, differences below {1 / run.asked:.2f} mean nothing.")
    with st.expander("What the numbers mean", icon=":material/help:", key="lab-meaning"):
        st.markdown(_MEANING)
    _chart(run.results)
    _make_default(run)
    _compare(run, [other for other in runs if other.id != run.id and other.results])
    show_questions(here, run)


def show_newest(set_id: str) -> None:
    """Select the newest run of a set."""
    st.session_state.pop(_run_key(set_id), None)


def best(results: Sequence[ResultRecord], metric: str) -> frozenset[str]:
    """Return the retrievers with the best value; none if all are equal."""
    values = {result.retriever: result.metrics.get(metric, 0.0) for result in results}
    if len(set(values.values())) < 2:
        return frozenset()
    return frozenset(name for name, value in values.items() if value == max(values.values()))


def verdict(results: Sequence[ResultRecord]) -> str:
    """Return a sentence that names the best retriever by nDCG@10."""
    leaders = [name for name in ranked(results) if name in best(results, "ndcg@10")]
    if not leaders:
        return "All search modes did equally well."
    first = next(result for result in results if result.retriever == leaders[0])
    names = " and ".join(f"**{retriever_name(name)}**" for name in leaders)
    return (
        f"{names} ranked the right passages highest: {first.metrics['recall@5']:.0%} are among the first "
        f"five, {first.metrics['recall@1']:.0%} stand first."
    )


def ranked(results: Sequence[ResultRecord]) -> list[str]:
    """Return the retrievers by nDCG@10, ties by speed."""
    ordered = sorted(results, key=lambda result: (-result.metrics.get("ndcg@10", 0.0), result.p50_ms))
    return [result.retriever for result in ordered]


def _run_key(set_id: str) -> str:
    return f"lab-shown-run-{set_id}"


def _choose_run(set_id: str, runs: Sequence[RunRecord]) -> RunRecord:
    by_id = {run.id: run for run in runs}
    if len(runs) == 1:
        return runs[0]
    key = _run_key(set_id)
    if st.session_state.get(key) not in by_id:
        st.session_state.pop(key, None)
    id_ = st.selectbox("Run", list(by_id), format_func=lambda id_: _run_name(by_id[id_]), key=key)
    return by_id[id_]


def _run_name(run: RunRecord) -> str:
    moment = run.created.astimezone()
    searches = f"{len(run.retrievers)} search{'es' * (len(run.retrievers) != 1)}"
    return f"{moment.day} {moment:%b %Y, %H:%M:%S}: {count(run.asked)}, {searches}"


def _show_state(run: RunRecord) -> None:
    searched = run.searched
    where = "all documents" if searched.every else f"{searched.count} chosen"
    facts = [count(run.asked), f"{searched.chunks:,} passages of {where}", label(run.embedding, 60)]
    st.caption(" · ".join(fact for fact in facts if fact))
    if run.state in STATES:
        reason = f" {label(run.error, 500)}" if run.error else ""
        st.warning(STATES[run.state] + reason, icon=":material/info:")
    for number, why in (
        (run.gone, "was in a deleted document"),
        (run.outside, "is not in the selected documents"),
    ):
        if number:
            st.caption(f"{count(number)} not asked: the answer {why}.")


def _table(results: Sequence[ResultRecord]) -> list[dict[str, str]]:
    """Return table rows in Markdown, with the best value of a column in bold."""
    leaders = {metric: best(results, metric) for metric in METRICS}
    rows = []
    for result in sorted(results, key=lambda one: ranked(results).index(one.retriever)):
        row = {"Search": retriever_name(result.retriever)}
        for metric, title in METRICS.items():
            value = f"{result.metrics.get(metric, 0.0):.2f}"
            row[title] = f"**{value}\u00a0best**" if result.retriever in leaders[metric] else value
        row |= {"Median, ms": f"{result.p50_ms:.1f}", "95 %, ms": f"{result.p95_ms:.1f}"}
        if any(one.errors for one in results):
            row["Failed"] = str(result.errors)
        rows.append(row)
    return rows


def _chart(results: Sequence[ResultRecord]) -> None:
    metric = st.segmented_control(
        "Chart",
        list(CHARTED),
        format_func=CHARTED.__getitem__,
        default="ndcg@10",
        required=True,
        key="lab-chart",
    )
    of = _value(metric)
    values = {retriever_name(one.retriever): of(one) for one in results}
    ordered = sorted(values, key=lambda name: values[name], reverse=metric in METRICS)
    said = "; ".join(f"{name}: {values[name]:.2f}" for name in ordered)
    st.bar_chart(
        [{"Search": name, CHARTED[metric]: values[name]} for name in ordered],
        x="Search",
        y=CHARTED[metric],
        x_label="",
        horizontal=True,
        sort=False,
        height=60 + 40 * len(ordered),
        alt=f"{CHARTED[metric]}. {said}.",
    )


def _value(metric: str) -> Callable[[ResultRecord], float]:
    return (lambda one: one.metrics.get(metric, 0.0)) if metric in METRICS else (lambda one: one.p50_ms)


def _make_default(run: RunRecord) -> None:
    server = services()
    if not server.administers():
        return
    order = ranked(run.results)
    fixed = "retriever" in fixed_fields()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="lab-default-row"):
        wanted = st.selectbox(
            "Default search mode",
            order,
            format_func=retriever_name,
            key=f"lab-default-{run.id}",
            disabled=fixed,
        )
        is_default = wanted == server.settings.retriever
        pressed = st.button(
            "Current default" if is_default else "Make default",
            icon=":material/check:" if is_default else ":material/star:",
            disabled=fixed or is_default,
            key="lab-make-default",
        )
    if fixed:
        st.caption(
            f"Set by the server's configuration to “{retriever_name(server.settings.retriever)}”. It cannot "
            "be changed here."
        )
    if pressed:
        try:
            server.change({"retriever": wanted})
        except FootnoteError as error:
            st.error(label(str(error), 500), icon=":material/error:")
            return
        flash(f"Default search mode: {retriever_name(wanted)}.", ":material/check:")
        st.rerun()


def _compare(run: RunRecord, others: Sequence[RunRecord]) -> None:
    """Show this run beside another of the same set, and differences in their conditions."""
    if not others:
        return
    with st.expander("Compare with another run", icon=":material/compare_arrows:", key="lab-compare-runs"):
        by_id = {other.id: other for other in others}
        id_ = st.selectbox(
            "Other run",
            list(by_id),
            format_func=lambda id_: _run_name(by_id[id_]),
            key=f"lab-other-{run.id}",
        )
        other = by_id[id_]
        newer, older = (run, other) if run.created >= other.created else (other, run)
        told = differences(newer, older)
        if told:
            st.warning(f"Different conditions: {label('; '.join(told), 600)}.", icon=":material/balance:")
        else:
            st.caption("Same questions, documents and models.")
        st.table(_beside(run, other), hide_index=True, alt="This run and the other run")


def _beside(run: RunRecord, other: RunRecord) -> list[dict[str, str]]:
    mine = {one.retriever: one for one in run.results}
    theirs = {one.retriever: one for one in other.results}
    return [
        {
            "Search": retriever_name(name),
            **_pair("nDCG@10", "ndcg@10", name, mine, theirs),
            **_pair("Recall@5", "recall@5", name, mine, theirs),
        }
        for name in dict.fromkeys([*mine, *theirs])
    ]


def _pair(
    title: str, metric: str, name: str, mine: Mapping[str, ResultRecord], theirs: Mapping[str, ResultRecord]
) -> dict[str, str]:
    here = f"{mine[name].metrics.get(metric, 0.0):.2f}" if name in mine else "not run"
    there = f"{theirs[name].metrics.get(metric, 0.0):.2f}" if name in theirs else "not run"
    return {f"{title}, this run": here, f"{title}, other run": there}
