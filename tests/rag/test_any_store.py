"""The whole way of the app over other stores than Chroma, each named by settings."""

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from rag import cli
from rag.chat.answer import Done, Sources
from rag.errors import IndexMismatch
from rag.factory import make_pipeline, make_store
from rag.ingest.library import Library
from rag.jobs import never
from rag.models.embeddings import Embedder
from rag.settings import Settings, load
from storage.database import Database
from tests.faults.forks import footnote
from tests.s3 import new_address

CASTLE = "# Castle\n\nThe castle of Aldenburg was built in 1432. Its moat is nine metres deep.\n"
LIGHTHOUSE = "# Lighthouse\n\nThe lighthouse keeper lit the lamp at dusk. The lamp burned whale oil.\n"
KOREAN = "# 등대\n\n등대지기는 해질녘에 등불을 켰다. 등불은 고래기름으로 탔다.\n"
JAPANESE = "# 灯台\n\n灯台守は夕暮れにランプを灯した。ランプは鯨油で燃えた。\n"
FILES = {"castle.md": CASTLE, "lighthouse.md": LIGHTHOUSE, "등대.md": KOREAN, "灯台.md": JAPANESE}
QUESTIONS = [
    ("When was the castle of Aldenburg built?", "castle.md", "1432"),
    ("What did the lamp burn?", "lighthouse.md", "whale oil"),
    ("등불은 무엇으로 탔나요?", "등대.md", "고래기름"),
    ("ランプは何で燃えましたか。", "灯台.md", "鯨油"),
]
Start = Callable[..., AbstractContextManager[Library]]
QDRANT = '{"path": "%s/qdrant", "collection_name": "chunks-{owner}"}'
STORES = {
    "lance": ("lance", "{}"),
    "lance-objects": ("lance-objects", "{}"),
    "in memory": ("langchain_core.vectorstores:InMemoryVectorStore", "{}"),
    "faiss": ("langchain_community.vectorstores:FAISS", '{"normalize_L2": true}'),
    "qdrant": ("langchain_qdrant:QdrantVectorStore", QDRANT),
    "deeplake": ("rag.index.deeplake:DeepLake", '{"dataset_path": "%s/lake-{owner}"}'),
    "sklearn": ("langchain_community.vectorstores:SKLearnVectorStore", '{"metric": "euclidean"}'),
}
"""SKLearn's knows nothing but adding and searching: it neither deletes, nor tells what it holds."""
REST = pytest.mark.slow(
    reason="the same over one more store, whose whole way and owners make test goes through"
)
FEW = ("lance", "in memory", "sklearn")
EACH = pytest.mark.parametrize("settings", STORES, indirect=True)
"""Mark what the usual run tries over every store, and not over a few."""


