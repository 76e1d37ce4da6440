"""A Confluence page as its wiki stores it: packed into a file, and read as Markdown."""

import html
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag.ingest.parsers.html import to_markdown
from rag.text.document import LoadedDocument, clean
from rag.text.markdown import description, headings

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


# What the parts of a Confluence page are read with: the soup, and the names of what they point to.
_INLINE = frozenset(
    ("p", "span", "a", "b", "i", "u", "s", "em", "strong", "code", "sub", "sup", "td", "th", "li", "time")
) | frozenset(
    ("h1", "h2", "h3", "h4", "h5", "h6", "ac:link-body", "ac:parameter", "ac:task-body", "ac:caption")
)
_RESOURCES = (  # element, the attribute that names what it points to
    ("ri:page", "ri:content-title"),
    ("ri:blog-post", "ri:content-title"),
    ("ri:attachment", "ri:filename"),
    ("ri:url", "ri:value"),
    ("ri:space", "ri:space-key"),
)


@dataclass(frozen=True)
class Page:
    """What the parts of a page are read with: the soup that makes elements, and people's names by id."""

    soup: Any
    people: Mapping[str, str]

    def paragraph(self, text: str) -> Any:
        """Return a new paragraph."""
        made = self.soup.new_tag("p")
        made.string = text
        return made

    def say(self, element: Any, text: str) -> None:
        """Put words in an element's place: a paragraph of their own, unless it stands within one."""
        if text and element.parent is not None and element.parent.name not in _INLINE:
            element.replace_with(self.paragraph(text))
        else:
            element.replace_with(text)

    def named(self, element: Any) -> str:
        """Return the name of what a link or a parameter points to, or nothing."""
        for name, attribute in _RESOURCES:
            if (found := element.find(name)) is not None:
                return str(found.get(attribute, ""))
        user = element.find("ri:user")
        return "" if user is None else self._person(user)

    def _person(self, user: Any) -> str:
        ids = [str(user.get(name, "")) for name in ("ri:account-id", "ri:userkey", "ri:username")]
        known = next((self.people[id_] for id_ in ids if self.people.get(id_)), ids[2])
        return f"@{known or 'unknown'}"


# Macros of Confluence pages: what they hold is kept, and what they would show from elsewhere is named.
Parameters = Mapping[str, str]
NOTES = {
    "info": "Info",
    "note": "Note",
    "tip": "Tip",
    "warning": "Warning",
    "success": "Success",
    "error": "Error",
}
_MAY_HIDE = frozenset(("excerpt", "details"))
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")


