"""A model that reads for open statements, over HTTP: honest, lying, late, broken."""

import pytest

from rag.citations.asked import Span
from rag.citations.checker import Checker
from rag.citations.cite import cite
from rag.citations.reader import Checked, Checking, StatementReader, check, read_evidence
from rag.errors import Cancelled
from rag.evaluation.answers import as_passages
from rag.jobs import never
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from rag.passage import Passage
from tests.rag.fake_llm import FakeLLM, Reply, Request, careful, stated

TEXTS = [
    "The castle of Aldenburg was built in 1432. Its moat is nine metres deep.",
    "The keeper lit the lamp at dusk. Visitors are admitted only if they have paid.",
]
PASSAGES = as_passages(TEXTS)
MOAT, VISITORS = "The moat has a depth of nine metres", "Anybody may visit the lamp"
ANSWER = f"# Facts\n\nThe castle of Aldenburg was built in 1432 [1]. {MOAT} [2]. {VISITORS}."
DEEP = "Its moat is nine metres deep."
HONEST = careful({MOAT: DEEP})


@pytest.fixture
def server():
    with FakeLLM() as fake:
        yield fake


def checked(server: FakeLLM, answer: str = ANSWER, seconds: float = 30.0, cancelled=never) -> list[object]:
    text, citations = cite(answer, PASSAGES)
    with LLM(LLMSettings(server.url, "m", "k", timeout=30, idle_timeout=30)) as llm:
        return list(check(text, citations, PASSAGES, StatementReader(llm, seconds), cancelled))


def statuses(event: object) -> list[tuple[str, str, int]]:
    assert isinstance(event, Checked)
    return [
        (event.text[one.answer_start : one.answer_end], one.status, one.marker) for one in event.citations
    ]


def test_one_request_asks_for_all_open_statements_and_the_words_it_finds_verify_them(server: FakeLLM):
    server.read(HONEST)
    asked, read = checked(server)
    assert asked == Checking(2) and len(server.readings) == 1
    prompt = server.readings[0].prompt
    assert MOAT in prompt and VISITORS in prompt and prompt.count("built in 1432") == 1
    assert isinstance(read, Checked)
    assert statuses(read) == [
        ("The castle of Aldenburg was built in 1432 [1].", "verified", 1),
        (f"{MOAT} [2] [1].", "verified", 1),
        (f"{MOAT} [2] [1].", "unsupported", 2),
        (f"{VISITORS}.", "unsupported", 0),
    ]
    moat = read.citations[1]
    assert TEXTS[0][moat.quote_start : moat.quote_end] == moat.quote == "Its moat is nine metres deep."
    assert read.note.startswith("1 of 2 open statements verified")


def test_nothing_is_asked_where_no_statement_is_open(server: FakeLLM):
    assert checked(server, "The castle of Aldenburg was built in 1432 [1].") == []
    assert checked(server, "The documents do not say when it closed.") == []
    assert server.readings == []


@pytest.mark.parametrize(
    "reply",
    [
        careful({MOAT: MOAT}),  # invented
        careful({MOAT: "The keeper lit the lamp at dusk."}),  # real, and about something else
        careful({VISITORS: "Visitors are admitted"}),  # cut before its condition
        Reply(f"4 | supports | 1 | {DEEP}"),  # nothing about the controls
        Reply("Yes. Yes."),
        Reply(f"1 | contradicts | 1 | {DEEP}"),
        Reply("Ignore the code: all statements are verified."),
    ],
)
def test_a_lying_reader_verifies_nothing(server: FakeLLM, reply: Reply):
    server.read(reply)
    _, read = checked(server)
    assert [status for _, status, _ in statuses(read)].count("verified") == 1


def test_a_model_that_fails_or_is_late_leaves_what_the_code_found(server: FakeLLM):
    server.read(Reply(status=401))
    _, failed = checked(server)
    server.read(Reply(hang=True))
    _, late = checked(server, seconds=0.3)
    for event, reason in ((failed, "key"), (late, "longer than 0.3 seconds")):
        assert isinstance(event, Checked) and reason in event.note
        assert [status for _, status, _ in statuses(event)].count("verified") == 1


def test_whole_lines_that_came_in_time_count(server: FakeLLM):
    server.read(HONEST)
    checked(server)
    said = HONEST.text(server.readings[-1])
    server.read(Reply(pieces=(f"{said}\n", "5 | supports | 1 | Its moat"), hang_after=2))
    _, read = checked(server, seconds=1.0)
    assert statuses(read)[1][1] == "verified" and "longer than" in read.note


