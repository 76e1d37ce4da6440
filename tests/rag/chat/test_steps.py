import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from rag.chat.answer import Done, Sources
from rag.chat.conversation import Conversation
from rag.chat.pipeline import RagPipeline
from rag.chat.steps import (
    Planned,
    StepLimits,
    may_have_parts,
    plan_by_rule,
    plan_of,
    plan_text,
    read_plan,
)
from rag.factory import make_pipeline
from rag.i18n import in_language, translated
from rag.ingest.document_facts import DocumentProfile
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.settings import Settings
from storage.conversations import Conversations
from storage.database import Database
from storage.records import DocumentFact
from tests.rag.chat.test_pipeline import no_embedder, put
from tests.rag.fake_llm import FakeLLM

HARBOUR = (
    "# Harbour lease\n\nThe lease of Quay Hall ends first, on 3 May 2025. The rent of Quay Hall is 400.\n"
)
MILL = "# Mill\n\nThe lease of Elm Mill ends on 9 June 2031. The rent of Elm Mill is 700.\n"
SIGNED = "# Signatures\n\nFor Quay Hall Ida Moor signed. For Elm Mill Jon Pell signed.\n"
COSTS = (
    "# Costs\n\n| | 2023 |\n| --- | --- |\n| Dredging | 400 |\n| Paint | 5 |\n| Rope | 6 |\n| Crew | 12 |\n"
)
CHAIN = "Which lease ends first, and who signed it?"


@pytest.fixture
def library(database: Database) -> Iterator[Library]:
    opened = Library(database, "ann", no_embedder)
    for name, text in (("harbour.md", HARBOUR), ("mill.md", MILL), ("signatures.md", SIGNED)):
        put(opened, text, name)
    yield opened
    opened.close()


def asked(pipeline: RagPipeline, question: str, **options: object) -> tuple[Planned | None, Sources, Done]:
    events = list(pipeline.ask(question, [], never, **options))
    plans = [event for event in events if isinstance(event, Planned)]
    (sources,) = (event for event in events if isinstance(event, Sources))
    (done,) = (event for event in events if isinstance(event, Done))
    return (plans[-1] if plans else None), sources, done


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        (
            "What is the difference between query and path parameters?",
            ["Query parameters?", "Path parameters?"],
        ),
        (
            "When should I use async def instead of def?",
            ["When should I use async def?", "When should I use def?"],
        ),
        ("Who built it and when was it sold? Why did it close?", 3),
        ("What is CORS? How is it enabled?", ["What is CORS?", "How is it enabled? (about CORS)"]),
        ("What was the rent in May 2021 and how much was paid?", 2),
        ("useState와 useReducer의 차이점은 무엇인가요?", ["useState", "useReducer"]),
        ("昨年と今年の入館者数を比べて", ["昨年の入館者数", "今年の入館者数"]),
        ("昨年度と今年度の貸出冊数を比較してください", ["昨年度の貸出冊数", "今年度の貸出冊数"]),
        ("작년과 올해 매출을 비교해줘", ["작년 매출", "올해 매출"]),
        (
            "Compare last year's and this year's attendance.",
            ["Last year's attendance", "This year's attendance"],
        ),
        ("state는 무엇이고 언제 업데이트되나요?", ["state는 무엇인가요?", "언제 업데이트되나요? (state)"]),
        ("賃料と敷金の違いは何ですか?", ["賃料", "敷金"]),
        (
            "CORSとは何で、どのように有効にしますか?",
            ["CORSとは何ですか？", "どのように有効にしますか?（CORS）"],
        ),
        (
            "월 차임은 얼마이고 계약은 언제 끝나나요?",
            ["월 차임은 얼마인가요?", "계약은 언제 끝나나요?"],
        ),
        ("누가 서명했고, 계약서는 어디에 있나요?", ["누가 서명했나요?", "계약서는 어디에 있나요?"]),
        ("집세를 언제 내는지, 보증금이 얼마인지 알려 주세요", 0),
        (
            "誰が署名し、契約はいつ終わりましたか？",
            ["誰が署名しましたか？", "契約はいつ終わりましたか？"],
        ),
        (
            "중도 해지하려면 몇 달 전에 알려야 하고 위약금은 얼마인가요?",
            ["중도 해지하려면 몇 달 전에 알려야 하나요?", "위약금은 얼마인가요?"],
        ),
        ("월 차임은 얼마이고 언제 내나요?", ["월 차임은 얼마인가요?", "언제 내나요? (차임)"]),
        (
            "青葉ビルの賃料はいくらで、敷金はいくらですか?",
            ["青葉ビルの賃料はいくらですか？", "敷金はいくらですか?（青葉ビル）"],
        ),
        (
            "契約期間はいつまで、家賃はいくらですか。",
            ["契約期間はいつまでですか？", "家賃はいくらですか。"],
        ),
        (
            "보증금은\n얼마이고, 계약 기간은 언제까지인가요?",
            ["보증금은 얼마인가요?", "계약 기간은 언제까지인가요?"],
        ),
        ("1. What is due?\n2. Who pays?", ["What is due?", "Who pays?"]),
    ],
)
def test_a_question_with_parts_is_planned_by_rule(question: str, steps: list[str] | int):
    planned = [step.question for step in plan_by_rule(question)]
    assert len(planned) == steps if isinstance(steps, int) else planned == steps


