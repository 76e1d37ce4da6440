"""A wiki that speaks Confluence's REST API as it is documented: version 2 of the Cloud, version 1 of Server.

    with ConfluenceServer() as wiki:
        wiki.space("DOCS"); wiki.page("1", "Home", "<p>Hello</p>", space="DOCS")
        wiki.edit("1", "<p>Changed</p>"); wiki.trash("1"); wiki.attach("1", "a.pdf", b"%PDF...")

Its search knows minutes, in the time zone of whoever asks (`zone`), as the real one does.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import quote

from tests.rag.connectors.service import Call, Service, answered, refused
from tests.rag.connectors.site import Page

EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class StoredContent:
    """A page, a folder or an attached file."""

    id: str
    title: str
    space: str
    type: str = "page"
    body: str = ""
    content: bytes = b""
    media: str = ""
    parent: str = ""
    labels: tuple[str, ...] = ()
    version: int = 1
    status: str = "current"
    modified: datetime = EPOCH


@dataclass(eq=False)
class ConfluenceServer(Service):
    """One wiki; `context` is where its pages begin, `size` the most things in one answer,
    `accepts` the only Authorization that is let in, `next_host` what stands before links to go on by."""

    context: str = "/wiki"
    size: int = 2
    zone: int = 0
    accepts: str = ""
    anonymous: bool = False
    scans: bool = True  # as of version 7.18
    next_host: str = ""
    now: datetime = EPOCH
    spaces: dict[str, str] = field(default_factory=dict)
    things: dict[str, StoredContent] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()
        self.home = self.url + self.context

    def space(self, key: str) -> None:
        self.spaces[key] = str(9000 + len(self.spaces))

    def page(self, id_: str, title: str, body: str, space: str, **more: Any) -> None:
        self.things[id_] = StoredContent(id_, title, space, body=body, modified=self.now, **more)

    def attach(self, page: str, title: str, content: bytes, media: str = "application/pdf") -> str:
        id_ = f"att{len(self.things) + 100}"
        held = {"parent": page, "content": content, "media": media, "modified": self.now}
        self.things[id_] = StoredContent(id_, title, self.things[page].space, "attachment", **held)
        return id_

    def edit(self, id_: str, body: str = "", **more: Any) -> None:
        old = self.things[id_]
        self.things[id_] = replace(old, version=old.version + 1, modified=self.now, body=body, **more)

    def change(self, id_: str, **more: Any) -> None:
        """Change what makes no version: labels, place, whether it is in the trash."""
        self.things[id_] = replace(self.things[id_], **more)

    def trash(self, id_: str) -> None:
        self.change(id_, status="trashed")

    def answer(self, call: Call) -> Page:
        if self.accepts and call.authorization != self.accepts:
            return refused(401, {"message": "Unauthorized"})
        path = call.path.removeprefix(self.context)
        if path.startswith("/download/"):
            return self._downloaded(path)
        for pattern, say in self._routes:
            if found := re.fullmatch(pattern, path):
                return say(self, call, *found.groups())
        return refused(404, {"message": "No route"})

    # What both versions are asked.

    def _user_current(self, call: Call) -> Page:
        known = {"type": "known", "displayName": "Ada Byron", "publicName": "ada"}
        return answered({"type": "anonymous", "displayName": "Anonymous"} if self.anonymous else known)

    def _user(self, call: Call) -> Page:
        id_ = call.query.get("accountId") or call.query.get("key", "")
        if id_ not in self.people:
            return refused(404, {"statusCode": 404, "message": "No user found"})
        return answered({"type": "known", "accountId": id_, "displayName": self.people[id_]})

    def _search(self, call: Call) -> Page:
        found = [thing for thing in self._current() if self._matches(thing, call.query["cql"])]
        ordered = sorted(found, key=lambda thing: thing.modified, reverse=True)
        return self._v1_list(call, ordered, cursors=True)

    def _matches(self, thing: StoredContent, query: str) -> bool:
        """Read the query as this source writes it: conditions joined by `and`, one of them an `or`."""
        return all(self._holds(thing, part) for part in re.split(r" and (?![^(]*\))", query))

    def _holds(self, thing: StoredContent, part: str) -> bool:
        if part.startswith("("):
            return any(self._holds(thing, one) for one in part[1:-1].split(" or "))
        field_, operator, value = part.split(" ", 2)
        if operator == ">=":
            asked = datetime.strptime(value.strip('"'), "%Y-%m-%d %H:%M")
            asked = asked.replace(tzinfo=timezone(timedelta(hours=self.zone)))
            return thing.modified.replace(second=0) >= asked
        values = re.findall(r'"([^"]*)"|(\w+)', value)
        wanted = {quoted or bare for quoted, bare in values}
        held = {
            "type": {thing.type},
            "space": {thing.space},
            "id": {thing.id},
            "label": set(thing.labels),
            "ancestor": set(self._above(thing)) if thing.type == "page" else set(),
        }[field_]
        return bool(held & wanted)

    # Version 2, of the Cloud.

    def _v2_spaces(self, call: Call) -> Page:
        keys, ids = call.query.get("keys", "").split(","), call.query.get("ids", "").split(",")
        found = [
            {"id": id_, "key": key, "name": f"All of {key}", "type": "global"}
            for key, id_ in self.spaces.items()
            if key in keys or id_ in ids
        ]
        return self._v2_list(call, found)

    def _v2_of_space(self, call: Call, space: str) -> Page:
        return self._v2_pages(call, [t for t in self._all() if self.spaces[t.space] == space])

    def _v2_named(self, call: Call) -> Page:
        ids = call.query["id"].split(",")
        return self._v2_pages(call, [thing for thing in self._all() if thing.id in ids])

    def _v2_labelled(self, call: Call, label: str) -> Page:
        space = call.query["space-id"]
        held = [t for t in self._all() if f"l-{label}" in {f"l-{name}" for name in t.labels}]
        return self._v2_pages(call, [t for t in held if self.spaces[t.space] == space])

    def _v2_labels(self, call: Call, space: str) -> Page:
        names = {name for t in self._current() if self.spaces[t.space] == space for name in t.labels}
        labels = [{"id": f"my-{n}", "name": n, "prefix": "my"} for n in sorted(names)]
        return self._v2_list(call, labels + [{"id": n, "name": n, "prefix": "global"} for n in sorted(names)])

    def _v2_page(self, call: Call, id_: str) -> Page:
        thing = self.things.get(id_)
        if thing is None or thing.type != "page":
            return refused(404, {"errors": [{"status": 404, "code": "NOT_FOUND", "title": "Not Found"}]})
        body = {"storage": {"representation": "storage", "value": thing.body}}
        asked = call.query.get("body-format") == "storage"
        return answered({**self._v2(thing), **({"body": body} if asked else {})})

    def _v2_below(self, call: Call, kind: str, id_: str) -> Page:
        found = []
        for thing in self._current():
            above = self._above(thing)
            if thing.type != "attachment" and id_ in above and above.index(id_) < int(call.query["depth"]):
                known = {"id": thing.id, "status": "current", "title": thing.title, "type": thing.type}
                found.append({**known, "parentId": thing.parent, "depth": above.index(id_) + 1})
        return self._v2_list(call, found)

    def _v2_attachments(self, call: Call, id_: str) -> Page:
        found = [t for t in self._current() if t.type == "attachment" and t.parent == id_]
        return self._v2_list(call, [self._v2(thing) for thing in found])

    def _v2_attachment(self, call: Call, id_: str) -> Page:
        return answered(self._v2(self.things[id_])) if id_ in self.things else refused(404)

    def _v2_pages(self, call: Call, things: list[StoredContent]) -> Page:
        status = call.query.get("status", "current,archived").split(",")
        found = [thing for thing in things if thing.type == "page" and thing.status in status]
        return self._v2_list(call, [self._v2(thing) for thing in found])

    def _v2_list(self, call: Call, results: list[dict[str, Any]]) -> Page:
        start = int(call.query.get("cursor", "c0")[1:])
        size = min(self.size, int(call.query["limit"]))
        links = {"base": self.home}
        if start + size < len(results):
            path = f"{self.context}/api/v2/next?cursor=c{start + size}&limit={size}"
            links["next"] = self.next_host + path
        return answered({"results": results[start : start + size], "_links": links})

    def _v2(self, thing: StoredContent) -> dict[str, Any]:
        links = {"webui": self._webui(thing), "tinyui": f"/x/{thing.id}"}
        said = {
            "id": thing.id,
            "status": thing.status,
            "title": thing.title,
            "version": {"number": thing.version, "createdAt": thing.modified.isoformat(), "message": ""},
            "_links": links,
        }
        if thing.type == "attachment":
            links["download"] = self._download(thing)
            more = {"mediaType": thing.media, "fileSize": len(thing.content), "pageId": thing.parent}
            return {**said, **more, "downloadLink": links["download"], "webuiLink": links["webui"]}
        more = {"spaceId": self.spaces[thing.space], "parentId": thing.parent or None, "parentType": "page"}
        return {**said, **more, "position": 1, "authorId": "557058:ab"}

    # Version 1, of Server and Data Center.

    def _v1_spaces(self, call: Call) -> Page:
        keys = call.values.get("spaceKey", [])
        found = [
            {"id": int(id_), "key": key, "name": f"All of {key}", "type": "global"}
            for key, id_ in self.spaces.items()
            if key in keys
        ]
        return self._v1_page(call, found)

    def _v1_scan(self, call: Call) -> Page:
        query = call.query
        if not self.scans:
            return refused(404, {"statusCode": 404, "message": "No content found with id: scan"})
        found = [t for t in self._current() if t.type == query["type"] and t.space == query["spaceKey"]]
        return self._v1_list(call, found, cursors=True)

    def _v1_of_space(self, call: Call, key: str) -> Page:
        return self._v1_list(call, [t for t in self._current() if t.type == "page" and t.space == key])

    def _v1_thing(self, call: Call, id_: str) -> Page:
        thing = self.things.get(id_)
        if thing is None or thing.status != "current":
            return refused(404, {"statusCode": 404, "message": f"No content found with id: {id_}"})
        return answered(self._v1(thing, call.query.get("expand", "")))

    def _v1_attachments(self, call: Call, id_: str) -> Page:
        found = [t for t in self._current() if t.type == "attachment" and t.parent == id_]
        return self._v1_list(call, found)

    def _v1_download(self, call: Call, page: str, id_: str) -> Page:
        thing = self.things[id_]
        if thing.parent != page:
            return refused(404)
        return Page(status=302, headers={"Location": self.context + self._download(thing)})

    def _v1_list(self, call: Call, things: list[StoredContent], *, cursors: bool = False) -> Page:
        expand = call.query.get("expand", "")
        return self._v1_page(call, [self._v1(thing, expand) for thing in things], cursors=cursors)

    def _v1_page(self, call: Call, results: list[dict[str, Any]], *, cursors: bool = False) -> Page:
        start = int(call.query.get("cursor", "c" + call.query.get("start", "0"))[1:])
        size = min(self.size, int(call.query["limit"]))
        links = {"base": self.home, "context": self.context, "self": self.home}
        if start + size < len(results):
            place = f"cursor=c{start + size}" if cursors else f"start={start + size}"
            links["next"] = f"{self.next_host}/rest/api/next?limit={size}&{place}"
        shown = results[start : start + size]
        return answered(
            {"results": shown, "start": start, "limit": size, "size": len(shown), "_links": links}
        )

    def _v1(self, thing: StoredContent, expand: str) -> dict[str, Any]:
        said: dict[str, Any] = {
            "id": thing.id,
            "type": thing.type,
            "status": thing.status,
            "title": thing.title,
            "extensions": {"position": 1},
            "_links": {"webui": self._webui(thing), "self": f"{self.home}/rest/api/content/{thing.id}"},
            "_expandable": {"children": ""},
        }
        labels = [{"prefix": "global", "name": name, "id": name} for name in thing.labels]
        space = {"id": int(self.spaces[thing.space]), "key": thing.space, "name": thing.space}
        parts = {
            "version": {"number": thing.version, "when": thing.modified.isoformat(), "minorEdit": False},
            "space": space,
            "ancestors": [{"id": id_, "type": "page"} for id_ in self._above(thing)],
            "metadata.labels": None,
            "body.storage": None,
            "container": {"id": thing.parent, "type": "page", "title": ""},
        }
        said |= {name: part for name, part in parts.items() if part is not None and name in expand.split(",")}
        if "metadata.labels" in expand:
            said["metadata"] = {"labels": {"results": labels, "start": 0, "limit": 200, "size": len(labels)}}
        if "body.storage" in expand:
            said["body"] = {"storage": {"value": thing.body, "representation": "storage"}}
        if thing.type == "attachment":
            said["extensions"] = {"mediaType": thing.media, "fileSize": len(thing.content)}
            said["_links"]["download"] = self._download(thing)
        return said

    # What both are made of.

    def _all(self) -> list[StoredContent]:
        return list(self.things.values())

    def _current(self) -> list[StoredContent]:
        return [thing for thing in self._all() if thing.status == "current"]

    def _above(self, thing: StoredContent) -> list[str]:
        """The ids of what a thing stands below, the nearest first."""
        ids = []
        while thing.parent:
            ids.append(thing.parent)
            thing = self.things[thing.parent]
        return ids

    def _webui(self, thing: StoredContent) -> str:
        if thing.type == "attachment":
            return f"/pages/viewpageattachments.action?pageId={thing.parent}&preview=%2F{thing.id}"
        return f"/spaces/{thing.space}/pages/{thing.id}/{quote(thing.title)}"

    def _download(self, thing: StoredContent) -> str:
        return f"/download/attachments/{thing.parent}/{quote(thing.title)}?version={thing.version}&api=v2"

    def _downloaded(self, path: str) -> Page:
        _, _, _, page, title = path.split("/", 4)
        for thing in self._current():
            if (thing.parent, thing.title) == (page, title):
                return answered(thing.content, **{"Content-Type": thing.media})
        return refused(404)

    _routes = (
        (r"/rest/api/user/current", _user_current),
        (r"/rest/api/user", _user),
        (r"/rest/api/content/search", _search),
        (r"/api/v2/spaces", _v2_spaces),
        (r"/api/v2/spaces/(\d+)/pages", _v2_of_space),
        (r"/api/v2/spaces/(\d+)/content/labels", _v2_labels),
        (r"/api/v2/labels/([^/]+)/pages", _v2_labelled),
        (r"/api/v2/pages", _v2_named),
        (r"/api/v2/pages/(\w+)", _v2_page),
        (r"/api/v2/(pages|folders|whiteboards|databases|embeds)/(\w+)/descendants", _v2_below),
        (r"/api/v2/pages/(\w+)/attachments", _v2_attachments),
        (r"/api/v2/attachments/(\w+)", _v2_attachment),
        (r"/rest/api/space", _v1_spaces),
        (r"/rest/api/space/([^/]+)/content/page", _v1_of_space),
        (r"/rest/api/content/scan", _v1_scan),
        (r"/rest/api/content/(\w+)", _v1_thing),
        (r"/rest/api/content/(\w+)/child/attachment", _v1_attachments),
        (r"/rest/api/content/(\w+)/child/attachment/(\w+)/download", _v1_download),
    )
