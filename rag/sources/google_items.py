"""Which files of a drive can be documents, in which form they are had, and what is said of others. Pure."""

from collections.abc import Mapping

from rag.sources.google_records import DriveFile
from rag.sources.rest import too_large
from rag.sources.source import Item, Unreadable

_OFFICE = "application/vnd.openxmlformats-officedocument."
_OF_GOOGLE = "application/vnd.google-apps."
_SEEN_OR_HEARD = ("video/", "audio/")
# Word keeps headings, merged cells, footnotes and descriptions of pictures; Markdown would hold every picture
# as text, which soon is more than Google exports.
_EXPORTED: Mapping[str, tuple[str, str]] = {
    f"{_OF_GOOGLE}document": (f"{_OFFICE}wordprocessingml.document", ".docx"),
    f"{_OF_GOOGLE}spreadsheet": (f"{_OFFICE}spreadsheetml.sheet", ".xlsx"),
    f"{_OF_GOOGLE}presentation": (f"{_OFFICE}presentationml.presentation", ".pptx"),
    f"{_OF_GOOGLE}drawing": ("application/pdf", ".pdf"),
}


def listed(file: DriveFile, most: int) -> Item | Unreadable:
    """Return a file as a listing names it; `most` is how many bytes it may have."""
    reason = _unreadable(file, most)
    if reason:
        return Unreadable(file.id, file.name, reason, lasting=True)
    suffix = _EXPORTED.get(file.mime_type, ("", ""))[1]
    name = file.name if file.name.lower().endswith(suffix) else file.name + suffix
    link = file.link if file.link.startswith("https://") else f"https://drive.google.com/open?id={file.id}"
    return Item(file.id, name, _version(file), link)


def exported(file: DriveFile) -> str:
    """Return the media type that a document of Google's own is exported to; nothing for any other file."""
    return _EXPORTED.get(file.mime_type, ("", ""))[0]


def _version(file: DriveFile) -> str:
    """Return what changes with a file's content: its checksum, or the time where it has none."""
    return file.checksum or (file.modified.isoformat() if file.modified else "")


def _unreadable(file: DriveFile, most: int) -> str:
    if file.mime_type.startswith(_OF_GOOGLE) and file.mime_type not in _EXPORTED:
        kind = file.mime_type.removeprefix(_OF_GOOGLE)
        return f"It is a Google {kind}, which Drive does not give out as a document."
    if file.mime_type.startswith(_SEEN_OR_HEARD):
        return "It is a film or a sound, and holds no text."
    if not file.capabilities.can_download:
        return "Its owner does not allow it to be downloaded."
    if file.size > most:
        return too_large(file.size, most)
    return ""
