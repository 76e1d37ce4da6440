"""What a reader of Markdown makes of it: a second opinion on what ui/components/markdown.py writes."""

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ui.components.markdown import JOINER

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(markdown: str) -> list[Token]:
    flat: list[Token] = []
    for token in PARSER.parse(markdown):
        flat += [token, *(token.children or [])]
    return flat


def words(markdown: str) -> str:
    """The text a reader sees, without white space and invisible joiners."""
    shown = "".join(
        t.content for t in tokens(markdown) if t.type in ("text", "code_inline", "code_block", "fence")
    )
    return re.sub(rf"[\s{JOINER}]", "", shown)


def is_inert(markdown: str) -> None:
    for token in tokens(markdown):
        assert token.type not in ("html_block", "html_inline", "image"), token
        if token.type == "link_open":
            assert str(token.attrs["href"]).startswith("#cite-"), token
        if token.type == "text":
            assert not re.search(r"https?:/|www\.|:(?!\d+:)[\w+-]+:|:material/", token.content), token
    markdown.encode("utf-8")
