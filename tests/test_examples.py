"""The worked examples in the documentation of functions: each comes out as it says."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for folder in ("benchmarks", "rag", "storage", "ui")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if ">>> " in path.read_text("utf-8")
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_come_out_as_they_say(name: str):
    module = importlib.import_module(name.removesuffix(".__init__"))
    failed, tried = doctest.testmod(module)
    assert tried and not failed
