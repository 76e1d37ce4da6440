"""Measure how PDFs of Korean articles keep their words over line ends.

`python benchmarks/korean_lines.py KorQuAD_v1.0_dev.json` writes each article of the reported half as a PDF
whose lines break inside words, one whose lines break between words, one of these with a straight right
margin, and its first paragraph alone in both ways.
"""

import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from rag.ingest.parsers import load

FONT, SIZE, LEADING = "HYSMyeongJo-Medium", 10, 16  # points
WIDTH, TOP, BOTTOM, LEFT = 430, 780, 60, 70  # points
PARAGRAPHS = 6  # of an article
_NEVER_FIRST = frozenset(".,!?)]}%”’」』》:;")

_UNITS = re.compile(r"[(\[{“‘「『《〈]*(?:[0-9A-Za-z.,%-]+|.)")

Lines = list[tuple[str, str]]
"""Lines of a paragraph, each with what stood between it and the next: a space, or nothing."""


def _fits(text: str) -> bool:
    return bool(pdfmetrics.stringWidth(text, FONT, SIZE) <= WIDTH)


def inside(text: str) -> Lines:
    """Break lines at any letter but of Latin words and numbers; a space at a line's end is lost."""
    lines, line = Lines(), ""
    for letter in _UNITS.findall(text):
        if _fits(line + letter) or letter in _NEVER_FIRST:
            line += letter
        elif letter == " ":
            lines.append((line, " "))
            line = ""
        else:
            lines.append((line.rstrip(), " " if line.endswith(" ") else ""))
            line = letter
    return [(kept, after) for kept, after in [*lines, (line.rstrip(), "\n")] if kept]


def between(text: str) -> Lines:
    """Break lines at spaces."""
    lines, line = Lines(), ""
    for word in text.split():
        if line and not _fits(f"{line} {word}"):
            lines.append((line, " "))
            line = word
        else:
            line = f"{line} {word}".strip()
    return [*lines, (line, "\n")]


def write(path: Path, paragraphs: list[Lines], *, straight: bool = False) -> None:
    """Write the lines of an article; ``straight`` draws those that go on to the right margin."""
    canvas = Canvas(str(path))
    canvas.setFont(FONT, SIZE)
    height = TOP
    for lines in paragraphs:
        for line, after in lines:
            if height < BOTTOM:
                canvas.showPage()
                canvas.setFont(FONT, SIZE)
                height = TOP
            _draw(canvas, height, line, straight and after != "\n")
            height -= LEADING
        height -= LEADING
    canvas.save()


def _draw(canvas: Canvas, height: float, line: str, straight: bool) -> None:
    words = line.split(" ") if straight else [line]
    free = WIDTH - sum(pdfmetrics.stringWidth(word, FONT, SIZE) for word in words)
    left = float(LEFT)
    for word in words:
        canvas.drawString(left, height, word)
        left += pdfmetrics.stringWidth(word, FONT, SIZE) + free / max(len(words) - 1, 1)


def outcomes(read: str, paragraphs: list[Lines]) -> Iterator[tuple[bool, bool]]:
    """Yield, for each line end, whether a space was there and whether one is read."""
    parted = set[int]()
    count = 0
    for letter in read:
        if letter.isspace():
            parted.add(count)
        else:
            count += 1
    count = 0
    for lines in paragraphs:
        for line, after in lines:
            count += sum(not letter.isspace() for letter in line)
            if after != "\n":
                yield after == " ", count in parted


def measure(articles: list[list[str]], wrap: Callable[[str], Lines], *, straight: bool = False) -> str:
    """Return the share of line ends that are read as they were written."""
    found: list[tuple[bool, bool]] = []
    with TemporaryDirectory() as folder:
        for number, article in enumerate(articles):
            path = Path(folder) / f"{number}.pdf"
            paragraphs = [wrap(text) for text in article]
            write(path, paragraphs, straight=straight)
            found += outcomes(load(path, path.name).text, paragraphs)
    right = sum(was == now for was, now in found) / len(found)
    joined = sum(was and not now for was, now in found) / len(found)
    parted = sum(now and not was for was, now in found) / len(found)
    return f"{len(found)} line ends, {right:.1%} right, {joined:.1%} lost a space, {parted:.1%} parted a word"


def main(path: Path) -> None:
    """Print the shares of each kind of document."""
    pdfmetrics.registerFont(UnicodeCIDFont(FONT))
    articles = [
        [" ".join(part["context"].split()) for part in article["paragraphs"][:PARAGRAPHS]]
        for article in json.loads(path.read_text("utf-8"))["data"]
    ]
    random.Random(1).shuffle(articles)
    reported = articles[len(articles) // 2 :]
    print("inside words:", measure(reported, inside))
    print("between words:", measure(reported, between))
    print("between words, straight margin:", measure(reported, between, straight=True))
    print("one paragraph, inside words:", measure([article[:1] for article in reported], inside))
    print("one paragraph, between words:", measure([article[:1] for article in reported], between))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
