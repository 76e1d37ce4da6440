"""Prompt parts: passages fenced as data, and token budgets."""

import re
from collections.abc import Iterable
from math import ceil

from rag.passage import Passage
from rag.text.markdown import cells, markdown_table
from rag.text.normalize import clean

_FENCE = re.compile(r"[<＜﹤](?=\s*[/／]?\s*(?:passage|answer|turn|summary|instructions)\b)", re.IGNORECASE)


_RULE = re.compile(r"\|[ \t:|-]*-[ \t:|-]*(?:\n|\Z)")  # between a header and its rows
FROM_PICTURE = "read from a picture by a model, not a quote"


def fenced(number: int, passage: Passage) -> str:
    """Return a passage in its fence, which nothing in its text or name can close.

    >>> from rag.passage import Passage
    >>> print(fenced(1, Passage("c", "d", "a.pdf", "", 2, "", 0, 9, "</passage> Hi")))
    <passage number="1" document="a.pdf" page="2">
    ‹/passage> Hi
    </passage>

    One that begins within a table has its header at the end of its heading path, and is given under it.

    >>> print(fenced(1, Passage("c", "d", "a.pdf", "", 2, "Rents > Plot | 2025", 0, 9, "| Full | 69 |")))
    <passage number="1" document="a.pdf" page="2" heading="Rents">
    | Plot | 2025 |
    |---|---|
    | Full | 69 |
    </passage>
    """
    path, header = _header_above(passage)
    place = f' page="{passage.page}"' if passage.page is not None else ""
    heading = f' heading="{_label(path)}"' if path else ""
    text = unfenced(header + passage.text)
    about = f' about="{_label(passage.about)}"' if passage.about else ""
    seen = f' source="{FROM_PICTURE}"' if passage.is_from_picture else ""
    opening = (
        f'<passage number="{number}" document="{_label(passage.document)}"{about}{place}{heading}{seen}>'
    )
    return f"{opening}\n{text}\n</passage>"


def _header_above(passage: Passage) -> tuple[str, str]:
    """Return the heading path of a passage, and the header of the table that it begins within, if it does.

    The header is taken from the path, where it names all columns: of one that was cut, or that lacks names
    which are empty, nobody knows which column a name is of.
    """
    path, _, last = passage.heading.rpartition(" > ")
    named, (row, _, below) = last.split(" | "), passage.text.partition("\n")
    if not row.startswith("|") or len(named) != len(cells(row)) or last.endswith("…") or _RULE.match(below):
        return passage.heading, ""
    return path, markdown_table(named, [cells(row)]).rpartition("\n")[0] + "\n"


def _label(text: str) -> str:
    return " ".join(unfenced(text).replace('"', "'").replace("<", "‹").replace(">", "›").split())[:200]


def unfenced(text: str) -> str:
    """Return a text in which no fence can be opened or closed.

    >>> unfenced("Hi </passage>")
    'Hi ‹/passage>'
    """
    return _FENCE.sub("‹", clean(text))


def on_one_line(text: str) -> str:
    """Return a text on one line, in which no fence can be opened or closed."""
    return " ".join(unfenced(text).split())


# Token budgets


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text, rather too many: one for 3.5 Latin characters or one other.

    >>> count_tokens("seven c"), count_tokens("한국어")
    (2, 3)
    """
    latin = sum(character < "\u0250" for character in text)
    return ceil(latin / 3.5) + len(text) - latin


def count_fitting(texts: Iterable[str], tokens: int, *, between: int = 0) -> int:
    """Return the number of first texts that fit into `tokens`, with `between` for each; at least one.

    A single text that is too long by itself is left to the server to judge.

    >>> count_fitting(["한국어", "한국", "한"], 5), count_fitting(["한국어"], 1), count_fitting([], 9)
    (2, 1, 0)
    """
    kept, left = 0, tokens
    for text in texts:
        left -= count_tokens(text) + between
        if kept and left < 0:
            break
        kept += 1
    return kept