TOLD = (
    "iPhone net sales rose. Mac net sales fell.",
    "Research and development expense was flat, and so was the gross margin.",
    "Research and development expense rose.",
    "아이폰의 매출은 늘었고 맥의 매출은 줄었다.",
    "賃貸契約の期間は二年です。保証契約の期間は一年です。",
)


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        ("Compare iPhone and Mac net sales.", ["iPhone net sales", "Mac net sales"]),
        ("Compare iPhone and the gross margin.", ["iPhone", "The gross margin"]),
        (
            "Compare the hotel limits in Japan and South Korea.",
            ["The hotel limits in Japan", "The hotel limits in South Korea"],
        ),
        (
            "Compare research and development expense and the gross margin.",
            ["Research and development expense", "The gross margin"],
        ),
        ("What is the difference between research and development?", ["Research?", "Development?"]),
        ("아이폰과 맥의 매출을 비교해 줘", ["아이폰의 매출", "맥의 매출"]),
        ("賃貸契約と保証契約の期間の違いは?", ["賃貸契約の期間", "保証契約の期間"]),
    ],
)
def test_a_comparison_is_cut_where_the_documents_end_a_name(question: str, steps: list[str]):
    assert [step.question for step in plan_by_rule(question, texts=lambda _: TOLD)] == steps


@pytest.mark.parametrize(
    "question",
    [
        "配送料の対象外の地域を教えてください",
        "返品対応の期限は何日以内ですか",
        "絶対に必要な書類は何ですか",
        "苦情対応窓口はどこですか",
    ],
)
def test_a_word_with_the_sign_of_a_comparison_in_it_is_not_cut(question: str) -> None:
    told = ("離島は対象外の地域とする。", "返品対応は七日以内に行う。", "苦情対応窓口は本店に置く。")
    assert plan_by_rule(question, texts=lambda _: told) == ()


def test_two_things_of_the_documents_are_compared_by_the_sign_between_them() -> None:
    told = ("普通預金の金利は0.1%とする。", "定期預金の金利は0.4%とする。")
    steps = plan_by_rule("普通預金対定期預金の違いは？", texts=lambda _: told)
    assert [step.question for step in steps] == ["普通預金", "定期預金"]


@pytest.mark.parametrize(
    ("titles", "question", "steps"),
    [
        (
            ("임대차계약서.pdf", "입주안내문.md"),
            "입주안내문과 임대차계약서의 주차 요금을 비교해 주세요",
            ["입주안내문의 주차 요금", "임대차계약서의 주차 요금"],
        ),
        (
            ("募集要項.pdf", "雇用契約書.docx"),
            "募集要項と雇用契約書の試用期間を比較して",
            ["募集要項の試用期間", "雇用契約書の試用期間"],
        ),
        (
            ("brochure.pdf", "lease.docx"),
            "Compare the parking fee in the brochure and the lease.",
            ["The parking fee in the brochure", "The parking fee in the lease"],
        ),
    ],
)
def test_what_is_compared_of_two_documents_is_asked_of_both(
    titles: tuple[str, str], question: str, steps: list[str]
):
    documents = [DocumentProfile(name, name) for name in titles]
    assert [step.question for step in plan_by_rule(question, documents)] == steps


