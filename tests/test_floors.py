"""The house's rules about who may know whom, read from the source itself."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = (path for folder in ("rag", "storage", "ui") for path in (ROOT / folder).rglob("*.py"))
SOURCES = [
    *sorted(path.relative_to(ROOT) for path in ROOMS if "versions" not in path.parts),
    Path("app.py"),
]
BELOW = {
    "storage": {"storage"},
    "rag": {"rag", "storage"},
    "ui": {"ui", "rag", "storage"},
    "app.py": {"ui", "rag", "storage"},
}
ONLY_IN = {
    "streamlit": ("app.py", "ui/"),
    "chromadb": ("rag/stores/chroma.py", "rag/stores/collections.py"),
    "sqlalchemy": ("storage/",),
    "alembic": ("storage/",),
    "xllamacpp": ("rag/own_model/child.py",),
    "openai": ("rag/llm", "rag/embedders/remote"),
    "prometheus_client": ("rag/observing/metrics.py",),
}
MAY_IMPORT_STORAGE = {
    f"rag/{room}.py"
    for room in (
        "errors",
        "chunks",
        "indexes",
        "library",
        "conversation",
        "allowance",
        "assembly",
        "backing",
        "cli/exporting",
        "cli/ledger",
        "cli/syncing",
        "cli/library",
        "cli/users",
        "comparison",
        "editions",
        "evaluation/trees",
        "exports/cases",
        "exports/chat",
        "lab",
        "making",
        "quoting",
        "raptor/build",
        "raptor/forest",
        "raptor/opened",
        "raptor/view",
        "removal",
        "resplitting",
        "scope",
        "index/staged",
        "index/staged_vectors",
        "sources/sync",
        "sources/syncing",
        "targets",
        "trial",
        "weighing",
        "word_index",
    )
}


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_imports_go_down_only(path: Path):
    ours = {name.split(".")[0] for name in imports(path)} & {"rag", "storage", "ui", "app"}
    assert ours <= BELOW[path.parts[0]]


@pytest.mark.parametrize("path", [p for p in SOURCES if p.parts[0] == "rag"], ids=str)
def test_few_rooms_of_rag_know_storage(path: Path):
    if any(name.split(".")[0] == "storage" for name in imports(path)):
        assert path.as_posix() in MAY_IMPORT_STORAGE


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_each_engine_is_known_in_its_own_room_only(path: Path):
    for package, rooms in ONLY_IN.items():
        if any(name.split(".")[0] == package for name in imports(path)):
            assert path.as_posix().startswith(rooms), f"{path} imports {package}"


@pytest.mark.parametrize("path", SOURCES, ids=str)
def test_a_room_is_read_in_one_sitting(path: Path):
    assert len((ROOT / path).read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("path", [p for p in SOURCES if p.name != "__init__.py"], ids=str)
def test_the_plan_of_the_house_names_every_room(path: Path):
    assert path.as_posix() in (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
