"""The wheel check reads the constraints and finds what pip calls missing. It asks no package index here."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

import check_wheels


def test_source_only_data_packages_are_left_out(tmp_path: Path):
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("# comment\nnumpy==2.4.6\nSudachiDict-core==20261015  # data\n")
    assert check_wheels.pins(constraints) == ["numpy==2.4.6"]


def test_every_missing_wheel_is_named_not_only_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    pinned = ["no-such-package==1.0", "nor_this.one==2.0"]
    assert check_wheels.missing_wheels(pinned, "3.14", "macos") == pinned
