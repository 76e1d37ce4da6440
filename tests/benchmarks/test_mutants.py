"""The mutation test itself: on a small package with a hole in its tests it finds that hole, and no other."""

from pathlib import Path

import pytest

from benchmarks.mutants import (
    AREAS,
    EQUIVALENT,
    ROOT,
    draw,
    equivalents,
    mutants,
    package_tests,
    reaching_tests,
    run,
)

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


@pytest.fixture
def made(tmp_path: Path) -> Path:
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "door.py").write_text(MODULE)
    (tmp_path / "tests" / "house").mkdir(parents=True)
    (tmp_path / "tests" / "house" / "test_door.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_of_a_small_package_the_hole_in_its_tests_is_found_and_no_other(made: Path):
    drawn = draw(50, 0, {"house": ["house/*.py"]}, made)
    results = list(run(drawn, made))
    survivors = {(one.mutant.line, one.mutant.change) for one in results if not one.killed}
    assert survivors == {(4, "17 -> 18")}
    assert len(results) == 3
    assert (made / "house" / "door.py").read_text() == MODULE


def test_a_module_that_no_test_names_is_reached_through_its_package(made: Path):
    (made / "house" / "door.py").rename(made / "house" / "lock.py")
    (made / "house" / "__init__.py").write_text("from house.lock import may_enter\n")
    (made / "tests" / "house" / "test_door.py").rename(made / "tests" / "house" / "test_entering.py")
    (made / "tests" / "house" / "test_entering.py").write_text(TESTS.replace("house.door", "house"))
    assert reaching_tests("house/lock.py", made) == []
    results = list(run(draw(50, 0, {"house": ["house/lock.py"]}, made), made))
    assert [one.mutant.change for one in results if not one.killed] == ["17 -> 18"]


def test_tests_that_fail_without_a_change_prove_nothing(made: Path):
    (made / "tests" / "house" / "test_door.py").write_text("def test_wrong():\n    assert 1 > 2\n")
    with pytest.raises(RuntimeError, match=r"house/door\.py fail without"):
        next(run(draw(1, 0, {"house": ["house/*.py"]}, made), made))


def test_each_mutant_is_a_module_that_is_no_longer_the_same():
    source = (ROOT / "rag" / "citations" / "checker.py").read_text("utf-8")
    found = mutants(source)
    assert len(found) > 100
    for one in found:
        compile(one.applied(source), one.file, "exec")
        assert one.applied(source) != source


def test_a_seed_draws_the_same_mutants_from_every_area():
    drawn = draw(21, 7, AREAS)
    assert drawn == draw(21, 7, AREAS) != draw(21, 8, AREAS)
    assert len({one.file.split("/")[0] for one in drawn}) == 3
    assert all(reaching_tests(one.file) or package_tests(one.file) for one in drawn)


def test_what_is_judged_equivalent_has_its_reason():
    rows = [line.split("\t") for line in EQUIVALENT.read_text("utf-8").splitlines()]
    assert rows[0] == ["file", "change", "reason"] and all(len(row) == 3 and row[2] for row in rows)
    assert len(equivalents()) == len(rows) - 1
