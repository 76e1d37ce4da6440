"""A wiki in Atlassian's Cloud, by version 2 of its REST API."""

from collections.abc import Iterable, Iterator

from rag.errors import ItemFailed
from rag.jobs import Cancel
from rag.sources.confluence_api import PAGE
from rag.sources.confluence_records import Content, Label, Reference, Results, Space
from rag.sources.confluence_wiki import Root, Scope, Wiki

_API = "/api/v2"
_DEPTH = 5
"""How far below a page its descendants are listed at once: the most that there is."""
_MAY_HOLD_PAGES = {
    "page": "pages",
    "folder": "folders",
    "whiteboard": "whiteboards",
    "database": "databases",
    "embed": "embeds",
}


class _Below(Reference):
    """Something below a page, and how far."""

    depth: int = 1


class CloudWiki(Wiki):
    """Asked with an e-mail address and an API token."""

    def pages(self, scope: Scope, cancelled: Cancel) -> Iterator[Content]:
        """Yield the pages of the spaces, then those of the trees."""
        for space in scope.spaces:
            yield from _current(self._of_space(space, scope.labels, cancelled))
        for root in scope.trees:
            ids = list(self._tree(root.id, cancelled))
            if scope.labels:
                labelled = {page.id for page in self._of_space(root.space, scope.labels, cancelled)}
                ids = [id_ for id_ in ids if id_ in labelled]
            yield from _current(self._named(ids, cancelled))

    def attachments(self, page_id: str, cancelled: Cancel) -> Iterator[Content]:
        """Yield the files that are attached to a page."""
        path = f"{_API}/pages/{page_id}/attachments"
        yield from _current(self.api.listed(Results[Content], path, {"status": "current"}, cancelled))

    def page(self, page_id: str, cancelled: Cancel) -> Content:
        """Return a page with its body."""
        return self.api.read(Content, f"{_API}/pages/{page_id}", {"body-format": "storage"}, cancelled)

    def file(self, file_id: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield an attached file. Version 1 alone has its content, and leads on to a store of files."""
        file = self.api.read(Content, f"{_API}/attachments/{file_id}", {}, cancelled)
        path = f"/rest/api/content/{file.page_id}/child/attachment/{file.id}/download"
        return self.api.file(path, cancelled)

    def _spaces(self, keys: tuple[str, ...], cancelled: Cancel) -> Iterator[Space]:
        if keys:
            asked = {"keys": ",".join(keys)}
            yield from self.api.listed(Results[Space], f"{_API}/spaces", asked, cancelled)

    def _root(self, page_id: str, cancelled: Cancel) -> Root:
        page = self.api.read(Content, f"{_API}/pages/{page_id}", {}, cancelled)
        asked = {"ids": page.space_id}
        for space in self.api.listed(Results[Space], f"{_API}/spaces", asked, cancelled):
            if page.status == "current":
                return Root(page.id, page.title, space)
        raise ItemFailed(f"{page.title} is in the trash, in the archive, or in a space that cannot be seen.")

    def _of_space(self, space: Space, labels: frozenset[str], cancelled: Cancel) -> Iterator[Content]:
        """Yield the pages of a space: all, or those with one of the labels, as often as they have one."""
        if not labels:
            path, asked = f"{_API}/spaces/{space.id}/pages", {"status": "current"}
            yield from self.api.listed(Results[Content], path, asked, cancelled)
            return
        of_space = f"{_API}/spaces/{space.id}/content/labels"
        for label in list(self.api.listed(Results[Label], of_space, {}, cancelled)):
            if label.prefix == "global" and label.name.lower() in labels:
                path = f"{_API}/labels/{label.id}/pages"
                yield from self.api.listed(Results[Content], path, {"space-id": space.id}, cancelled)

    def _tree(self, root: str, cancelled: Cancel) -> Iterator[str]:
        """Yield the ids of a page and of all pages below it, folders between them passed through."""
        yield root
        starts, seen = [("pages", root)], {root}
        while starts:
            kind, start = starts.pop()
            path, asked = f"{_API}/{kind}/{start}/descendants", {"depth": _DEPTH}
            for below in self.api.listed(Results[_Below], path, asked, cancelled):
                if below.id in seen:
                    continue
                seen.add(below.id)
                if below.type == "page":
                    yield below.id
                if below.depth == _DEPTH and below.type in _MAY_HOLD_PAGES:
                    starts.append((_MAY_HOLD_PAGES[below.type], below.id))

    def _named(self, ids: list[str], cancelled: Cancel) -> Iterator[Content]:
        for start in range(0, len(ids), PAGE):
            asked = {"id": ",".join(ids[start : start + PAGE]), "status": "current"}
            yield from self.api.listed(Results[Content], f"{_API}/pages", asked, cancelled)


def _current(contents: Iterable[Content]) -> Iterator[Content]:
    return (content for content in contents if content.status == "current")
