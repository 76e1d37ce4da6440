"""The worked examples in the documentation of functions: each comes out as it says."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
# In a process of its own: pages that are imported outside of Streamlit's runs are no pages in later tests.
TRY = """
import doctest, gc, importlib, sys

gc.disable()
results = [doctest.testmod(importlib.import_module(name)) for name in sys.argv[1:]]
sys.exit(any(failed or not tried for failed, tried in results))
"""


def test_examples_come_out_as_they_say():
    names = []
    for folder in ("benchmarks", "rag", "storage", "ui"):
        paths = [path for path in (ROOT / folder).rglob("*.py") if ">>> " in path.read_text("utf-8")]
        modules = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted(paths)]
        assert modules, folder
        names += [module.removesuffix(".__init__") for module in modules]
    tried = subprocess.run([sys.executable, "-c", TRY, *names], cwd=ROOT, capture_output=True, text=True)
    assert tried.returncode == 0, tried.stdout + tried.stderr
