"""What of a library a chat searches: whether there is anything, what is not read yet, what still stands."""

from collections.abc import Iterator, Sequence

from rag.ask import Unsearched
from rag.chat.small_talk import CorpusStatus
from rag.library import Library
from rag.passages import Passage
from rag.scope import Scope


class Searched:
    """The documents of a library that are in a scope, looked at anew each time."""

    def __init__(self, library: Library, scope: Scope):
        self._library = library
        self._scope = scope

    def shelf(self) -> CorpusStatus:
        """Return whether there is anything to search, or will be soon."""
        states = {file.state for file in self._files()} - {"refused"}
        if not states:
            return "empty" if self._scope.document_ids is None else "gone"
        return "reading" if states <= {"queued", "reading"} else "filled"

    def names(self) -> list[str]:
        """Return the names of the documents in the scope, except those that were refused."""
        return [file.name for file in self._files() if file.state != "refused"]

    def unsearched(self) -> list[Unsearched]:
        """Return the files that no search sees, and those that only words find."""
        wholly = ("searchable_by_meaning", "ready")
        return [file for file in self._files() if file.state not in wholly]

    def standing(self, passages: Sequence[Passage]) -> list[Passage]:
        """Return the passages that are searched, and as they were: what was removed serves no more."""
        ids = [passage.id for passage in passages]
        there = {id_: chunk.text for id_, chunk in self._library.documents.chunks_by_id(ids).items()}
        leaves = self._library.forest.trees.nodes_by_id(set(ids) - there.keys())
        there |= {id_: leaf.text for id_, leaf in leaves.items()}
        return [p for p in passages if there.get(p.id) == p.text and self._scope.has(p.document_id)]

    def _files(self) -> Iterator[Unsearched]:
        for record in self._library.documents.list():
            if self._scope.has(record.id):
                yield Unsearched(record.name, record.state)
