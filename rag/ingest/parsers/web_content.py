"""Which elements of a web page are its content: those whose words were found, and what is among them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# Around the content on any page, whatever is written in it.
_AROUND = (
    "//nav|//*[@role='navigation' or @role='banner' or @role='contentinfo' or @role='search' or @hidden]"
)
_MAIN = "//main|//*[@role='main']"
# What may hold a part of a page that is not of its content: a box of links, a form, a bar at the side.
_BOXES = ("aside", "div", "dl", "figure", "footer", "form", "header", "ol", "section", "table", "ul")
_ADDED = ("aside", "footer", "form")
_ADDITION = re.compile(
    r"(?i)(?:^|[ _-])(?:ads?|advert|banner|breadcrumb|comment|cookie|footer|login|menu|nav|newsletter|promo"
    r"|recommend|related|share|sharing|sidebar|social|sponsor|subscri|toc|toolbar|widget)"
)
_SPACES = re.compile(r"\s+")
_NEAR = 5_000  # characters; where the next piece is looked for first
_SEARCHED = 1_000_000_000  # characters looked through for pieces that are not near: some seconds
_LEAST = 20  # characters without spaces; shorter words stand anywhere by chance
_SHARE = 0.5
_SOME = 0.25
_NEARLY = 0.9


def content(tree: Any, found: str) -> Any:
    """Return the element that holds the content, with what does not belong to it taken out."""
    drop(tree.xpath(_AROUND))
    body = tree.find("body")
    body = tree if body is None else body
    told = _told(body, _Found(_squeezed(found)))
    mains = [main for main in tree.xpath(_MAIN) if told[main].found >= _SOME * told[body].found]
    page = mains[0] if len(mains) == 1 else body
    if found:
        drop(_apart(page, told, sure=page is not body))
    return page


def _apart(page: Any, told: dict[Any, "_Told"], *, sure: bool) -> list[Any]:
    """Return the boxes that are not of the content.

    Outside its core those that say hardly anything of it. Inside the core such a box may be a part that was
    overlooked, a figure or a list of links: it must look like an addition too, unless the core is a whole
    page that is not `sure` to be content.
    """
    core = _core(page, told)
    inside, around = set(core.iter()), {core, *core.iterancestors()}
    strict = core is page and not sure
    boxes = [box for box in page.iter(*_BOXES) if box not in around and told[box].is_apart]
    return [box for box in boxes if strict or box not in inside or _is_added(box)]


@dataclass(frozen=True)
class _Told:
    """How many characters an element holds, how many are in what was found, and in the longest piece."""

    all: int = 0
    found: int = 0
    longest: int = 0

    @property
    def is_apart(self) -> bool:
        """Whether it says something, but hardly what was found: less than half, and no long piece."""
        return self.all > 0 and self.longest < _LEAST and self.found < _SHARE * self.all

    def __add__(self, other: "_Told") -> "_Told":
        return _Told(self.all + other.all, self.found + other.found, max(self.longest, other.longest))


class _Found:
    """The words that were found, without spaces. Pieces are asked for in their order, mostly."""

    def __init__(self, found: str):
        self._found, self._at, self._left = found, 0, _SEARCHED

    def told(self, text: str | None) -> _Told:
        """Count a piece of text of the page."""
        piece = _squeezed(text or "")
        at = self._place(piece) if piece else -1
        if at < 0:
            return _Told(len(piece))
        self._at = at
        return _Told(len(piece), len(piece), len(piece))

    def _place(self, piece: str) -> int:
        """Return where a piece stands: near the last one, else anywhere, as long as that takes no minutes."""
        at = self._found.find(piece, self._at, self._at + len(piece) + _NEAR)
        if at >= 0 or self._left <= 0:
            return at
        self._left -= len(self._found)
        return self._found.find(piece)


def _told(page: Any, found: _Found) -> dict[Any, _Told]:
    """Count each element with all that is in it."""
    elements = list(page.iter())
    told = {element: found.told(element.text) for element in elements}
    tails = {element: found.told(element.tail) for element in elements}
    for element in reversed(elements):
        parent = element.getparent()
        if parent in told:
            told[parent] += told[element] + tails[element]
    return told


def _core(page: Any, told: dict[Any, _Told]) -> Any:
    """Return the smallest element that holds nearly all of what was found."""
    nearly = _NEARLY * told[page].found
    return next(e for e in reversed(list(page.iter())) if told[e].found >= nearly)


def _is_added(box: Any) -> bool:
    """Whether a box calls itself something that stands beside a text."""
    named = f"{box.get('class', '')} {box.get('id', '')}"
    return box.tag in _ADDED or _ADDITION.search(named) is not None


def drop(elements: Iterable[Any]) -> None:
    """Take elements out, each with all that is in it; the root stays."""
    for element in elements:
        if element.getparent() is not None:
            element.drop_tree()


def _squeezed(text: str) -> str:
    return _SPACES.sub("", text)
