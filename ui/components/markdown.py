"""Text of models and documents as Markdown that shows and never acts.

Nothing in it becomes HTML, an image, a link, a formula, an emoji short code, an icon or a colour.
"""

import re
from collections.abc import Iterable

# An invisible word joiner: parts of the page look for patterns after escapes are resolved, so an
# escape alone does not stop `:smile:` or ` -> `. It never goes into an address, which may be copied.
JOINER = "\u2060"

_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
_SPECIAL = re.compile(r"[\\`*_\[\]<>#+\-=|$~:&!{}^]")
_SHORTCODE = re.compile(r":(?=[\w+/-]+:)(?!\d+:)|:(?=material/)")
_REPLACED = frozenset({"<->", "->", "<-", "--", ">=", "<=", "~="})
_ADDRESS = re.compile(r"https?:/|www\.|[\w.+-]@[\w-]+\.", re.IGNORECASE)
_UNSPACED = re.compile("[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]{2}")  # written without spaces
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def label(text: str, limit: int = 120) -> str:
    """Return any text as one line for a button, a title or a caption, cut after `limit` characters."""
    return escaped(plain(text, limit))


def plain(text: str, limit: int = 120) -> str:
    """Return the same line without escapes, for what is no Markdown: options of a list, a tab's title."""
    line = " ".join(cleaned(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def verbatim(text: str) -> str:
    """Return a document's text with its lines kept; nothing in it is Markdown any more."""
    paragraphs = re.split(r"\n\s*\n", cleaned(text))
    return "\n\n".join("\\\n".join(_lines(part)) for part in paragraphs if part.strip())


def unwrap(text: str) -> str:
    r"""Join the lines that a page's narrowness had broken: "a\nb\n\nc" -> "a b\n\nc"."""
    return re.sub(r"\n\s*", _line_end, text)


def _line_end(match: re.Match[str]) -> str:
    if match[0].count("\n") > 1:
        return "\n\n"
    around = (
        match.string[max(0, match.start() - 1) : match.start()] + match.string[match.end() : match.end() + 1]
    )
    return "" if _UNSPACED.fullmatch(around) else " "


def marked(before: str, quote: str, after: str) -> str:
    """Return `quote` in a colour of its own between its neighbours, lines kept."""
    highlighted = "\n\n".join(
        "\\\n".join(f":yellow-background[{line}]" for line in _lines(part))
        for part in re.split(r"\n\s*\n", cleaned(quote))
        if part.strip()
    )
    head, tail = verbatim(before), verbatim(after)
    return head + _seam(before, at_end=True) * bool(head) + highlighted + _seam(after) * bool(tail) + tail


def cleaned(text: str) -> str:
    """Return text with plain line ends and without characters that act unseen."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_TEXT.sub(lambda m: " " if m[0] in "\x0b\x0c" else "", text)


def _seam(neighbour: str, at_end: bool = False) -> str:
    """Return what parts the quote from its neighbour: a new paragraph, a new line, or a space."""
    space = neighbour[len(neighbour.rstrip()) :] if at_end else neighbour[: -len(neighbour.lstrip()) or None]
    if space.count("\n") > 1:
        return "\n\n"
    return "\\\n" if "\n" in space else " " if space else JOINER


def _lines(text: str) -> list[str]:
    return [escaped(line.strip()) for line in text.split("\n") if line.strip()]


def escaped(text: str) -> str:
    """Escape one line, so that it is shown as it stands."""
    escaped = joined(_word(piece) for piece in re.split(r"(\s+)", text))
    return _NUMBERED.sub(r"\1\\\2", escaped)


def _word(piece: str) -> str:
    if _ADDRESS.search(piece):
        return _address(piece)
    if piece in _REPLACED:
        return f"\\{piece[0]}{JOINER}\\{piece[1:]}"
    return _escape(piece)


def _address(piece: str) -> str:
    """Show an address as code: no link is made of it and it copies as it is. (www.a) -> (`www.a`)."""
    right = piece.rstrip(".,;:!?)]}\"'*>")
    core = right.lstrip("([{\"'<*")
    lead, tail = right[: len(right) - len(core)], piece[len(right) :]
    return _escape(lead) + "".join(map(_code_or_mark, re.split(r"([`\[\]])", core))) + _escape(tail)


def _code_or_mark(part: str) -> str:
    """Keep out of code what would end it, or would end the colour around it."""
    return f"\\{part}" if part in ("`", "[", "]") else code(part) if part else ""


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", _SHORTCODE.sub(f":{JOINER}", text))


def code(text: str) -> str:
    """Return a text without back ticks as a span of code."""
    return "`" + text.replace(":material/", f":{JOINER}material/") + "`"


def joined(parts: Iterable[str]) -> str:
    """Put inline parts together; two code spans that touch would else become one."""
    return "".join(parts).replace("``", f"`{JOINER}`").replace("``", f"`{JOINER}`")