def test_what_only_one_side_of_a_comparison_has_stays_there_beside_no_document():
    documents = [DocumentProfile("lease", "임대차계약서.pdf")]
    steps = [
        step.question for step in plan_by_rule("난방비와 임대차계약서의 주차 요금을 비교해 줘", documents)
    ]
    assert steps == ["난방비", "임대차계약서의 주차 요금"]


@pytest.mark.parametrize(
    "question",
    [
        "What do the terms and conditions say about research and development?",
        "Who is responsible?",
        "When does the lease end?",
        "How many people live between the river and the road?",
        "임대 계약은 언제 끝나나요?",
        "차를 두 대 가지고 있으면 주차료가 얼마인가요?",
        "契約はいつ終わりますか?",
        "Which is right?\n1. The first\n2. The second",
    ],
)
def test_a_single_question_costs_nothing(question: str):
    assert plan_by_rule(question) == ()
    assert not may_have_parts(question)


PARTIES = [
    DocumentProfile(
        f"{name}{quarter}",
        "a.pdf",
        [DocumentFact("name", name), DocumentFact("period", f"2023-Q{quarter}")],
    )
    for name in ("Acme", "Bolt")
    for quarter in (1, 2)
]


@pytest.mark.parametrize(
    ("question", "steps"),
    [
        (
            "Compare Acme's and Bolt's sales in Q1 2023.",
            ["Acme's sales in Q1 2023", "Bolt's sales in Q1 2023"],
        ),
        (
            "How did Acme's sales in Q1 2023 compare with Q2 2023?",
            ["Acme's sales in Q1 2023?", "Acme's sales in Q2 2023?"],
        ),
        ("What did Acme sell in Q1 2023?", []),
    ],
)
def test_each_named_party_or_period_is_a_step(question: str, steps: list[str]):
    assert [step.question for step in plan_by_rule(question, PARTIES)] == steps


@pytest.mark.parametrize(
    ("reply", "steps"),
    [
        ("ONE", ()),
        ("1. Who signed?\n2) When was #1 born?", (("Who signed?", 0), ("When was #1 born?", 1))),
        ("- Who signed?\n- When did Bob sign?", None),  # a new name
        ("Who signed?\nWho signed in 1999?", None),  # a new number
        ("누가 서명했나요?\n언제 서명했나요?", None),
        ("Who signed #2?\nWho left?", None),
        ("\n".join(f"Who signed part {'x' * n}?" for n in range(1, 6)), None),
    ],
)
def test_a_plan_of_a_model_is_checked(reply: str, steps: tuple[tuple[str, int], ...] | None):
    plan = plan_of(reply, "Who signed, and when?")
    assert (plan if plan is None else tuple((one.question, one.uses) for one in plan)) == steps


def test_a_later_step_searches_for_what_an_earlier_one_found(library: Library):
    plan, sources, done = asked(make_pipeline(Settings(k=2), library, None), CHAIN)
    assert plan is not None and [step.question for step in plan.steps] == [
        "Which lease ends first",
        "Who signed it? (about Quay Hall)",
    ]
    assert [step.found for step in plan.steps] == [3, 3]
    assert {one.document for one in sources.passages} == {"harbour.md", "mill.md", "signatures.md"}
    headings = [f"**{step.question}**" for step in plan.steps]
    assert [line for line in done.text.split("\n\n") if line in headings] == headings
    first, second = (citation.quote for citation in done.citations)
    assert "Quay Hall ends first" in first and "Ida Moor signed" in second
    assert all(
        one.status == "verified" and 1 <= one.marker <= len(sources.passages) for one in done.citations
    )


def test_each_step_has_the_amounts_that_it_names(library: Library):
    more = "The dredging cost $9 million more than planned."
    for name, text in (("costs.md", COSTS), ("dredging.md", more)):
        put(library, text, name)
    question = "What did dredging cost, and how did the crew grow?"
    _, _, done = asked(make_pipeline(Settings(), library, None), question)
    first, second = done.text.split("**How did the crew grow?")
    assert "| Dredging | 400 [" in first and more in first and "| Crew |" not in first
    assert re.search(r"\| Crew \|.* \[\d", second) and more not in second


