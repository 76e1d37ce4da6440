import threading
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from rag.errors import IndexMismatch, ModelUnavailable
from rag.index.bm25 import TantivyIndex
from rag.index.indexes import WORDS_BATCH
from rag.index.staged import ReindexProgress
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder, Floats
from rag.text.tokenize import Analyser, find
from storage.database import Database
from storage.errors import NotFound

CASTLE = "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n"
LIGHTHOUSE = "# Lighthouse\n\nThe lighthouse keeper lit the lamp at dusk. The lamp burned whale oil.\n"
KOREAN = "# 등대\n\n등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.\n"
JAPANESE = "# 灯台\n\n灯台守は夕暮れにランプを灯した。ランプは鯨油で燃えた。\n"


@pytest.fixture
def library(database: Database, embedder: Embedder) -> Library:
    return Library(database, "ann", lambda: embedder)


def put(library: Library, name: str, text: str) -> str:
    record, _ = library.add(name, text.encode())
    for _ in library.index(record.id):
        pass
    return record.id


def read(library: Library, name: str, text: str) -> None:
    record, _ = library.add(name, text.encode())
    list(library.read(record.id))


def no_embedder() -> Embedder:
    raise ModelUnavailable("No embedding model here.")


def names(library: Library, question: str, retriever: str = "ensemble-cc") -> list[str]:
    return [found.metadata["document"] for found in library.retriever(retriever, 3).invoke(question)]


def in_step(library: Library) -> bool:
    expected = library.documents.chunk_ids()
    return library.indexes.words.ids() == expected == library.indexes.vectors.ids()


def test_a_document_is_kept_before_it_is_read(library: Library):
    record, outcome = library.add("castle.md", CASTLE.encode())
    assert (record.state, outcome) == ("queued", "new")
    assert library.files.path(record.sha256).read_text() == CASTLE


def test_an_indexed_document_is_ready_and_found_by_every_retriever(library: Library):
    put(library, "castle.md", CASTLE)
    put(library, "lighthouse.md", LIGHTHOUSE)
    assert {record.state for record in library.documents.list()} == {"ready"}
    for retriever in ("ensemble-cc", "ensemble-rrf", "similarity", "mmr", "bm25"):
        assert names(library, "When was the castle built?", retriever)[0] == "castle.md", retriever
    assert in_step(library)


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("등불은 무엇으로 탔나요?", "ko.md"),
        ("ランプは何で燃えましたか。", "ja.md"),
        ("What did the lamp burn?", "en.md"),
    ],
)
def test_korean_and_japanese_are_found_in_their_own_words(library: Library, question: str, name: str):
    for label, text in (("en.md", LIGHTHOUSE), ("ko.md", KOREAN), ("ja.md", JAPANESE), ("castle.md", CASTLE)):
        put(library, label, text)
    assert names(library, question)[0] == name


def test_progress_goes_through_reading_words_and_meaning(library: Library):
    record, _ = library.add("castle.md", CASTLE.encode())
    steps = list(library.index(record.id))
    assert [step.stage for step in steps] == ["reading", "words", "words", "meaning", "meaning"]
    assert steps[-1].done == steps[-1].total == library.documents.get(record.id).chunks


def test_after_reading_a_document_is_searchable_by_words_before_it_is_embedded(library: Library):
    record, _ = library.add("castle.md", CASTLE.encode())
    list(library.read(record.id))
    assert library.documents.get(record.id).state == "searchable_by_words"
    assert names(library, "castle moat", "bm25") == ["castle.md"]


def test_the_same_content_again_makes_no_second_copy(library: Library):
    put(library, "castle.md", CASTLE)
    _, outcome = library.add("castle.md", CASTLE.encode())
    assert outcome == "unchanged"
    _, outcome = library.add("copy of castle.md", CASTLE.encode())
    assert outcome == "unchanged"
    assert len(library.documents.list()) == 1


def test_a_changed_file_replaces_the_old_one_wholly(library: Library):
    old = library.documents.get(put(library, "castle.md", CASTLE))
    put(library, "castle.md", CASTLE.replace("1432", "1518"))
    (record,) = library.documents.list()
    assert record.name == "castle.md"
    texts = [found.page_content for found in library.retriever("ensemble-cc", 3).invoke("castle built")]
    assert texts and all("1518" in text for text in texts)
    assert in_step(library)
    with pytest.raises(NotFound):
        library.files.path(old.sha256)


def test_a_replacement_that_cannot_be_read_leaves_the_old_one_whole(library: Library):
    old = put(library, "castle.md", CASTLE)
    put(library, "castle.md", " \n ")
    assert library.documents.get(old).state == "ready"
    assert names(library, "castle moat") == ["castle.md"]
    refused = [record for record in library.documents.list() if record.state == "refused"]
    assert len(refused) == 1 and "castle.md" in (refused[0].reason or "")


