"""EML and MHTML: subject, sender, recipients and date, the body, and what is attached."""

import email
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from pathlib import Path

from rag.errors import DocumentRefused
from rag.i18n import N_
from rag.ingest.parsers.html import to_markdown
from rag.ingest.parsers.plain_text import decode, decode_as, markdown_document
from rag.text.document import LoadedDocument, clean

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
    text = clean("\n\n".join(_blocks(message, "#", contents)))
    document = markdown_document(text, "message/rfc822", title=clean(_header(message, "Subject")))
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
