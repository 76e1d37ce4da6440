"""Mutation test: change the code in one place at a time, and see that a test fails.

    python benchmarks/mutants.py [--count 100] [--seed 0] [--area NAME] [--state FILE] [--json]

The mutants are drawn evenly from the areas that guard answers and people (citations, owners, paths, sandbox,
backup, sign-in, prompts), the same ones for each seed: a comparison turned, a condition negated, `not`, a
call or a returned value dropped, `and` for `or`, another constant. Each is run in a copy of the tree: first
the test file that mirrors its module, then those that import it, last the others of its package, until a test
fails that passes without the change. Prints each with the test that noticed it, and says where that was by
running out of time. A stopped run continues from its state file; delete the lines of survivors there to run
them again. The exit status is 0 where at least .95 are killed. `equivalent_mutants.tsv` names survivors that
change nothing, with the reason.
"""

import argparse
import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.tsv")
WANTED = 0.95  # share of the mutants that tests must notice
SECONDS = 1800.0  # for one stage of the tests of one mutant; one that never ends is noticed, too
AREAS: Mapping[str, Sequence[str]] = {
    "citations": ("rag/citations/*.py",),
    "owners": tuple(f"storage/{name}.py" for name in ("accounts", "collections", "choices", "documents")),
    "paths": ("storage/files.py", "rag/ingest/parsers/attached.py", "rag/connectors/ssrf.py"),
    "sandbox": ("rag/ingest/parsers/sandbox.py", "rag/ingest/parsers/worker.py"),
    "backup": ("storage/backup.py", "storage/lock.py"),
    "sign-in": ("ui/auth/identity.py", "ui/*/middleware.py", "ui/server/services.py"),
    "prompts": ("rag/text/prompt_parts.py", "rag/text/markers.py", "rag/chat/prompts.py"),
}  # fmt: skip
IN_A_CHILD = {"rag.ingest.parsers.worker": "rag/ingest/parsers/sandbox.py"}
"""Modules that no test can import, since they run in a child process, with the file that starts it."""
UNTESTED = ("e2e", "faults")  # folders of tests that take minutes
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "build", "dist", "*.egg-info")


@dataclass(frozen=True)
class Mutant:
    """Change of one place: `old` at bytes [start, end) of a file becomes `new`."""

    file: str
    line: int
    start: int
    end: int
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.change}"

    @property
    def change(self) -> str:
        """Return the change on one line."""
        return f"{' '.join(self.old.split())} -> {' '.join(self.new.split())}"

    def applied(self, source: str) -> str:
        """Return the source with the change."""
        raw = source.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()


_TURNED: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


