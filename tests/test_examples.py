"""The worked examples in the documentation of functions: each comes out as it says."""

import doctest
import gc
import importlib
from pathlib import Path

from tests.faults.forks import Fork

ROOT = Path(__file__).parent.parent


def test_examples_come_out_as_they_say():
    names = []
    for folder in ("benchmarks", "rag", "storage", "ui"):
        paths = [path for path in (ROOT / folder).rglob("*.py") if ">>> " in path.read_text("utf-8")]
        modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted(paths)]
        assert modules, folder
        names += [module.removesuffix(".__init__") for module in modules]
    # In a process of its own: pages imported outside of Streamlit's runs are no pages in later tests.
    assert Fork(_try, names).finish() == ""


def _try(names: list[str]) -> None:
    """Try the examples of modules; say which fail, and which modules have none."""
    gc.disable()
    for name in names:
        failed, tried = doctest.testmod(importlib.import_module(name))
        if failed or not tried:
            print(name, failed, tried, flush=True)
