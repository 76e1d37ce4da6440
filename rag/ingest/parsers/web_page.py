"""The main content of a web page as Markdown: trafilatura says which words, the page itself how they stand.

What trafilatura writes itself loses cells that span rows, code within sentences and nested tables. So only
its choice is taken: what of the page is not in it, is left out, and the rest is read as any HTML.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rag.ingest.parsers.html import decode_declared, to_markdown
from rag.ingest.parsers.web_content import content, drop
from rag.text.document import clean

_UNREAD = "//script|//style|//noscript|//template|//svg|//iframe|//comment()|//processing-instruction()"


def read(source: bytes, encoding: str = "") -> tuple[str, str]:
    """Return a page's main content as Markdown, headed by its title, and that title.

    `encoding` is what the server named, if it named any; it goes before what the page says of itself.
    """
    from lxml import etree, html  # type: ignore[import-untyped]

    text = decoded(source, encoding)
    parser = html.HTMLParser(encoding="utf-8", huge_tree=True)
    try:
        tree = html.document_fromstring(text.encode(), parser=parser)
    except etree.ParserError:  # nothing but comments
        return "", ""
    drop(tree.xpath(_UNREAD))
    titles, around = _titles(tree), _headings(tree)
    page = content(tree, _found(text))
    named = _title(titles, _headings(page), around)
    markdown, _ = to_markdown(html.tostring(page, encoding="unicode"))
    markdown = markdown or to_markdown(text)[0]  # nested more deeply than lxml reads
    return _headed(markdown, named), named


def decoded(source: bytes, encoding: str) -> str:
    """Decode a page: by its byte order mark, then by what the server said, then by what itself says."""
    if encoding and not source.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        with suppress(LookupError, UnicodeDecodeError):  # servers are often wrong, and the page knows better
            return clean(source.decode(encoding))
    return clean(decode_declared(source))


def _found(text: str) -> str:
    """Return the words of the main content, as trafilatura finds it."""
    import trafilatura

    return trafilatura.extract(text, include_comments=False, include_tables=True, favor_recall=True) or ""


def _title(titles: Iterable[str], content: Iterable[str], around: Iterable[str]) -> str:
    """Return a page's title: the heading that its title repeats, else the title with the site's name in it.

    >>> _title(["Duck - Wikipedia"], ["Ducks in art"], ["Contents", "Duck"])
    'Duck'
    """
    told = [title for title in titles if title]
    for heading in content:
        if heading and (not told or any(heading in title for title in told)):
            return heading
    for heading in around:
        if heading and any(title.startswith(heading) for title in told):
            return heading
    return next(iter(told), "")


def _titles(tree: Any) -> list[str]:
    """Return what a page calls itself, for those who link to it and for its reader's window."""
    shared = tree.xpath("//meta[@property='og:title']/@content")
    return [_line(text) for text in (*shared, tree.findtext(".//head/title") or "")]


def _headings(element: Any) -> list[str]:
    return [_line(heading.text_content()) for heading in element.iter("h1")]


def _line(text: str) -> str:
    return clean(" ".join(str(text).split()))


def _headed(markdown: str, title: str) -> str:
    headed = markdown.startswith("# ") or f"\n# {title}\n" in markdown
    return markdown if headed or not title or not markdown else f"# {title}\n\n{markdown}"
