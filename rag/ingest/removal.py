"""A person removed with all they own: marked first, then done, and gone on with at the next start."""

import hashlib
from collections.abc import Callable, Iterator
from typing import Literal, cast

from rag.errors import Cancelled
from rag.ingest.library import Library
from rag.jobs import SERVER, Cancel, Job, Jobs
from storage.people import People

PATIENCE = 60.0  # seconds in which what runs for them has to end

Step = Literal["stopping", "indexes and files", "everything else", "removed"]


def remove_person(people: People, library: Library, jobs: Jobs) -> Iterator[Step]:
    """Remove the owner of `library`, who is marked: what runs for them, indexes and originals, every row.

    The rows go last, and the mark with them: what was interrupted finds the mark, and begins again.
    Raises Cancelled where something does not stop; a StorageError or RetrievalError where a disk fails.
    """
    yield "stopping"
    if not jobs.stop_all(library.owner, PATIENCE):
        raise Cancelled("Something still runs for this person. The removal is finished at the next start.")
    yield "indexes and files"
    library.destroy()
    yield "everything else"
    people.forget(library.owner)
    yield "removed"


class Removals:
    """Jobs that remove people with all they own; `library` opens someone's, `gone` is told who is gone."""

    def __init__(
        self, people: People, jobs: Jobs, library: Callable[[str], Library], gone: Callable[[str], None]
    ):
        self._people, self._jobs = people, jobs
        self._library, self._gone = library, gone

    def start(self, owner: str) -> None:
        """Mark a person, who is let in no more, and remove them; NotFound where there is none such."""
        self._people.mark(owner)
        self._start(owner)

    def recover(self) -> None:
        """Go on with what was ordered and is not done."""
        for owner in self._people.marked():
            self._start(owner)

    def running(self, owner: str) -> Job[Step] | None:
        """Return the job that removes a person, if one does."""
        return cast(Job[Step] | None, self._jobs.get(SERVER, _key(owner)))

    def _start(self, owner: str) -> None:
        self._jobs.start(SERVER, _key(owner), lambda cancelled: self._run(owner, cancelled))

    def _run(self, owner: str, _: Cancel) -> Iterator[Step]:
        yield from remove_person(self._people, self._library(owner), self._jobs)
        self._gone(owner)


def _key(owner: str) -> str:
    """Return the job's key, which is logged: it has no name in it."""
    return f"removal:{hashlib.sha256(owner.encode()).hexdigest()[:12]}"
