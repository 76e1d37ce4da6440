"""Where the last answer's citations sit in a tree: on leaves, and on all that stands above them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rag.citations.quoting import citation_of, markers, passage_of
from rag.raptor.opened import upwards
from rag.workspace import Workspace
from storage.records import ConversationRecord, Message

LOOKED_AT = 5  # conversations and, in each, messages: where none of them cites anything there is no mark

Place = tuple[str, int, int]  # a document's id, and the first and one past the last code point in its text


@dataclass(frozen=True)
class Marks:
    """The numbers of the last answer's sources by node, and where that answer stands."""

    numbers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    answer: Message | None = None
    conversation: ConversationRecord | None = None

    def of(self, node_id: str) -> tuple[int, ...]:
        """Return the numbers of the sources at a node, or below it."""
        return self.numbers.get(node_id, ())


def marks(here: Workspace) -> Marks:
    """Find the newest answer that cites anything, and where its citations sit."""
    for conversation in here.conversations.list()[:LOOKED_AT]:
        for message in reversed(here.conversations.messages(conversation.id, limit=LOOKED_AT)):
            found = places(message)
            if found:
                return Marks(_numbers(here, found), message, conversation)
    return Marks()


def places(message: Message) -> list[tuple[int, Place]]:
    """Return the number and the place of everything that an answer cites: the words, or the whole passage."""
    found: list[tuple[int, Place]] = []
    for offset, number in markers(message.content):
        passage, at = passage_of(message, number), citation_of(message, offset, number)
        citation = None if at is None else message.citations[at]
        if passage is None:
            continue
        if citation is not None and citation.quote:
            found.append((number, (passage.document_id, citation.quote_start, citation.quote_end)))
        else:
            found.append((number, (passage.document_id, passage.start, passage.end)))
    return found


def _numbers(here: Workspace, found: list[tuple[int, Place]]) -> Mapping[str, tuple[int, ...]]:
    numbers: dict[str, set[int]] = {}
    for number, place in found:
        for leaf in here.library.forest.trees.leaves_at(*place):
            numbers.setdefault(leaf, set()).add(number)
    return upwards(here.library.forest, numbers)
