"""A person removed with all they own: marked first, then done, and gone on with at the next start."""

from collections.abc import Iterator
from typing import Literal

from rag.errors import Cancelled
from rag.jobs import Jobs
from rag.library import Library
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
