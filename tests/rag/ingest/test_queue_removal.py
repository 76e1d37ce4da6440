"""A person removed with all they own; a stop at any step leaves a mark, and the next try ends it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag.errors import Cancelled, IndexUnusable, LimitReached
from rag.ingest.library import Library
from rag.ingest.queue import remove_person
from rag.jobs import Jobs
from rag.quota import Limits, Quota
from storage.accounts import Account, People
from storage.conversations import Conversations
from storage.database import Database
from storage.documents import Documents
from storage.errors import AccountClosed
from tests.rag.ingest.test_library import CASTLE, LIGHTHOUSE, in_step, names, put
from tests.rag.word_vectors import WordVectors


@pytest.fixture
def libraries(database: Database) -> Iterator[dict[str, Library]]:
    """Ann's and Bob's, with a document in each."""
    opened = {owner: Library(database, owner, lambda: WordVectors("words")) for owner in ("ann", "bob")}
    for library in opened.values():
        put(library, "castle.md", CASTLE)
        Conversations(database, library.owner).create("About the moat")
    yield opened
    for library in opened.values():
        library.close()


@pytest.fixture
def people(database: Database) -> People:
    return People(database)


def everything(database: Database) -> set[Path]:
    return {path for folder in ("files", "indexes") for path in (database.directory / folder).glob("*")}


def test_all_that_was_theirs_goes_and_nothing_of_anyone_elses(database, libraries, people):
    before = everything(database)
    assert len(before) == 4
    people.mark("ann")
    steps = list(remove_person(people, libraries["ann"], Jobs()))
    assert steps == ["stopping", "indexes and files", "everything else", "removed"]
    left = everything(database)
    assert len(left) == 2 and left < before
    assert [record.id for record in people.list()] == ["bob"]
    assert names(libraries["bob"], "How deep is the moat?") == ["castle.md"]
    assert in_step(libraries["bob"])
    assert Documents(database, "ann").list() == []


@pytest.mark.parametrize("steps", range(4))
def test_one_that_was_cut_off_is_ended_by_the_next_try(database, libraries, people, steps):
    people.mark("ann")
    removal = remove_person(people, libraries["ann"], Jobs())
    for _ in range(steps):
        next(removal)
    removal.close()
    if "ann" in people.marked():
        list(remove_person(people, libraries["ann"], Jobs()))
    assert (people.marked(), len(everything(database))) == ([], 2)
    assert [record.id for record in people.list()] == ["bob"]


def test_what_runs_for_them_is_stopped_first_and_none_is_begun(libraries, people):
    jobs, seen = Jobs(), []

    def endless(cancelled):
        while not cancelled():
            time.sleep(0.01)
        seen.append(people.get("ann").removing is not None)
        yield 1

    job = jobs.start("ann", "read:1", endless)
    other = jobs.start("bob", "read:1", endless)
    people.mark("ann")
    list(remove_person(people, libraries["ann"], jobs))
    assert job.done and seen == [True]
    assert not other.done
    with pytest.raises(Cancelled):
        jobs.start("ann", "read:2", endless)
    jobs.welcome("ann")
    jobs.start("ann", "read:3", endless)
    jobs.close()


def test_a_removal_that_a_disk_does_not_let_be_done_says_so_and_stays_ordered(libraries, people):
    folder = libraries["ann"].indexes._directory
    libraries["ann"].close()
    for path in sorted(folder.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    folder.rmdir()
    folder.write_text("in the way")
    people.mark("ann")
    with pytest.raises(IndexUnusable, match="cannot be removed"):
        list(remove_person(people, libraries["ann"], Jobs()))
    assert people.marked() == ["ann"]
    folder.unlink()
    list(remove_person(people, libraries["ann"], Jobs()))
    assert people.marked() == []


def test_nothing_that_a_library_is_asked_brings_them_back(libraries, people):
    people.mark("ann")
    for _ in remove_person(people, libraries["ann"], Jobs()):
        pass
    with pytest.raises(AccountClosed):
        libraries["ann"].add("new.md", LIGHTHOUSE.encode())
    assert [record.id for record in people.list()] == ["bob"]


def test_a_library_takes_no_more_than_it_may_and_leaves_no_bytes_of_the_rest(database):
    quota = Quota(Account(database, "ann"), lambda: Limits(documents=1))
    mine = Library(database, "ann", lambda: WordVectors("words"), quota=quota)
    record, _ = mine.add("castle.md", CASTLE.encode())
    with pytest.raises(LimitReached):
        mine.add("lighthouse.md", LIGHTHOUSE.encode())
    assert [path.name for path in (database.directory / "files").glob("*/*")] == [record.sha256]
