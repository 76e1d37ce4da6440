"""The whole application with its original files in an object store."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from api.operations import operation_routes
from rag.ingest.page_images import WantedPage
from rag.services import Services
from rag.settings import LOCAL_OWNER, load
from rag.workspace import Workspace
from storage.errors import ObjectStoreAway, StorageError
from storage.object_store import ObjectStore
from tests.rag.ingest.parsers.makers import Placed, pdf
from tests.s3 import Link, new_address

CASTLE = b"# Castle\n\nThe castle of Aldenburg was built in 1432.\n"


@pytest.fixture
def address(s3_link: Link, monkeypatch: pytest.MonkeyPatch) -> str:
    made = new_address()
    monkeypatch.setenv("FOOTNOTE_OBJECTS", made)
    return made


@pytest.fixture
def services(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    with closing(Services(load())) as opened:
        yield opened


@pytest.fixture
def here(services: Services) -> Workspace:
    return services.workspace(LOCAL_OWNER)


def keys(address: str) -> list[str]:
    return sorted(found.key for found in ObjectStore.connect(address).list("files"))


def read(here: Workspace, document_id: str) -> str:
    list(here.library.read(document_id))
    return here.library.documents.get(document_id).state


def test_a_file_is_kept_there_read_shown_given_out_and_deleted(
    services: Services, here: Workspace, address: str, tmp_path: Path
):
    content = pdf(
        tmp_path / "castle.pdf", [[Placed("The castle of Aldenburg was built in 1432.", 20, 400)]]
    ).read_bytes()
    record = here.library.add("castle.pdf", content)[0]
    assert [key.rpartition("/")[2] for key in keys(address)] == [record.sha256]
    assert not (tmp_path / "data" / "files").exists()
    assert read(here, record.id) == "searchable_by_words"
    page = WantedPage(here.library.files.path(record.sha256), 1, "The castle of Aldenburg", ((4, 10),))
    assert services.page_images.draw(page).png.startswith(b"\x89PNG")
    assert here.original(record.id) == content
    here.library.remove(record.id)
    assert keys(address) == []
    assert not [path for path in (tmp_path / "data" / "cache").rglob("*") if path.is_file()]


def test_what_no_document_names_stays_at_a_start_for_another_process_may_be_adding_it(
    here: Workspace, address: str
):
    here.library.files.save(b"being added elsewhere")
    here.library.recover()
    assert len(keys(address)) == 1


def test_a_copy_that_is_removed_while_it_is_read_has_the_file_read_again(here: Workspace, address: str):
    record = here.library.add("castle.md", CASTLE)[0]
    path = here.library.files.path
    copies = []

    def removed(sha256: str) -> Path:
        copies.append(path(sha256))
        copies[-1].unlink()
        return copies[-1]

    here.library.files.path = removed  # type: ignore[method-assign]
    with pytest.raises(StorageError, match="removed from the disk while it was read"):
        list(here.library.read(record.id))
    here.library.files.path = path  # type: ignore[method-assign]
    assert read(here, record.id) == "searchable_by_words"


def test_while_the_store_is_away_each_need_of_it_says_so_and_then_all_goes_on(
    services: Services, here: Workspace, s3_link: Link, address: str
):
    kept, queued, unwanted = (here.library.add(f"{name}.md", name.encode() * 50)[0] for name in "abc")
    ready = TestClient(Starlette(routes=operation_routes(lambda: services)))
    assert ready.get("/readyz").json()["checks"]["originals"]["usable"]
    here.library.files._cache.forget("files")  # type: ignore[attr-defined]
    s3_link.cut()
    found = ready.get("/readyz")
    assert found.status_code == 503
    assert found.json()["checks"]["originals"] == {"usable": False, "state": "ObjectStoreAway"}
    needs: list[Callable[[], object]] = [
        lambda: here.library.add("new.md", b"new"),
        lambda: here.original(kept.id),
        lambda: read(here, queued.id),
    ]
    for need in needs:
        with pytest.raises(ObjectStoreAway, match="does not answer"):
            need()
    assert here.library.documents.get(queued.id).state == "reading"
    here.library.remove(unwanted.id)
    here.library.recover()
    assert {record.name for record in here.library.documents.list()} == {"a.md", "b.md"}
    s3_link.mend()
    assert read(here, queued.id) == "searchable_by_words"
    assert here.original(kept.id) == b"a" * 50
    assert here.library.add("new.md", b"new")[1] == "new"
    assert ready.get("/readyz").json()["checks"]["originals"]["usable"]


def test_a_store_that_cannot_be_used_stops_the_start(tmp_path: Path, address: str, s3_link: Link):
    s3_link.replaced = (b"if-none-match: *", b"if-none-metch: *")
    with pytest.raises(StorageError, match="does not know conditional writes"):
        Services(load({"data": tmp_path / "data"}))
