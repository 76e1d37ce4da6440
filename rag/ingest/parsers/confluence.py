"""Confluence pages in storage format: packed into a file by the connector, and read as Markdown."""

import html
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.ingest.parsers.html import to_markdown
from rag.ingest.parsers.plain_text import markdown_document
from rag.text.document import LoadedDocument
from rag.text.markdown import description
from rag.text.normalize import canonical

NAMESPACE = "http://atlassian.com/content"
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_BLOCKS = ("p", "div", "ul", "ol", "li", *_HEADINGS)
_USER = "confluence-user"
_INLINE = frozenset(
    (
        *("p", "span", "a", "b", "i", "u", "s", "em", "strong", "code", "sub", "sup", "time"),
        *("td", "th", "li", "ac:link-body", "ac:parameter", "ac:task-body", "ac:caption", *_HEADINGS),
    )
)
# Element, and its attribute with the name of what it points to.
_RESOURCES = (
    ("ri:page", "ri:content-title"),
    ("ri:blog-post", "ri:content-title"),
    ("ri:attachment", "ri:filename"),
    ("ri:url", "ri:value"),
    ("ri:space", "ri:space-key"),
)
_USER_IDS = ("ri:account-id", "ri:userkey", "ri:username")
_PANELS = frozenset(("info", "note", "tip", "warning", "success", "error"))
_MAY_HIDE = frozenset(("excerpt", "details"))
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_CONTAINERS = frozenset(
    ("ac:layout", "ac:layout-section", "ac:layout-cell", "ac:rich-text-body", "ac:adf-content")
)
_UNSEEN = frozenset(("ac:placeholder", "ac:parameter", "ac:adf-attribute", "ac:adf-parameter", "ac:task-id"))
_EMOTICONS = {
    "tick": "✔",
    "cross": "✘",
    "warning": "⚠",
    "information": "ℹ",
    "question": "?",
    "plus": "+",
    "minus": "-",
    "thumbs-up": "👍",
    "thumbs-down": "👎",
}
_FILE_NAME = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)$", re.I)
_LONGEST_URL = 500  # characters; longer ones are of no use to a reader
Parameters = Mapping[str, str]


def pack(title: str, storage: str, people: Mapping[str, str]) -> bytes:
    """Return a page in storage format as a file, with the names of the `people` it mentions by id."""
    users = "".join(
        f'<meta name="{_USER}" id="{html.escape(id_)}" content="{html.escape(name)}"/>\n'
        for id_, name in sorted(people.items())
    )
    return (
        f'<html xmlns="http://www.w3.org/1999/xhtml" xmlns:ac="{NAMESPACE}" '
        'xmlns:ri="http://atlassian.com/resource/identifier">\n'
        f'<head><meta charset="utf-8"/>\n<title>{html.escape(title)}</title>\n{users}</head>\n'
        f"<body>\n{storage}\n</body></html>\n"
    ).encode("utf-8", "replace")


def read_confluence(path: Path) -> LoadedDocument:
    """Read a packed page: its title is the first heading, and its own headings are one level lower."""
    from bs4 import BeautifulSoup

    source = _CDATA.sub(lambda data: html.escape(data[1], quote=False), path.read_bytes().decode())
    soup = BeautifulSoup(source, "html.parser")
    title = canonical(" ".join(soup.title.get_text().split())) if soup.title else ""
    people = {str(meta["id"]): str(meta["content"]) for meta in soup("meta", attrs={"name": _USER})}
    _replace_elements(soup, people)
    for heading in soup(_HEADINGS):
        heading.name = f"h{min(int(heading.name[1]) + 1, 6)}"
    _flatten_cells(soup)
    body, _ = to_markdown(str(soup.body or soup))
    text = f"# {title}\n\n{body}" if title and body.strip() else body
    return markdown_document(text, "application/xhtml+xml", title=title)


def _flatten_cells(soup: Any) -> None:
    """Put the content of each table cell on one line."""
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


