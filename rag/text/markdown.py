"""Markdown: its headings and title, and clean-up of converted Markdown for quoting."""

import re
from collections.abc import Iterator

from rag.text.tables import cells

_FRONT_MATTER = re.compile(r"---\n(?:.*\n){1,100}?---\n")
_TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*$", re.M)
_ANCHOR = re.compile(r"[ \t]*\{[^{}]*\}$")
_FENCE = re.compile(r"^ {0,3}(```+|~~~+)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+?)[ \t]*#*[ \t]*$")
_UNDERLINE = re.compile(r"^ {0,3}(=+|-+)[ \t]*$")
_CODE = r"^(?P<fence>```+|~~~+).*?(?:^(?P=fence)|\Z)|`[^`\n]+`"
_TARGET = r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
_NOISE = re.compile(rf"(?P<code>{_CODE})|<!--.*?-->|</?u>|!\[(?P<words>[^\]]*)\]{_TARGET}", re.S | re.M)
_LINK = re.compile(rf"(?P<code>{_CODE})|(?<!!)\[(?P<words>[^\[\]]*)\]{_TARGET}", re.S | re.M)
_NO_ALT = re.compile(r"(?:picture|image|graphic|placeholder|object|그림|図)?[\s\d_]*", re.I)
_BLANKS = re.compile(r"\n(?:[ \t]*\n){2,}")
_TRAILING = re.compile(r"[ \t]+(?=\n)")
_EMPHASIS = re.compile(r"[*_`]{1,3}")
_RULE = re.compile(r"\s*\|?(?:\s*:?-+:?\s*\|)+[\s:-]*")
_MARKED = re.compile(
    r"(?P<ticks>`+)(?P<code>[^`\n]+)(?P=ticks)(?!`)"
    r"|\*\*(?=\S)(?P<bold>[^*\n]+)(?<=\S)\*\*"
    r"|(?<![\w*])\*(?=\S)(?P<italic>[^*\n]+)(?<=\S)\*(?![\w*])"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
)


def headings(text: str) -> tuple[tuple[int, int, str], ...]:
    r"""Return (start, level, heading) of each heading outside code fences.

    >>> headings("# A\ntext\n\nB\n---\n")
    ((0, 1, 'A'), (10, 2, 'B'))
    """
    found: list[tuple[int, int, str]] = []
    matter = _FRONT_MATTER.match(text)
    fence, start, previous = "", matter.end() if matter else 0, ""
    for line in text[start:].split("\n"):
        fenced = _FENCE.match(line)
        if fenced and (not fence or fenced[1].startswith(fence)):
            fence = "" if fence else fenced[1]
        elif not fence:
            heading = _HEADING.match(line)
            under = _UNDERLINE.match(line)
            if heading:
                found.append((start, len(heading[1]), _plain(heading[2])))
            elif under and _may_be_underlined(previous):
                found.append((start - len(previous) - 1, 1 if "=" in under[1] else 2, _plain(previous)))
        previous, start = line, start + len(line) + 1
    return tuple(entry for entry in found if entry[2])


def _may_be_underlined(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(("#", "|", "-", "*", ">", "+", "```"))


def _plain(heading: str) -> str:
    return _EMPHASIS.sub("", tidy(_ANCHOR.sub("", heading))).strip()


def title(text: str) -> str:
    """Return the title that Markdown's front matter names, or the first heading, or nothing."""
    matter = _FRONT_MATTER.match(text)
    named = _TITLE.search(matter[0]) if matter else None
    if named:
        return named[1]
    first = headings(text[:20_000])
    return first[0][2] if first else ""


def tidy(text: str) -> str:
    """Return Markdown without images, link targets, comments and runs of blank lines; code is left as it is.

    >>> tidy("![a map](data:image/png;base64,AAAA) [b](c) `![x](y)`<!-- z -->")
    'a map b `![x](y)`'
    """
    text = _LINK.sub(_kept, _NOISE.sub(_kept, text))
    return _BLANKS.sub("\n\n", _TRAILING.sub("", text)).strip("\n")


def plain_words(text: str, *, marks: bool = True) -> str:
    r"""Return Markdown as words to read: without marks, the cells of a row with tabs between them.

    Without `marks` only rows are changed, as in text that is no Markdown. Code in fences stays as it is.

    >>> plain_words("# Sales\n\n**Up** to \\$5.\n\n| a | b |\n|---|---|\n| 1 | \\$2 |")
    'Sales\n\nUp to $5.\n\na\tb\n1\t$2'
    """
    return "\n".join(_plain_lines(text, marks=marks))


def _plain_lines(text: str, *, marks: bool) -> Iterator[str]:
    fence = ""
    for line in text.split("\n"):
        fenced = _FENCE.match(line) if marks else None
        if fenced and (not fence or fenced[1].startswith(fence)):
            fence = "" if fence else fenced[1]
        elif fence:
            yield line
        elif line.lstrip().startswith("|"):
            if not _RULE.fullmatch(line):
                yield "\t".join(_unmarked(cell) if marks else cell for cell in cells(line)).strip("\t")
        else:
            heading = _HEADING.match(line) if marks else None
            yield _unmarked(heading[2] if heading else line) if marks else line


def plain_cell(cell: str) -> str:
    r"""Return a table's cell as words to read, in one line.

    >>> plain_cell("**Up** to \\$5")
    'Up to $5'
    """
    return " ".join(_unmarked(cell).split())


def _unmarked(line: str) -> str:
    return _MARKED.sub(lambda found: found[found.lastgroup or "code"], line)


def _kept(noise: re.Match[str]) -> str:
    if noise["code"]:
        return noise["code"]
    return description(noise["words"] or "")


def description(alternative: str) -> str:
    """Return an image's alternative text; empty where it is a placeholder.

    >>> description("Picture 3"), description("The harbour")
    ('', 'The harbour')
    """
    return "" if _NO_ALT.fullmatch(alternative) else " ".join(alternative.split())
