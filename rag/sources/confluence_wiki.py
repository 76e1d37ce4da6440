"""What is asked of a wiki, whichever of Confluence's two kinds it is, and which part of it is wanted."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass

from rag.errors import ItemFailed, SourceError
from rag.jobs import Cancel
from rag.sources.confluence_api import ConfluenceApi
from rag.sources.confluence_records import Content, Space
from rag.sources.confluence_settings import ConfluenceSettings


@dataclass(frozen=True)
class Root:
    """A page that is wanted with all that is below it."""

    id: str
    title: str
    space: Space


@dataclass(frozen=True)
class Scope:
    """The part of a wiki that is wanted: spaces, page trees, and of both only pages with these labels."""

    spaces: tuple[Space, ...]
    roots: tuple[Root, ...]
    labels: frozenset[str]

    @property
    def around(self) -> tuple[Space, ...]:
        """The spaces in which all of it lies, each once."""
        spaces = [*self.spaces, *(root.space for root in self.roots)]
        return tuple({space.key: space for space in spaces}.values())

    @property
    def trees(self) -> tuple[Root, ...]:
        """The trees that no wanted space holds anyway."""
        keys = {space.key for space in self.spaces}
        return tuple(root for root in self.roots if root.space.key not in keys)


class Wiki(ABC):
    """A wiki of one kind. Raises SourceError, and ItemFailed for what concerns one page or file."""

    def __init__(self, api: ConfluenceApi):
        self.api = api

    def scope(self, settings: ConfluenceSettings, cancelled: Cancel) -> Scope:
        """Find what is wanted; SourceError where it is not there, before its pages seem to be gone."""
        found = {space.key.lower(): space for space in self._spaces(settings.spaces, cancelled)}
        missing = [key for key in settings.spaces if key.lower() not in found]
        if missing:
            raise SourceError(
                f"There is no space {missing[0]} in this wiki that the account may read. Correct its key, "
                "or ask for access."
            )
        roots = tuple(self._found_root(page, cancelled) for page in settings.pages)
        return Scope(tuple(found.values()), roots, frozenset(settings.labels))

    @abstractmethod
    def pages(self, scope: Scope, cancelled: Cancel) -> Iterator[Content]:
        """Yield every page of a scope, as the wiki's database has it; some may come twice."""

    @abstractmethod
    def attachments(self, page_id: str, cancelled: Cancel) -> Iterator[Content]:
        """Yield the files that are attached to a page."""

    @abstractmethod
    def page(self, page_id: str, cancelled: Cancel) -> Content:
        """Return a page with its body."""

    @abstractmethod
    def file(self, file_id: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield an attached file in pieces."""

    @abstractmethod
    def _spaces(self, keys: tuple[str, ...], cancelled: Cancel) -> Iterator[Space]:
        """Yield those of the spaces that can be seen."""

    @abstractmethod
    def _root(self, page_id: str, cancelled: Cancel) -> Root:
        """Return the page that a tree begins with."""

    def _found_root(self, page_id: str, cancelled: Cancel) -> Root:
        try:
            return self._root(page_id, cancelled)
        except ItemFailed as error:
            raise SourceError(
                f"Page {page_id} cannot be read: {error} Take it out of the page trees, or ask for access."
            ) from error
