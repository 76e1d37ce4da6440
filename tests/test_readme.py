import re
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.split("\n", 1)[0])
def test_an_example_prints_what_it_says(example: str, capsys: pytest.CaptureFixture[str]):
    exec(compile(example, "README.md", "exec"), {})  # noqa: S102 - it is our own text
    promised = re.findall(r"^print\(.*\)  # (.*)$", example, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
