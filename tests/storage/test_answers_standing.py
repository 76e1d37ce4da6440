from dataclasses import replace

import pytest

from storage.answers import Standings
from storage.documents import Documents
from storage.records import ChunkSpan, PageSpan, PassageRecord

QUOTED = PassageRecord(1, "d-00000", "gone", "보고서.pdf", "a" * 64, 2, "", 0, 5, "words", 1.0)


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


@pytest.fixture
def standings(database):
    return Standings(database, "ann")


def added(documents, name="보고서.pdf", sha256="a" * 64):
    record, _ = documents.add(name, sha256, 1)
    documents.save_chunks(record.id, "words", [PageSpan(1, 0, 5)], [ChunkSpan(0, 5)])
    documents.set_state(record.id, "ready")
    return record


def test_a_document_is_here_until_it_is_removed(documents, standings):
    record = added(documents)
    passage = replace(QUOTED, document_id=record.id)
    assert standings.of([passage, passage]) == {record.id: "here"}
    documents.delete(record.id)
    assert standings.of([passage]) == {record.id: "removed"}
    again = added(documents)
    assert again.id != record.id and standings.of([passage]) == {record.id: "here"}
    assert list(standings.present([passage])) == [("a" * 64, again.id)]


def test_a_document_is_changed_once_another_version_has_its_place(documents, standings):
    old = added(documents)
    passage = replace(QUOTED, document_id=old.id)
    new = added(documents, sha256="b" * 64)
    assert standings.of([passage]) == {old.id: "here"}
    documents.promote(new.id)
    assert standings.of([passage]) == {old.id: "changed"}


def test_many_are_told_at_once_and_a_strangers_document_does_not_count(database, documents, standings):
    added(Documents(database, "bob"))
    record = added(documents, "other.txt", "c" * 64)
    assert list(standings.present([QUOTED])) == []
    passages = [
        replace(QUOTED, document_id=f"{number:016x}", document=f"{number}.pdf") for number in range(900)
    ]
    told = standings.of([*passages, QUOTED, replace(QUOTED, document_id=record.id, sha256="c" * 64)])
    assert len(told) == 902 and told.pop(record.id) == "here"
    assert set(told.values()) == {"removed"}
    assert standings.of([]) == {}