@dataclass(frozen=True)
class Page:
    """A page while its elements are replaced: the soup that makes elements, and people's names by id."""

    soup: Any
    people: Mapping[str, str]

    def paragraph(self, text: str) -> Any:
        """Return a new paragraph."""
        made = self.soup.new_tag("p")
        made.string = text
        return made

    def replace(self, element: Any, text: str) -> None:
        """Replace an element by text: a paragraph of its own, unless it is within one."""
        is_block = text and element.parent is not None and element.parent.name not in _INLINE
        element.replace_with(self.paragraph(text) if is_block else text)

    def target_name(self, element: Any) -> str:
        """Return the name of the target of a link or a parameter, or nothing."""
        for name, attribute in _RESOURCES:
            if (found := element.find(name)) is not None:
                return str(found.get(attribute, ""))
        if (user := element.find("ri:user")) is None:
            return ""
        ids = [str(user.get(name, "")) for name in _USER_IDS]
        return f"@{next((known for id_ in ids if (known := self.people.get(id_))), ids[-1]) or 'unknown'}"


def _replace_elements(soup: Any, people: Mapping[str, str]) -> None:
    page = Page(soup, people)
    for element in reversed(soup.find_all(True)):  # inner elements first
        if (change := _CHANGES.get(element.name)) is not None:
            change(page, element)
    for element in reversed(soup.find_all(True)):
        if element.name in _UNSEEN or element.name.startswith("ri:"):
            element.decompose()
        elif element.name in _CONTAINERS:
            element.name = "div"
        elif element.name.startswith("ac:"):
            element.unwrap()


def _link(page: Page, link: Any) -> None:
    """Replace a link by its text and, unless the text contains it, the name of its target."""
    where, body = page.target_name(link), link.find(("ac:link-body", "ac:plain-text-link-body"))
    words = "" if body is None else body.get_text().strip()
    if not words or where.startswith("@"):
        link.replace_with(where or str(link.get("ac:anchor", "")))
    else:
        link.replace_with(*body.contents, *_address_after(words, where))


def _anchor(_: Page, anchor: Any) -> None:
    href = str(anchor.get("href", "")).strip()
    if href.startswith(("https://", "http://", "mailto:")) and len(href) <= _LONGEST_URL:
        for words in _address_after(anchor.get_text(), href.removeprefix("mailto:")):
            anchor.append(words)


def _address_after(words: str, where: str) -> Iterator[str]:
    if where and where.casefold() not in words.casefold():
        yield f" ({where})"


def _image(page: Page, image: Any) -> None:
    alternative = description(str(image.get("ac:alt") or image.get("ac:title") or ""))
    if _FILE_NAME.search(alternative):  # what the editor puts there by itself
        alternative = ""
    caption = image.find("ac:caption")
    below = "" if caption is None else " ".join(caption.get_text(" ").split())
    page.replace(image, " ".join(filter(None, (alternative, below))))


def _emoticon(_: Page, emoticon: Any) -> None:
    fallback = str(emoticon.get("ac:emoji-fallback", ""))
    sign = _EMOTICONS.get(str(emoticon.get("ac:name", "")), "")
    emoticon.replace_with(sign if not fallback or fallback.startswith(":") else fallback)


def _task(page: Page, task: Any) -> None:
    status, body = task.find("ac:task-status"), task.find("ac:task-body")
    done = status is not None and status.get_text().strip() == "complete"
    item = page.soup.new_tag("li")
    item.append("[x] " if done else "[ ] ")
    item.extend(list(body.contents) if body is not None else [])
    if item.find("p", recursive=False) is not None:
        item.find("p", recursive=False).unwrap()
    task.replace_with(item)


def _task_list(_: Page, tasks: Any) -> None:
    """Make a list of tasks; one within another belongs to the task before it."""
    tasks.name = "ul"
    for inner in tasks.find_all("ul", recursive=False):
        before = inner.find_previous_sibling("li")
        if before is not None:
            before.append(inner.extract())


def _date(_: Page, time: Any) -> None:
    if not time.get_text().strip():
        time.replace_with(str(time.get("datetime", "")))


