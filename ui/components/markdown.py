"""Sanitised Markdown of untrusted text: documents, model answers, names.

Nothing in it becomes HTML, an image, a link, a formula, an emoji short code, an icon or a colour.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rag.i18n import _
from rag.text.markdown import cells

# Invisible word joiner. Streamlit looks for `:smile:` and ` -> ` after escapes are resolved, so an escape
# alone does not stop them. Addresses never contain it, because people copy them.
JOINER = "\u2060"
_NOT_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
_SPECIAL = re.compile(r"[\\`*_\[\]<>#+\-=|$~:&!{}^]")
_SHORTCODE = re.compile(r":(?=[\w+/-]+:)(?!\d+:)|:(?=material/)")
_REPLACED = frozenset({"<->", "->", "<-", "--", ">=", "<=", "~="})
_ADDRESS = re.compile(r"https?:/|www\.|[\w.+-]@[\w-]+\.", re.IGNORECASE)
VERBATIM = re.compile(rf"`[^\n]*`|\S*(?:{_ADDRESS.pattern})\S*", re.IGNORECASE)
"""Code and addresses, in which marks of bold text are text."""
_MAIL_AND_PARTICLE = re.compile(
    r"([\w.+-]+@[A-Za-z0-9.-]*\.[A-Za-z]{2,})([\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]+)"
)
_NUMBERED = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")


def label(text: str, limit: int = 120) -> str:
    """Return escaped text on one line for a button, a title or a caption, cut after `limit` characters."""
    return escape_line(plain_line(text, limit))


def plain_line(text: str, limit: int = 120) -> str:
    """Return text on one line without escapes, where no Markdown is read: list options, tab titles."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def escape_text(text: str) -> str:
    """Escape a text of several lines, with its line breaks and paragraphs kept."""
    paragraphs = re.split(r"\n\s*\n", clean(text))
    return "\n\n".join("\\\n".join(_lines(part)) for part in paragraphs if part.strip())