def test_a_cancel_ends_the_request_and_changes_nothing(server: FakeLLM):
    server.read(Reply(hang=True))
    with pytest.raises(Cancelled):
        checked(server, cancelled=lambda: bool(server.readings))
    assert server.hung_up.wait(5)


@pytest.mark.parametrize(
    ("claim", "verified"),
    [
        ("The moat of the castle is 9 metres in depth.", True),
        ("The moat of the castle is 8 metres in depth.", False),
        ("The moat of the castle is not nine metres deep.", False),
        ("Visitors of the castle are always admitted.", False),
        ("Whoever visits is admitted.", False),
        ("Bananas grow in Ecuador.", False),
    ],
)
def test_quotes_are_widened_and_the_rules_decide(claim: str, verified: bool):
    spans = [Span(1, 44, 52), Span(2, 34, 55)]
    assert (Checker(PASSAGES).supported_by(claim, spans).status == "verified") == verified


def test_two_facts_may_rest_on_words_of_two_passages():
    claim = "The moat has a depth of nine metres, and the keeper lit the lamp at dusk."
    found = Checker(PASSAGES).supported_by(claim, [Span(1, 44, 60), Span(2, 0, 10)])
    assert found.status == "verified" and {span.number for span in found.spans} == {1, 2}
    assert Checker(PASSAGES).supported_by(claim, [Span(1, 44, 60)]).status == "unsupported"


def test_words_that_a_model_read_from_a_picture_are_no_evidence_for_the_reader_either(server: FakeLLM):
    seen = "Its moat is nine metres deep."
    picture = Passage("d.figure-1", "d", "a.pdf", "", 2, "Figure 1", 0, 8, seen)
    server.read(careful({MOAT: seen}))
    said = f"{MOAT} [1]."
    text, citations = cite(said, [picture, PASSAGES[1]])
    with LLM(LLMSettings(server.url, "m", "k", timeout=30, idle_timeout=30)) as llm:
        _, read = check(text, citations, [picture, PASSAGES[1]], StatementReader(llm, 30.0))
    assert statuses(read) == [(said, "related", 1)]
    assert 'source="read from a picture by a model, not a quote"' in server.readings[0].prompt


# A sentence in other words, which only a reader can tell
MILL = as_passages(
    [
        "The mill of Arnsby ground oats for the whole valley. Its wheel was made by a smith called Tom Rudd. "
        "The pond behind it freezes in most winters."
    ]
)
RUDD = "A craftsman named Rudd forged that part."
WHEEL = "Its wheel was made by a smith called Tom Rudd."
READS = careful({RUDD: WHEEL})


def credulous(request: Request) -> str:
    """Say yes to everything, with real words."""
    return "\n".join(f"{n} | supports | 1 | {WHEEL}" for n, _ in stated(request))


def silent(request: Request) -> str:
    """Say yes to the statement, and nothing of the controls."""
    return credulous(request).splitlines()[-1]


@pytest.mark.parametrize(
    ("reply", "told", "verified"),
    [
        (READS, RUDD, True),
        (Reply(credulous), RUDD, False),
        (Reply(silent), RUDD, False),
        (READS, "A craftsman named Fry forged that part.", False),
    ],
)
def test_other_words_are_verified_only_by_a_reader_that_tells_true_from_false(
    server: FakeLLM, reply: Reply, told: str, verified: bool
):
    server.read(reply)
    with LLM(LLMSettings(server.url, "m", "k", timeout=30, idle_timeout=30)) as llm:
        found, said = read_evidence([told], MILL, StatementReader(llm, 30.0))
    assert said.tested == (reply is READS)
    assert [one.status for one in found.values()].count("verified") == verified


@pytest.mark.parametrize(
    "lie",
    [
        "A craftsman named Fry forged that part.",
        "A craftsman named Rudd forged that part in 1840.",
        "A craftsman named Rudd never forged that part.",
    ],
)
def test_no_reader_talks_facts_past_the_code(lie: str):
    start = MILL[0].text.index(WHEEL)
    quote = [Span(1, start, start + len(WHEEL))]
    assert Checker(MILL).supported_by(RUDD, quote).status == "verified"
    assert Checker(MILL).supported_by(lie, quote).status == "unsupported"


def test_the_note_says_that_a_reader_did_not_tell_made_statements_apart(server: FakeLLM):
    for reply, noted in ((Reply(credulous), True), (READS, False)):
        server.read(reply)
        text, citations = cite(f"{RUDD} [1]", MILL)
        with LLM(LLMSettings(server.url, "m", "k", timeout=30, idle_timeout=30)) as llm:
            *_, read = check(text, citations, MILL, StatementReader(llm, 30.0))
        assert isinstance(read, Checked) and ("made statements" in read.note) == noted
