"""Question sets made from documents: real ledger and word index, and a scripted model."""

import threading
from collections.abc import Iterator

import pytest

from rag.errors import LLMUnreachable, QuestionRefused, SettingsError
from rag.evaluation.lab import LANES, Lab
from rag.ingest.library import Library
from rag.jobs import Jobs
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings
from storage.database import Database
from tests.rag.fake_llm import FakeLLM, Reply

FOOTER = "Aldenburg Heritage Foundation publishes this brochure for visitors and schools."
CASTLE = (
    "# Castle\n\nCount Otto built the castle of Aldenburg on the northern hill above the river in 1432. "
    "The stone bridge over the moat was added by his daughter Helene after the great flood. "
    f"It was wide.\n\n{FOOTER}\n\n"
    "# Prices\n\n| Ticket | Price | Reduced | Family | Group |\n| --- | --- | --- | --- | --- |\n"
    "| Castle | 12 | 8 | 30 | 10 |\n| Garden | 5 | 3 | 12 | 4 |\n| Both | 15 | 10 | 36 | 12 |\n"
)
GARDEN = (
    "# Garden\n\nThe gardener Emma Vogel planted four hundred roses behind the southern wall in spring 1870. "
    "Visitors from Vienna admired the glass house with its orange trees and rare ferns.\n\n"
    f"{FOOTER}\n"
)
KOREAN = (
    "# 등대\n\n부산항의 등대지기 김철수는 해질녘마다 고래기름 등불을 밝혔다. "
    "태풍 사라호가 지나간 뒤 항구의 방파제는 삼십 미터 길이로 다시 세워졌다. "
    "등대의 흰색 탑은 먼바다 어선들에게 귀중한 길잡이 역할을 오랫동안 맡았다.\n"
)
JAPANESE = (
    "# 灯台\n\n横浜港の灯台守である田中一郎は、夕暮れに鯨油のランプを灯していた。"
    "関東大震災の後、港の防波堤は三十メートルの長さで再建された。"
    "白色の塔は、遠洋漁業の漁船にとって貴重な道標の役割を果たした。\n"
)
TEXTS = {"castle.md": CASTLE, "garden.md": GARDEN, "ko.md": KOREAN, "ja.md": JAPANESE}
GOOD = "Whose idea was the thing nobody remembers any more, number {}?"


def no_embedder():
    raise AssertionError("Making questions needs no embedding model.")


@pytest.fixture
def library(database: Database) -> Iterator[Library]:
    library = Library(database, "ann", no_embedder)
    for name, text in TEXTS.items():
        record, _ = library.add(name, text.encode())
        list(library.read(record.id))
    yield library
    library.close()


@pytest.fixture
def jobs() -> Iterator[Jobs]:
    jobs = Jobs(LANES)
    yield jobs
    jobs.close()


@pytest.fixture
def lab(database: Database, library: Library, jobs: Jobs) -> Lab:
    return Lab(database, library, jobs, lambda: None)


@pytest.fixture
def modelled(database: Database, library: Library, jobs: Jobs, fake_llm: FakeLLM) -> Iterator[Lab]:
    """The lab with a connected model."""
    with LLM(LLMSettings(fake_llm.url, "fake", timeout=30, idle_timeout=10)) as llm:
        yield Lab(database, library, jobs, lambda: llm)


def finished(job):
    assert job.wait(60)
    return job.since(0)


def made(lab: Lab):
    """Return the only set and its questions."""
    (record,) = lab.sets.list()
    return record, lab.sets.questions(record.id)


def test_questions_from_sentences_are_spread_over_documents_and_languages(lab, library):
    events = finished(lab.start_making("From sentences", count=4))
    record, questions = made(lab)
    assert (record.name, record.origin, record.questions) == ("From sentences", "sentences", 4)
    assert {question.passages[0].document for question in questions} == set(TEXTS)
    assert (events[0].done, events[-1].done, events[-1].total) == (0, 4, 4)
    assert events[-1].latest == questions[-1].text
    for question in questions:
        (passage,) = question.passages
        text = library.documents.text(passage.document_id)
        assert text[passage.start : passage.end] == passage.quote
        assert question.text and question.text not in passage.quote
    assert [one.status for one in lab.prepared(record.id)] == ["asked"] * 4


def test_questions_as_people_ask_them_come_before_keywords(lab, library):
    told = "The harbour keeper of Busan lit the whale oil lamp every evening at dusk for forty years. "
    for number in range(4):
        text = f"# Mill {number}\n\n{told}Mill number {number} of Aldenburg was opened in 193{number}.\n"
        record, _ = library.add(f"mill-{number}.md", text.encode())
        list(library.read(record.id))
    finished(lab.start_making("Natural first", count=4))
    _, questions = made(lab)
    assert len(questions) == 4
    assert all(one.text.startswith("When was") and one.text.endswith("?") for one in questions)


