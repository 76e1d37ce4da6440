"""People being removed: a job of the server for each, begun by an administrator or found unfinished."""

import hashlib
from collections.abc import Callable, Iterator
from typing import cast

from rag.jobs import Cancel, Job, Jobs
from rag.library import Library
from rag.removal import Step, remove_person
from storage.people import People
from ui.installs import SERVER


class Removals:
    """Removes people with all they own; `library` opens someone's, `gone` is told who is there no more."""

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
    """Return the job's key, which is on what it logs: nobody's name is."""
    return f"removal:{hashlib.sha256(owner.encode()).hexdigest()[:12]}"
