"""The mutation test itself: on a small package with a hole in its tests it finds that hole, and no other."""

from pathlib import Path

import pytest

from benchmarks.mutants import (
    AREAS,
    EQUIVALENT,
    ROOT,
    Copy,
    draw,
    equivalents,
    known,
    mutants,
    results,
    stages,
)

MODULE_FILE, TEST = "house/door.py", "tests/house/test_door.py"
MODULE = '''
def may_enter(age: int) -> bool:
    """Return True for a grown-up."""
    return age > 17
'''
TESTS = """
from house.door import may_enter

def test_a_child_may_not_enter():
    assert may_enter(20) and not may_enter(17)
"""
EACH = pytest.mark.slow(reason="starts pytest for each mutant, as the first test does")


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # each mutant starts pytest once or twice
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "door.py").write_text(MODULE)
    (tmp_path / "tests" / "house").mkdir(parents=True)
    (tmp_path / "tests" / "house" / "test_door.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_of_a_small_package_the_hole_in_its_tests_is_found_and_no_other(made: Path, tmp_path: Path):
    drawn = draw(50, 0, {"house": ["house/*.py"]}, made)
    found = list(results(drawn, Copy(made), tmp_path / "state"))
    assert len(found) == 3
    assert [(one.mutant.line, one.mutant.change) for one in found if not one.by] == [(4, "17 -> 18")]
    assert {one.by for one in found} == {"", f"{TEST}::test_a_child_may_not_enter"}
    assert (made / MODULE_FILE).read_text() == MODULE


@EACH
def test_a_stopped_run_continues_from_its_state(made: Path, tmp_path: Path):
    drawn, state = draw(50, 0, {"house": ["house/*.py"]}, made), tmp_path / "state"
    first = next(results(drawn, Copy(made), state))
    (made / TEST).write_text("def test_nothing(): pass\n")
    found = list(results(drawn, Copy(made), state))
    assert found[0] == first and first.by and not any(one.by for one in found[1:])
    assert list(known(state).values()) == found


@EACH
def test_a_mutant_that_never_ends_is_killed_by_the_time_and_said_to_be(made: Path):
    (made / MODULE_FILE).write_text("def may_enter(age: int) -> bool:\n    while age < 0:\n        pass\n")
    (made / TEST).write_text("from house.door import may_enter\n\ndef test_enter():\n    may_enter(20)\n")
    (endless,) = [one for one in draw(9, 0, {"": ["house/*.py"]}, made) if one.new.startswith("not")]
    result = Copy(made, seconds=3).run(endless)
    assert result.by == TEST and result.timed_out and "took too long" in str(result)


@EACH
def test_a_module_that_no_test_names_is_reached_through_its_package(made: Path):
    (made / MODULE_FILE).rename(made / "house" / "lock.py")
    (made / "house" / "__init__.py").write_text("from house.lock import may_enter\n")
    (made / TEST).rename(made / "tests" / "house" / "test_entering.py")
    (made / "tests" / "house" / "test_entering.py").write_text(TESTS.replace("house.door", "house"))
    assert stages("house/lock.py", made) == ([], [], ["tests/house/test_entering.py"])
    found = results(draw(50, 0, {"house": ["house/lock.py"]}, made), Copy(made))
    assert [one.mutant.change for one in found if not one.by] == ["17 -> 18"]


@EACH
def test_a_test_that_fails_without_a_change_proves_nothing(made: Path):
    (made / TEST).write_text(f"def test_wrong():\n    assert 1 > 2\n{TESTS}")
    copy = Copy(made)
    found = list(results(draw(50, 0, {"house": ["house/*.py"]}, made), copy))
    assert sorted(one.by for one in found) == ["", *2 * [f"{TEST}::test_a_child_may_not_enter"]]
    assert copy.left_out == {f"{TEST}::test_wrong"}


def test_each_mutant_is_a_module_that_is_no_longer_the_same():
    source = (ROOT / "rag" / "citations" / "checker.py").read_text("utf-8")
    found = mutants(source)
    assert len(found) > 100
    for one in found[:: len(found) // 100]:
        changed = one.applied(source)
        compile(changed, one.file, "exec")
        assert changed != source


def test_a_seed_draws_the_same_mutants_from_every_area():
    drawn = draw(21, 7, AREAS)
    assert drawn == draw(21, 7, AREAS) != draw(21, 8, AREAS)
    assert len({one.file.split("/")[0] for one in drawn}) == 3
    assert all(any(stages(one.file)) for one in drawn)


def test_what_is_judged_equivalent_has_its_reason():
    rows = [line.split("\t") for line in EQUIVALENT.read_text("utf-8").splitlines()]
    assert rows[0] == ["file", "change", "reason"] and all(len(row) == 3 and row[2] for row in rows)
    assert len(equivalents()) == len(rows) - 1
