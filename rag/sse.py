"""The text of a chat completion, read piece by piece from the bytes a server sends.

Pure but for waiting: no client, no socket. Servers differ and break, so nothing is taken for granted.
"""

import codecs
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

from rag.errors import LLMError, LLMGarbled, LLMRejected, LLMUnreachable

LINE_CHARS = 16_000_000
"""A longer line is no event of any real server; it would only fill the memory."""

# Controls but tab and newline, bidirectional overrides and isolates, byte-order marks, tag characters.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Return text without characters that are not seen but act: controls, direction overrides, tags.

    >>> clean("a\x00b\u202ec\r\n")
    'abc\n'
    """
    return _LONE_SURROGATE.sub("\ufffd", _INVISIBLE.sub("", text))


async def lines(chunks: AsyncIterator[bytes], limit: int = LINE_CHARS) -> AsyncGenerator[str, None]:
    r"""Yield the lines of a UTF-8 stream without their ends; one that was cut off has "\0" after it."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    parts: list[str] = []
    size = 0
    async for chunk in chunks:
        *whole, rest = decoder.decode(chunk).split("\n")
        for line in whole:
            yield "".join([*parts, line]).rstrip("\r")
            parts, size = [], 0
        parts.append(rest)
        size += len(rest)
        if size > limit:
            raise LLMGarbled("The model's server sent a line without an end. Check its address.")
    last = "".join(parts) + decoder.decode(b"", final=True)
    if last:
        yield last + "\0"


async def content(chunks: AsyncIterator[bytes]) -> AsyncGenerator[str, None]:
    """Yield the answer's text from a stream of server-sent events, or from one JSON completion.

    Raises LLMUnreachable when the stream ends before the answer, LLMRejected when the server reports an
    error within it, LLMGarbled when what came is not a chat completion or holds no text.
    """
    finished = spoke = False
    plain: list[str] = []
    async with aclosing(lines(chunks)) as told:
        async for line in told:
            if not line.startswith("data:"):
                plain.append(line if not spoke and not line.startswith((":", "event:")) else "")
                continue
            payload = line[5:].strip()
            if payload == "[DONE]":
                finished = True
                break
            text, ended = _read(_event(payload))
            finished = finished or ended
            if text:
                spoke = True
                yield text
    if not spoke and not finished:
        text = _whole("\n".join(plain).strip(" \n\0"))
        spoke = finished = bool(text)
        yield text
    _require(finished, spoke)


def _require(finished: bool, spoke: bool) -> None:
    if not finished:
        raise _broken_off()
    if not spoke:
        raise LLMGarbled("The model sent an empty answer. Ask again, or choose another model.")


def _broken_off() -> LLMError:
    return LLMUnreachable("The connection to the model broke off before the answer was complete. Ask again.")


def _event(payload: str) -> Any:
    try:
        return json.loads(payload.removesuffix("\0"))
    except ValueError as error:
        if payload.endswith("\0"):
            raise _broken_off() from error
        raise LLMGarbled("The model's server sent something that is not JSON. Check its address.") from error
    except RecursionError as error:
        raise LLMGarbled("The model's server sent JSON nested too deeply to be an answer.") from error


def _whole(body: str) -> str:
    """Return the text of a completion sent in one piece, by a server that does not stream."""
    if body.startswith("<"):
        raise LLMGarbled(
            "The model's server sent a web page instead of an answer. Check that its address ends in /v1."
        )
    return _read(_event(body))[0] if body.startswith("{") else ""


def _read(event: Any) -> tuple[str, bool]:
    """Return an event's text and whether it says that the answer is complete."""
    if not isinstance(event, dict):
        raise LLMGarbled("The model's server sent JSON that is not a chat completion. Check its address.")
    if event.get("error"):
        raise LLMRejected("The model's server reported an error while it answered. Ask again in a moment.")
    choices = event.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return "", False
    part = choices[0].get("delta") or choices[0].get("message") or {}
    text = part.get("content") if isinstance(part, dict) else None
    if text is not None and not isinstance(text, str):
        raise LLMGarbled("The model's server sent an answer that is not text. Choose another model.")
    return clean(text or ""), bool(choices[0].get("finish_reason"))
