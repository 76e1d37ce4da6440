"""Results of a lab run: table, chart, comparison with other runs, results by question, default retriever."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress

import streamlit as st

from rag.evaluation.lab import differences
from rag.evaluation.metrics import interval, recommended
from rag.i18n import N_, _, enumerated, ngettext, translated, written_day
from rag.settings import fixed_fields
from rag.workspace import Workspace
from storage.errors import NotFound
from storage.records import (
    AskedRecord,
    FindingRecord,
    FoundRecord,
    MarkedPassage,
    QuestionSetRecord,
    ResultRecord,
    RunRecord,
)
from ui.components.labels import retriever_name
from ui.components.markdown import between_marks, escape_text, label
from ui.components.messages import flash, show_refusal
from ui.components.pagination import paginated
from ui.server.services import services

PAGE = 10  # questions shown at once
SHOWN = 12  # passages of a question shown, the best first
NONE = "–"
RUN_KEY = "lab-shown-run-"
MISSED = 1_000_000  # rank of a passage that was not found
_STATUSES = {
    "gone": N_("not asked: its document was deleted"),
    "outside": N_("not asked: not in the selected documents"),
}


def _show_questions(here: Workspace, run: RunRecord) -> None:
    st.subheader(_("Results by question"))
    missed_only = st.toggle(_("Only questions that a search missed"), key=f"lab-missed-{run.id}")
    findings: defaultdict[int, list[FindingRecord]] = defaultdict(list)
    for finding in here.lab.runs.findings(run.id):
        findings[finding.position].append(finding)
    asked = [
        one
        for one in here.lab.runs.asked(run.id)
        if not missed_only or any(found.first_right is None for found in findings[one.position])
    ]
    if not asked:
        st.markdown(_("Every search found every answer."))
        return
    st.caption(_("Rank of the first right passage. Open a question for details."))
    key = f"lab-page-{run.id}-{missed_only}"
    with paginated(len(asked), PAGE, key) as part:
        with st.container(key="lab-asked", gap="small"):
            for one in asked[part]:
                _row(one, findings[one.position], here, run)
        if len(asked) > PAGE:
            st.caption(question_count(len(asked)))


def question_count(number: int) -> str:
    """Return a number of questions in words."""
    return ngettext("{count} question", "{count} questions", number)


def show_marked_passage(passage: MarkedPassage) -> None:
    """Show the passage that answers a question, with its document."""
    st.caption(_("Answered in **{document}**:", document=between_marks(label(passage.document, 80))))
    with st.container(border=True):
        st.markdown(escape_text(passage.quote))


def rank_line(findings: Sequence[FindingRecord]) -> str:
    """Return the rank of the first right passage in each search: ``"Rank 1: Words. Not found: Meaning."``."""
    by_rank: defaultdict[int, list[str]] = defaultdict(list)
    for one in findings:
        by_rank[one.first_right or MISSED].append(retriever_name(one.retriever))
    if list(by_rank) == [1]:
        return _("First in every search.") if len(findings) > 1 else _("First.")
    ranks = {
        rank: _("Not found") if rank == MISSED else _("Rank {rank}", rank=rank) for rank in sorted(by_rank)
    }
    return " ".join(f"{said}: {'; '.join(by_rank[rank])}." for rank, said in ranks.items())


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
        st.caption(translated(_STATUSES[one.status]) if one.status in _STATUSES else rank_line(findings))


def _panel(one: AskedRecord, findings: Sequence[FindingRecord], here: Workspace, run: RunRecord) -> None:
    with suppress(NotFound):  # the set was deleted in another tab
        for question in here.lab.sets.questions(run.set_id):
            if question.id == one.question_id:
                for passage in question.passages:
                    show_marked_passage(passage)
    st.markdown(_("**Rank in each search**"))
    rows = merge_findings(findings)[:SHOWN]
    ranks = [
        {
            _("Passage"): _passage_name(number, found),
            **{retriever_name(f.retriever): str(places.get(f.retriever, NONE)) for f in findings},
        }
        for number, (found, places) in enumerate(rows, start=1)
    ]
    st.table(ranks, hide_index=True, alt=_("Passages and their ranks"))
    for finding in findings:
        if finding.error:
            st.warning(
                f"{retriever_name(finding.retriever)}: {label(translated(finding.error), 500)}",
                icon=":material/info:",
            )
    st.markdown(_("**Passages**"))
    texts = here.library.documents.chunks_by_id(found.chunk_id for found, _places in rows)
    for number, (found, _places) in enumerate(rows, start=1):
        with st.expander(_passage_name(number, found), type="compact", key=f"lab-text-{found.chunk_id}"):
            chunk = texts.get(found.chunk_id)
            st.markdown(escape_text(chunk.text) if chunk else _("This passage no longer exists."))
    times = ", ".join(f"{retriever_name(one.retriever)} {one.ms:.1f} ms" for one in findings)
    st.caption(_("Times: {times}", times=times))


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


def _passage_name(number: int, found: FoundRecord) -> str:
    place = label(found.place or _("deleted passage"), 90)
    right = _("(right)") if found.right else ""
    return f"{number}\\. {place}" + (f" **{right}**" if right else "")


METRICS = {
    "recall@1": "Recall@1",
    "recall@5": "Recall@5",
    "recall@10": "Recall@10",
    "mrr@10": "MRR",
    "ndcg@10": "nDCG@10",
}
CHARTED = {**METRICS, "p50_ms": N_("Median time, ms")}
STATES = {
    "running": N_("Still running. Results so far:"),
    "stopped": N_("Stopped. Every search was asked the same questions."),
    "failed": N_("The run failed."),
}
_MEANING = (
    N_(
        "Each question has one or more passages that answer it. A search returns a list of passages; the "
        "numbers say how far up in it the right ones stand, from 0 (never found) to 1 (always first)."
    ),
    "",
    N_(
        "- **Recall@5** is the part of the right passages that are among the first five. An "
        "answer is written from about that many."
    ),
    N_(
        "- **MRR** is 1 where the first right passage stands first, ½ where it stands second, ⅓ where third. "
        "**nDCG@10** looks at all right passages among the first ten in the same way."
    ),
    N_(
        "- **MRR, 95 %** is where it would lie with other questions of this kind (bootstrap interval). Where "
        "two searches overlap, they may still differ: the sentence above compares them question by question."
    ),
    N_(
        "- **Median** and **95 %, ms** are times in milliseconds: half of the searches, and "
        "95 of 100, took no longer."
    ),
)


def show(here: Workspace, chosen: QuestionSetRecord) -> None:
    """Show the newest run of a question set, or a chosen one."""
    runs = here.lab.runs.list(chosen.id)
    st.header(_("Results"))
    if not runs:
        st.markdown(_("No results yet. Select search modes above, then press **Run**."))
        return
    run = runs[0] if len(runs) == 1 else _choose_run(_("Run"), runs, RUN_KEY + chosen.id)
    _show_state(run)
    if not run.results:
        return
    values = reciprocal_ranks(here.lab.runs.findings(run.id), [one.retriever for one in run.results])
    chosen_one = recommended(values, services().settings.retriever)
    st.markdown(verdict(run.results))
    st.markdown(advice(chosen_one))
    _chart(run.results)
    st.table(_table(run.results, values), hide_index=True, alt=_("How well each search did"))
    with st.expander(_("What the numbers mean"), icon=":material/help:", key="lab-meaning"):
        st.markdown("\n".join(map(translated, _MEANING)))
    _make_default(run, chosen_one)
    _compare(run, [other for other in runs if other.id != run.id and other.results])
    _show_questions(here, run)


def show_newest(set_id: str) -> None:
    """Select the newest run of a set."""
    st.session_state.pop(RUN_KEY + set_id, None)


def reciprocal_ranks(findings: Sequence[FindingRecord], retrievers: Sequence[str]) -> dict[str, list[float]]:
    """Return 1 / the rank of the first right passage, 0 for none, of each search for the questions of all."""
    found: defaultdict[int, dict[str, float]] = defaultdict(dict)
    for one in findings:
        found[one.position][one.retriever] = 1 / one.first_right if one.first_right else 0.0
    whole = [ranks for _position, ranks in sorted(found.items()) if ranks.keys() >= set(retrievers)]
    return {name: [ranks[name] for ranks in whole] for name in retrievers}


def advice(name: str | None) -> str:
    """Return what the results say about the default search mode.

    >>> advice("bm25")
    'On these questions **Words** is better than your default, beyond chance.'
    """
    if name is None:
        return _(
            "The differences to your default search mode may be chance: there is no reason to change it."
        )
    return _(
        "On these questions **{name}** is better than your default, beyond chance.",
        name=retriever_name(name),
    )


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
        return _("All search modes did equally well.")
    first = next(result for result in results if result.retriever == leaders[0])
    names = enumerated([f"**{retriever_name(name)}**" for name in leaders])
    return _(
        "{names} ranked the right passages highest: {among} are among the first five, {first} stand first.",
        names=names,
        among=f"{first.metrics['recall@5']:.0%}",
        first=f"{first.metrics['recall@1']:.0%}",
    )


def ranked(results: Sequence[ResultRecord]) -> list[str]:
    """Return the retrievers by nDCG@10, ties by speed."""
    ordered = sorted(results, key=lambda result: (-result.metrics.get("ndcg@10", 0.0), result.p50_ms))
    return [result.retriever for result in ordered]


def _choose_run(title: str, runs: Sequence[RunRecord], key: str) -> RunRecord:
    by_id = {run.id: run for run in runs}
    if st.session_state.get(key) not in by_id:
        st.session_state.pop(key, None)
    id_ = st.selectbox(title, list(by_id), format_func=lambda id_: _run_name(by_id[id_]), key=key)
    return by_id[id_]


def _run_name(run: RunRecord) -> str:
    moment = run.created.astimezone()
    searches = ngettext("{count} search", "{count} searches", len(run.retrievers))
    return f"{written_day(moment)}, {moment:%H:%M:%S}: {question_count(run.asked)}, {searches}"


def _show_state(run: RunRecord) -> None:
    searched = run.searched
    where = _("all documents") if searched.every else _("{number} chosen", number=searched.count)
    facts = [
        question_count(run.asked),
        _("{number} passages of {where}", number=f"{searched.chunks:,}", where=where),
        label(run.embedding, 60),
    ]
    st.caption(" · ".join(fact for fact in facts if fact))
    if run.state in STATES:
        reason = f" {label(translated(run.error), 500)}" if run.error else ""
        st.warning(translated(STATES[run.state]) + reason, icon=":material/info:")
    for number, why in (
        (run.gone, N_("{questions} not asked: the answer was in a deleted document.")),
        (run.outside, N_("{questions} not asked: the answer is not in the selected documents.")),
    ):
        if number:
            st.caption(_(why, questions=question_count(number)))


def _table(results: Sequence[ResultRecord], values: Mapping[str, Sequence[float]]) -> list[dict[str, str]]:
    leaders = {metric: best(results, metric) for metric in METRICS}
    rows = []
    for result in sorted(results, key=lambda one: ranked(results).index(one.retriever)):
        row = {_("Search"): retriever_name(result.retriever)}
        for metric, title in METRICS.items():
            value = f"{result.metrics.get(metric, 0.0):.2f}"
            row[title] = (
                f"**{_('{value} best', value=value)}**".replace(" ", "\u00a0")
                if result.retriever in leaders[metric]
                else value
            )
        low, high = interval(values.get(result.retriever, ()))
        row["MRR, 95 %"] = _("{low} to {high}", low=f"{low:.2f}", high=f"{high:.2f}")
        row |= {_("Median, ms"): f"{result.p50_ms:.1f}", "95 %, ms": f"{result.p95_ms:.1f}"}
        if any(one.errors for one in results):
            row[_("Failed")] = str(result.errors)
        rows.append(row)
    return rows


def _chart(results: Sequence[ResultRecord]) -> None:
    metric = st.segmented_control(
        _("Chart"),
        list(CHARTED),
        format_func=lambda metric: translated(CHARTED[metric]),
        default="ndcg@10",
        required=True,
        key="lab-chart",
    )
    values = {
        retriever_name(one.retriever): {**one.metrics, "p50_ms": one.p50_ms}.get(metric, 0.0)
        for one in results
    }
    shown = translated(CHARTED[metric])
    ordered = sorted(values, key=lambda name: values[name], reverse=metric in METRICS)
    said = "; ".join(f"{name}: {values[name]:.2f}" for name in ordered)
    st.bar_chart(
        [{_("Search"): name, shown: values[name]} for name in ordered],
        x=_("Search"),
        y=shown,
        x_label="",
        horizontal=True,
        sort=False,
        height=60 + 40 * len(ordered),
        alt=f"{shown}. {said}.",
    )


def _make_default(run: RunRecord, chosen: str | None) -> None:
    server = services()
    if not server.administers():
        return
    order, preferred = ranked(run.results), chosen or server.settings.retriever
    fixed = "retriever" in fixed_fields()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="lab-default-row"):
        wanted = st.selectbox(
            _("Default search mode"),
            order,
            index=order.index(preferred) if preferred in order else 0,
            format_func=retriever_name,
            key=f"lab-default-{run.id}",
            disabled=fixed,
        )
        is_default = wanted == server.settings.retriever
        pressed = st.button(
            _("Current default") if is_default else _("Make default"),
            icon=":material/check:" if is_default else ":material/star:",
            disabled=fixed or is_default,
            key="lab-make-default",
        )
    if fixed:
        st.caption(
            _(
                "Set by the server's configuration to “{name}”. It cannot be changed here.",
                name=retriever_name(server.settings.retriever),
            )
        )
    if pressed:
        with show_refusal():
            server.change({"retriever": wanted})
            flash(
                _("Default search mode: {name}.", name=retriever_name(wanted)),
                ":material/check:",
            )
            st.rerun()


def _compare(run: RunRecord, others: Sequence[RunRecord]) -> None:
    if not others:
        return
    with st.expander(_("Compare with another run"), icon=":material/compare_arrows:", key="lab-compare-runs"):
        other = _choose_run(_("Other run"), others, f"lab-other-{run.id}")
        newer, older = (run, other) if run.created >= other.created else (other, run)
        told = differences(newer, older)
        if told:
            st.warning(
                _("Different conditions: {list}.", list=label("; ".join(map(translated, told)), 600)),
                icon=":material/balance:",
            )
        else:
            st.caption(_("Same questions, documents and models."))
        st.table(_beside(run, other), hide_index=True, alt=_("This run and the other run"))


def _beside(run: RunRecord, other: RunRecord) -> list[dict[str, str]]:
    both = {"this run": run, "other run": other}
    found = {name: {one.retriever: one.metrics for one in each.results} for name, each in both.items()}
    return [
        {
            "Search": retriever_name(retriever),
            **{
                f"{title}, {name}": f"{of[retriever].get(metric, 0.0):.2f}"
                if retriever in of
                else _("not run")
                for title, metric in (("nDCG@10", "ndcg@10"), ("Recall@5", "recall@5"))
                for name, of in found.items()
            },
        }
        for retriever in dict.fromkeys([*found["this run"], *found["other run"]])
    ]