@pytest.fixture(params=[*FEW, *(pytest.param(name, marks=REST) for name in STORES if name not in FEW)])
def settings(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    if request.param == "deeplake" and sys.version_info >= (3, 14):
        pytest.skip("deeplake has no wheel for Python 3.14: run this on 3.11 to 3.13")
    name, arguments = STORES[request.param]
    if name == "lance-objects":
        request.getfixturevalue("s3_link")
        monkeypatch.setenv("FOOTNOTE_OBJECTS", new_address())
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FOOTNOTE_VECTOR_STORE", name)
    monkeypatch.setenv("FOOTNOTE_VECTOR_STORE_ARGUMENTS", arguments.replace("%s", str(tmp_path)))
    return load()


@pytest.fixture
def start(embedder: Embedder) -> Start:
    """Start the application, go on with what is unfinished, and stop it. The real model is opened once."""

    @contextmanager
    def started(settings: Settings, owner: str = "ann") -> Iterator[Library]:
        database = Database.open(settings.data)
        library = Library(database, owner, lambda: embedder, make_store(settings))
        try:
            for document_id in library.recover():
                list(library.index(document_id))
            yield library
        finally:
            library.close()
            database.close()

    return started


def put(library: Library, **files: str) -> list[str]:
    ids = []
    for name, text in files.items():
        record, _ = library.add(name, text.encode())
        list(library.index(record.id))
        ids.append(record.id)
    return ids


def ask(settings: Settings, library: Library, question: str, retriever: Any = None) -> tuple[list[str], Done]:
    events = list(make_pipeline(settings, library, None, retriever=retriever).ask(question, [], never))
    (sources,) = [event for event in events if isinstance(event, Sources)]
    (done,) = [event for event in events if isinstance(event, Done)]
    return [passage.document for passage in sources.passages], done


@EACH
def test_documents_are_added_asked_about_removed_and_there_after_a_restart(settings, start):
    with start(settings) as library:
        castle = put(library, **FILES)[0]
        assert {record.state for record in library.documents.list()} == {"ready"}
        for question, name, said in QUESTIONS:
            for retriever in ("ensemble-cc", "similarity", "mmr"):
                found, done = ask(settings, library, question, retriever)
                assert found[0] == name, (question, retriever)
                assert said in done.text
                assert any(c.status == "verified" and said in c.quote for c in done.citations)
        library.remove(castle)
        assert "castle.md" not in ask(settings, library, QUESTIONS[0][0], "similarity")[0]
    with start(settings) as library:
        found, done = ask(settings, library, QUESTIONS[1][0], "similarity")
        assert found[0] == "lighthouse.md" and "whale oil" in done.text
        assert "castle.md" not in found
        put(library, **{"castle.md": CASTLE.replace("1432", "1518")})
        assert "1518" in ask(settings, library, QUESTIONS[0][0], "similarity")[1].text


def test_relevance_is_the_cosine_whatever_the_stores_own_scores_are(settings, start):
    with start(settings) as library:
        put(library, **FILES)
        question = QUESTIONS[0][0]
        found = library.retriever("similarity", 4).invoke(question)
        asked = library.indexes.embedder.embed_query(question)
        for document in found:
            (vector,) = library.indexes.vectors.vectors_of([document.id]).values()
            assert document.metadata["score"] == pytest.approx(float(vector @ asked), abs=1e-5)
        scores = [document.metadata["score"] for document in found]
        assert scores == sorted(scores, reverse=True) and 0 < scores[-1] < scores[0] < 1


def test_a_search_in_chosen_documents_finds_theirs_and_no_other(settings, start):
    with start(settings) as library:
        notes = (f"# Note {n}\n\nThe castle of Aldenburg, seen on day {n}.\n" for n in range(60))
        put(library, **{"notes.md": "\n".join(notes)})
        (far,) = put(library, **{"lighthouse.md": LIGHTHOUSE})
        for retriever in ("similarity", "mmr", "ensemble-cc"):
            found = library.retriever(retriever, 3, document_ids=[far]).invoke("The castle of Aldenburg")
            assert [document.metadata["document_id"] for document in found] == [far], retriever
        assert library.retriever("similarity", 3, document_ids=[]).invoke("castle") == []


@EACH
def test_owners_that_share_a_store_see_their_own_only(settings, start):
    shared = settings.vector_store_arguments | {"collection_name": "everyone"}
    if "collection_name" in settings.vector_store_arguments:
        settings = settings.model_copy(update={"vector_store_arguments": shared})
    with start(settings, "ann") as ann:
        put(ann, **{"castle.md": CASTLE})
    with start(settings, "bob") as bob:
        put(bob, **{"lighthouse.md": LIGHTHOUSE})
        assert ask(settings, bob, QUESTIONS[0][0], "similarity")[0] == ["lighthouse.md"]
    with start(settings, "ann") as ann:
        assert ask(settings, ann, QUESTIONS[1][0], "similarity")[0] == ["castle.md"]


def test_an_ingest_that_is_cut_off_goes_on(settings, start):
    with start(settings) as library:
        record, _ = library.add("castle.md", (CASTLE * 60).encode())
        run = library.index(record.id)
        while next(run).stage != "meaning":
            pass
        next(run)
        run.close()
        done = len(library.indexes.vectors.ids())
        assert 0 < done < record.chunks or library.documents.get(record.id).state != "ready"
    with start(settings) as library:
        assert library.documents.get(record.id).state == "ready"
        assert library.indexes.vectors.ids() == library.documents.chunk_ids()


def test_lost_vectors_are_embedded_again(settings, start):
    with start(settings) as library:
        put(library, **FILES)
    for kept in settings.data.rglob("kept-rows*"):
        kept.unlink()
    for table in settings.data.rglob("vectors.lance"):
        shutil.rmtree(table)
    with start(settings) as library:
        assert {record.state for record in library.documents.list()} == {"ready"}
        assert library.indexes.vectors.ids() == library.documents.chunk_ids()
        assert ask(settings, library, QUESTIONS[0][0], "similarity")[0][0] == "castle.md"


def test_another_store_is_refused_by_name_until_everything_is_embedded_anew(settings, start):
    with start(settings) as library:
        put(library, **{"castle.md": CASTLE})
    chroma = settings.model_copy(update={"vector_store": "chroma", "vector_store_arguments": {}})
    for one, other in ((settings, chroma), (chroma, settings)):
        with start(other) as library:
            with pytest.raises(IndexMismatch, match="footnote reindex"):
                library.retriever("similarity", 1).invoke("castle")
            for document_id in library.rebuild_vectors():
                list(library.index(document_id))
            assert ask(other, library, QUESTIONS[0][0], "similarity")[0] == ["castle.md"]
        with start(one) as library, pytest.raises(IndexMismatch):
            library.retriever("similarity", 1).invoke("castle")


def test_the_same_store_can_be_embedded_anew(settings, start):
    with start(settings) as library:
        put(library, **FILES)
        for document_id in library.rebuild_vectors():
            list(library.index(document_id))
        assert library.indexes.vectors.ids() == library.documents.chunk_ids()
        assert ask(settings, library, QUESTIONS[0][0], "similarity")[0][0] == "castle.md"


@pytest.mark.parametrize(
    "store", ["lance", *(pytest.param(name, marks=REST) for name in ("faiss", "qdrant"))]
)
def test_from_the_command_line(tmp_path: Path, store: str):
    name, arguments = STORES[store]
    (tmp_path / "castle.md").write_text(CASTLE)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ["HOME"],
        "FOOTNOTE_DATA": str(tmp_path / "data"),
        "FOOTNOTE_VECTOR_STORE": name,
        "FOOTNOTE_VECTOR_STORE_ARGUMENTS": arguments.replace("%s", str(tmp_path)),
    }

    said = footnote(environment, "ingest", str(tmp_path / "castle.md"), "--json")
    assert json.loads(said)["status"] == "ready"
    answer = json.loads(footnote(environment, "ask", QUESTIONS[0][0], "--retriever", "similarity", "--json"))
    assert answer["citations"][0]["document"] == "castle.md"
    assert "1432" in answer["citations"][0]["quote"]


def test_what_cannot_be_used_is_one_sentence_at_start(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("FOOTNOTE_VECTOR_STORE", "no_such_package.stores:Store")
    assert cli.main(["--data", str(tmp_path / "data"), "ask", "When?"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("footnote: ") and said.count("\n") == 1
    assert "pip install no-such-package" in said
