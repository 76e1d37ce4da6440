from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rag.errors import LimitReached
from rag.ingest.library import METERED_SECONDS, Library
from rag.ingest.queue import resplit
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings, ObservedModel, Sent
from rag.quota import Limits, Quota
from storage.accounts import Account, People
from storage.database import Database
from storage.documents import Documents
from storage.records import Used
from tests.rag.fake_llm import FakeLLM
from tests.rag.word_vectors import WordVectors

ASKED = [{"role": "user", "content": "x" * 35}]  # ten tokens, as we count them


@pytest.fixture
def account(database: Database) -> Account:
    return Account(database, "ann")


@pytest.fixture
def llm() -> Iterator[LLM]:
    with FakeLLM() as server, LLM(LLMSettings(base_url=server.url, model="fake")) as opened:
        server.answer = "seven c" * 5
        yield opened


def quota(account: Account, **limits: int) -> Quota:
    return Quota(account, lambda: Limits(**limits))


def test_what_a_model_reads_and_writes_is_counted_as_ones_own(database, account, llm):
    metered = ObservedModel(llm, meter=quota(account))
    written = metered.complete(ASKED, max_tokens=50)
    assert account.used().tokens >= 10 + len(written) / 3.5
    after_one = account.used().tokens
    assert "".join(metered.stream(ASKED, max_tokens=50)) == written
    assert account.used().tokens >= 2 * after_one
    assert Account(database, "bob").used() == Used(0, 0)


def test_nothing_is_sent_once_the_days_tokens_are_used(account, llm):
    metered = ObservedModel(llm, meter=quota(account, tokens_a_day=15))
    metered.complete(ASKED, max_tokens=50)
    before = account.used()
    for ask in (metered.complete, lambda *a, **k: list(metered.stream(*a, **k))):
        with pytest.raises(LimitReached, match="tokens today"):
            ask(ASKED, max_tokens=50)
    assert account.used() == before


def test_an_answer_that_its_reader_leaves_is_counted_as_far_as_it_came(account, llm):
    pieces = ObservedModel(llm, meter=quota(account)).stream(ASKED, max_tokens=50)
    next(pieces)
    pieces.close()
    assert account.used().tokens > 10


def test_a_model_that_is_observed_twice_is_recorded_and_counted_once(account, llm):
    rephrasing: list[Sent] = []
    metered = ObservedModel(llm, meter=quota(account))
    written = ObservedModel(metered, purpose="rephrase", sent=rephrasing).complete(ASKED, max_tokens=50)
    used = account.used().tokens
    assert rephrasing == [Sent("rephrase", (("user", "x" * 35),))]
    assert metered.complete(ASKED, max_tokens=50) == written
    assert account.used().tokens == 2 * used and len(rephrasing) == 1


def test_a_request_that_the_quota_refuses_is_recorded_and_not_sent(account, llm):
    asked: list[Sent] = []
    observed = ObservedModel(
        ObservedModel(llm, meter=quota(account, tokens_a_day=0)), purpose="answer", sent=asked
    )
    with pytest.raises(LimitReached):
        observed.complete(ASKED, max_tokens=50)
    assert len(asked) == 1 and account.used() == Used(0, 0)


def test_what_is_there_already_is_never_one_too_many(database, account):
    Documents(database, "ann").add("mine.md", "a" * 64, 5)
    Documents(database, "bob").add("his.md", "b" * 64, 5)
    full = quota(account, documents=1)
    full.document("a" * 64, 5)
    with pytest.raises(LimitReached):
        full.document("b" * 64, 5)
    quota(account, documents=2).document("b" * 64, 5)


def test_what_was_set_for_one_person_counts_and_counts_at_once(database, account):
    account.count()
    here = quota(account, answers_at_once=1)
    with pytest.raises(LimitReached):
        here.answer(1)
    People(database).set_limits("ann", {"answers_at_once": 2})
    here.answer(1)


FIVE = "\n\n".join(
    f"Paragraph {number} tells of the castle. " + "Its moat is deep. " * 80 for number in range(5)
)
HALF_A_MINUTE = 30.0