def clean(text: str) -> str:
    """Normalise line ends and remove control and bidirectional characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _NOT_TEXT.sub(lambda m: " " if m[0] in "\x0b\x0c" else "", text)


def _lines(text: str) -> list[str]:
    return [escape_line(line.strip()) for line in text.split("\n") if line.strip()]


def escape_line(text: str) -> str:
    """Escape one line of text."""
    line = join_inline(_word(piece) for piece in re.split(r"(\s+)", text))
    return _NUMBERED.sub(r"\1\\\2", line)


def _word(piece: str) -> str:
    if _ADDRESS.search(piece):
        return _address(piece)
    if piece in _REPLACED:
        return f"\\{piece[0]}{JOINER}\\{piece[1:]}"
    return _escape(piece)


def _address(piece: str) -> str:
    """Show an address as code, so that it is not linked and copies unchanged: (www.a) -> (`www.a`).

    Korean and Japanese particles that follow a mail address without a space are no part of it.

    >>> _address("<ann@a.org>,")  # without the brackets of an e-mail
    '`ann@a.org`,'
    """
    right = piece.rstrip(".,;:!?)]}\"'*>")
    core = right.lstrip("([{\"'<*")
    lead, tail = right[: len(right) - len(core)], piece[len(right) :]
    if mail := _MAIL_AND_PARTICLE.fullmatch(core):
        core, tail = mail[1], mail[2] + tail
    if lead.endswith("<") and tail.startswith(">"):
        lead, tail = lead[:-1], tail[1:]
    return _escape(lead) + "".join(map(_code_or_mark, re.split(r"([`\[\]])", core))) + _escape(tail)


def _code_or_mark(part: str) -> str:
    """Return code; back ticks and brackets are escaped, since they would end the code or its colour."""
    return f"\\{part}" if part in ("`", "[", "]") else code(part) if part else ""


def _escape(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", _SHORTCODE.sub(f":{JOINER}", text))


def code(text: str) -> str:
    """Return a text without back ticks as a span of code."""
    return "`" + text.replace(":material/", f":{JOINER}material/") + "`"


def between_marks(inner: str, before: str = "x", after: str = "x") -> str:
    r"""Return words that marks of bold text work around, between these neighbours.

    Marks between a sign and a letter are none to Markdown, as after a Japanese sentence: "**行く。**彼は".

    >>> between_marks("行く。", "", "彼は"), between_marks("It fell.", "", " So")
    ('行く。\u2060', 'It fell.')
    """
    opening = JOINER * _needs_joiner(inner[:1], before[-1:])
    return opening + inner + JOINER * _needs_joiner(inner[-1:], after[:1])


def _needs_joiner(inside: str, outside: str) -> bool:
    """Return True where a mark between two characters may not count: a sign inside, no space outside."""
    return bool(outside.strip()) and not inside.isalnum()


def join_inline(parts: Iterable[str]) -> str:
    """Join inline parts, keeping two adjacent code spans apart."""
    return "".join(parts).replace("``", f"`{JOINER}`").replace("``", f"`{JOINER}`")


# Model answers: a subset of Markdown is kept, citation markers become links.
_OPEN, _CLOSE = "\ue000", "\ue001"  # around a link's number; removed from the input first
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
    """Link of a citation marker `[number]` to `#cite-` + target, with a hint for hovering."""

    number: int
    target: str
    hint: str
    sign: str = ""  # shown after the number: a check mark where the source says the statement
    shown: int = 0  # number shown in place of the marker's, where they differ


@dataclass(frozen=True)
class PlainMark:
    """Mark that opens nothing, shown as it is."""

    text: str


_Mark = str | Link | PlainMark


def safe_answer(
    text: str,
    links: Sequence[tuple[int, Link]] = (),
    notes: Sequence[tuple[int, str | Link | PlainMark]] = (),
) -> str:
    """Return a model's answer as sanitised Markdown with links and notes.

    `links` are pairs of the offset of a marker's `[` in `text` and its link; `notes` are pairs of an offset
    and a note, which is shown as a badge there, or a link or plain mark that the text itself does not have.
    """
    table: list[_Mark] = [*(link for _, link in links), *(words for _, words in notes)]
    at = {offset: number for number, (offset, _) in enumerate(links)}
    text = text.replace(_OPEN, "\ufffd").replace(_CLOSE, "\ufffd")
    numbered, end = "", 0
    for number, (offset, _note) in sorted(enumerate(notes, len(links)), key=lambda note: note[1][0]):
        numbered += f"{_numbered(text, end, offset, at, table)} {_OPEN}{number}{_CLOSE}"
        end = max(end, offset)
    numbered += _numbered(text, end, len(text), at, table)
    numbered = re.sub(rf"(?<=\S) {_OPEN}", f"\u00a0{_OPEN}", numbered)  # no line begins with a marker
    return "\n".join(_Blocks(clean(numbered).split("\n"), table).render()).strip("\n")


def _numbered(text: str, start: int, end: int, at: dict[int, int], table: Sequence[_Mark]) -> str:
    """Return `text[start:end]` with each known marker replaced by its index in the table."""

    def sentinel(match: re.Match[str]) -> str:
        number = at.get(start + match.start())
        link = None if number is None else table[number]
        known = isinstance(link, Link) and link.number == int(match[1])
        return f"{_OPEN}{number}{_CLOSE}" if known else match[0]

    return _MARKER.sub(sentinel, text[start:end])


@dataclass
class _Blocks:
    """Renderer of an answer's blocks, in one pass over its lines."""

    _lines: list[str]
    _marks: Sequence[_Mark]
    _indents: list[int] = field(default_factory=list)

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
        """Render a list item, indented by four spaces a level."""
        indent = len(item[1].expandtabs(4))
        self._indents = [outer for outer in self._indents if outer < indent] + [indent]
        bullet = "-" if item[2] in "-*+" else item[2]
        return "    " * (len(self._indents) - 1) + f"{bullet} {self._inline(text.strip())}"

    def _fenced(self, index: int, rest: Iterator[int]) -> Iterator[str]:
        """Render fenced code inside a fence longer than any it contains; an open fence ends with the text."""
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
        width = len(cells(self._lines[index]))
        yield from ["", self._row(self._lines[index], width), "| " + " | ".join(["---"] * width) + " |"]
        next(rest)
        for number in rest:
            if "|" not in self._lines[number]:
                yield from ["", *self._one(self._lines[number])]
                break
            yield self._row(self._lines[number], width)
        yield ""

    def _row(self, line: str, width: int) -> str:
        shown = [re.sub(r"(?<!\\)\|", r"\\|", self._inline(cell)) for cell in cells(line)]
        return "| " + " | ".join((shown + [""] * width)[:width]) + " |"

    def _inline(self, text: str) -> str:
        text = _IMAGE.sub(lambda m: _("{name} (image not shown)", name=m[1]), text)
        text = _LINK.sub(lambda m: f"{m[1]} ({m[2]})" if m[2] else m[1], text)
        out: list[str] = []
        end = 0
        for match in _INLINE.finditer(text):
            side_by_side = out and end == match.start() and out[-1].endswith("*")
            out += [JOINER if side_by_side else escape_line(text[end : match.start()])]
            out += [self._span(match, text)]
            end = match.end()
        return join_inline([*out, escape_line(text[end:])])

    def _span(self, match: re.Match[str], text: str) -> str:
        if match["code"]:
            return code(self._bare(match["code"]))
        if match["link"]:
            return self._mark(self._marks[int(match["link"])])
        stars = "**" if match["bold"] else "*"
        inner = self._inline(match["bold"] or match["italic"])
        return stars + between_marks(inner, text[: match.start()], text[match.end() :]) + stars

    def _mark(self, mark: _Mark) -> str:
        if isinstance(mark, str):
            return f":orange-badge[{escape_line(mark)}]"
        if isinstance(mark, PlainMark):
            return escape_line(mark.text)
        sign = f" {mark.sign}" * bool(mark.sign)
        hint = re.sub(r"[\\\"`*_\[\]<>|$&:]", r"\\\g<0>", " ".join(clean(mark.hint).split()))
        return f'[\\[{mark.shown or mark.number}{sign}\\]](#cite-{mark.target} "{hint}")'

    def _bare(self, text: str) -> str:
        """Restore the original markers, where no link or note is possible."""
        return re.sub(f"\u00a0?{_OPEN}(\\d+){_CLOSE}", self._unmarked, text)

    def _unmarked(self, match: re.Match[str]) -> str:
        mark = self._marks[int(match[1])]
        return "" if isinstance(mark, str | PlainMark) else f"{match[0].split(_OPEN)[0]}[{mark.number}]"
