from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from rag.workspace import Workspace
from storage.records import (
    AskedRecord,
    FindingRecord,
    FoundRecord,
    MarkedPassage,
    ResultRecord,
    RunRecord,
    SearchedRecord,
)
from tests.ui.conftest import citation, passage, tell, words
from tests.ui.inert import is_inert
from ui.lab.results import best, merge_findings, rank_line, ranked, verdict
from ui.language import CHOSEN
from ui.server import services

Page = Callable[..., AppTest]
CASTLE = (
    "# Castle\n\nThe castle of Aldenburg was built by Count Otto in the year 1432, on a hill by the river. "
    "Its moat is nine metres deep and was dug by hand over eleven long winters.\n"
)
HOSTILE = "<img src=x> **bold** :smile: [x](http://evil.test) $x$"


def read(here: Workspace, name: str, text: str) -> str:
    """Make a document searchable by its words."""
    record, _ = here.library.add(name, text.encode())
    for _ in here.library.read(record.id):
        pass
    return record.id


def result(retriever: str, ndcg: float, *, p50: float = 1.0, errors: int = 0) -> ResultRecord:
    metrics = {"recall@1": ndcg, "recall@5": ndcg, "recall@10": ndcg, "mrr@10": ndcg, "ndcg@10": ndcg}
    return ResultRecord(retriever, 2, metrics, p50, 2 * p50, errors)


def finding(retriever: str, *found: tuple[str, bool], error: str | None = None) -> FindingRecord:
    records = tuple(FoundRecord(id_, rank, f"{id_}.md", right) for rank, (id_, right) in enumerate(found, 1))
    first = next((one.rank for one in records if one.right), None)
    return FindingRecord(1, retriever, records, first, 1.5, error)


def kept_run(here: Workspace, text: str, *results: ResultRecord, place: str = "castle.md") -> RunRecord:
    """Keep a set of one question and a whole run over it."""
    made = here.lab.sets.create(f"Set of {text}", "typed")
    mark = MarkedPassage("d", place, "0" * 64, "c-1", 0, len(text), text)
    question = here.lab.sets.add(made.id, text, [mark])
    run = here.lab.runs.begin(
        made.id,
        retrievers=[one.retriever for one in results],
        k=10,
        embedding="multilingual-e5-small",
        mixture="",
        searched=SearchedRecord(True, 1, (place,), "f", 1),
        asked=[AskedRecord(1, question.id, text, "asked", ("c-1",))],
    )
    found = FoundRecord("c-1", 1, place, True)
    findings = [FindingRecord(1, one.retriever, (found,), 1, 1.0, None) for one in results]
    here.lab.runs.keep(run.id, results, findings)
    here.lab.runs.finish(run.id, "complete")
    return here.lab.runs.get(run.id)


def test_without_documents_the_lab_says_what_to_do_first(page: Page):
    at = page("lab")
    assert not at.exception
    assert "Add documents first" in words(at) and not at.button


