"""E-mail: EML, MHTML and Outlook's .msg.

Read are subject, sender, recipients and date, the body, and what is attached. A .msg has MAPI properties in
an OLE container, as [MS-OXMSG] describes them.
"""

import email
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.html import decode_declared, to_markdown
from rag.ingest.parsers.ole import names, open_ole, stream
from rag.ingest.parsers.ooxml import MAX_INFLATED
from rag.ingest.parsers.plain_text import decode, decode_as, markdown_document
from rag.ingest.parsers.rtf import rtf_text
from rag.text.document import LoadedDocument
from rag.text.normalize import canonical

_FIELDS = ("From", "To", "Cc", "Date")
ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
ENCRYPTED_MESSAGE = N_("is an encrypted message. Decrypt it in your mail program and add its text.")
_SIGNATURES = (".p7s", ".sig", ".asc")
_SOFT_BREAK = re.compile(r"(?<=[^\s>-] )\n(?=[^\s>])")
_MIN_PLAIN_SHARE = 1 / 3  # of the other form's words; a shorter plain part only says "view this as HTML"


@dataclass
class _Parts:
    texts: list[str] = field(default_factory=list)
    attached: list[str] = field(default_factory=list)
    contents: list[tuple[str, bytes]] = field(default_factory=list)


def read_mail(path: Path) -> LoadedDocument:
    """Read a message; of two forms of one text the plain one is kept. An encrypted message is refused."""
    content = path.read_bytes()
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:200]:
        content = decode(content).encode("utf-8")
    message = email.message_from_bytes(content)
    contents: list[tuple[str, bytes]] = []
    text = canonical("\n\n".join(_blocks(message, "#", contents)))
    document = markdown_document(text, "message/rfc822", title=canonical(_header(message, "Subject")))
    return replace(document, attached=tuple(contents))


def _blocks(message: Message, mark: str, contents: list[tuple[str, bytes]]) -> Iterator[str]:
    subject = _header(message, "Subject")
    if subject:
        yield f"{mark} {subject}"
    fields = [f"{name}: {value}" for name in _FIELDS if (value := _header(message, name))]
    if fields:
        yield "\n".join(fields)
    parts = _Parts()
    _gather(message, mark, parts)
    yield from filter(None, (text.strip() for text in parts.texts))
    contents += parts.contents
    if parts.attached:
        yield f"Attached: {', '.join(parts.attached)}"


def _gather(part: Message, mark: str, parts: _Parts) -> None:
    kind, inside = part.get_content_type(), _subparts(part)
    if kind in ENCRYPTED:
        raise DocumentRefused(ENCRYPTED_MESSAGE)
    if kind == "multipart/alternative" and inside:
        _choose(inside, mark, parts)
    elif kind.startswith("message/") and inside:
        for message in inside:
            parts.texts.extend(_blocks(message, mark + "#", parts.contents))
    elif inside:
        for below in inside:
            _gather(below, mark, parts)
    else:
        _leaf(part, kind, parts)


