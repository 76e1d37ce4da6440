import pytest
from sqlalchemy import event, func, select

from storage.documents import Documents, owners
from storage.errors import NotFound, StorageError
from storage.records import ChunkRecord, ChunkSpan, DocumentFact, PageSpan
from storage.tables import Chunk, DocumentFactsRow, DocumentText, PageRow
from tests.storage.many import add_many
from tests.storage.postgres import ON_SQLITE

TEXT = "The first page. 둘째 쪽입니다. 三頁目です。"
PAGES = [PageSpan(1, 0, 15), PageSpan(2, 16, 24), PageSpan(3, 25, 31)]
SPANS = [ChunkSpan(0, 15, 1, "Guide"), ChunkSpan(16, 24, 2, "Guide > 설치"), ChunkSpan(25, 31, 3, "")]


@pytest.fixture
def documents(database):
    return Documents(database, "ann")


def digest(number):
    return f"{number:064x}"


def ready(documents, name, number, text=TEXT, pages=PAGES, spans=SPANS):
    """Take a document all the way; returns its id."""
    record, _ = documents.add(name, digest(number), len(text))
    documents.save_chunks(record.id, text, pages, spans)
    documents.set_state(record.id, "searchable_by_words")
    documents.promote(record.id)
    documents.set_state(record.id, "ready")
    return record.id


def rows(database):
    """How many chunks, pages and texts there are, of whatever document."""
    with database.reading() as session:
        return [
            session.scalar(select(func.count()).select_from(table))
            for table in (Chunk, PageRow, DocumentText)
        ]


def test_a_new_file_waits_in_the_queue(documents):
    record, outcome = documents.add("report.pdf", digest(1), 123)
    assert outcome == "new"
    assert (record.name, record.sha256, record.size) == ("report.pdf", digest(1), 123)
    assert (record.state, record.reason, record.pages, record.chunks) == ("queued", None, None, 0)
    assert record.created == record.updated
    assert record.created.utcoffset().total_seconds() == 0
    assert documents.get(record.id) == record


def test_chunks_are_the_words_at_their_place(documents):
    record, _ = documents.add("guide.pdf", digest(1), 9)
    documents.save_chunks(record.id, TEXT, PAGES, SPANS)
    assert documents.text(record.id) == TEXT
    assert documents.pages(record.id) == PAGES
    chunks = documents.chunks(record.id)
    assert chunks[1] == ChunkRecord(
        id=f"{record.id}-00001",
        document_id=record.id,
        document="guide.pdf",
        sha256=digest(1),
        position=1,
        start=16,
        end=24,
        page=2,
        heading="Guide > 설치",
        text="둘째 쪽입니다.",
    )
    assert [chunk.text for chunk in chunks] == [TEXT[span.start : span.end] for span in SPANS]
    saved = documents.get(record.id)
    assert (saved.pages, saved.chunks) == (3, 3)


def test_saving_chunks_again_leaves_only_the_new_ones(documents, database):
    record, _ = documents.add("guide.txt", digest(1), 9)
    documents.save_chunks(record.id, TEXT, PAGES, SPANS)
    for _ in range(2):
        documents.save_chunks(record.id, "short", [], [ChunkSpan(0, 5)])
    assert [chunk.text for chunk in documents.chunks(record.id)] == ["short"]
    assert documents.pages(record.id) == []
    assert documents.get(record.id).pages is None
    assert rows(database) == [1, 0, 1]


@pytest.mark.parametrize("span", [(-1, 3), (0, 32), (5, 4), (40, 50)])
@pytest.mark.parametrize("kind", ["page", "chunk"])
def test_a_span_outside_the_text_changes_nothing(documents, span, kind):
    record, _ = documents.add("guide.txt", digest(1), 9)
    documents.save_chunks(record.id, TEXT, PAGES, SPANS)
    before = documents.get(record.id), documents.chunks(record.id)
    pages = [*PAGES, PageSpan(4, *span)] if kind == "page" else PAGES
    spans = [*SPANS, ChunkSpan(*span)] if kind == "chunk" else SPANS
    with pytest.raises(StorageError, match="does not lie in the 31 characters"):
        documents.save_chunks(record.id, TEXT, pages, spans)
    assert (documents.get(record.id), documents.chunks(record.id)) == before


def test_what_no_database_holds_is_replaced_without_moving_anything(documents):
    text = "a\x00b\ud800c😀d"
    record, _ = documents.add("odd\x00\udfff.txt", digest(1), 9)
    documents.save_chunks(record.id, text, [], [ChunkSpan(2, 5), ChunkSpan(5, 7)])
    assert documents.text(record.id) == "a\ufffdb\ufffdc😀d"
    assert [chunk.text for chunk in documents.chunks(record.id)] == ["b\ufffdc", "😀d"]
    assert documents.get(record.id).name == "odd\ufffd\ufffd.txt"


