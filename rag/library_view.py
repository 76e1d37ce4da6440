"""Library view: the documents of a library that a chat searches."""

from collections.abc import Callable, Iterator, Sequence

from rag.chat.corpus import CorpusStatus, UnsearchedFile
from rag.chat.scope import Scope
from rag.passage import Passage
from storage.documents import Documents
from storage.trees import Trees


class LibraryView:
    """CorpusView of the documents of a library that are in a scope."""

    def __init__(self, documents: Documents, trees: Trees, rarity: Callable[[str], float], scope: Scope):
        self._documents = documents
        self._trees = trees
        self._scope = scope
        self.rarity = rarity
        """Inverse document frequency of a token in the library."""

    def status(self) -> CorpusStatus:
        """Return the status of the documents in scope."""
        states = {file.state for file in self._files()} - {"refused"}
        if not states:
            return "empty" if self._scope.document_ids is None else "gone"
        return "reading" if states <= {"queued", "reading"} else "searchable"

    def names(self) -> list[str]:
        """Return the names of the documents in the scope, except those that were refused."""
        return [file.name for file in self._files() if file.state != "refused"]

    def unsearched(self) -> list[UnsearchedFile]:
        """Return the files that are not searched, and those that only word search finds."""
        wholly = ("searchable_by_meaning", "ready")
        return [file for file in self._files() if file.state not in wholly]

    def still_valid(self, passages: Sequence[Passage]) -> list[Passage]:
        """Keep earlier passages that are unchanged and in scope."""
        ids = [passage.id for passage in passages]
        there = {id_: chunk.text for id_, chunk in self._documents.chunks_by_id(ids).items()}
        leaves = self._trees.nodes_by_id(set(ids) - there.keys())
        there |= {id_: leaf.text for id_, leaf in leaves.items()}
        return [p for p in passages if there.get(p.id) == p.text and self._scope.has(p.document_id)]

    def _files(self) -> Iterator[UnsearchedFile]:
        for record in self._documents.list():
            if self._scope.has(record.id):
                yield UnsearchedFile(record.name, record.state)