def _subparts(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [below for below in payload if isinstance(below, Message)] if isinstance(payload, list) else []


def _choose(forms: list[Message], mark: str, parts: _Parts) -> None:
    """Keep the plain form, or the fullest where the plain one says much less."""
    gathered = []
    for form in forms:
        gathered.append(_Parts())
        _gather(form, mark, gathered[-1])
    parts.texts.extend(gathered[first_full(["\n".join(form.texts) for form in gathered])].texts)
    parts.attached.extend(name for form in gathered for name in form.attached)
    parts.contents.extend(content for form in gathered for content in form.contents)


def first_full(forms: Sequence[str]) -> int:
    """Return the place of the first of several forms of a text that is not much shorter than the fullest.

    >>> first_full(["See HTML.", "The harbour opened early in the last year."])
    1
    """
    lengths = [len(form.split()) for form in forms]
    return next(place for place, length in enumerate(lengths) if length >= _MIN_PLAIN_SHARE * max(lengths))


def _leaf(part: Message, kind: str, parts: _Parts) -> None:
    name = " ".join(_decoded(part.get_filename() or "").split())
    is_text = kind in ("text/plain", "text/html") or kind.startswith("multipart/")  # whose bounds are lost
    if not is_text or part.get_content_disposition() == "attachment":
        if name:
            parts.attached.append(name)
            content = part.get_payload(decode=True)
            if isinstance(content, bytes) and is_document(name, kind, is_shown="content-id" in part):
                parts.contents.append((name, content))
        return
    text = _payload_text(part)
    if kind == "text/html":
        parts.texts.append(to_markdown(text)[0])
    elif part.get_param("format") == "flowed":
        parts.texts.append(_SOFT_BREAK.sub("", text.replace("\r\n", "\n")))
    else:
        parts.texts.append(text)


def is_document(name: str, kind: str, *, is_shown: bool) -> bool:
    """Return True for what is attached, False for a signature and for a picture shown within the text."""
    return not name.lower().endswith(_SIGNATURES) and not (is_shown and kind.startswith("image/"))


def _payload_text(part: Message) -> str:
    content = part.get_payload(decode=True)
    return decode_as(content, part.get_content_charset()) if isinstance(content, bytes) else ""


def _header(message: Message, name: str) -> str:
    value = next((value for field, value in message.raw_items() if field.lower() == name.lower()), "")
    return " ".join(_decoded(str(value)).split())


def _decoded(value: str) -> str:
    """Read the encoded words of a header, and bytes not allowed there, which `email.policy` would lose.

    >>> _decoded("=?utf-8?b?7ZWt6rWs?= (port)")
    '항구 (port)'
    """
    if not value.isascii():
        return decode(value.encode("utf-8", "surrogateescape"))
    try:
        words = decode_header(value)
    except HeaderParseError:  # an encoded word that breaks off
        return value
    return "".join(word if isinstance(word, str) else decode_as(word, charset) for word, charset in words)


# Ids of properties.
_CLASS, _SUBJECT, _SENDER, _SENDER_ADDRESS, _SENDER_SMTP = 0x001A, 0x0037, 0x0C1A, 0x0C1F, 0x5D01
_BODY, _HTML, _RTF = 0x1000, 0x1013, 0x1009
_DISPLAYED = {"To": 0x0E04, "Cc": 0x0E03}
_RECIPIENT_KIND, _NAME, _ADDRESS, _SMTP = 0x0C15, 0x3001, 0x3003, 0x39FE
_KINDS = {"To": 1, "Cc": 2}
_SENT, _DELIVERED = 0x0039, 0x0E06
_CODE_PAGES = (0x3FFD, 0x3FDE)
_DATA, _SHORT_NAME, _LONG_NAME, _MEDIA_TYPE, _CONTENT_ID = 0x3701, 0x3704, 0x3707, 0x370E, 0x3712
_EMBEDDED = "__substg1.0_3701000D"
_PROPERTIES = "__properties_version1.0"
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_MAX_PARTS = 1000  # recipients or attachments of one message
_DEEPEST = 10  # messages in messages


def read_msg(path: Path) -> LoadedDocument:
    """Read a message; what is attached to it is read as a file of its own."""
    attached: list[tuple[str, bytes]] = []
    with open_ole(path) as container:
        message = _Message(container, "")
        text = canonical("\n\n".join(message.blocks("#", attached)))
        subject = message.text(_SUBJECT)
    document = markdown_document(
        text, "application/vnd.ms-outlook", title=canonical(" ".join(subject.split()))
    )
    return replace(document, attached=tuple(attached))


class _Message:
    """Properties in one folder of a container: those of a message, a recipient or an attachment."""

    def __init__(self, container: Any, folder: str, page: str = ""):
        self._container, self._folder = container, folder
        self._fixed = dict(self._read_fixed())
        pages = (self._number(id_) for id_ in _CODE_PAGES)
        self._page = page or next((f"cp{number}" for number in pages if number), "cp1252")
        self._page = "utf-8" if self._page == "cp65001" else self._page

    def text(self, id_: int) -> str:
        """Return a property that is text."""
        wide = self._stream(id_, "001F")
        if wide is not None:
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        return decode_as((self._stream(id_, "001E") or b"").rstrip(b"\0"), self._page)

    def blocks(self, mark: str, attached: list[tuple[str, bytes]]) -> Iterator[str]:
        """Yield subject, fields, body and what is attached; the contents of that go to `attached`."""
        if self.text(_CLASS).upper() in ("IPM.NOTE.SMIME", "IPM.NOTE.SECURE"):
            raise DocumentRefused(ENCRYPTED_MESSAGE)
        listed = names(self._container, self._folder)
        if subject := " ".join(self.text(_SUBJECT).split()):
            yield f"{mark} {subject}"
        if fields := [f"{name}: {value}" for name, value in self._fields(listed) if value]:
            yield "\n".join(fields)
        yield self._body()
        yield from self._attachments(listed, mark, attached)

    def _attachments(self, listed: list[str], mark: str, attached: list[tuple[str, bytes]]) -> Iterator[str]:
        shown = []
        for part in self._parts(listed, "__attach_version1.0_#"):
            kind, is_shown = part.text(_MEDIA_TYPE).lower(), bool(part.text(_CONTENT_ID))
            if kind in (*ENCRYPTED, "application/pgp-encrypted"):
                raise DocumentRefused(ENCRYPTED_MESSAGE)
            name = " ".join((part.text(_LONG_NAME) or part.text(_SHORT_NAME) or part.text(_NAME)).split())
            content = part._stream(_DATA, "0102")
            if part._container.exists(f"{part._folder}{_EMBEDDED}/{_PROPERTIES}"):
                if len(mark) < _DEEPEST:
                    inner = _Message(self._container, f"{part._folder}{_EMBEDDED}/", self._page)
                    yield from inner.blocks(mark + "#", attached)
            elif name:
                shown.append(name)
                if content is not None and is_document(name, kind, is_shown=is_shown):
                    attached.append((name, content))
        if shown:
            yield f"Attached: {', '.join(shown)}"

    def _fields(self, listed: list[str]) -> Iterator[tuple[str, str]]:
        yield "From", _addressed(self.text(_SENDER), self.text(_SENDER_SMTP) or self.text(_SENDER_ADDRESS))
        recipients = list(self._parts(listed, "__recip_version1.0_#"))
        for header, kind in _KINDS.items():
            meant = [person for person in recipients if person._number(_RECIPIENT_KIND) == kind]
            people = (
                _addressed(person.text(_NAME), person.text(_SMTP) or person.text(_ADDRESS))
                for person in meant
            )
            yield header, ", ".join(filter(None, people)) or self.text(_DISPLAYED[header])
        yield "Date", _date(self._number(_SENT, "Q") or self._number(_DELIVERED, "Q"))

    def _body(self) -> str:
        """Return the plain form, or the fullest where the plain one says much less."""
        page = self._stream(_HTML, "0102")
        source = self.text(_HTML) if page is None else decode_declared(page)
        forms = [self.text(_BODY).strip(), to_markdown(source)[0] if source else ""]
        if not any(forms):
            forms = [rtf_text(inflate_rtf(self._stream(_RTF, "0102") or b""))]
        return forms[first_full(forms)]

    def _parts(self, listed: list[str], start: str) -> Iterator["_Message"]:
        found = sorted(name for name in listed if name.startswith(start))[:_MAX_PARTS]
        return (_Message(self._container, f"{self._folder}{name}/", self._page) for name in found)

    def _stream(self, id_: int, kind: str) -> bytes | None:
        return stream(self._container, f"{self._folder}__substg1.0_{id_:04X}{kind}")

    def _read_fixed(self) -> Iterator[tuple[int, bytes]]:
        """Yield the properties of fixed size; the length of their header depends on the folder."""
        content = stream(self._container, self._folder + _PROPERTIES) or b""
        is_embedded = self._folder.endswith(f"{_EMBEDDED}/")
        header = 24 if is_embedded else 8 if self._folder else 32
        for at in range(header, len(content) - 15, 16):
            yield struct.unpack_from("<H", content, at + 2)[0], content[at + 8 : at + 16]

    def _number(self, id_: int, form: str = "I") -> int:
        value = self._fixed.get(id_, b"")
        return int(struct.unpack_from(f"<{form}", value)[0]) if value else 0


def _addressed(name: str, address: str) -> str:
    """Return a person as the header of a mail does.

    >>> _addressed("Ada", "ada@port.example"), _addressed("", "ada@port.example"), _addressed("Ada", "/O=X")
    ('Ada <ada@port.example>', 'ada@port.example', 'Ada')
    """
    name, address = " ".join(name.split()), address.strip()
    if "@" not in address or address == name:
        return name or address
    return f"{name} <{address}>" if name else address


def _date(filetime: int) -> str:
    """Return 100 nanoseconds since 1601 as the header of a mail writes them."""
    try:
        return format_datetime(_EPOCH + timedelta(microseconds=filetime // 10)) if filetime else ""
    except OverflowError:
        return ""


# Compressed RTF, as [MS-OXRTFCP] describes it.

_DICTIONARY = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor "
    rb"MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
_WINDOW = 4096


def inflate_rtf(content: bytes) -> bytes:
    """Unpack the RTF body of a message, as far as it is sound."""
    if content[8:12] == b"MELA":
        return content[16:]
    window = bytearray(_DICTIONARY.ljust(_WINDOW, b"\0"))
    output, at, place = bytearray(), 16, len(_DICTIONARY)
    while at < len(content) and len(output) < MAX_INFLATED:
        control, at = content[at], at + 1
        for bit in range(8):
            if is_reference := control >> bit & 1:
                reference, at = int.from_bytes(content[at : at + 2].ljust(2, b"\0"), "big"), at + 2
                start, length = reference >> 4, (reference & 0xF) + 2
            else:
                start, length, at = at, min(1, len(content) - at), at + 1
            if is_reference and (start == place or at > len(content)):
                return bytes(output)
            for step in range(start, start + length):
                byte = window[step % _WINDOW] if is_reference else content[step]
                window[place] = byte
                output.append(byte)
                place = (place + 1) % _WINDOW
    return bytes(output)
