"""The layout of ARCHITECTURE.md: imports between packages, cycles, owners of engines, names of classes.

Sources are parsed, not imported, so an import inside a function or under `TYPE_CHECKING` counts as well.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = ("rag", "storage", "ui", "api")

BASE = {
    f"rag.{name}" for name in ("errors", "settings", "jobs", "logs", "passage", "telemetry", "undo", "i18n")
}
TEXT = {"rag.text"}
MODELS = {"rag.models", *TEXT}
INDEX = {"rag.index", "storage", *MODELS}
RETRIEVAL = {"rag.retrieval", *INDEX}
RAPTOR = {"rag.raptor", *RETRIEVAL}
INGEST = {"rag.ingest", *RAPTOR}
CHAT = {"rag.chat", "rag.citations", *INGEST}
GRID = {"rag.grid", *CHAT}
EVALUATION = {"rag.evaluation", "rag.factory", "rag.quota", "rag.connectors", *CHAT}
APPLICATION = {
    "rag.services",
    "rag.workspace",
    "rag.factory",
    "rag.sharing",
    "rag.quota",
    "rag.metrics",
    "rag.admission",
    "rag.local_server",
    "rag.backups",
    "rag.keys",
    "rag.webhooks",
    "rag.api_client",
    "rag.llama_index",
    "rag.langchain",
    "rag.__init__",
    "rag.sample",
    "rag.connectors",
    "rag.grid",
    *EVALUATION,
}
ENTRY = {"rag.cli", "ui", "api", "app", *APPLICATION}

# A package or module, and the packages and modules that it may import; beside these itself, and all but
# `storage` may import BASE.
MAY_IMPORT: Mapping[str, set[str]] = {
    "storage": set(),
    **{module: {"storage.errors", "storage.i18n"} for module in BASE},
    "rag.passage": {"storage.errors", "storage.i18n", "storage.records"},
    "rag.text": TEXT,
    "rag.models": MODELS,
    "rag.index": INDEX,
    "rag.retrieval": RETRIEVAL,
    "rag.raptor": RAPTOR,
    "rag.citations": {"rag.citations", "storage", *MODELS},
    "rag.ingest": INGEST,
    "rag.connectors": {"rag.ingest", "storage", *TEXT},
    "rag.chat": CHAT,
    "rag.grid": GRID,
    "rag.evaluation": EVALUATION,
    "rag.services": APPLICATION,
    "rag.workspace": APPLICATION,
    "rag.factory": APPLICATION,
    "rag.sharing": INDEX,
    "rag.quota": {"rag.quota", "storage", *MODELS},
    "rag.metrics": APPLICATION,
    "rag.admission": set(),
    "rag.local_server": set(),
    "rag.backups": {"rag.backups", "storage"},
    "rag.keys": {"storage"},
    "rag.webhooks": {"rag.connectors", "rag.ingest", "storage"},
    "rag.api_client": set(),
    "rag.llama_index": {"rag.api_client"},
    "rag.settings": {
        "storage.errors",
        "rag.connectors.ssrf",
    },  # private hosts are checked as the policy reads them
    "rag.langchain": APPLICATION,
    "rag.sample": set(),
    "rag.cli": APPLICATION,
    "rag.cli.serve": {"api", "rag.cli", *APPLICATION},
    "rag.__init__": APPLICATION,
    "ui": {"api.security", *APPLICATION},  # the headers of every response
    "ui.start": {"ui", "api", *APPLICATION},  # app.py in the installed package
    "api": APPLICATION,
    "app": ENTRY,
}
OPTIONAL = {"rag.langchain", "rag.__init__"}  # rows that may have no module (yet)

# A third-party package, and the only places of ours that may import it.
OWNERS: Mapping[str, set[str]] = {
    "streamlit": {"ui", "app"},
    "sqlalchemy": {"storage"},
    "alembic": {"storage"},
    "obstore": {"storage"},
    "chromadb": {"rag.index"},
    "tantivy": {"rag.index"},
    "lancedb": {"rag.index"},
    "openai": {"rag.models"},
    "onnx": {"rag.models"},
    "onnxruntime": {"rag.models"},
    "sentence_transformers": {"rag.models"},
    "tokenizers": {"rag.models"},
    "xllamacpp": {"rag.models.local"},
    "pypdfium2": {"rag.ingest.parsers"},
    "mammoth": {"rag.ingest.parsers"},
    "docx": {"rag.ingest.parsers"},
    "pptx": {"rag.ingest.parsers"},
    "openpyxl": {"rag.ingest.parsers", "rag.grid.export"},
    "olefile": {"rag.ingest.parsers"},
    "trafilatura": {"rag.ingest.parsers"},
    "markdown_it": {"rag.citations", "rag.chat.clipboard"},
    "prometheus_client": {"rag.metrics"},
    "fastapi": {"api"},
    "uvicorn": {"api"},
}


def sources() -> dict[str, str]:
    """Return the source of every module of the product, by its dotted name (packages: `name.__init__`)."""
    paths = [ROOT / "app.py", *(path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))]
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path.read_text(encoding="utf-8")
        for path in paths
        if "versions" not in path.parts  # database migrations
    }


parsed = cache(ast.parse)


@cache
def imported(module: str, source: str) -> set[str]:
    """Return the dotted names that a module imports: `from a import b` gives `a.b`."""
    found: set[str] = set()
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = ".".join(module.split(".")[: -node.level]) if node.level else ""
            base = ".".join(filter(None, (above, node.module)))
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def import_graph(modules: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules of ours that each module imports; a package stands for its `__init__`."""

    def of_ours(name: str) -> set[str]:
        names = (name, f"{name}.__init__", parent := name.rpartition(".")[0], f"{parent}.__init__")
        return {next((found for found in names if found in modules), "")} - {""}

    return {
        module: set().union(*map(of_ours, imported(module, source))) - {module}
        for module, source in modules.items()
    }


