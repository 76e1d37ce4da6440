"""The forms in which a chat can be exported, by the name of each."""

import re
from collections.abc import Callable
from typing import Literal

from rag.chat.export import ExportedChat
from rag.chat.html import to_html
from rag.chat.json_form import to_json
from rag.chat.markdown import to_markdown

FormName = Literal["md", "html", "json"]

FORMS: dict[FormName, Callable[[ExportedChat], str]] = {"md": to_markdown, "html": to_html, "json": to_json}
MEDIA_TYPES: dict[FormName, str] = {
    "md": "text/markdown",
    "html": "text/html",
    "json": "application/json",
}
_LONGEST = 60  # characters of a file's name


def file_name(title: str, form: FormName) -> str:
    """Return a name for a chat's file, of letters and digits of any writing.

    >>> file_name("연차: 언제까지?", "md"), file_name("../..", "json")
    ('연차-언제까지.md', 'chat.json')
    """
    words = re.sub(r"[\W_]+", "-", title)[:_LONGEST].strip("-")
    return f"{words or 'chat'}.{form}"