def test_until_a_replacement_is_read_the_old_one_answers(library: Library):
    put(library, "castle.md", CASTLE)
    library.add("castle.md", CASTLE.replace("1432", "1518").encode())
    assert "1432" in library.retriever("bm25", 1).invoke("castle built")[0].page_content


def test_a_file_without_text_is_refused_with_the_reason(library: Library):
    record = library.documents.get(put(library, "empty.md", "\n\n"))
    assert record.state == "refused"
    assert "empty.md" in (record.reason or "")


def test_a_text_that_a_document_repeats_is_embedded_once(library: Library, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []
    embed = Embedder.embed_batches

    def counted(self: Embedder, texts: Sequence[str], *, batch: int) -> Iterator[tuple[list[int], Floats]]:
        asked.extend(texts)
        return embed(self, texts, batch=batch)

    monkeypatch.setattr(Embedder, "embed_batches", counted)
    record, _ = library.add("rows.md", ("The same words fill this page. " * 60 + "\n\n").encode() * 20)
    list(library.index(record.id))
    ids = [chunk.id for chunk in library.documents.chunks(record.id)]
    assert len(asked) == len(set(asked)) < len(ids)
    assert library.indexes.vectors.present(ids) == set(ids)


def test_a_removed_document_leaves_every_index(library: Library):
    castle = put(library, "castle.md", CASTLE)
    put(library, "lighthouse.md", LIGHTHOUSE)
    sha256 = library.documents.get(castle).sha256
    library.remove(castle)
    assert "castle.md" not in names(library, "castle moat")
    assert in_step(library)
    with pytest.raises(NotFound):
        library.files.path(sha256)


@pytest.mark.parametrize("steps", range(1, 6))
def test_an_ingest_that_stops_at_any_step_leaves_words_and_ledger_in_agreement(library: Library, steps: int):
    record, _ = library.add("castle.md", CASTLE.encode())
    ingest = library.index(record.id)
    for _ in islice(ingest, steps):
        pass
    ingest.close()  # type: ignore[attr-defined]
    assert library.indexes.words.ids() == library.documents.chunk_ids()


@pytest.mark.parametrize("stage", ["words", "meaning"])
def test_a_document_removed_while_it_is_indexed_leaves_nothing_behind(library: Library, stage: str):
    put(library, "lighthouse.md", LIGHTHOUSE)
    record, _ = library.add("castle.md", CASTLE.encode())
    with pytest.raises(NotFound):
        for step in library.index(record.id):
            if (step.stage, step.done) == (stage, 0):
                library.remove(record.id)
    assert in_step(library)
    assert "castle.md" not in names(library, "castle moat", "bm25")


def test_recover_brings_lost_indexes_back(database: Database, library: Library, embedder: Embedder):
    put(library, "castle.md", CASTLE)
    put(library, "lighthouse.md", LIGHTHOUSE)
    library.indexes.words.clear()
    library.indexes.vectors.delete(sorted(library.indexes.vectors.ids())[:1])
    again = Library(database, "ann", lambda: embedder)
    for document_id in again.recover():
        list(again.index(document_id))
    assert in_step(again)
    assert {record.state for record in again.documents.list()} == {"ready"}


@pytest.mark.parametrize(("before", "after"), [((), find()), (find(), ()), (find(), find()[1:])])
def test_an_analyser_that_comes_or_goes_makes_the_word_index_anew_and_whole(
    database: Database, before: Sequence[Analyser], after: Sequence[Analyser]
):
    first = Library(database, "ann", no_embedder, analysers=before)
    for name, text in (("등대.md", KOREAN), ("灯台.md", JAPANESE), ("castle.md", CASTLE)):
        read(first, name, text)
    first.close()
    again = Library(database, "ann", no_embedder, analysers=after)
    again.recover()
    assert again.indexes.words.outdated
    assert list(again.indexes.words.renew(never))[-1] == ReindexProgress("words", 3, 3)
    assert again.indexes.words.ids() == again.documents.chunk_ids()
    for question, name in (("등불을 켰나?", "등대.md"), ("灯台守は？", "灯台.md"), ("moat", "castle.md")):
        assert names(again, question, "bm25")[0] == name
    again.close()
    [kept] = database.directory.glob("indexes/*/words*")
    assert not TantivyIndex(kept, analysers=after).stale


def test_a_word_index_of_more_than_a_batch_is_made_anew_whole(database: Database):
    library = Library(database, "ann", no_embedder)
    read(library, "castles.md", "".join(f"# Castle {n}\n\nIts moat.\n\n" for n in range(600)))
    assert len(library.documents.chunk_ids()) > WORDS_BATCH
    library.indexes.words.clear()
    library.recover()
    assert library.indexes.words.ids() == library.documents.chunk_ids()


def test_a_damaged_vector_index_is_made_anew_at_start(
    database: Database, library: Library, embedder: Embedder
):
    castle = put(library, "castle.md", CASTLE)
    library.close()
    (ledger,) = database.directory.rglob("chroma.sqlite3")
    ledger.write_bytes(b"not a database" * 1000)
    again = Library(database, "ann", lambda: embedder)
    assert again.recover() == [castle]
    list(again.index(castle))
    assert names(again, "castle moat", "similarity") == ["castle.md"]
    assert in_step(again)


def test_recover_removes_what_the_ledger_does_not_know(database: Database, library: Library):
    castle = put(library, "castle.md", CASTLE)
    library.documents.delete(castle)
    assert library.recover() == []
    assert in_step(library)
    assert library.indexes.words.ids() == set()


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_an_ingest_that_is_cut_off_goes_on_after_recover(database: Database, library: Library, steps: int):
    record, _ = library.add("castle.md", (CASTLE * 40).encode())
    run = library.index(record.id)
    for _ in range(steps):
        next(run)
    run.close()
    for document_id in library.recover():
        list(library.index(document_id))
    assert library.documents.get(record.id).state == "ready"
    assert in_step(library)


def test_another_owner_finds_nothing(database: Database, library: Library, embedder: Embedder):
    put(library, "castle.md", CASTLE)
    other = Library(database, "bob", lambda: embedder)
    assert other.documents.list() == []
    assert other.retriever("bm25", 3).invoke("castle moat") == []
    with pytest.raises(NotFound):
        other.remove(library.documents.list()[0].id)


def test_another_embedding_model_is_refused_by_name_and_a_reindex_mends_it(
    database: Database, library: Library, embedder: Embedder, other_embedder: Embedder
):
    put(library, "castle.md", CASTLE)
    changed = Library(database, "ann", lambda: other_embedder)
    with pytest.raises(IndexMismatch, match=embedder.name):
        changed.retriever("similarity", 3).invoke("castle")
    for document_id in changed.rebuild_vectors():
        list(changed.index(document_id))
    assert in_step(changed)
    assert names(changed, "castle moat", "similarity") == ["castle.md"]


class HashEmbedder(Embedder):
    """Another model: words hashed into 16 dimensions."""

    name, dimension, fingerprint = "hashed-words", 16, "0" * 64

    def _vectors(self, texts: Sequence[str], role: str) -> np.ndarray:
        vectors = np.full((len(texts), self.dimension), 0.001, dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, sum(word.encode()) % self.dimension] += 1
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.fixture
def other_embedder() -> Embedder:
    return HashEmbedder()


def test_hostile_names_are_labels_only(library: Library, database: Database):
    for name in (
        "../../etc/passwd",
        "C:\\CON",
        "a\x00b.md",
        "<img src=x onerror=alert(1)>.md",
        "x" * 300 + ".md",
    ):
        library.add(name, (CASTLE + name.replace("\x00", "")).encode())
    stored = [path for path in Path(database.directory).rglob("*") if path.is_file()]
    assert not [path for path in stored if "passwd" in path.name or "img" in path.name]


def test_a_recovery_at_the_same_moment_takes_no_upload_away(library: Library):
    stop = threading.Event()

    def recover() -> None:
        while not stop.is_set():
            library.recover()

    recovering = threading.Thread(target=recover)
    recovering.start()
    try:
        added = [library.add(f"{n}.md", f"{CASTLE} {n}".encode())[0] for n in range(60)]
    finally:
        stop.set()
        recovering.join()
    assert all(library.files.path(record.sha256).is_file() for record in added)


def test_a_question_is_embedded_where_it_is_asked_once_nobody_has_to_wait_for_the_index(
    library: Library, monkeypatch: pytest.MonkeyPatch
):
    put(library, "castle.md", CASTLE)
    embed, threads = library.indexes.embedder.embed_query, []
    monkeypatch.setattr(
        library.indexes.embedder,
        "embed_query",
        lambda text: threads.append(threading.get_ident()) or embed(text),
    )
    found = [names(library, "the moat of Aldenburg") for _ in range(2)]
    assert found == [["castle.md"]] * 2
    assert [thread == threading.get_ident() for thread in threads] == [False, True]


def test_a_document_of_too_many_passages_is_refused_before_it_is_embedded(
    database: Database, embedder: Embedder
) -> None:
    library = Library(database, "ann", lambda: embedder, most_passages=2)
    put(library, "castle.md", CASTLE)
    much = put(library, "much.md", "\n\n".join(f"# Part {number}\n\nText." for number in range(1200)))
    record = library.documents.get(much)
    assert record.state == "refused" and "would have 1,200 passages" in (record.reason or "")
    assert "Split the file" in (record.reason or "") and library.documents.chunk_ids_of(much) == []
