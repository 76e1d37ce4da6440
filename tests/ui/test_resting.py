"""Many people's libraries: opened when they come, closed when they have gone, and never while in use."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.jobs import Cancel
from ui import services
from ui.resting import to_rest
from ui.services import RECOVER, Services
from ui.workspace import Workspace

PEOPLE = 6


@pytest.fixture
def many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """A server for which half a dozen people have a document each, one of them not yet read, just started."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOOTNOTE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FOOTNOTE_TRUSTED_HEADER", "X-Person")
    monkeypatch.setenv("FOOTNOTE_TRUSTED_PROXIES", "127.0.0.1")
    for number in range(PEOPLE):
        library = services.services().workspace(f"person{number}").library
        record, _ = library.add("note.md", f"The mooring fee of person{number} is {number} euros.".encode())
        if number:
            list(library.index(record.id))
    services.close()
    yield services.services()
    services.close()


def open_now(server: Services) -> set[str]:
    return {library.owner for library in server.libraries()}


def found(there: Workspace) -> list[str]:
    hits = there.library.retriever("ensemble-cc", 3).invoke("What is the mooring fee?")
    return [hit.page_content for hit in hits]


def settled(server: Services, owner: str) -> None:
    job = server.jobs.get(owner, RECOVER)
    assert job is None or job.wait(60)


def test_a_start_opens_only_what_has_work(many: Services):
    many.warm_up()
    assert open_now(many) == {"person0"}


def test_who_comes_later_finds_everything_mended(many: Services):
    many.workspace("person3").library.indexes.words.clear()
    many.warm_up()
    settled(many, "person3")
    assert found(many.workspace("person3")) == ["The mooring fee of person3 is 3 euros."]
    many.workspace("person4")
    settled(many, "person4")
    assert {"person3", "person4"} <= open_now(many)


def test_the_least_recently_used_are_closed_and_opened_again(many: Services):
    everyone = [many.workspace(f"person{number}") for number in range(1, PEOPLE)]
    for there in everyone:
        assert len(found(there)) == 1
    many.workspace("person1")
    many.rest(most=3, idle=0.0)
    assert open_now(many) == {"person4", "person5", "person1"}
    for there in everyone:
        assert len(found(there)) == 1


def test_none_is_closed_that_was_used_just_now_or_has_a_job(many: Services):
    busy, idle = many.workspace("person1"), many.workspace("person2")
    assert found(busy) and found(idle)
    many.rest(most=0)
    assert open_now(many) == {"person1", "person2"}
    go_on = threading.Event()

    def work(cancelled: Cancel) -> Iterator[None]:
        go_on.wait(60)
        assert found(busy)
        yield

    job = many.jobs.start("person1", "answer:1", work)
    many.rest(most=0, idle=0.0)
    assert open_now(many) == {"person1"}
    go_on.set()
    assert job.wait(60) and job.error is None
    many.rest(most=0, idle=0.0)
    assert open_now(many) == set()


def test_who_was_used_longest_ago_goes_first():
    used = {"ann": 30.0, "bob": 10.0, "eve": 20.0}
    assert to_rest(used, 1000, [], most=1) == ["bob", "eve"]
    assert to_rest(used, 1000, ["bob"], most=1) == ["eve", "ann"]
    assert to_rest(used, 1000, [], most=3) == to_rest(used, 100, [], most=0) == []
