"""Macros of Confluence pages: what they hold is kept, and what they would show from elsewhere is named."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from rag.ingest.parsers.confluence_page import Page

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
