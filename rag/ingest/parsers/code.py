"""Source code, which reads as it stands: its language, told by the file's name, says where it may be cut."""

from dataclasses import replace
from pathlib import Path, PurePath

from rag.ingest.parsers.plain_text import read_text
from rag.text.document import LoadedDocument

# By langchain's names of languages where it has one; the others are cut at blank lines.
LANGUAGES = {
    **dict.fromkeys((".py", ".pyi", ".pyw"), "python"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), "js"),
    **dict.fromkeys((".ts", ".mts", ".cts", ".tsx"), "ts"),
    **dict.fromkeys((".c", ".h"), "c"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".m", ".mm", ".cu"), "cpp"),
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    **dict.fromkeys((".scala", ".sc"), "scala"),
    **dict.fromkeys((".ex", ".exs"), "elixir"),
    **dict.fromkeys((".ps1", ".psm1"), "powershell"),
    **dict.fromkeys((".cob", ".cbl"), "cobol"),
    **dict.fromkeys((".sh", ".bash", ".zsh", ".fish"), "shell"),
    **dict.fromkeys((".pl", ".pm"), "perl"),
    ".java": "java",
    ".go": "go",
    ".rs": "rust",
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
    ".swift": "swift",
    ".proto": "proto",
    ".lua": "lua",
    ".hs": "haskell",
    ".sol": "sol",
    ".r": "r",
    ".dart": "dart",
    ".sql": "sql",
}


def read_code(path: Path, name: str) -> LoadedDocument:
    """Read source code as text, its media type naming the language."""
    return replace(read_text(path), media_type=f"text/x-{LANGUAGES[PurePath(name).suffix.lower()]}")
