import fcntl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from langchain_core.documents import Document

from rag.errors import EmbeddingError, IndexUnusable, SettingsError
from rag.evaluation.collection import Collection, open_collection
from rag.models.embeddings import Embedder, Floats, Role
from rag.retrieval.weights import FEWEST

TEXTS = {
    "castle": "The castle of Aldenburg was built in 1432.",
    "light": "등대지기는 해질녘에 등불을 켰다.",
    "train": "始発の列車は午前五時に駅を出発する。",
}
CORPUS = [Document(id=id_, page_content=text) for id_, text in TEXTS.items()]
MANY = [Document(id=f"p{n}", page_content=f"Passage {n} speaks of {n * 7}.") for n in range(20)]


class Letters(Embedder):
    """Counts the letters of a text by their code, modulo 64, and how many passages it was given."""

    def __init__(self, fingerprint: str = "letters") -> None:
        self.name, self.dimension, self.fingerprint = "letters", 64, fingerprint
        self.passages = 0
        self.broken = False

    def _vectors(self, texts: Sequence[str], role: Role) -> Floats:
        if self.broken:
            raise EmbeddingError("The model is gone.")
        self.passages += len(texts) if role == "passage" else 0
        counts = np.zeros((len(texts), 64), np.float32)
        for row, text in enumerate(texts):
            np.add.at(counts[row], [ord(letter) % 64 for letter in text], 1.0)
        return counts


class CutOff(Exception):
    """What happens when the power goes, as far as the code can tell."""


@contextmanager
def opened(
    cache: Path, embedder: Embedder, corpus: Sequence[Document] = CORPUS, *, cut_off_at: int | None = None
) -> Iterator[Collection]:
    def told(what: str, done: int, total: int) -> None:
        if done == cut_off_at:
            raise CutOff

    with open_collection(
        corpus, lambda: embedder, cache=cache, waiting=lambda: pytest.fail("locked"), progress=told
    ) as collection:
        yield collection


def found(collection: Collection, name: str, question: str) -> list[str]:
    return [document.id or "" for document in collection.retriever(name, 1).invoke(question)]


@pytest.mark.parametrize("name", ["bm25", "similarity", "mmr", "ensemble-rrf", "ensemble-cc"])
@pytest.mark.parametrize("id_", TEXTS)
def test_each_retriever_of_the_app_finds_a_passage_by_its_words(tmp_path: Path, name: str, id_: str):
    with opened(tmp_path, Letters()) as collection:
        (document,) = collection.retriever(name, 1).invoke(TEXTS[id_])
    assert (document.id, document.page_content) == (id_, TEXTS[id_])


def test_a_passage_is_embedded_once_whoever_asks(tmp_path: Path):
    first, second = Letters(), Letters()
    for embedder in (first, second):
        with opened(tmp_path, embedder) as collection:
            assert found(collection, "similarity", TEXTS["light"]) == ["light"]
            assert found(collection, "bm25", "castle") == ["castle"]
            assert collection.index_seconds("ensemble-rrf") == pytest.approx(
                collection.index_seconds("similarity") + collection.index_seconds("bm25")
            )
    assert (first.passages, second.passages) == (3, 0)


def test_words_and_meaning_are_weighed_once_and_by_themselves(tmp_path: Path):
    rivers = [
        Document(
            id=f"r{n}",
            page_content=f"River {n} is long. Lock {n * 7} of it broke. Its keeper is called K{n}.",
        )
        for n in range(FEWEST + 5)
    ]
    first, second = Letters(), Letters()
    with opened(tmp_path, first, rivers) as collection:
        assert found(collection, "ensemble-cc", "Which lock broke?")
        mixture = collection.mixture
    assert mixture.passages == len(rivers) and set(mixture.weights) == {"alphabet"}
    with opened(tmp_path, second, rivers) as collection:
        assert collection.mixture == mixture
    assert second.passages == 0


def test_words_are_found_without_opening_a_model(tmp_path: Path):
    def no_model() -> Embedder:
        raise EmbeddingError("no model here")

    with open_collection(
        CORPUS, no_model, cache=tmp_path, waiting=lambda: None, progress=lambda *_: None
    ) as collection:
        assert found(collection, "bm25", "등불") == ["light"]
        with pytest.raises(EmbeddingError, match="no model here"):
            collection.retriever("similarity", 1)


def test_another_model_or_text_has_an_index_of_its_own(tmp_path: Path):
    changed = [*CORPUS[:2], Document(id="train", page_content="終電は零時に出る。")]
    embedders = [Letters(), Letters("other weights"), Letters()]
    for embedder, corpus in zip(embedders, [CORPUS, CORPUS, changed], strict=True):
        with opened(tmp_path, embedder, corpus) as collection:
            collection.retriever("similarity", 1)
    assert [embedder.passages for embedder in embedders] == [3, 3, 3]


def test_what_was_cut_off_goes_on_and_is_not_taken_as_whole(tmp_path: Path):
    first, second = Letters(), Letters()
    with pytest.raises(CutOff), opened(tmp_path, first, MANY, cut_off_at=16) as collection:
        collection.retriever("similarity", 1)
    assert first.passages in (16, 20)
    with opened(tmp_path, second, MANY) as collection:
        ids = {found(collection, "similarity", each.page_content)[0] for each in MANY}
    assert ids == {each.id for each in MANY}
    assert second.passages == 4


@pytest.mark.parametrize("folder", ["words", "vectors"])
def test_a_damaged_index_is_made_anew(tmp_path: Path, folder: str):
    name = "bm25" if folder == "words" else "similarity"
    with opened(tmp_path, Letters()) as collection:
        collection.retriever(name, 1)
    for file in tmp_path.glob(f"*/{folder}-*/*"):
        if file.is_file():
            file.write_bytes(b"damaged" * 100)
    with opened(tmp_path, Letters()) as collection:
        assert found(collection, name, TEXTS["castle"]) == ["castle"]


def test_a_second_one_waits_and_is_told_to(tmp_path: Path):
    waits, ended = Event(), Event()

    def second() -> None:
        with open_collection(
            CORPUS, Letters, cache=tmp_path, waiting=waits.set, progress=lambda *_: None
        ) as collection:
            collection.retriever("similarity", 1)
            ended.set()

    thread = Thread(target=second)
    with opened(tmp_path, Letters()) as collection:
        thread.start()
        assert waits.wait(30)
        collection.retriever("similarity", 1)
        assert not ended.is_set()
    thread.join(30)
    assert ended.is_set()


def test_a_lock_that_nobody_holds_any_more_does_not_lock(tmp_path: Path):
    with opened(tmp_path, Letters()):
        pass
    (lock,) = tmp_path.glob("*/lock")
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
    with opened(tmp_path, Letters()) as collection:
        assert found(collection, "bm25", "castle") == ["castle"]


def test_an_ensemble_that_lost_a_half_does_not_pass_for_the_ensemble(tmp_path: Path):
    embedder = Letters()
    with opened(tmp_path, embedder) as collection:
        retriever = collection.retriever("ensemble-rrf", 1)
        embedder.broken = True
        with pytest.raises(Exception, match="similarity: The model is gone"):
            retriever.invoke("castle")


def test_a_name_of_no_retriever_is_refused(tmp_path: Path):
    with opened(tmp_path, Letters()) as collection, pytest.raises(SettingsError, match="magic"):
        collection.retriever("magic", 1)


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path):
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnusable, match="file/cache"), opened(tmp_path / "file" / "cache", Letters()):
        pass
