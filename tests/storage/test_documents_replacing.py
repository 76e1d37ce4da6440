"""A changed file of the same name replaces the old one wholly or not at all."""

import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest

from storage.documents import Documents
from storage.errors import NotFound
from storage.records import ChunkSpan

TEXT = "The first page. 둘째 쪽입니다. 三頁目です。"
SPANS = [ChunkSpan(0, 15), ChunkSpan(16, 24), ChunkSpan(25, 31)]


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


def digest(number):
    return f"{number:064x}"


def ready(documents, name, number):
    """Take a document all the way; returns its id."""
    record, _ = documents.add(name, digest(number), len(TEXT))
    documents.save_chunks(record.id, TEXT, [], SPANS)
    documents.set_state(record.id, "searchable_by_words")
    documents.promote(record.id)
    documents.set_state(record.id, "ready")
    return record.id


def test_the_same_content_makes_no_second_copy_under_any_name(documents):
    first, _ = documents.add("report.pdf", digest(1), 123)
    assert documents.add("report.pdf", digest(1), 123) == (first, "unchanged")
    assert documents.add("copy of report.pdf", digest(1), 123) == (first, "unchanged")
    assert documents.list() == [first]


def test_the_same_file_sent_by_many_threads_at_once_is_one_document(documents):
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: documents.add("same.pdf", digest(1), 1)[1], range(16)))
    assert sorted(outcomes) == ["new"] + ["unchanged"] * 15
    assert len(documents.list()) == 1


def test_a_refused_file_is_tried_again(documents):
    first, _ = documents.add("locked.pdf", digest(1), 1)
    documents.set_state(first.id, "refused", "It is encrypted.")
    assert documents.get(first.id).reason == "It is encrypted."
    again, outcome = documents.add("unlocked.pdf", digest(1), 1)
    assert outcome == "new"
    assert again.id == first.id
    assert (again.name, again.state, again.reason) == ("unlocked.pdf", "queued", None)


def test_a_mended_file_takes_the_place_of_a_refused_one_at_once(documents):
    refused, _ = documents.add("report.pdf", digest(1), 1)
    documents.set_state(refused.id, "refused", "It is damaged.")
    mended, outcome = documents.add("report.pdf", digest(2), 1)
    assert outcome == "new"
    assert documents.list() == [mended]


def test_names_are_compared_as_people_read_them(documents):
    old = ready(documents, unicodedata.normalize("NFC", "보고서 が.pdf"), 1)
    record, outcome = documents.add(unicodedata.normalize("NFD", "보고서 が.pdf"), digest(2), 1)
    assert outcome == "replaces"
    assert record.replaces == old


def test_a_replacement_is_heard_only_once_it_is_promoted_and_then_alone(documents):
    old = ready(documents, "report.pdf", 1)
    new, outcome = documents.add("report.pdf", digest(2), 9)
    assert outcome == "replaces"
    assert new.replaces == old
    documents.save_chunks(new.id, "other words", [], [ChunkSpan(0, 11)])
    documents.set_state(new.id, "searchable_by_words")
    every = {f"{old}-{position:05d}" for position in range(3)} | {f"{new.id}-00000"}
    assert documents.chunk_ids() == every
    assert set(documents.chunks_by_id(every)) == every - {f"{new.id}-00000"}

    assert documents.promote(new.id) == old
    assert list(documents.chunks_by_id(every)) == [f"{new.id}-00000"]
    assert documents.chunk_ids() == {f"{new.id}-00000"}
    assert [record.id for record in documents.list()] == [new.id]
    assert documents.get(new.id).replaces is None
    assert documents.promote(new.id) is None
    with pytest.raises(NotFound):
        documents.get(old)


def test_a_replacement_that_is_refused_leaves_the_old_one_answering(documents):
    old = ready(documents, "report.pdf", 1)
    new, _ = documents.add("report.pdf", digest(2), 9)
    documents.set_state(new.id, "refused", "It is empty.")
    assert len(documents.chunks_by_id(documents.chunk_ids())) == 3
    assert documents.get(old).state == "ready"


def test_a_newer_replacement_supersedes_one_on_its_way(documents):
    old = ready(documents, "report.pdf", 1)
    second, _ = documents.add("report.pdf", digest(2), 9)
    third, outcome = documents.add("report.pdf", digest(3), 9)
    assert outcome == "replaces"
    assert third.replaces == old
    assert {record.id for record in documents.list()} == {old, third.id}
    with pytest.raises(NotFound):
        documents.save_chunks(second.id, TEXT, [], SPANS)
    assert documents.promote(third.id) == old
    assert [record.id for record in documents.list()] == [third.id]


def test_sending_the_old_content_again_calls_a_replacement_off(documents):
    old = ready(documents, "report.pdf", 1)
    documents.add("report.pdf", digest(2), 9)
    record, outcome = documents.add("report.pdf", digest(1), 9)
    assert (record.id, outcome) == (old, "unchanged")
    assert [record.id for record in documents.list()] == [old]


def test_a_replacement_stands_alone_when_the_old_one_is_deleted(documents):
    old = ready(documents, "report.pdf", 1)
    new, _ = documents.add("report.pdf", digest(2), 9)
    documents.delete(old)
    assert documents.get(new.id).replaces is None
    assert documents.promote(new.id) is None
