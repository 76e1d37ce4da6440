"""A Confluence page as its wiki stores it: packed into a file, and read as Markdown."""

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.ingest.parsers.html import to_markdown
from rag.text.document import LoadedDocument, clean
from rag.text.markdown import headings

NAMESPACE = "http://atlassian.com/content"
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = ("p", "div", "ul", "ol", "li", *_HEADINGS)
_USER = "confluence-user"


def packed(title: str, storage: str, people: Mapping[str, str]) -> bytes:
    """Return the file in which a page is kept: its storage format as it was sent, under its title.

    `people` are the names of those whom the page mentions, by the ids it mentions them by.
    """
    named = "".join(
        f'<meta name="{_USER}" id="{html.escape(id_)}" content="{html.escape(name)}"/>\n'
        for id_, name in sorted(people.items())
    )
    return (
        f'<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ac="{NAMESPACE}" '
        'xmlns:ri="http://atlassian.com/resource/identifier">\n'
        f'<head><meta charset="utf-8"/>\n<title>{html.escape(title)}</title>\n{named}</head>\n'
        f"<body>\n{storage}\n</body></html>\n"
    ).encode("utf-8", "replace")


def read(path: Path) -> LoadedDocument:
    """Read a packed page: its title is the first heading, and its own headings stand below it."""
    from bs4 import BeautifulSoup

    from rag.ingest.parsers.confluence_markup import into_html

    source = _CDATA.sub(lambda data: html.escape(data[1], quote=False), path.read_bytes().decode())
    soup = BeautifulSoup(source, "html.parser")
    title = clean(" ".join(soup.title.get_text().split())) if soup.title else ""
    people = {str(meta["id"]): str(meta["content"]) for meta in soup("meta", attrs={"name": _USER})}
    into_html(soup, people)
    _lower_headings(soup)
    _flatten_cells(soup)
    body, _ = to_markdown(str(soup.body or soup))
    text = f"# {title}\n\n{body}" if title and body.strip() else body
    return LoadedDocument(text, (), title, "application/xhtml+xml", headings(text))


def _lower_headings(soup: Any) -> None:
    for heading in soup(_HEADINGS):
        heading.name = f"h{min(int(heading.name[1]) + 1, 6)}"


def _flatten_cells(soup: Any) -> None:
    """Leave in a table's cells what fits on one line, without the bar that parts cells."""
    for inner in reversed(soup.select("td table, th table")):
        rows = [
            ", ".join(cell.get_text(" ", strip=True) for cell in row(["td", "th"])) for row in inner("tr")
        ]
        inner.replace_with("; ".join(filter(None, rows)))
    for code in soup.select("td pre, th pre"):
        code.replace_with(" ".join(code.get_text().split()))
    for cell in soup(["td", "th"]):
        for block in reversed(cell(_BLOCKS)):
            block.insert(0, " - " if block.name == "li" else " ")
            block.append(" ")
            block.unwrap()
        cell.smooth()
        for words in cell.find_all(string=lambda text: text is not None and "|" in text):
            words.replace_with(words.replace("|", "/"))