def macro(page: Page, element: Any) -> None:
    """Put in a macro's place what it holds, under its title; else what it stands for, in words."""
    name = str(element.get("ac:name", "")).lower()
    parameters = {
        str(parameter.get("ac:name", "")): parameter.get_text().strip() or page.named(parameter)
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
        element.replace_with(*_titled(page, NOTES.get(name, ""), parameters), rich)
    else:
        page.say(element, _SAID[name](parameters) if name in _SAID else "")


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


def _what(what: str, *keys: str) -> Callable[[Parameters], str]:
    """Return what says a macro as `(what: name)`, its name the first of these parameters that it has."""

    def said(parameters: Parameters) -> str:
        name = next((parameters[key] for key in keys if parameters.get(key)), "")
        return f"({what}: {name})" if name else ""

    return said


def _only(*keys: str) -> Callable[[Parameters], str]:
    return lambda parameters: next((parameters[key] for key in keys if parameters.get(key)), "")


_SAID: Mapping[str, Callable[[Parameters], str]] = {
    "status": _only("title"),
    "jira": lambda parameters: parameters.get("key") or _what("Jira issues", "jqlQuery")(parameters),
    "include": _what("Included here", "", "page"),
    "excerpt-include": _what("Included here, in part", "", "default-parameter", "page"),
    "profile": _only("user"),
    "widget": _only("url"),
    "iframe": _only("src", "url"),
    "mathinline": _only("body"),
    "mathblock": _only("body"),
    **dict.fromkeys(
        ("view-file", "viewpdf", "viewdoc", "viewxls", "viewppt", "multimedia"), _what("File", "name", "")
    ),
    **dict.fromkeys(("drawio", "gliffy", "lucidchart"), _what("Diagram", "diagramName", "name")),
}


# The elements that only Confluence has, turned into HTML that says the same: links, tasks, pictures.
_MARKUP_BLOCKS = frozenset(
    ("ac:layout", "ac:layout-section", "ac:layout-cell", "ac:rich-text-body", "ac:adf-content")
)
_UNSEEN = frozenset(("ac:placeholder", "ac:parameter", "ac:adf-attribute", "ac:adf-parameter", "ac:task-id"))
_SIGNS = {
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
_LONGEST_URL = 500  # characters; longer ones say nothing to a reader


def into_html(soup: Any, people: Mapping[str, str]) -> None:
    """Change a parsed page in place until no element of Confluence's own is left."""
    page = Page(soup, people)
    for element in reversed(soup.find_all(True)):  # what is within an element before the element itself
        if (change := _CHANGES.get(element.name)) is not None:
            change(page, element)
    for element in reversed(soup.find_all(True)):
        if element.name in _UNSEEN or element.name.startswith("ri:"):
            element.decompose()
        elif element.name in _MARKUP_BLOCKS:
            element.name = "div"
        elif element.name.startswith("ac:"):
            element.unwrap()


def _link(page: Page, link: Any) -> None:
    """Write a link as its words and, where they do not say it, what it leads to."""
    where, body = page.named(link), link.find(("ac:link-body", "ac:plain-text-link-body"))
    words = "" if body is None else body.get_text().strip()
    if not words or where.startswith("@"):
        link.replace_with(where or str(link.get("ac:anchor", "")))
    else:
        link.replace_with(*body.contents, *_after(words, where))


def _anchor(_: Page, anchor: Any) -> None:
    """Write a link out of the wiki as its words and its address."""
    href = str(anchor.get("href", "")).strip()
    if href.startswith(("https://", "http://", "mailto:")) and len(href) <= _LONGEST_URL:
        for words in _after(anchor.get_text(), href.removeprefix("mailto:")):
            anchor.append(words)


def _after(words: str, where: str) -> Iterator[str]:
    if where and where.casefold() not in words.casefold():
        yield f" ({where})"


def _image(page: Page, image: Any) -> None:
    alternative = description(str(image.get("ac:alt") or image.get("ac:title") or ""))
    if _FILE_NAME.search(alternative):  # what the editor puts there by itself
        alternative = ""
    caption = image.find("ac:caption")
    below = "" if caption is None else " ".join(caption.get_text(" ").split())
    page.say(image, " ".join(filter(None, (alternative, below))))


def _emoticon(_: Page, emoticon: Any) -> None:
    fallback = str(emoticon.get("ac:emoji-fallback", ""))
    sign = _SIGNS.get(str(emoticon.get("ac:name", "")), "")
    emoticon.replace_with(sign if not fallback or fallback.startswith(":") else fallback)


def _task(page: Page, task: Any) -> None:
    """Write a task as a list item that says whether it is done."""
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
    """Read a part that came with the newer editor: a panel, a decision, or what it holds."""
    kind = node.get("type")
    attributes = {
        str(attribute.get("key")): attribute.get_text().strip()
        for attribute in node.find_all("ac:adf-attribute", recursive=False)
    }
    if kind == "panel" and (label := NOTES.get(attributes.get("panel-type", ""))):
        node.insert(0, page.paragraph(f"{label}:"))
    node.name = {"decision-list": "ul", "decision-item": "li"}.get(str(kind), "div")


def _extension(_: Page, extension: Any) -> None:
    """Choose between a part and what stands for it where it cannot be shown: never both."""
    fallback = extension.find("ac:adf-fallback", recursive=False)
    if fallback is None:
        return
    for attribute in extension.find_all("ac:adf-attribute"):
        attribute.decompose()
    if extension.get_text().strip() == fallback.get_text().strip():
        fallback.unwrap()
    else:
        fallback.decompose()


_CHANGES: Mapping[str, Callable[[Page, Any], None]] = {
    "ac:structured-macro": macro,
    "ac:macro": macro,
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
