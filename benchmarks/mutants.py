"""Mutation test: change the code in one place at a time, and see that a test fails.

    python benchmarks/mutants.py [--count 100] [--seed 0] [--area NAME] [--json]

The mutants are drawn evenly from the areas that guard answers and people (citations, owners, paths, sandbox,
backup, sign-in, prompts), the same ones for each seed: a comparison turned, a condition negated, `not`, a
call or a returned value dropped, `and` for `or`, another constant. Each is run in a copy of the tree against
the tests that mirror its module or import it, then against the others of its package. Prints each with what
became of it; the exit status is 0 where at least .95 are killed. `equivalent_mutants.tsv` names survivors
that change nothing, with the reason.
"""

import argparse
import ast
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.tsv")
WANTED = 0.95  # share of the mutants that tests must notice
SECONDS = 300.0  # for the tests of one mutant; one that never ends is noticed, too
AREAS: Mapping[str, Sequence[str]] = {
    "citations": ("rag/citations/*.py",),
    "owners": tuple(f"storage/{name}.py" for name in ("accounts", "collections", "choices", "documents")),
    "paths": ("storage/files.py", "rag/ingest/parsers/archive.py", "rag/connectors/ssrf.py"),
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
    """Yield expressions with what to put in their place; annotations and strings stay."""
    if isinstance(node, ast.AnnAssign):
        yield from _changes(node.value) if node.value is not None else ()
        return
    if isinstance(node, ast.JoinedStr | ast.Raise | ast.arguments):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: it states what holds anyway
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
        case ast.Expr(value=ast.Call(func=func) as call) if not ast.unparse(func).startswith("log."):
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


def reaching_tests(file: str, root: Path = ROOT) -> list[str]:
    """Return the test files that mirror a module, then those that import it; none with a browser or kills."""
    path = Path(file)
    package, module = ".".join(path.parent.parts), ".".join(path.with_suffix("").parts)
    forms = (f"from {module} import", f"import {module}\n", f"import {module} as")
    mirrored, importing = [], []
    for test in sorted((root / "tests").rglob("test_*.py")):
        place = test.relative_to(root)
        text = test.read_text("utf-8")
        if place.parts[1] in UNTESTED:
            continue
        if place.parent == Path("tests") / path.parent and f"{test.stem}_".startswith(f"test_{path.stem}_"):
            mirrored.append(str(place))
        elif any(form in text for form in forms) or _imports(text, package, path.stem):
            importing.append(str(place))
    through = reaching_tests(IN_A_CHILD[module], root) if module in IN_A_CHILD else []
    return list(dict.fromkeys([*mirrored, *through, *importing]))


def package_tests(file: str, root: Path = ROOT) -> list[str]:
    """Return the other test files of a module's package, which reach it through what the package offers."""
    folder = root / "tests" / Path(file).parent
    named = reaching_tests(file, root)
    found = [str(test.relative_to(root)) for test in sorted(folder.glob("test_*.py"))]
    return [test for test in found if test not in named]


def _imports(text: str, package: str, name: str) -> bool:
    """Return True where a line `from package import` has the name."""
    started = [line for line in text.splitlines() if line.startswith(f"from {package} import ")]
    return any(name in line.replace(",", " ").replace("(", " ").split()[3:] for line in started)


@dataclass(frozen=True)
class MutantResult:
    """Mutant with whether a test failed."""

    mutant: Mutant
    killed: bool


def run(drawn: Sequence[Mutant], root: Path, *, seconds: float = SECONDS) -> Iterator[MutantResult]:
    """Run each mutant in `root`, a copy of the tree, and yield its result.

    Raises RuntimeError where the tests of a module fail without any change, since nothing follows from that.
    """
    for file in {one.file: None for one in drawn}:
        source = (root / file).read_text("utf-8")
        left = [one for one in drawn if one.file == file]
        named = reaching_tests(file, root)
        for tests in (named[:1], named[1:], package_tests(file, root)):  # most are noticed by the first
            if left and not _passes(tests, root, seconds):
                raise RuntimeError(f"The tests of {file} fail without a mutant, or take too long.")
            survivors = []
            for one in left:
                (root / file).write_text(one.applied(source), "utf-8")
                if _passes(tests, root, seconds):
                    survivors.append(one)
                else:
                    yield MutantResult(one, killed=True)
            (root / file).write_text(source, "utf-8")
            left = survivors
        yield from (MutantResult(one, killed=False) for one in left)


def _passes(tests: Sequence[str], root: Path, seconds: float) -> bool:
    if not tests:
        return True
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


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
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    areas = {asked.area: AREAS[asked.area]} if asked.area else AREAS
    known = equivalents()
    drawn = [one for one in draw(asked.count, asked.seed, areas) if (one.file, one.change) not in known]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "copy"
        shutil.copytree(ROOT, root, ignore=LEFT_OUT)
        results = []
        for result in run(drawn, root):
            results.append(result)
            print("killed  " if result.killed else "SURVIVED", result.mutant, flush=True)
    killed = sum(result.killed for result in results)
    print(f"{killed} of {len(results)} killed; {asked.count - len(drawn)} left out as equivalent")
    if asked.json:
        print(json.dumps([asdict(result) for result in results], indent=1))
    return 0 if killed >= WANTED * len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
