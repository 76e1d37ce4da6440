from collections.abc import Iterator

import pytest

from rag.errors import LimitReached
from rag.models.llm import LLM
from rag.models.protocol import LLMSettings, ObservedModel, Sent
from rag.quota import Limits, Quota
from storage.accounts import Account, People
from storage.database import Database
from storage.documents import Documents
from storage.records import Used
from tests.rag.fake_llm import FakeLLM

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
