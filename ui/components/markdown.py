"""Text of models and documents as Markdown that shows and never acts.

Nothing in it becomes HTML, an image, a link, a formula, an emoji short code, an icon or a colour.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

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


# A model's answer as Markdown that shows and never acts, its markers as links to their evidence.
_OPEN, _CLOSE = "\ue000", "\ue001"  # around a marker's link number, taken out of all text first
_MARKER = re.compile(r"\[(\d{1,3})\]")
_IMAGE = re.compile(r"!\[([^\[\]]{0,500})\]\([^()\n]{0,2000}\)")
_LINK = re.compile(r"(?<!!)\[([^\[\]]{1,500})\]\(([^()\s]{0,2000})(?: [^()\n]{0,500})?\)")
_INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>[^`\n]+)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<bold>[^*\n]+)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=\S)(?P<italic>[^*\n]+)(?<=\S)\*(?![\w*])"
    rf"|{_OPEN}(?P<link>\d+){_CLOSE}"
)
_FENCE = re.compile(r"^\s*(`{3,}|~{3,})")
_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,9}[.)])\s+(?=\S)")
_HEADING = re.compile(r"^\s{0,3}(#{1,6})\s+(?=\S)")
_QUOTE = re.compile(r"^\s{0,3}>+\s?")
_RULE = re.compile(r"^\s{0,3}([-*_=])(\s*\1){2,}\s*$")
_DELIMITER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")


@dataclass(frozen=True)
class Link:
    """What a marker `[number]` at a place in an answer opens: `#cite-` + target, with a hint to show."""

    number: int
    target: str
    hint: str
    doubtful: bool = False  # shown as [n?]: the source does not say what the statement says


def safe_answer(
    text: str, links: Sequence[tuple[int, Link]] = (), notes: Sequence[tuple[int, str]] = ()
) -> str:
    """Return a model's answer as harmless Markdown; a marker becomes a link where `links` has its offset.

    `links` are pairs of an offset in `text`, where a marker's `[` stands, and what it opens; `notes` pairs
    of an offset and our own words, shown small after what stands before it.
    """
    table: list[Link | str] = [*(link for _, link in links), *(words for _, words in notes)]
    at = {offset: number for number, (offset, _) in enumerate(links)}
    text = text.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")
    numbered, end = "", 0
    for number, (offset, _) in sorted(enumerate(notes, len(links)), key=lambda note: note[1][0]):
        numbered += f"{_numbered(text, end, offset, at, table)} {_OPEN}{number}{_CLOSE}"
        end = max(end, offset)
    numbered += _numbered(text, end, len(text), at, table)
    numbered = re.sub(rf"(?<=\S) {_OPEN}", f"\u00a0{_OPEN}", numbered)  # no line begins with a marker
    return "\n".join(_Blocks(cleaned(numbered).split("\n"), table).render()).strip("\n")


def _numbered(text: str, start: int, end: int, at: dict[int, int], table: Sequence[Link | str]) -> str:
    """Return a part of the text, each known marker as its number in the table."""

    def sentinel(match: re.Match[str]) -> str:
        number = at.get(start + match.start())
        link = None if number is None else table[number]
        known = isinstance(link, Link) and link.number == int(match[1])
        return f"{_OPEN}{number}{_CLOSE}" if known else match[0]

    return _MARKER.sub(sentinel, text[start:end])


def _hint(text: str) -> str:
    line = " ".join(cleaned(text).split())
    return re.sub(r"[\\\"`*_\[\]<>|$&:]", r"\\\g<0>", line)


class _Blocks:
    """One pass over an answer's lines, writing each known block anew."""

    def __init__(self, lines: list[str], marks: Sequence[Link | str]):
        self._lines = lines
        self._marks = marks
        self._indents: list[int] = []

    def render(self) -> Iterator[str]:
        rest = iter(range(len(self._lines)))
        for index in rest:
            line = self._lines[index]
            if _FENCE.match(line):
                yield from self._fenced(index, rest)
            elif self._starts_table(index):
                yield from self._table(index, rest)
            else:
                yield from self._one(line)

    def _one(self, line: str) -> Iterable[str]:
        if not line.strip() or _RULE.match(line):
            return self._apart()
        if item := _ITEM.match(line):
            return [self._item(item, line[item.end() :])]
        if heading := _HEADING.match(line):
            return [*self._apart(), "#### " + self._inline(line[heading.end() :].rstrip(" #")), ""]
        if quote := _QUOTE.match(line):
            return ["> " + self._inline(line[quote.end() :].strip())]
        return [self._inline(line.strip())]

    def _apart(self) -> list[str]:
        self._indents = []
        return [""]

    def _item(self, item: re.Match[str], text: str) -> str:
        """Write a list item, its depth as four spaces a level whatever it was before."""
        indent = len(item[1].expandtabs(4))
        self._indents = [outer for outer in self._indents if outer < indent] + [indent]
        bullet = "-" if item[2] in "-*+" else item[2]
        return "    " * (len(self._indents) - 1) + f"{bullet} {self._inline(text.strip())}"

    def _fenced(self, index: int, rest: Iterator[int]) -> Iterator[str]:
        """Code as it stands, inside a fence longer than any it holds; an open one ends with the text."""
        opening = _FENCE.match(self._lines[index])
        fence = opening[1] if opening else "```"
        body = []
        for number in rest:
            if self._lines[number].strip().startswith(fence) and not self._lines[number].strip(" \t`~"):
                break
            body.append(self._bare(self._lines[number]).replace(":material/", f":{JOINER}material/"))
        longest = max((len(run) for line in body for run in re.findall(r"`+", line)), default=0)
        yield from ["", "`" * max(3, longest + 1), *body, "`" * max(3, longest + 1), ""]
        self._indents = []

    def _starts_table(self, index: int) -> bool:
        following = self._lines[index + 1] if index + 1 < len(self._lines) else ""
        return "|" in self._lines[index] and "|" in following and bool(_DELIMITER.match(following))

    def _table(self, index: int, rest: Iterator[int]) -> Iterator[str]:
        width = len(_cells(self._lines[index]))
        yield from ["", self._row(self._lines[index], width), "| " + " | ".join(["---"] * width) + " |"]
        next(rest)
        for number in rest:
            if "|" not in self._lines[number]:
                yield from ["", *self._one(self._lines[number])]
                break
            yield self._row(self._lines[number], width)
        yield ""

    def _row(self, line: str, width: int) -> str:
        cells = [re.sub(r"(?<!\\)\|", r"\\|", self._inline(cell)) for cell in _cells(line)]
        return "| " + " | ".join((cells + [""] * width)[:width]) + " |"

    def _inline(self, text: str) -> str:
        text = _IMAGE.sub(lambda m: f"{m[1]} (image not shown)", text)
        text = _LINK.sub(lambda m: f"{m[1]} ({m[2]})" if m[2] else m[1], text)
        out, end = [], 0
        for match in _INLINE.finditer(text):
            out += [escaped(text[end : match.start()]), self._span(match)]
            end = match.end()
        return joined([*out, escaped(text[end:])])

    def _span(self, match: re.Match[str]) -> str:
        if match["code"]:
            return code(self._bare(match["code"]))
        if match["link"]:
            return self._mark(self._marks[int(match["link"])])
        stars = "**" if match["bold"] else "*"
        return stars + self._inline(match["bold"] or match["italic"]) + stars

    def _mark(self, mark: Link | str) -> str:
        if isinstance(mark, str):
            return f":orange-badge[{escaped(mark)}]"
        doubt = "?" if mark.doubtful else ""
        return f'[\\[{mark.number}{doubt}\\]](#cite-{mark.target} "{_hint(mark.hint)}")'

    def _bare(self, text: str) -> str:
        """Put the markers back as they were written, for places where a link or a note cannot be."""
        return re.sub(f"\u00a0?{_OPEN}(\\d+){_CLOSE}", self._unmarked, text)

    def _unmarked(self, match: re.Match[str]) -> str:
        mark = self._marks[int(match[1])]
        return "" if isinstance(mark, str) else f"{match[0].split(_OPEN)[0]}[{mark.number}]"


def _cells(line: str) -> list[str]:
    inner = re.sub(r"^\s*\||(?<!\\)\|\s*$", "", line)
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", inner)]
