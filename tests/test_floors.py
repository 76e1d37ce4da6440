"""Imports between `storage`, `rag`, `ui` and `app.py`, and the owners of third-party engines."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAY_IMPORT = {
    "storage": {"storage"},
    "rag": {"rag", "storage"},
    "ui": {"ui", "rag", "storage"},
    "app": {"ui", "rag", "storage"},
}
OWNERS = {
    "streamlit": ("app.py", "ui/"),
    "chromadb": ("rag/index/chroma.py", "rag/index/chroma.py"),
    "sqlalchemy": ("storage/",),
    "alembic": ("storage/",),
    "xllamacpp": ("rag/models/local/worker.py",),
    "openai": ("rag/llm", "rag/embedders/remote"),
    "prometheus_client": ("rag/metrics.py",),
}


@cache
def imported() -> dict[str, set[str]]:
    """Return the packages that each source of the product imports, by its path."""
    paths = [
        ROOT / "app.py",
        *(path for folder in ("rag", "storage", "ui") for path in (ROOT / folder).rglob("*.py")),
    ]
    return {
        path.relative_to(ROOT).as_posix(): packages(path.read_text(encoding="utf-8"))
        for path in paths
        if "versions" not in path.parts  # database migrations
    }


def packages(source: str) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def test_imports_go_down_only():
    found = {
        path: wrong
        for path, names in imported().items()
        if (wrong := (names & MAY_IMPORT.keys()) - MAY_IMPORT[path.split("/")[0].removesuffix(".py")])
    }
    assert found == {}


def test_each_engine_is_imported_by_its_owner_only():
    found = {
        path: engine
        for path, names in imported().items()
        for engine in names & OWNERS.keys()
        if not path.startswith(OWNERS[engine])
    }
    assert found == {}