def mutants(source: str, file: str = "") -> list[Mutant]:
    """Return every mutant of a module, in the order of its text.

    >>> [one.change for one in mutants("if not a < 1: b()")]
    ['not a < 1 -> not (not a < 1)', 'not a < 1 -> (a < 1)', 'a < 1 -> (a <= 1)', '1 -> 2', 'b() -> pass']
    """
    lines = [0]
    for line in source.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found = []
    for node, new in _changes(ast.parse(source)):
        start = lines[node.lineno - 1] + node.col_offset
        end = lines[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        old = source.encode()[start:end].decode()
        found.append(Mutant(file, node.lineno, start, end, old, new))
    return sorted(found, key=lambda one: (one.start, -one.end))


def _changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """Yield expressions with what to put in their place; annotations, strings and the log stay."""
    if isinstance(node, ast.AnnAssign):
        yield from _changes(node.value) if node.value is not None else ()
        return
    if isinstance(node, ast.JoinedStr | ast.Raise | ast.arguments):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: it states what holds anyway
        return
    if isinstance(node, ast.Expr) and ast.unparse(node).startswith("log."):  # words for whoever runs it
        return
    yield from _own_changes(node)
    left_out = _not_run(node)
    for child in ast.iter_child_nodes(node):
        if child not in left_out:
            yield from _changes(child)


def _not_run(node: ast.AST) -> list[ast.AST | None]:
    """Return the decorators, bases and annotations of a definition."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.decorator_list, node.returns]
    return [*node.decorator_list, *node.bases] if isinstance(node, ast.ClassDef) else []


def _own_changes(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, f"not ({ast.unparse(test)})"
        case ast.comprehension(ifs=tests):
            yield from ((test, f"(not ({ast.unparse(test)}))") for test in tests)
        case ast.Expr(value=ast.Call() as call):
            yield call, "pass"
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, "None"
        case ast.expr():
            yield from _other_values(node)


def _other_values(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _TURNED:
            turned = ast.Compare(left, [_TURNED[type(op)]()], [right])
            yield node, f"({ast.unparse(turned)})"
        case ast.BoolOp(op=op, values=values):
            other = ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
            yield node, f"({ast.unparse(other)})"
        case ast.Constant(value=bool() as value):
            yield node, str(not value)
        case ast.Constant(value=int() | float() as value):
            yield node, str(value + 1)


def draw(count: int, seed: int, areas: Mapping[str, Sequence[str]], root: Path = ROOT) -> list[Mutant]:
    """Return `count` mutants, drawn evenly from the areas; the same ones for the same seed and sources."""
    chance = random.Random(seed)
    of_areas = []
    for patterns in areas.values():
        files = sorted(file for pattern in patterns for file in root.glob(pattern))
        of_area = [
            one for file in files for one in mutants(file.read_text("utf-8"), str(file.relative_to(root)))
        ]
        of_areas.append(chance.sample(of_area, min(count, len(of_area))))
    turns = (one for turn in zip_longest(*of_areas) for one in turn if one is not None)
    return [one for one, _ in zip(turns, range(count), strict=False)]


def stages(file: str, root: Path = ROOT) -> tuple[list[str], list[str], list[str]]:
    """Return the test files that mirror a module, that import it, and the others of its package.

    None has a browser or kills. The last reach the module through what its package offers.
    """
    path = Path(file)
    package, module = ".".join(path.parent.parts), ".".join(path.with_suffix("").parts)
    forms = (f"from {module} import", f"import {module}\n", f"import {module} as")
    mirrored, importing, others = [], [], []
    for test in sorted((root / "tests").rglob("test_*.py")):
        place = test.relative_to(root)
        text = test.read_text("utf-8")
        beside = place.parent == Path("tests") / path.parent
        if beside and f"{test.stem}_".startswith(f"test_{path.stem}_"):
            mirrored.append(str(place))
        elif place.parts[1] not in UNTESTED and (
            any(form in text for form in forms) or _imports(text, package, path.stem)
        ):
            importing.append(str(place))
        elif beside:
            others.append(str(place))
    if module in IN_A_CHILD:
        mirrored += stages(IN_A_CHILD[module], root)[0]
    return mirrored, *([test for test in tests if test not in mirrored] for tests in (importing, others))


def _imports(text: str, package: str, name: str) -> bool:
    """Return True where a line `from package import` has the name."""
    started = [line for line in text.splitlines() if line.startswith(f"from {package} import ")]
    return any(name in line.replace(",", " ").replace("(", " ").split()[3:] for line in started)


@dataclass(frozen=True)
class MutantResult:
    """Mutant with the test that failed, empty where none did, and True where it failed by taking too long."""

    mutant: Mutant
    by: str = ""
    timed_out: bool = False

    def __str__(self) -> str:
        if not self.by:
            return f"SURVIVED {self.mutant}"
        return f"killed   {self.mutant}  by {self.by}{', which took too long' * self.timed_out}"


class Copy:
    """Copy of the tree, in which mutants are run one after another."""

    def __init__(self, root: Path, *, seconds: float = SECONDS) -> None:
        self._root, self._seconds = root, seconds
        self._sound: set[str] = set()
        self.left_out: set[str] = set()
        """Tests that fail without a change, too, from which nothing follows."""

    def run(self, mutant: Mutant) -> MutantResult:
        """Run the tests with a mutant until one fails that passes without it."""
        file = self._root / mutant.file
        source = file.read_text("utf-8")
        for tests in stages(mutant.file, self._root):
            while True:
                file.write_text(mutant.applied(source), "utf-8")
                try:
                    by, timed_out = self._first_failing(tests, self._seconds)
                finally:
                    file.write_text(source, "utf-8")
                if not by:
                    break
                if self._passes(by):
                    return MutantResult(mutant, by, timed_out)
                self.left_out.add(by)
        return MutantResult(mutant)

    def _passes(self, test: str) -> bool:
        if test not in self._sound and not self._first_failing([test], 10 * self._seconds)[0]:
            self._sound.add(test)
        return test in self._sound

    def _first_failing(self, tests: Sequence[str], seconds: float) -> tuple[str, bool]:
        """Return the first test that fails, empty where none does, and True where it took too long."""
        tests = [test for test in tests if test not in self.left_out]
        if not tests:
            return "", False
        options = ("-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist")
        deselected = (f"--deselect={test}" for test in sorted(self.left_out))
        command = [sys.executable, "-m", "pytest", *options, *deselected, *tests]
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
            status = _status(command, self._root, output, seconds)
            output.seek(0)
            said = output.read()
        if status in (0, 5):  # 5: every test is deselected
            return "", False
        failed = re.search(r"^(?:FAILED|ERROR) (\S+?\.py(?:::.+?)?)(?: - |$)", said, re.M)
        return failed[1] if failed else tests[0], status is None or "from pytest-timeout" in said


def _status(command: Sequence[str], root: Path, output: IO[str], seconds: float) -> int | None:
    """Run a command; return its exit status, None after so many seconds. No process of its own is left."""
    environment = {**os.environ, "PYTHONPATH": str(root)}  # before an editable installation of the same code
    with subprocess.Popen(
        command, cwd=root, env=environment, stdout=output, stderr=output, start_new_session=True
    ) as running:
        try:
            return running.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def known(state: Path | None) -> dict[Mutant, MutantResult]:
    """Return the results that a state file holds, a line of JSON each."""
    rows = state.read_text("utf-8").splitlines() if state is not None and state.exists() else []
    results = (json.loads(row) for row in rows)
    found = (MutantResult(**{**row, "mutant": Mutant(**row["mutant"])}) for row in results)
    return {result.mutant: result for result in found}


def results(drawn: Sequence[Mutant], copy: Copy, state: Path | None = None) -> Iterator[MutantResult]:
    """Yield the result of each mutant: from the state file, or by running it and writing it there."""
    decided = known(state)
    for mutant in drawn:
        if mutant in decided:
            yield decided[mutant]
            continue
        result = copy.run(mutant)
        if state is not None:
            with state.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result)) + "\n")
        yield result


def equivalents(file: Path = EQUIVALENT) -> set[tuple[str, str]]:
    """Return the file and the change of each survivor that is judged to change nothing."""
    rows = (line.split("\t") for line in file.read_text("utf-8").splitlines()[1:])
    return {(row[0], row[1]) for row in rows}


def main() -> int:
    """Run the benchmark; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--area", choices=AREAS)
    parser.add_argument("--state", type=Path, help="file of results, from which a stopped run continues")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    areas = {asked.area: AREAS[asked.area]} if asked.area else AREAS
    equal = equivalents()
    drawn = [one for one in draw(asked.count, asked.seed, areas) if (one.file, one.change) not in equal]
    decided = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(shutil.copytree(ROOT, Path(folder) / "copy", ignore=LEFT_OUT))
        for result in results(drawn, copy, asked.state):
            decided.append(result)
            print(result, flush=True)
    killed, late = sum(bool(one.by) for one in decided), sum(one.timed_out for one in decided)
    left_out = asked.count - len(drawn)
    print(f"{killed} of {len(decided)} killed, {late} by the time; {left_out} left out as equivalent")
    for test in sorted(copy.left_out):
        print("left out, since it fails without a mutant:", test)
    if asked.json:
        print(json.dumps([asdict(result) for result in decided], indent=1))
    return 0 if killed >= WANTED * len(decided) else 1


if __name__ == "__main__":
    sys.exit(main())
