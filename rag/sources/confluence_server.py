"""A wiki on a server of one's own, Confluence Server or Data Center, by version 1 of its REST API."""

from collections.abc import Iterator
from urllib.parse import quote

from rag.errors import ItemFailed
from rag.jobs import Cancel
from rag.sources.confluence_records import Content, Results, Space
from rag.sources.confluence_wiki import Root, Scope, Wiki

_API = "/rest/api"


class ServerWiki(Wiki):
    """Asked with a personal access token."""

    def pages(self, scope: Scope, cancelled: Cancel) -> Iterator[Content]:
        """Yield the wanted pages of each space; which tree a page is in is told by its ancestors."""
        whole = {space.key for space in scope.spaces}
        roots = {root.id for root in scope.roots}
        expanded = [
            "version",
            *(["ancestors"] if roots else []),
            *(["metadata.labels"] if scope.labels else []),
        ]
        for space in scope.around:
            for page in self._of_space(space, ",".join(expanded), cancelled):
                above = {page.id, *(ancestor.id for ancestor in page.ancestors)}
                labelled = not scope.labels or bool(page.labels & scope.labels)
                if labelled and (space.key in whole or above & roots):
                    yield page

    def attachments(self, page_id: str, cancelled: Cancel) -> Iterator[Content]:
        """Yield the files that are attached to a page."""
        path = f"{_API}/content/{page_id}/child/attachment"
        yield from self.api.listed(Results[Content], path, {"expand": "version"}, cancelled)

    def page(self, page_id: str, cancelled: Cancel) -> Content:
        """Return a page with its body."""
        asked = {"expand": "version,body.storage"}
        return self.api.read(Content, f"{_API}/content/{page_id}", asked, cancelled)

    def file(self, file_id: str, cancelled: Cancel) -> Iterator[bytes]:
        """Yield an attached file, from where the server says that it is."""
        file = self.api.read(Content, f"{_API}/content/{file_id}", {"expand": "version"}, cancelled)
        return self.api.file(file.links.download, cancelled)

    def _of_space(self, space: Space, expand: str, cancelled: Cancel) -> list[Content]:
        """Return the pages of a space, by the scan that 7.18 brought, or as all versions before list them.

        The scan goes on from a page, not from a number: what is deleted meanwhile hides no other page.
        """
        asked = {"spaceKey": space.key, "type": "page", "status": "current", "expand": expand}
        try:
            return list(self.api.listed(Results[Content], f"{_API}/content/scan", asked, cancelled))
        except ItemFailed:
            path = f"{_API}/space/{quote(space.key, safe='~')}/content/page"
            return list(self.api.listed(Results[Content], path, {"expand": expand}, cancelled))

    def _spaces(self, keys: tuple[str, ...], cancelled: Cancel) -> Iterator[Space]:
        if keys:
            asked = {"spaceKey": keys}
            yield from self.api.listed(Results[Space], f"{_API}/space", asked, cancelled)

    def _root(self, page_id: str, cancelled: Cancel) -> Root:
        page = self.api.read(Content, f"{_API}/content/{page_id}", {"expand": "space"}, cancelled)
        if page.space is None or page.status != "current":
            raise ItemFailed(f"{page.title} is in the trash, or not a page.")
        return Root(page.id, page.title, page.space)