@pytest.mark.parametrize(
    "name",
    ["../../x", "/etc/passwd", "x" * 300, "a\nb", "<img onerror=1>", "'; DROP TABLE documents; --", ""],
)
def test_a_hostile_name_is_kept_as_a_label(documents, name):
    record, _ = documents.add(name, digest(1), 1)
    assert documents.get(record.id).name == name


def test_deleting_takes_everything_of_the_document_and_nothing_else(documents, database):
    gone, kept = ready(documents, "gone.pdf", 1), ready(documents, "kept.pdf", 2)
    documents.delete(gone)
    assert [record.id for record in documents.list()] == [kept]
    assert rows(database) == [3, 3, 1]
    for action in (documents.get, documents.text, documents.pages, documents.chunks, documents.delete):
        with pytest.raises(NotFound, match=gone):
            action(gone)


def test_a_document_not_yet_read_has_no_text(documents):
    record, _ = documents.add("report.pdf", digest(1), 1)
    with pytest.raises(NotFound, match="not been read"):
        documents.text(record.id)
    assert documents.chunks(record.id) == []


def test_unfinished_are_those_neither_ready_nor_refused_oldest_first(documents):
    states = ["queued", "reading", "ready", "searchable_by_words", "refused", "searchable_by_meaning"]
    ids = [documents.add(f"{number}.txt", digest(number), 1)[0].id for number in range(6)]
    for document_id, state in zip(ids, states, strict=True):
        documents.set_state(document_id, state)
    assert [record.id for record in documents.unfinished()] == [ids[0], ids[1], ids[3], ids[5]]
    assert [record.id for record in documents.list()] == ids[::-1]


def test_only_chunks_of_searchable_documents_belong_in_the_indexes(documents):
    record, _ = documents.add("report.pdf", digest(1), 1)
    documents.save_chunks(record.id, TEXT, PAGES, SPANS)
    for state in ("queued", "reading", "refused"):
        documents.set_state(record.id, state)
        assert documents.chunk_ids() == set()
    for state in ("searchable_by_words", "searchable_by_meaning", "ready"):
        documents.set_state(record.id, state)
        assert len(documents.chunk_ids()) == 3


def test_chunks_come_in_the_order_asked_once_each_and_unknown_ones_are_absent(documents):
    document_id = ready(documents, "a.txt", 1)
    asked = [f"{document_id}-00002", "nobody's", f"{document_id}-00000", f"{document_id}-00002", "", "'; --"]
    assert list(documents.chunks_by_id(asked)) == [f"{document_id}-00002", f"{document_id}-00000"]
    assert documents.chunks_by_id([]) == {}


def test_a_chunks_document_is_told_without_reading_the_chunk(documents, database):
    mine, waiting = ready(documents, "a.txt", 1), ready(documents, "b.txt", 2)
    replacement, _ = documents.add("b.txt", digest(3), 1)
    asked = [f"{mine}-00001", f"{waiting}-00000", f"{replacement.id}-00000", "nobody's", ""]
    assert documents.of_chunks(asked) == {asked[0]: (mine, "a.txt"), asked[1]: (waiting, "b.txt")}
    assert Documents(database, "bob").of_chunks(asked) == {}


def test_thousands_of_chunks_are_looked_up_at_once(documents):
    spans = [ChunkSpan(start, start + 40) for start in range(2500)]
    document_id = ready(documents, "long.txt", 1, "word " * 600, [], spans)
    ids = documents.chunk_ids()
    assert len(ids) == 2500
    found = documents.chunks_by_id(ids)
    assert found.keys() == ids
    assert all(chunk.text == ("word " * 600)[chunk.start : chunk.end] for chunk in found.values())
    assert [chunk.position for chunk in documents.chunks(document_id)] == list(range(2500))


def test_an_index_remembers_what_it_was_made_with_for_each_owner(documents, database):
    assert documents.index_state("vectors") is None
    documents.set_index_state("vectors", {"model": "e5", "dimension": 384})
    documents.set_index_state("vectors", {"model": "모델", "dimension": 512})
    documents.set_index_state("words", {"tokenizer": "1"})
    assert documents.index_state("vectors") == {"model": "모델", "dimension": 512}
    assert Documents(database, "bob").index_state("vectors") is None
    documents.set_index_state("vectors", None)
    assert documents.index_state("vectors") is None
    assert documents.index_state("words") == {"tokenizer": "1"}


