"""Where a text may be cut, best places first: prose of any language, and code by its language."""

import re
from collections.abc import Iterator, Sequence

_WORDS = re.compile(r"\s+|(?<=[、，；;,])")
_LINES = re.compile(r"\n")
PROSE = (
    re.compile(r"\n\s*\n"),  # paragraphs
    re.compile(r"\n(?=[ \t]*(?:\||[-*+•][ \t]|\d{1,3}[.)][ \t]))"),  # table rows and list items
    re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？])[」』）]*|(?<=다\.)\s*"),  # sentences
    _LINES,
    _WORDS,
)
# A blank line before a line that is not indented parts code of every language, and leaves the comments and
# decorators of what follows with it.
_BLOCKS = re.compile(r"\n[ \t]*\n(?=[^\s})\]])")
_STARTS = re.compile(r"\n(\w[\w ]*) ")
# Words that begin a step, not a part: an indented one is no place to cut.
_STEPS = frozenset(
    {
        *("if", "else", "elif", "unless", "for", "foreach", "while", "loop", "do", "switch", "case", "when"),
        *("match", "default", "try", "catch", "finally", "rescue", "begin", "return", "break", "continue"),
        *("throw", "let", "const", "var", "val", "in", "where", "use", "option", "import"),
    }
)
CODE = "text/x-"  # how the media types of code begin; the language follows, by langchain's name for it


def separators(media_type: str) -> Sequence[re.Pattern[str]]:
    """Return what parts a text of a kind, best first; a match's end is a place to cut.

    Code is parted as langchain's `RecursiveCharacterTextSplitter.from_language` does it, where it knows the
    language, and at definitions that are indented too.
    """
    if not media_type.startswith(CODE):
        return PROSE
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    try:
        of_language = RecursiveCharacterTextSplitter.get_separators_for_language(
            Language(media_type.removeprefix(CODE))
        )
    except ValueError:  # a language that it does not know
        return (_BLOCKS, *PROSE[:1], _LINES, _WORDS)
    special = [separator for separator in of_language if separator.strip()]
    before = [re.compile(rf"(?={separator})") for separator in special]
    return (_BLOCKS, *before, *_definitions(special), *PROSE[:1], _LINES, _WORDS)


def _definitions(of_language: Sequence[str]) -> Iterator[re.Pattern[str]]:
    """Yield one pattern for a language's indented definitions, if it has words for them."""
    starts = [start[1] for separator in of_language if (start := _STARTS.fullmatch(separator))]
    words = "|".join(word for word in starts if word not in _STEPS)
    if words:
        yield re.compile(rf"\n(?=[ \t]+(?:{words}) )")
