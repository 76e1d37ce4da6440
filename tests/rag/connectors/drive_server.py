"""A drive that speaks Google's API as it is documented: files, folders, shared drives, shortcuts and logs.

    with DriveServer() as drive:
        drive.folder("folder-0001", "Papers"); drive.file("file-000001", "a.csv", b"a,b", "folder-0001")
        drive.edit("file-000001", b"a,c"); drive.move("file-000001", "root-00001"); drive.trash("file-000001")

What happens to a file is in its log; what happens to a folder is in the log as the folder's change alone.
"""

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256

from tests.rag.connectors.service import Call, Service, answered, refused
from tests.rag.connectors.site import Page

GOOGLE = "application/vnd.google-apps."
FOLDER, SHORTCUT = f"{GOOGLE}folder", f"{GOOGLE}shortcut"
DOCUMENT, SHEET, SLIDES = f"{GOOGLE}document", f"{GOOGLE}spreadsheet", f"{GOOGLE}presentation"
READ_ONLY = "https://www.googleapis.com/auth/drive.readonly"
OFFICE = "application/vnd.openxmlformats-officedocument."
EXPORTS = {
    DOCUMENT: f"{OFFICE}wordprocessingml.document",
    SHEET: f"{OFFICE}spreadsheetml.sheet",
    SLIDES: f"{OFFICE}presentationml.presentation",
}


@dataclass(frozen=True)
class StoredFile:
    """A file, folder or shortcut."""

    id: str
    name: str
    mime: str
    content: bytes = b""
    parents: tuple[str, ...] = ()
    drive: str = ""
    target: str = ""
    trashed: bool = False
    hidden: bool = False  # no longer shared with the account
    download: bool = True
    changed: int = 0


@dataclass(frozen=True)
class Change:
    """An entry of a log."""

    drive: str
    file: str
    kind: str = "file"
    removed: bool = False