def test_owners_are_those_who_keep_something(database, documents):
    assert owners(database) == []
    documents.list()
    Documents(database, "bob").add("b.txt", digest(1), 1)
    documents.add("a.txt", digest(1), 1)
    assert owners(database) == ["ann", "bob"]


def statements(database, action):
    """How many statements an action sends to the database."""
    sent = []
    with database.reading() as session:
        engine = session.get_bind().engine

    def note(connection, *_):
        connection.set_trace_callback(sent.append)

    event.listen(engine, "checkout", note)
    action()
    event.remove(engine, "checkout", note)
    return len([one for one in sent if one.lstrip().upper().startswith(("SELECT", "WITH"))])


def long(documents, name, number, chunks):
    """Take a document with so many chunks all the way; returns its id."""
    return ready(documents, name, number, "x" * chunks, [], [ChunkSpan(n, n + 1) for n in range(chunks)])


@pytest.mark.parametrize("at_once", [1, 2, 5, 6, 100])
def test_chunks_of_many_documents_come_in_their_order(documents, monkeypatch, at_once):
    monkeypatch.setattr("storage.documents.CHUNKS_AT_ONCE", at_once)
    ids = [long(documents, f"{n}.txt", n, chunks) for n, chunks in enumerate([3, 1, 5, 2, 2])]
    records = [documents.get(ids[n]) for n in (2, 0, 4, 1)]
    batches = list(documents.chunks_of(records))
    assert [chunk for batch in batches for chunk in batch] == [
        chunk for record in records for chunk in documents.chunks(record.id)
    ]
    assert all(len(batch) <= at_once for batch in batches)


@ON_SQLITE
def test_chunks_of_many_short_documents_are_read_together(documents, database):
    records = [documents.get(ready(documents, f"{n}.pdf", n)) for n in range(40)]
    assert statements(database, lambda: list(documents.chunks_of(records))) == 1


def test_chunks_of_anothers_documents_are_not_read(documents, database):
    records = [documents.get(ready(documents, f"{n}.pdf", n)) for n in range(2)]
    assert list(Documents(database, "bob").chunks_of(records)) in ([], [[]])


@ON_SQLITE
def test_a_thousand_documents_are_listed_and_a_thousand_chunks_read_at_once(documents, database):
    spans = [ChunkSpan(0, 5)] * 20
    ids = add_many(database, "ann", 1000)
    for document_id in ids[:100]:
        documents.save_chunks(document_id, "word " * 10_000, [], spans)
        documents.set_state(document_id, "ready")
    chunks = sorted(documents.chunk_ids())[:1000]
    assert len(chunks) == 1000
    assert statements(database, documents.list) == 1
    assert statements(database, lambda: documents.chunks_by_id(chunks)) <= 2
    assert statements(database, lambda: documents.chunks_by_id(chunks[:20])) == 1


FACTS = [DocumentFact("name", "첫 회사", 0, 5, "첫"), DocumentFact("period", "2023-Q3")]


def test_facts_are_kept_with_the_text_and_go_with_the_document(database, documents):
    id_ = ready(documents, "a.md", 1)
    assert (documents.facts(id_), documents.without_facts()) == (None, [id_])
    before = documents.revision()
    documents.save_chunks(id_, TEXT, PAGES, SPANS, facts=FACTS)
    assert (documents.facts(id_), documents.without_facts()) == (tuple(FACTS), [])
    assert documents.revision() != before
    assert documents.all_facts() == {id_: ("a.md", tuple(FACTS))}
    documents.save_facts(id_, FACTS[1:])
    assert documents.facts(id_) == tuple(FACTS[1:])
    documents.delete(id_)
    with database.reading() as session:
        assert session.scalar(select(func.count()).select_from(DocumentFactsRow)) == 0


def test_facts_of_others_are_not_found(database, documents):
    id_ = ready(documents, "a.md", 1)
    documents.save_facts(id_, FACTS)
    stranger = Documents(database, "bob")
    assert (stranger.all_facts(), stranger.without_facts()) == ({}, [])
    for attempt in (stranger.facts, lambda one: stranger.save_facts(one, FACTS)):
        with pytest.raises(NotFound):
            attempt(id_)


def test_facts_outside_of_the_text_are_refused(documents):
    id_ = ready(documents, "a.md", 1)
    with pytest.raises(StorageError, match="does not lie"):
        documents.save_chunks(id_, TEXT, PAGES, SPANS, facts=[DocumentFact("name", "x", 0, 999)])
