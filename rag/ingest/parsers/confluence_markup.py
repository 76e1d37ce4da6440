"""The elements that only Confluence has, turned into HTML that says the same: links, tasks, pictures."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rag.ingest.parsers.confluence_macros import NOTES, macro
from rag.ingest.parsers.confluence_page import Page
from rag.text.markdown import description

_BLOCKS = frozenset(
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
        elif element.name in _BLOCKS:
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
