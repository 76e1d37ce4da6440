"""The whole application with its original files in an object store."""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from api.operations import operation_routes
from rag import cli
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


# Backups, and moving


def footnote(data: Path, *arguments: object) -> int:
    return cli.main(["--data", str(data), *map(str, arguments)])


def originals_of(data: Path) -> dict[str, bytes]:
    with closing(Services(load({"data": data}))) as services:
        here = services.workspace(LOCAL_OWNER)
        return {record.name: here.original(record.id) for record in here.library.documents.list()}


def test_a_backup_holds_the_originals_of_a_store_and_a_restore_puts_them_into_one(
    here: Workspace, services: Services, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    here.library.add("castle.md", CASTLE)
    lost = here.library.add("lost.md", b"lost")[0]
    ObjectStore.connect(address).delete([key for key in keys(address) if key.endswith(lost.sha256)])
    assert footnote(tmp_path / "data", "backup", tmp_path / "all.tar") == 1
    monkeypatch.setenv("FOOTNOTE_OBJECTS", other := new_address())
    footnote(tmp_path / "new", "restore", tmp_path / "all.tar")
    assert len(keys(other)) == 1
    assert not (tmp_path / "new" / "files").exists()
    with closing(Services(load({"data": tmp_path / "new"}))) as restored:
        library = restored.workspace(LOCAL_OWNER).library
        castle = next(record for record in library.documents.list() if record.name == "castle.md")
        assert library.files.path(castle.sha256).read_bytes() == CASTLE


def test_originals_move_to_a_store_and_back_and_a_second_run_finds_them_there(
    s3_link: Link, tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
):
    data, address = tmp_path / "data", new_address()
    with closing(Services(load({"data": data}))) as services:
        for number in range(3):
            services.workspace(LOCAL_OWNER).library.add(f"{number}.md", CASTLE + b"%d" % number)
    before = originals_of(data)
    assert footnote(data, "migrate", "--objects", address) == 0
    assert "3 originals were copied, 0 were there already" in capsys.readouterr().out
    store = ObjectStore.connect(address)
    store.delete(keys(address)[:1])
    store.replace(keys(address)[0], b"damaged")
    assert footnote(data, "migrate", "--objects", address) == 0
    assert "2 originals were copied, 1 were there already" in capsys.readouterr().out
    monkeypatch.setenv("FOOTNOTE_OBJECTS", address)
    (data / "files").rename(tmp_path / "before")
    assert originals_of(data) == before
    assert footnote(data, "migrate", "--objects", "data") == 0
    monkeypatch.delenv("FOOTNOTE_OBJECTS")
    assert originals_of(data) == before


def test_what_cannot_be_moved_is_named(s3_link: Link, tmp_path: Path, capsys):
    data = tmp_path / "data"
    with closing(Services(load({"data": data}))) as services:
        library = services.workspace(LOCAL_OWNER).library
        gone, damaged = (library.add(f"{name}.md", name.encode() * 9)[0] for name in ("gone", "damaged"))
        library.files.path(gone.sha256).unlink()
        library.files.path(damaged.sha256).write_bytes(b"other")
    assert footnote(data, "migrate", "--objects", new_address()) == 1
    said = capsys.readouterr()
    assert "gone.md" in said.err and "damaged.md" in said.err
    assert footnote(data, "migrate", "--objects", "ftp://host/folder") == 2