def test_a_comparison_is_cut_by_the_words_of_the_library(library: Library):
    put(library, "iPhone net sales rose by 2. Mac net sales fell by 7.", "sales.md")
    plan, *_ = asked(make_pipeline(Settings(), library, None), "Compare iPhone and Mac net sales.")
    assert plan is not None
    assert [step.question for step in plan.steps] == ["iPhone net sales", "Mac net sales"]


def test_a_model_plans_completes_a_step_and_answers_from_the_union(library: Library, fake_llm: FakeLLM):
    fake_llm.say(
        "Which lease ends first?\nWho signed #1?",
        "Who signed for Quay Hall?",
        "Quay Hall ends first [1]. Ida Moor signed it for Quay Hall [2].",
    )
    with LLM(LLMSettings(fake_llm.url, "fake")) as llm:
        plan, sources, done = asked(make_pipeline(Settings(), library, llm), CHAIN)
    assert plan is not None
    assert [step.question for step in plan.steps] == ["Which lease ends first?", "Who signed for Quay Hall?"]
    assert [(one.status, one.marker) for one in done.citations][1][0] == "verified"
    asked_for = fake_llm.requests[-1].prompt
    assert all(one.text in asked_for for one in sources.passages)


def test_a_model_is_not_asked_for_a_plan_of_a_single_question(library: Library, fake_llm: FakeLLM):
    with LLM(LLMSettings(fake_llm.url, "fake")) as llm:
        plan, *_ = asked(make_pipeline(Settings(), library, llm), "What is the rent of Elm Mill?")
    assert plan is None and len(fake_llm.requests) == 1


@pytest.mark.parametrize("reply", ["Who is Bob?\nWho is Eve?", ""])
def test_a_plan_that_is_not_sound_is_made_by_rule_and_said(library: Library, fake_llm: FakeLLM, reply: str):
    fake_llm.say(reply, "Who signed it?", "It says so [1].")
    with LLM(LLMSettings(fake_llm.url, "fake")) as llm:
        plan, *_ = asked(make_pipeline(Settings(), library, llm), CHAIN)
    assert plan is not None and "no sound plan" in plan.remarks


def test_a_step_that_finds_nothing_is_searched_again_in_other_words(library: Library):
    question = "What is the rent of Elm Mill, and how is zeppelin parking charged?"
    plan, _, done = asked(make_pipeline(Settings(), library, None), question)
    assert plan is not None and plan.steps[0].note == ""
    assert "no clear match" in plan.steps[1].note
    assert "do not seem to answer this" in done.text or "no clear answer" in done.text


def test_steps_after_the_budget_are_left_out_and_said(library: Library):
    pipeline = replace(make_pipeline(Settings(), library, None), steps=StepLimits(seconds=0))
    plan, sources, _ = asked(pipeline, CHAIN)
    assert plan is not None and "had passed before step 2" in plan.remarks
    assert [step.found is None for step in plan.steps] == [False, True]
    assert all("step 2" not in one.found_by for one in sources.passages)


def test_a_plan_is_stored_and_searched_word_for_word_when_its_lines_were_changed(
    library: Library, conversations: Conversations
):
    conversation = Conversation(conversations, lambda: make_pipeline(Settings(), library, None))
    turn = conversation.begin(conversations.create().id, CHAIN)
    list(conversation.run(turn, never))
    answer = conversations.message(turn.answer_id)
    whole, steps = read_plan(answer.standalone_question or "")
    assert (whole, len(steps)) == (CHAIN, 2)

    lines = ["rent of Elm Mill", "rent of Quay Hall", "who signed for Elm Mill"]
    again = conversation.begin_version(turn.question_id, CHAIN, searched=plan_text(whole, lines))
    list(conversation.run(again, never))
    changed = conversations.message(again.answer_id)
    assert read_plan(changed.standalone_question or "") == (CHAIN, tuple(lines))
    assert "Jon Pell" in changed.content and "700" in changed.content and "400" in changed.content


@pytest.mark.parametrize(("code", "said"), [("ko", "2단계에 뚜렷이"), ("ja", "手順2にはっきり")])
def test_remarks_kept_in_english_are_shown_in_the_readers_language(library: Library, code: str, said: str):
    question = "What is the rent of Elm Mill, and how is zeppelin parking charged?"
    plan, *_ = asked(make_pipeline(Settings(), library, None), question)
    assert plan is not None
    with in_language(code):
        assert translated(str(plan.remarks)).startswith(said)