def test_the_same_seed_makes_the_same_questions_and_another_one_others(lab):
    drawn = []
    for seed in ("1", "1", "2"):
        finished(lab.start_making(seed, count=4, seed=seed))
        newest = lab.sets.list()[0]
        drawn.append([question.text for question in lab.sets.questions(newest.id)])
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_sentence_that_stands_in_two_places_and_a_table_are_not_asked_about(lab):
    for seed in map(str, range(8)):
        finished(lab.start_making(seed, count=4, seed=seed))
    questions = [question for record in lab.sets.list() for question in lab.sets.questions(record.id)]
    quotes = {question.passages[0].quote for question in questions}
    assert FOOTER not in quotes
    assert not any("|" in quote for quote in quotes)


def test_where_passages_run_out_the_set_has_what_there_is(lab, library):
    chosen = [record.id for record in library.documents.list() if record.name == "garden.md"]
    events = finished(lab.start_making("Few", document_ids=chosen, count=50))
    _, questions = made(lab)
    assert 1 <= len(questions) < 50
    assert {question.passages[0].document for question in questions} == {"garden.md"}
    assert events[-1].done == len(questions)


def test_documents_without_prose_leave_no_empty_set(lab, library):
    record, _ = library.add("figures.md", b"# Figures\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n")
    list(library.read(record.id))
    job = lab.start_making("None", document_ids=[record.id], count=5)
    assert job.wait(30)
    assert isinstance(job.error, QuestionRefused)
    assert lab.sets.list() == []


def test_a_model_writes_a_question_for_each_passage(modelled, fake_llm, library):
    asked = iter(range(100))
    fake_llm.reply(Reply(lambda request: question_for(request.prompt, next(asked))))
    finished(modelled.start_making("By the model", count=4, use_model=True))
    record, questions = made(modelled)
    assert (record.origin, record.questions) == ("made", 4)
    assert {question.passages[0].document for question in questions} == set(TEXTS)
    for question in questions:
        chunk = library.documents.chunks_by_id([question.passages[0].chunk_id]).popitem()[1]
        assert question.passages[0].quote == chunk.text


def question_for(prompt: str, number: int) -> str:
    if "부산" in prompt:
        return f"옛 항구 사람들은 밤에 무엇을 보고 돌아왔나요 {number}?"
    if "横浜" in prompt:
        return f"むかしの港の人々は夜に何を頼りにしていましたか{number}？"
    return GOOD.format(number)


def test_a_model_that_answers_nonsense_is_skipped_counted_and_leaves_no_set(modelled, fake_llm):
    fake_llm.say("I cannot help with that.")
    job = modelled.start_making("Nonsense", count=2, use_model=True)
    assert job.wait(60)
    assert isinstance(job.error, QuestionRefused)
    last = job.since(0)[-1]
    assert last.done == 0
    assert 0 < len(fake_llm.requests) <= 6
    assert modelled.sets.list() == []


def test_a_question_that_is_written_twice_is_kept_once(modelled, fake_llm):
    fake_llm.say(GOOD.format(1))
    finished(modelled.start_making("Once", count=3, use_model=True))
    record, _ = made(modelled)
    assert record.questions == 1


def test_a_server_that_goes_away_ends_the_making_and_keeps_what_was_made(modelled, fake_llm):
    first = Reply(lambda request: question_for(request.prompt, 1))
    fake_llm.reply(first, Reply(status=401, body=b"{}"))
    job = modelled.start_making("Broken off", count=4, use_model=True)
    assert job.wait(60)
    assert job.error is not None and not isinstance(job.error, QuestionRefused | LLMUnreachable)
    record, questions = made(modelled)
    assert (record.questions, len(questions)) == (1, 1)
    assert len(fake_llm.requests) == 4


def test_a_stopped_making_keeps_what_was_made(modelled, fake_llm):
    fake_llm.reply(Reply(lambda request: question_for(request.prompt, 1)), Reply(hang=True))
    job = modelled.start_making("Stopped", count=4, use_model=True)
    while job.latest is None or job.latest.done == 0:
        job.since(len(job.since(0)), wait=1.0)
    assert modelled.making() is job
    job.cancel()
    assert job.wait(10)
    record, _ = made(modelled)
    assert record.questions == 1
    assert modelled.making() is None


def test_one_making_at_a_time(modelled, fake_llm):
    arrived = threading.Event()

    def hold(request):
        arrived.set()
        return question_for(request.prompt, 1)

    fake_llm.reply(Reply(hold, delay=0.3))
    job = modelled.start_making("First", count=2, use_model=True)
    assert modelled.start_making("Second", count=2) is job
    job.cancel()
    assert job.wait(10)


def test_what_cannot_be_made_is_refused_at_once(lab):
    for count in (0, 201):
        with pytest.raises(QuestionRefused):
            lab.start_making("Too many", count=count)
    with pytest.raises(SettingsError, match="No language model"):
        lab.start_making("By whom?", use_model=True)
    with pytest.raises(QuestionRefused):
        lab.start_making("From what?", document_ids=[])
