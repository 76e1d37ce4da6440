"""The job of a document follows its state, in the same commit."""

import pytest

from storage.documents import EMBED, READ, Documents
from storage.errors import LeaseLost
from storage.records import Listing
from storage.sources import SourceItems, SourceStore


@pytest.fixture
def documents(database) -> Documents:
    return Documents(database, "ann")


def waiting(database) -> list[tuple[str, str]]:
    return [(job.kind, job.key) for job in database.queue.of("ann", [READ, EMBED])]


def test_a_document_waits_to_be_read_then_embedded_then_for_nothing(database, documents):
    record, _ = documents.add("a.md", "a" * 64, 1)
    assert waiting(database) == [(READ, record.id)]
    documents.set_state(record.id, "reading")
    assert waiting(database) == [(READ, record.id)]
    documents.set_state(record.id, "searchable_by_words")
    assert waiting(database) == [(EMBED, record.id)]
    documents.set_state(record.id, "searchable_by_meaning")
    assert waiting(database) == [(EMBED, record.id)]
    documents.set_state(record.id, "ready")
    assert waiting(database) == []


def test_a_refused_document_waits_for_nothing_until_it_is_added_again(database, documents):
    record, _ = documents.add("a.md", "a" * 64, 1)
    documents.set_state(record.id, "refused", "It is damaged.")
    assert waiting(database) == []
    documents.add("a.md", "a" * 64, 1)
    assert waiting(database) == [(READ, record.id)]


def test_a_document_whose_vectors_were_lost_waits_to_be_embedded(database, documents):
    record, _ = documents.add("a.md", "a" * 64, 1)
    documents.set_state(record.id, "ready")
    documents.set_state(record.id, "searchable_by_words")
    assert waiting(database) == [(EMBED, record.id)]


def test_a_document_of_a_source_waits_to_be_read(database):
    source = SourceStore(database, "ann").create("folder", "Reports", {"path": "/reports"})
    record, _ = SourceItems(database, "ann").keep(source.id, Listing("page", "Page", "1"), "c" * 64, 1)
    assert waiting(database) == [(READ, record.id)]


def test_a_deleted_document_takes_its_job_with_it(database, documents):
    record, _ = documents.add("a.md", "a" * 64, 1)
    documents.delete(record.id)
    assert waiting(database) == []


def test_a_replaced_document_takes_its_job_with_it(database, documents):
    old, _ = documents.add("a.md", "a" * 64, 1)
    documents.set_state(old.id, "searchable_by_words")
    new, _ = documents.add("a.md", "b" * 64, 1)
    documents.promote(new.id)
    assert waiting(database) == [(READ, new.id)]


def test_a_worker_that_lost_a_document_changes_nothing_of_it(database, documents):
    record, _ = documents.add("a.md", "a" * 64, 1)
    lease = database.queue.take([READ])
    with database.queue.holding(lease):
        documents.set_state(record.id, "reading")
        database.queue.fail(lease, 0)  # as after its lease was over
        assert database.queue.take([READ]).attempt == 2
        with pytest.raises(LeaseLost):
            documents.set_state(record.id, "refused", "It is damaged.")
    assert documents.get(record.id).state == "reading"


def test_the_worker_that_ends_a_job_may_still_write(database, documents):
    record, _ = documents.add("a.md", "a" * 64, 1)
    with database.queue.holding(database.queue.take([READ])):
        documents.set_state(record.id, "searchable_by_words")
        documents.promote(record.id)
    assert waiting(database) == [(EMBED, record.id)]
