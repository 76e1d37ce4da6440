from datetime import UTC, datetime, timedelta

import pytest

from storage.errors import KeyReused
from storage.idempotency import KEPT, IdempotentRequests

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


def test_the_same_request_gets_the_answer_that_was_given_to_its_owner_only(database):
    mine = IdempotentRequests(database, "ann")
    assert mine.answer("k", "a") is None
    mine.keep("k", "a", {"id": 1})
    assert mine.answer("k", "a") == {"id": 1}
    assert IdempotentRequests(database, "bob").answer("k", "a") is None


def test_a_key_is_for_one_request(database):
    mine = IdempotentRequests(database, "ann")
    mine.keep("k", "a", {})
    with pytest.raises(KeyReused, match="Idempotency-Key"):
        mine.answer("k", "b")


def test_an_answer_is_kept_for_a_day(database):
    mine = IdempotentRequests(database, "ann")
    mine.keep("old", "a", {"id": 1}, now=NOON)
    assert mine.answer("old", "a", now=NOON + KEPT - timedelta(seconds=1)) == {"id": 1}
    assert mine.answer("old", "b", now=NOON + KEPT) is None
    mine.keep("new", "a", {}, now=NOON + KEPT)
    assert mine.answer("old", "a", now=NOON) is None
