import sys

import pytest

from rag.cli.common import ProgressBar


def test_what_is_slow_is_told_once_where_there_is_no_terminal(capsys: pytest.CaptureFixture[str]):
    told = ProgressBar({"vectors": "embedding {total} passages."})
    for what, done, total in [("words", 0, 1), ("words", 1, 1), ("vectors", 0, 9), ("vectors", 9, 9)]:
        told(what, done, total)
    told("vectors", 9, 9)
    told.close()
    assert capsys.readouterr().err == "footnote: embedding 9 passages.\n"


def test_a_terminal_sees_how_far_it_is_and_then_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    told = ProgressBar({"vectors": "embedding {total} passages."})
    told("vectors", 0, 9)
    told("vectors", 9, 9)
    shown = capsys.readouterr().err
    assert "vectors:" in shown and "0/9" in shown
    assert shown.rpartition("\r")[0].rpartition("\r")[2].strip() == ""  # the bar's line is wiped