def test_questions_are_made_run_and_shown(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    at = page("lab")
    assert "No questions yet" in words(at)
    at.number_input(key="lab-made-count").set_value(1)
    at.button(key="lab-make").click().run()
    job = here.lab.making()
    assert job is None or job.wait(60)
    at.run()
    assert here.lab.sets.list()[0].origin == "sentences"
    assert "not for choosing a mode" in words(at)
    for name in ("ensemble-cc", "ensemble-rrf", "similarity", "mmr"):
        at.checkbox(key=f"lab-compare-{name}").uncheck()
    at.button(key="lab-run").click().run()
    job = here.lab.running(here.lab.sets.list()[0].id)
    assert job is None or job.wait(60)
    at.run()
    assert not at.exception
    assert at.table[0].value["Search"].tolist() == ["Words"]
    assert at.table[0].value["Recall@5"].tolist() == ["1.00"]
    opened = next(b for b in at.button if b.label.startswith("1"))
    opened.click().run()
    assert "Rank in each search" in words(at) and "Count Otto" in words(at)


def test_search_modes_are_named_in_the_language_of_the_page(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    kept_run(here, CASTLE)
    at = page("lab")
    at.session_state[CHOSEN] = "ko"
    shown = at.run().checkbox(key="lab-compare-ensemble-cc").label
    assert shown == "**하이브리드:** 단어와 의미를 문서에 맞는 비율로 함께 씁니다."


def test_a_typed_question_keeps_the_passages_that_were_marked(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    at = page("lab")
    at.segmented_control(key="lab-way").set_value("typed").run()
    at.text_input(key="lab-typed").set_value("Who built the castle of Aldenburg?")
    next(b for b in at.button if b.label == "Find passages").click().run()
    assert at.button(key="lab-add-typed").disabled
    next(c for c in at.checkbox if "castle.md" in c.label.replace("\\", "")).check().run()
    at.button(key="lab-add-typed").click().run()
    made = here.lab.sets.list()[0]
    (kept,) = here.lab.sets.questions(made.id)
    assert (made.origin, kept.text) == ("typed", "Who built the castle of Aldenburg?")
    assert "Count Otto" in kept.passages[0].quote
    assert not at.exception and at.text_input(key="lab-typed").value == ""


def test_helpful_answers_are_collected(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    answer = "It employed 1,204 people. [1]"
    quote = "It employed 1,204 people."
    turn = tell(here, "How many?", answer, passages=[passage()], citations=[citation(1, answer, quote)])
    at = page("lab")
    at.segmented_control(key="lab-way").set_value("feedback").run()
    at.button(key="lab-collect").click().run()
    assert any("No answer" in info.value for info in at.info) and here.lab.sets.list() == []
    here.conversations.rate(turn.answer_id, "up")
    at.button(key="lab-collect").click().run()
    assert [one.text for one in here.lab.sets.questions(here.lab.sets.list()[0].id)] == ["How many?"]
    assert [button.proto.label for button in at.get("download_button")] == [
        "Download test cases",
        "Download unhelpful answers",
    ]


def test_a_source_that_was_marked_as_wrong_is_not_collected_as_the_right_one(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    answer = "It employed 1,204 people. [1]"
    cited = [citation(1, answer, "It employed 1,204 people.")]
    turn = tell(here, "How many?", answer, passages=[passage()], citations=cited)
    here.conversations.rate(turn.answer_id, "up")
    here.feedback.mark(turn.answer_id, 0, "wrong")
    at = page("lab")
    at.segmented_control(key="lab-way").set_value("feedback").run()
    at.button(key="lab-collect").click().run()
    assert any("No answer" in info.value for info in at.info) and here.lab.sets.list() == []


def test_what_a_run_found_is_only_text(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    kept_run(here, HOSTILE, result("bm25", 1.0), result("similarity", 0.5), place=HOSTILE)
    at = page("lab")
    assert not at.exception
    next(b for b in at.button if "bold" in b.label).click().run()
    shown = [e.value for e in [*at.markdown, *at.caption]] + [b.label for b in at.button]
    shown += [str(cell) for table in at.table for cell in table.value.to_numpy().ravel()]
    assert sum("evil" in text for text in shown) >= 3
    for text in shown:
        if "evil" in text:
            is_inert(text)


def test_the_best_of_each_column_is_named_in_words(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    kept_run(here, "Who?", result("bm25", 0.5), result("similarity", 1.0))
    table = page("lab").table[0].value
    assert table["Search"].tolist() == ["Meaning", "Words"]
    assert table["nDCG@10"].tolist() == ["**1.00\u00a0best**", "0.50"]


def test_a_search_is_made_the_default(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    kept_run(here, "Who?", result("bm25", 1.0), result("similarity", 0.5))
    at = page("lab")
    at.button(key="lab-make-default").click().run()
    assert services.services().settings.retriever == "bm25"
    button = at.button(key="lab-make-default")
    assert button.disabled and button.label == "Current default"


def test_a_search_set_by_the_server_cannot_be_changed(
    page: Page, here: Workspace, monkeypatch: pytest.MonkeyPatch
):
    read(here, "castle.md", CASTLE)
    kept_run(here, "Who?", result("bm25", 1.0))
    monkeypatch.setenv("FOOTNOTE_RETRIEVER", "similarity")
    at = page("lab")
    assert at.button(key="lab-make-default").disabled
    assert "Set by the server's configuration" in words(at)


def test_an_earlier_run_is_compared_and_what_else_differs_is_said(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    first = kept_run(here, "Who?", result("bm25", 0.5))
    second = here.lab.runs.begin(
        first.set_id,
        retrievers=["bm25"],
        k=10,
        embedding=first.embedding,
        mixture="",
        searched=SearchedRecord(True, 2, ("castle.md", "b.md"), "g", 3),
        asked=here.lab.runs.asked(first.id),
    )
    here.lab.runs.keep(second.id, [result("bm25", 1.0)], [])
    here.lab.runs.finish(second.id, "complete")
    at = page("lab")
    assert "2 documents in place of 1" in words(at)
    beside = at.table[1].value
    assert beside["nDCG@10, this run"].tolist() == ["1.00"]
    assert beside["nDCG@10, other run"].tolist() == ["0.50"]


def test_a_set_is_renamed_emptied_and_deleted(page: Page, here: Workspace):
    read(here, "castle.md", CASTLE)
    run = kept_run(here, "Who?", result("bm25", 1.0))
    (question,) = here.lab.sets.questions(run.set_id)
    at = page("lab")
    at.text_input(key=f"lab-name-{run.set_id}").set_value(" 성에 대한\n질문 ").run()
    assert here.lab.sets.get(run.set_id).name == "성에 대한 질문"
    at.button(key=f"lab-remove-{question.id}").click().run()
    assert here.lab.sets.get(run.set_id).questions == 0 and at.button(key="lab-run").disabled
    at.button(key="lab-delete").click().run()
    at.button(key=f"lab-delete-{run.set_id}").click().run()
    assert here.lab.sets.list() == [] and not at.exception


def test_of_equal_values_none_is_best():
    assert best([result("bm25", 0.5), result("mmr", 0.5)], "ndcg@10") == frozenset()
    assert best([result("bm25", 0.5), result("mmr", 0.7)], "ndcg@10") == {"mmr"}
    assert verdict([result("bm25", 0.5)]) == "All search modes did equally well."
    assert "**Words**" in verdict([result("bm25", 0.9), result("mmr", 0.7)])


def test_of_equally_good_searches_the_quicker_comes_first():
    assert ranked([result("mmr", 0.5, p50=9.0), result("bm25", 0.5, p50=1.0)]) == ["bm25", "mmr"]


def test_who_found_what_is_merged_with_the_right_passages_first():
    findings = [
        finding("bm25", ("a", False), ("b", True)),
        finding("similarity", ("c", False), ("a", False)),
    ]
    assert [(found.chunk_id, dict(places)) for found, places in merge_findings(findings)] == [
        ("b", {"bm25": 2}),
        ("a", {"bm25": 1, "similarity": 2}),
        ("c", {"similarity": 1}),
    ]
    assert rank_line(findings) == "Rank 2: Words. Not found: Meaning."
    assert rank_line([finding("bm25", ("a", True)), finding("mmr", ("a", True))]) == "First in every search."