def row(module: str, rows: Iterable[str]) -> str | None:
    """Return the most exact of the rows that a module belongs to."""
    return max((name for name in rows if within(module, name)), key=len, default=None)


def within(module: str, place: str) -> bool:
    return module == place or module.startswith(f"{place}.")


def forbidden(modules: Mapping[str, str]) -> set[str]:
    """Return the imports that the table does not allow, as `module -> module`."""
    found = set()
    for module, targets in import_graph(modules).items():
        own = row(module, MAY_IMPORT)
        assert own, f"{module} has no row in MAY_IMPORT: put it into a package, or add its row."
        allowed = MAY_IMPORT[own] | {own} | (BASE if own != "storage" else set())
        found |= {f"{module} -> {target}" for target in targets if not row(target, allowed)}
    return found


def cycle(modules: Mapping[str, str]) -> list[str]:
    """Return one cycle of imports, empty where there is none."""
    try:
        TopologicalSorter(import_graph(modules)).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def trespassing(modules: Mapping[str, str]) -> set[str]:
    """Return the imports of engines outside their owners, as `module: engine`."""
    return {
        f"{module}: {engine}"
        for module, source in modules.items()
        for engine in OWNERS.keys() & {name.split(".")[0] for name in imported(module, source)}
        if not row(module, OWNERS[engine])
    }


def ambiguous(modules: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the public classes whose name is used in more than one module."""
    named = defaultdict(list)
    for module, source in modules.items():
        for node in parsed(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                named[node.name].append(module)
    return {name: where for name, where in named.items() if len(where) > 1}


MODULES = sources()


def test_imports_between_packages_follow_the_table():
    assert forbidden(MODULES) == set()


def test_no_modules_import_each_other_in_a_cycle():
    assert cycle(MODULES) == []


def test_each_engine_is_imported_by_its_owner_only():
    assert trespassing(MODULES) == set()


def test_no_two_public_classes_share_a_name():
    assert ambiguous(MODULES) == {}


def test_every_row_of_the_tables_names_something():
    used = {row(module, MAY_IMPORT) for module in MODULES}
    assert MAY_IMPORT.keys() - used - OPTIONAL == set()
    engines = {name.split(".")[0] for module, source in MODULES.items() for name in imported(module, source)}
    assert OWNERS.keys() - engines == set()


@pytest.mark.parametrize(
    ("modules", "found"),
    [
        ({"storage.files": "from rag.errors import FootnoteError", "rag.errors": ""}, True),
        ({"rag.errors": "from storage.errors import StorageError", "storage.errors": ""}, False),
        ({"rag.errors": "import storage.files", "storage.files": ""}, True),
        ({"rag.text.sentences": "def f():\n    from rag import models", "rag.models.__init__": ""}, True),
        ({"rag.chat.pipeline": "from rag.retrieval import fusion", "rag.retrieval.fusion": ""}, False),
        ({"rag.retrieval.fusion": "from rag.chat import scope", "rag.chat.scope": ""}, True),
        ({"rag.index.a": "from .b import c", "rag.index.b": ""}, False),
        ({"rag.text.a": "from ..chat import b", "rag.chat.b": ""}, True),
        ({"rag.models.llm": "from rag.citations import Checker", "rag.citations.__init__": ""}, True),
        ({"rag.connectors.sync": "from ui import pages", "ui.pages": ""}, True),
    ],
)
def test_a_forbidden_import_is_found(modules: dict[str, str], found: bool):
    assert bool(forbidden(modules)) == found


def test_a_cycle_is_found():
    assert cycle({"rag.a": "import rag.b", "rag.b": "from rag import c", "rag.c": "from rag.a import d"})
    assert not cycle({"rag.a": "import rag.b", "rag.b": "import rag.c", "rag.c": ""})


def test_an_engine_outside_its_owner_is_found():
    assert trespassing({"rag.chat.answer": "from openai import OpenAI"}) == {"rag.chat.answer: openai"}
    assert trespassing({"rag.models.llm": "import openai.types"}) == set()


def test_a_class_name_that_is_used_twice_is_found():
    assert ambiguous({"rag.a": "class Turn: ...", "ui.b": "class Turn: ..."}) == {"Turn": ["rag.a", "ui.b"]}
    assert ambiguous({"rag.a": "class _Turn: ...", "ui.b": "class _Turn: ..."}) == {}