def library(database: Database, account: Account, **limits: int) -> Library:
    return Library(database, "ann", lambda: WordVectors("words"), quota=quota(account, **limits))


def read(mine: Library, name: str, text: str) -> tuple[str, str]:
    """Add and index a document; returns its id and its state."""
    record, _ = mine.add(name, text.encode())
    list(mine.index(record.id))
    return record.id, mine.documents.get(record.id).state


def test_passages_beyond_ones_own_are_refused_and_room_is_made_by_deleting(database, account):
    mine = library(database, account, passages=1)
    castle, state = read(mine, "castle.md", "The moat is deep.")
    assert (state, account.passages()) == ("ready", 1)
    mill, state = read(mine, "mill.md", "The mill broke.")
    assert state == "refused"
    assert mine.documents.get(mill).reason == (
        "It would have 1 passages. Your other documents have 1, and all together may have 1. Delete some "
        "that you no longer need, then add it again. An administrator can raise it."
    )
    assert mine.documents.chunk_ids_of(mill) == []
    _, state = read(mine, "castle.md", "The moat is nine metres deep.")  # in the place of the first
    assert state == "ready"
    mine.remove(mill)
    mine.remove(next(record.id for record in mine.documents.list()))
    assert read(mine, "mill.md", "The mill broke.")[1] == "ready"
    assert castle != mill


def test_another_persons_passages_do_not_count(database, account):
    read(Library(database, "bob", lambda: WordVectors("words")), "his.md", "The moat is deep.")
    assert read(library(database, account, passages=1), "mine.md", "The moat is deep.")[1] == "ready"


def test_a_document_is_not_split_anew_into_more_passages_than_one_may_have(database, account):
    held = library(database, account)
    document, _ = read(held, "castle.md", FIVE)
    before = held.documents.chunk_ids_of(document)
    mine = library(database, account, passages=len(before))
    collection = mine.collections.create("Reports")
    mine.collections.put([document], collection.id)
    mine.collections.set_splitting(collection.id, {"size": 200, "overlap": 0, "minimum": 20})
    list(resplit(mine))
    record = mine.documents.get(document)
    assert (record.state, mine.documents.chunk_ids_of(document)) == ("ready", before)
    assert "could not be split anew" in (record.reason or "") and "Delete some" in (record.reason or "")


class SlowClock:
    """Clock on which each look is half a minute after the one before."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        self.now += HALF_A_MINUTE
        return self.now


def test_embedding_ends_with_the_days_minutes_and_words_are_found_meanwhile(database, account, monkeypatch):
    mine = library(database, account, embedding_minutes_a_day=1)
    monkeypatch.setattr("rag.ingest.library.time", SlowClock())
    monkeypatch.setattr("rag.ingest.library.EMBED_BATCH", 1)
    record, _ = mine.add("castle.md", FIVE.encode())
    with pytest.raises(LimitReached, match="took 1 minutes today, and may take 1"):
        list(mine.index(record.id))
    kept = mine.documents.get(record.id)
    assert kept.state == "searchable_by_words" and "It is tried again later." in (kept.reason or "")
    assert mine.retriever("bm25", 3).invoke("moat")
    assert account.used().embedding_seconds == 2 * HALF_A_MINUTE >= METERED_SECONDS
    assert len(mine.indexes.vectors.ids()) == 2
    with pytest.raises(LimitReached):
        list(mine.embed(record.id))
    assert account.used().embedding_seconds == 2 * HALF_A_MINUTE
    yesterday = datetime.now(UTC) - timedelta(days=1)
    assert account.used(yesterday).embedding_seconds == 0
    list(library(database, account, embedding_minutes_a_day=1000).embed(record.id))
    assert mine.documents.get(record.id).state == "ready"


def test_seconds_are_not_counted_where_nobody_limits_them(database, account):
    read(library(database, account), "castle.md", FIVE)
    assert account.used().embedding_seconds == 0