@dataclass(eq=False)
class DriveServer(Service):
    """One account's view of Drive; `size` is the most things in one answer.

    `outside` are drives that the account is no member of.
    """

    size: int = 2
    key: RSAPublicKey | None = None
    refresh_token: str = ""
    lifetime: int = 3599
    export_limit: int = 10_000_000
    incomplete: bool = False
    tokens: set[str] = field(default_factory=set)
    kept: dict[str, StoredFile] = field(default_factory=dict)
    log: list[Change] = field(default_factory=list)
    outside: set[str] = field(default_factory=set)
    granted: int = 0
    forgotten: int = 0  # entries of the log that are too old to be asked for

    def __post_init__(self) -> None:
        super().__init__()

    def folder(self, id_: str, name: str, parent: str = "", drive: str = "") -> None:
        self._put(StoredFile(id_, name, FOLDER, parents=(parent,) if parent else (), drive=drive))

    def file(self, id_: str, name: str, content: bytes, parent: str, **more: Any) -> None:
        more = {"mime": "text/csv", **more}
        self._put(
            StoredFile(id_, name, content=content, parents=(parent,), drive=self.kept[parent].drive, **more)
        )

    def shortcut(self, id_: str, name: str, target: str, parent: str) -> None:
        self._put(StoredFile(id_, name, SHORTCUT, parents=(parent,), target=target))

    def edit(self, id_: str, content: bytes) -> None:
        self._change(id_, content=content)

    def move(self, id_: str, parent: str) -> None:
        self._change(id_, parents=(parent,))

    def rename(self, id_: str, name: str) -> None:
        self._change(id_, name=name)

    def trash(self, id_: str, trashed: bool = True) -> None:
        """Put something into the trash; what is below a folder goes with it, without a word in the log."""
        self._change(id_, trashed=trashed)
        for below in [kept for kept in self.kept.values() if id_ in self._above(kept)]:
            self.kept[below.id] = replace(below, trashed=trashed)

    def hide(self, id_: str) -> None:
        """Stop sharing something with the account."""
        self.kept[id_] = replace(self.kept[id_], hidden=True)
        self.log.append(Change(self.kept[id_].drive, id_, removed=True))

    def delete(self, id_: str) -> None:
        self.log.append(Change(self.kept.pop(id_).drive, id_, removed=True))

    def answer(self, call: Call) -> Page:
        if call.path == "/token":
            return self._token(call.query)
        if call.authorization.removeprefix("Bearer ") not in self.tokens:
            return _error(401, "authError")
        path = call.path.removeprefix("/drive/v3")
        if path == "/about":
            return answered({"user": {"displayName": "Papers", "emailAddress": "papers@p.iam.example"}})
        if path == "/files":
            return self._files(call.query)
        if path == "/changes/startPageToken":
            return self._start(call.query)
        if path == "/changes":
            return self._changes(call.query)
        if found := re.fullmatch(r"/files/([\w-]+)(/export)?", path):
            return self._one(found[1], call.query, bool(found[2]))
        return _error(404, "notFound")

    def _token(self, form: dict[str, str]) -> Page:
        by_key = form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" and self._signed(form)
        by_person = form["grant_type"] == "refresh_token" and form["refresh_token"] == self.refresh_token
        assert by_key or form["scope"] == READ_ONLY
        if not (by_key or by_person):
            return refused(400, {"error": "invalid_grant", "error_description": "Bad Request"})
        self.granted += 1
        self.tokens.add(f"ya29.{self.granted}")
        token = {"access_token": f"ya29.{self.granted}", "token_type": "Bearer"}
        return answered({**token, "expires_in": self.lifetime})

    def _signed(self, form: dict[str, str]) -> bool:
        head, claims, signature = form["assertion"].split(".")
        assert self.key is not None
        self.key.verify(_bytes(signature), f"{head}.{claims}".encode(), PKCS1v15(), SHA256())
        said = json.loads(_bytes(claims))
        assert json.loads(_bytes(head)) == {"alg": "RS256", "typ": "JWT"}
        assert said["exp"] - said["iat"] == 3600
        assert said["aud"] == "https://oauth2.googleapis.com/token"
        return bool(said["iss"] == "papers@p.iam.example" and said["scope"] == READ_ONLY)

    def _files(self, query: dict[str, str]) -> Page:
        assert query["supportsAllDrives"] == query["includeItemsFromAllDrives"] == "true"
        parents = set(re.findall(r"'([\w-]+)' in parents", query["q"]))
        assert re.fullmatch(r"\(('[\w-]+' in parents( or )?)+\) and trashed = false", query["q"])
        corpus, drive = query["corpora"], query.get("driveId", "")
        if drive in self.outside:
            return _error(404, "notFound")
        found = [kept for kept in self._visible() if parents & set(kept.parents) and not kept.trashed]
        if corpus != "allDrives":
            found = [kept for kept in found if kept.drive == drive]
        start = int(query.get("pageToken", "~0")[1:])
        shown = [self._said(kept) for kept in found[start : start + self.size]]
        more = {"nextPageToken": f"~{start + self.size}"} if start + self.size < len(found) else {}
        return answered({"incompleteSearch": self.incomplete, "files": shown, **more})

    def _one(self, id_: str, query: dict[str, str], export: bool) -> Page:
        kept = self.kept.get("root-00001" if id_ == "root" else id_)
        if kept is None or kept.hidden:
            return _error(404, "notFound")
        if export:
            if len(kept.content) > self.export_limit:
                return _error(403, "exportSizeLimitExceeded")
            right = EXPORTS.get(kept.mime) == query["mimeType"]
            return answered(kept.content) if right else _error(400, "badRequest")
        if query.get("alt") == "media":
            return (
                _error(403, "fileNotDownloadable") if kept.mime.startswith(GOOGLE) else answered(kept.content)
            )
        return answered(self._said(kept))

    def _start(self, query: dict[str, str]) -> Page:
        if query.get("driveId", "") in self.outside:
            return _error(403, "teamDriveMembershipRequired")
        return answered({"startPageToken": str(len(self.log) + 1)})

    def _changes(self, query: dict[str, str]) -> Page:
        """Tell of a log from a place on; changes of a file are told once, as the file is now."""
        assert query["includeRemoved"] == "true"
        start = int(query["pageToken"]) - 1
        if start < self.forgotten:
            return _error(410, "gone")
        drive, end = query.get("driveId", ""), start + self.size
        told = []
        for change in self.log[start:end]:
            if change.drive != drive:
                continue
            kept = self.kept.get(change.file)
            said = {"kind": "drive#change", "changeType": change.kind, "removed": change.removed}
            said |= {"fileId": change.file} if change.kind == "file" else {"driveId": change.drive}
            if kept is not None and not change.removed:
                said["file"] = self._said(kept)
            told.append(said)
        over = end >= len(self.log)
        token = {"newStartPageToken": str(len(self.log) + 1)} if over else {"nextPageToken": str(end + 1)}
        return answered({"changes": told, **token})

    def _said(self, kept: StoredFile) -> dict[str, Any]:
        said: dict[str, Any] = {
            "id": kept.id,
            "name": kept.name,
            "mimeType": kept.mime,
            "parents": list(kept.parents),
            "trashed": kept.trashed,
            "modifiedTime": f"2026-01-01T00:00:{kept.changed:02}.000Z",
            "webViewLink": f"https://drive.google.com/file/d/{kept.id}/view?usp=drivesdk",
            "capabilities": {"canDownload": kept.download},
        }
        if kept.drive:
            said["driveId"] = kept.drive
        if kept.target:
            said["shortcutDetails"] = {"targetId": kept.target, "targetMimeType": ""}
        if not kept.mime.startswith(GOOGLE):
            said["md5Checksum"] = hashlib.md5(kept.content, usedforsecurity=False).hexdigest()
            said["size"] = str(len(kept.content))
        return said

    def _put(self, kept: StoredFile) -> None:
        self.kept[kept.id] = kept
        self.log.append(Change(kept.drive, kept.id))

    def _change(self, id_: str, **more: Any) -> None:
        old = self.kept[id_]
        self._put(replace(old, changed=old.changed + 1, **more))

    def _visible(self) -> list[StoredFile]:
        return [kept for kept in self.kept.values() if not kept.hidden]

    def _above(self, kept: StoredFile) -> set[str]:
        above: set[str] = set()
        for parent in kept.parents:
            above |= {parent} | (self._above(self.kept[parent]) if parent in self.kept else set())
        return above


def error(status: int, reason: str) -> dict[str, Any]:
    """What Google says of a refusal."""
    told = {"domain": "global", "reason": reason, "message": reason}
    return {"error": {"code": status, "message": reason, "errors": [told]}}


def _error(status: int, reason: str) -> Page:
    return refused(status, error(status, reason))


def _bytes(encoded: str) -> bytes:
    return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