def _node(page: Page, node: Any) -> None:
    """Convert an element of the newer editor: a panel, a decision, or a plain container."""
    kind = node.get("type")
    attributes = {
        str(attribute.get("key")): attribute.get_text().strip()
        for attribute in node.find_all("ac:adf-attribute", recursive=False)
    }
    panel = attributes.get("panel-type", "")
    if kind == "panel" and panel in _PANELS:
        node.insert(0, page.paragraph(f"{panel.capitalize()}:"))
    node.name = {"decision-list": "ul", "decision-item": "li"}.get(str(kind), "div")


def _extension(_: Page, extension: Any) -> None:
    """Keep either an extension or its fallback, never both."""
    fallback = extension.find("ac:adf-fallback", recursive=False)
    if fallback is None:
        return
    for attribute in extension.find_all("ac:adf-attribute"):
        attribute.decompose()
    if extension.get_text().strip() == fallback.get_text().strip():
        fallback.unwrap()
    else:
        fallback.decompose()


def _macro(page: Page, element: Any) -> None:
    """Replace a macro by its content under its title; one without content by a short text."""
    name = str(element.get("ac:name", "")).lower()
    parameters = {
        str(parameter.get("ac:name", "")): parameter.get_text().strip() or page.target_name(parameter)
        for parameter in element.find_all("ac:parameter", recursive=False)
    }
    plain = element.find("ac:plain-text-body", recursive=False)
    rich = element.find("ac:rich-text-body", recursive=False)
    if name in _MAY_HIDE and parameters.get("hidden") == "true":
        element.decompose()
    elif plain is not None:
        code = _code(page, plain.get_text(), parameters)
        element.replace_with(*_titled(page, "", parameters), code)
    elif rich is not None:
        rich.name = "div"
        element.replace_with(*_titled(page, name.capitalize() if name in _PANELS else "", parameters), rich)
    else:
        page.replace(element, _MACRO_TEXT[name](parameters) if name in _MACRO_TEXT else "")


def _titled(page: Page, label: str, parameters: Parameters) -> list[Any]:
    title = parameters.get("title", "")
    line = f"{label}: {title}" if label else title
    return [page.paragraph(line.strip())] if line else []


def _code(page: Page, text: str, parameters: Parameters) -> Any:
    language = parameters.get("language") or parameters.get("") or ""
    block, code = page.soup.new_tag("pre"), page.soup.new_tag("code")
    if _LANGUAGE.fullmatch(language) and language != "none":
        code["class"] = [f"language-{language}"]
    code.string = text
    block.append(code)
    return block


def _first(*keys: str, label: str = "") -> Callable[[Parameters], str]:
    """Return a function for the first of these parameters that a macro has, with the label if any."""

    def text(parameters: Parameters) -> str:
        name = next((parameters[key] for key in keys if parameters.get(key)), "")
        return f"({label}: {name})" if name and label else name

    return text


_MACRO_TEXT: Mapping[str, Callable[[Parameters], str]] = {
    "status": _first("title"),
    "jira": lambda parameters: parameters.get("key") or _first("jqlQuery", label="Jira issues")(parameters),
    "include": _first("", "page", label="Included here"),
    "excerpt-include": _first("", "default-parameter", "page", label="Included here, in part"),
    "profile": _first("user"),
    "widget": _first("url"),
    "iframe": _first("src", "url"),
    "mathinline": _first("body"),
    "mathblock": _first("body"),
    **dict.fromkeys(
        ("view-file", "viewpdf", "viewdoc", "viewxls", "viewppt", "multimedia"),
        _first("name", "", label="File"),
    ),
    **dict.fromkeys(("drawio", "gliffy", "lucidchart"), _first("diagramName", "name", label="Diagram")),
}

_CHANGES: Mapping[str, Callable[[Page, Any], None]] = {
    "ac:structured-macro": _macro,
    "ac:macro": _macro,
    "ac:link": _link,
    "ac:image": _image,
    "ac:emoticon": _emoticon,
    "ac:task": _task,
    "ac:task-list": _task_list,
    "ac:adf-node": _node,
    "ac:adf-extension": _extension,
    "a": _anchor,
    "time": _date,
}
