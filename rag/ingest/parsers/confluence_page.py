"""What the parts of a Confluence page are read with: the soup, and the names of what they point to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

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
