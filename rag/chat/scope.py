"""Search scope of a question: all documents, or chosen collections, tags and documents; the corpus view."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from pathlib import PurePath

from langchain_core.documents import Document

from rag.chat.corpus import Corpus, QuestionScope, read_scope, subject
from rag.chat.small_talk import CorpusStatus
from rag.errors import QuestionRefused, RetrievalError
from rag.i18n import N_, ngettext
from rag.index.chunks import to_document
from rag.ingest.document_facts import DocumentProfile
from rag.passage import Passage
from storage.choices import FILTERS, Choices, Chosen, Filter, Kind
from storage.collections import CollectionRecord, Collections
from storage.documents import Documents
from storage.records import AttachedRecord, Unsearched
from storage.trees import Trees

MAX_NAMED = 4  # chosen collections and documents given by name; the others are counted
MAX_NAME = 48  # characters of a name


@dataclass(frozen=True)
class SearchedIn:
    """Event: not all documents were searched; `said` names those that were chosen."""

    said: str


@dataclass(frozen=True)
class NarrowedTo:
    """Event: the question names documents, and only those are searched; `said` says how it names them."""

    said: str


@dataclass(frozen=True)
class Scope:
    """Documents that a question is searched in, by id, None for all; `said` names what was chosen."""

    document_ids: frozenset[str] | None = None
    said: str = ""

    @property
    def empty(self) -> bool:
        """True where something was chosen and none of its documents exists."""
        return self.document_ids is not None and not self.document_ids

    def has(self, document_id: str) -> bool:
        """Return True for a document that is searched."""
        return self.document_ids is None or document_id in self.document_ids

    def told(self) -> Iterator[SearchedIn]:
        """Yield the SearchedIn event; none where all documents are searched."""
        if self.said and not self.empty:
            yield SearchedIn(self.said)


EVERYTHING = Scope()


WordSearch = Callable[[str, frozenset[str] | None, int], Sequence[str]]
"""Returns the texts of the k chunks of some documents, None for all, that BM25 ranks first for some words."""
MOST_TEXTS = 20


@dataclass(frozen=True)
class LibraryView(Corpus):
    """Corpus of the documents of a library that are in a scope."""

    documents: Documents = field(kw_only=True)
    trees: Trees = field(kw_only=True)
    scope: Scope = field(kw_only=True)
    profiles: Callable[[], Mapping[str, DocumentProfile]] = field(kw_only=True, default=dict)
    word_search: WordSearch | None = field(kw_only=True, default=None)
    collections: Collections | None = field(kw_only=True, default=None)

    def status(self) -> CorpusStatus:
        """Return the status of the documents in scope."""
        states = {file.state for file in self._files()} - {"refused"}
        if not states:
            return "empty" if self.scope.document_ids is None else "gone"
        return "reading" if states <= {"queued", "reading"} else "searchable"

    def names(self) -> list[str]:
        """Return the names of the documents in scope, except those that were refused."""
        return [file.name for file in self._files() if file.state != "refused"]

    def named_by(self, question: str) -> QuestionScope | None:
        """Return the documents in scope that a question names; None where it names none or all of them."""
        return read_scope(question, self.documents_in_scope())

    def subject(self, question: str, document_ids: Collection[str] | None) -> str:
        """Return a question without the words that only name the documents searched; None: all in scope."""
        of = self.scope.has if document_ids is None else document_ids.__contains__
        return subject(question, [one for one in self.profiles().values() if of(one.id)])

    def known_profiles(self) -> Mapping[str, DocumentProfile]:
        """Return the profiles of all documents by their ids."""
        return self.profiles()

    def documents_in_scope(self) -> list[DocumentProfile]:
        """Return the documents in scope, with what they say of themselves."""
        return [one for one in self.profiles().values() if self.scope.has(one.id)]

    def chunks(self, document_ids: frozenset[str] | None = None) -> Iterator[Document]:
        """Yield all chunks of the documents in scope, or of some of them, in order."""
        wanted = [
            record
            for record in self.documents.list()
            if self.scope.has(record.id) and (document_ids is None or record.id in document_ids)
        ]
        for batch in self.documents.chunks_of(wanted):
            yield from map(to_document, batch)

    def texts_about(self, words: str) -> Sequence[str]:
        """Return passages in scope that use some words most; none where the word index cannot be read."""
        if self.word_search is None:
            return ()
        with suppress(RetrievalError):  # the search that follows reports it
            return self.word_search(words, self.scope.document_ids, MOST_TEXTS)
        return ()

    def has_trees(self, document_ids: frozenset[str]) -> bool:
        """Return True where each of these documents has a summary tree."""
        return document_ids <= {one.document_id for one in self.trees.list() if one.state == "ready"}

    def instructions(self, document_ids: frozenset[str]) -> Sequence[tuple[str, str]]:
        """Return the name and the instructions of each collection of these documents that has some."""
        return self.collections.instructions_for(document_ids) if self.collections is not None else ()

    def unsearched(self) -> list[Unsearched]:
        """Return the files that are not searched, and those that only word search finds."""
        wholly = ("searchable_by_meaning", "ready")
        return [file for file in self._files() if file.state not in wholly]

    def still_valid(self, passages: Sequence[Passage]) -> list[Passage]:
        """Keep earlier passages that are unchanged and in scope."""
        ids = [passage.id for passage in passages]
        there = {id_: chunk.text for id_, chunk in self.documents.chunks_by_id(ids).items()}
        leaves = self.trees.nodes_by_id(set(ids) - there.keys())
        there |= {id_: leaf.text for id_, leaf in leaves.items()}
        return [p for p in passages if there.get(p.id) == p.text and self.scope.has(p.document_id)]

    def _files(self) -> Iterator[Unsearched]:
        for record in self.documents.list():
            if self.scope.has(record.id):
                yield Unsearched(record.name, record.state)


def scope_of(
    choices: Choices, conversation_id: str, profiles: Callable[[], Mapping[str, DocumentProfile]] = dict
) -> Scope:
    """Return the scope of a conversation; raises NotFound."""
    chosen = choices.of(conversation_id)
    if not chosen:
        return EVERYTHING
    among, of = choices.documents(conversation_id), DocumentFilter.of(chosen)
    if of != DocumentFilter():
        among = frozenset(of.passing(profiles().values(), among))
    return Scope(among, in_words(chosen))


def scope_of_attached(attached: Sequence[AttachedRecord]) -> Scope:
    """Return the scope of a question with these documents attached."""
    ids = frozenset(one.document_id for one in attached)
    return Scope(ids, in_words([Chosen("document", one.document_id, one.name) for one in attached]))


def scope_within(collections: Collections, names: Sequence[str]) -> Scope:
    """Return the scope of the collections of these names; everything without any.

    Raises QuestionRefused where there is no collection of a name.
    """
    if not names:
        return EVERYTHING
    records = {record.id: record for record in (_called(collections, name) for name in names)}
    return scope_among(collections, [Chosen("collection", id_, one.name) for id_, one in records.items()])


def scope_among(collections: Collections, chosen: Sequence[Chosen]) -> Scope:
    """Return the scope of chosen collections and documents that exist; of none it is empty."""
    documents = {one.id for one in chosen if one.kind == "document"}
    inside = collections.documents_of([one.id for one in chosen if one.kind == "collection"])
    return Scope(frozenset(documents | set(inside)), in_words(chosen))


def scope_without(documents: Documents, scope: Scope, sha256: str) -> Scope:
    """Return a scope without the documents of this hash; the scope itself where none has it."""
    there = documents.list()
    own = {record.id for record in there if record.sha256 == sha256}
    if not own:
        return scope
    among = {record.id for record in there} if scope.document_ids is None else scope.document_ids
    said = f"{scope.said or 'all documents'}, without the text itself"
    return Scope(frozenset(among - own), said)


@dataclass(frozen=True)
class DocumentFilter:
    """File types, such as ".pdf", and days; documents whose date is unknown are not of any days."""

    types: frozenset[str] = frozenset()
    since: date | None = None
    until: date | None = None

    @classmethod
    def of(cls, chosen: Iterable[Chosen]) -> "DocumentFilter":
        """Return the filter that is among the choices of a conversation."""
        return cls.of_pairs((one.kind, one.id) for one in chosen)

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, str]]) -> "DocumentFilter":
        """Return the filter of `choices`, by kind and value; other kinds are none of it."""
        values: dict[str, list[str]] = {}
        for kind, value in pairs:
            values.setdefault(kind, []).append(value)
        days = (values.get(kind, [""])[0] for kind in ("since", "until"))
        since, until = (date.fromisoformat(day) if day else None for day in days)
        return cls(frozenset(values.get("type", ())), since, until)

    @property
    def choices(self) -> tuple[Filter, ...]:
        """The choices of a conversation that stand for this filter."""
        types: list[Filter] = [("type", kind) for kind in sorted(self.types)]
        since: list[Filter] = [("since", self.since.isoformat())] if self.since else []
        until: list[Filter] = [("until", self.until.isoformat())] if self.until else []
        return (*types, *since, *until)

    def passing(
        self, documents: Iterable[DocumentProfile], among: Collection[str] | None = None
    ) -> Iterator[str]:
        """Yield the ids of the documents that pass, of some or of all."""
        return (one.id for one in documents if (among is None or one.id in among) and self.passes(one))

    def passes(self, document: DocumentProfile) -> bool:
        """Return True for a document of these types whose own date, or end of period, is in these days.

        A date that is only a month passes where any of its days may be one of these.

        >>> from storage.records import DocumentFact
        >>> report = DocumentProfile("1", "a.PDF", [DocumentFact("date", "2023-05-03")])
        >>> DocumentFilter(frozenset({".pdf"}), since=date(2023, 1, 1)).passes(report)
        True
        """
        if self.types and file_type(document.file_name) not in self.types:
            return False
        if self.since is None and self.until is None:
            return True
        if document.end_days is None:
            return False
        first, last = document.end_days
        return (self.since or first) <= last and first <= (self.until or last)


def file_type(name: str) -> str:
    """Return the type of a file by its name, in lower case: ".pdf"; empty for none."""
    return PurePath(name).suffix.lower()


def in_words(chosen: Sequence[Chosen]) -> str:
    """Return the names of what is chosen, deleted ones last; beyond a few they are counted.

    >>> in_words([Chosen("collection", "1", "HR"), Chosen("document", "2", "a.pdf", there=False)])
    'HR (collection), a.pdf (deleted)'
    """
    ordered = sorted(chosen, key=lambda one: not one.there)
    named = ", ".join(map(_name, ordered[:MAX_NAMED]))
    more = len(ordered) - MAX_NAMED
    return f"{named} and {more:,} more" if more > 0 else named


def counted(chosen: Sequence[Chosen]) -> str:
    """Return counts of what is chosen and exists: "2 collections, 1 document"; empty where nothing exists."""
    kinds = Counter("filter" if one.kind in FILTERS else one.kind for one in chosen if one.there)
    said = {
        "collection": ngettext("{count} collection", "{count} collections", kinds["collection"]),
        "document": ngettext("{count} document", "{count} documents", kinds["document"]),
        "filter": ngettext("{count} filter", "{count} filters", kinds["filter"]),
        "tag": ngettext("{count} tag", "{count} tags", kinds["tag"]),
    }
    return ", ".join(said[kind] for kind in sorted(kinds))


def filter_in_words(kind: Kind, value: str) -> str:
    """Return a filter in words.

    >>> filter_in_words("since", "2023-01-01"), filter_in_words("type", ".pdf")
    ('documents from 2023-01-01', 'PDF files')
    """
    if kind == "since":
        return N_("documents from {day}", day=value)
    if kind == "until":
        return N_("documents until {day}", day=value)
    return N_("{ending} files", ending=value.removeprefix(".").upper())


def _called(collections: Collections, name: str) -> CollectionRecord:
    found = collections.named(name)
    if found is None:
        there = ", ".join(record.name for record in collections.list())
        raise QuestionRefused(
            N_("There is no collection {name}. There are: {names}.", name=repr(name), names=there)
            if there
            else N_("There is no collection {name}. There is none yet.", name=repr(name))
        )
    return found


def _name(one: Chosen) -> str:
    if one.kind in FILTERS:
        return filter_in_words(one.kind, one.id)
    name = one.name if len(one.name) <= MAX_NAME else one.name[: MAX_NAME - 1] + "…"
    notes = [one.kind] * (one.kind != "document") + ["deleted"] * (not one.there)
    return f"{name} ({', '.join(notes)})" if notes else name
