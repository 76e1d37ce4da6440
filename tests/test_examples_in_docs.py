"""The Python examples of the documentation print what they say."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent / "docs" / "developer" / "langchain.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
EXAMPLES = [block for block in BLOCKS if "print(" in block]


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("\n", 1)[0])
def test_an_example_prints_what_it_says(example: str, capsys: pytest.CaptureFixture[str]):
    exec(compile(example, PAGE.name, "exec"), {})  # noqa: S102 - it is our own text
    promised = re.findall(r"^print\(.*\)  # (.*)$", example, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
