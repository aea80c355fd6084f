"""Faults in the product's code, drawn by seed, and which tests find them: `python -m tests.planted_faults SEED FILE`.

A fault negates a condition, drops a call, moves a number or a bound by one, or swaps two arguments. Faults are planted
one at a time in a temporary clone. What finds one is looked for in the order of cost: the tests of its
package, types, all unit tests, and the tests of TESTS for what these miss. FILE, which it writes, has a line for each
fault that was tried: an interrupted run goes on.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tensorplane.core.paths import PROJECT, cache

AREAS = (
    "components",
    "workloads",
    "runtime",
    "policies",
    "agents",
    "cli",
    "stack",
    "stack_file",
    "driver",
    "embedded/csi",
    "plugins/kubernetes",
)
_BOUNDS: dict[type, type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}


@dataclass(frozen=True)
class Fault:
    """One change of a file: the text between two offsets becomes another."""

    file: str
    line: int
    change: str
    start: int
    end: int
    after: str

    def planted(self, source: str) -> str:
        """The file's text with the fault in it."""
        return source[: self.start] + self.after + source[self.end :]

    def __str__(self) -> str:
        before = (PROJECT / self.file).read_text()[self.start : self.end]
        return f"{self.file}:{self.line}: {self.change}: {' '.join(before.split())} -> {self.after}"


def draw(seed: int, count: int) -> list[Fault]:
    """So many faults, each in another file, the areas in turn; long files are drawn more often."""
    chance = random.Random(seed)
    files = {area: sorted((PROJECT / area).rglob("*.py")) for area in AREAS}
    found: list[Fault] = []
    while len(found) < count:
        left = files[AREAS[len(found) % len(AREAS)]]
        path = chance.choices(left, [path.stat().st_size for path in left])[0]
        left.remove(path)
        if "generated" not in path.parts and (faults := list(_faults(path))):
            # The kind first: most lines have arguments, few a bound.
            kind = chance.choice(sorted({fault.change for fault in faults}))
            found.append(chance.choice([fault for fault in faults if fault.change == kind]))
    return found


def _faults(path: Path) -> Iterator[Fault]:
    source = path.read_text()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        # Columns count bytes.
        text = source[starts[line - 1] : starts[line]]
        return starts[line - 1] + len(text.encode()[:column].decode())

    for node, change, after in _changes(ast.parse(source)):
        end = offset(node.end_lineno or node.lineno, node.end_col_offset or 0)
        name = str(path.relative_to(PROJECT))
        yield Fault(name, node.lineno, change, offset(node.lineno, node.col_offset), end, after)


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield test, "negated condition", f"(not ({ast.unparse(test)}))"
            case ast.comprehension(ifs=tests):
                yield from ((test, "negated condition", f"(not ({ast.unparse(test)}))") for test in tests)
            case ast.Expr(value=ast.Call()):
                yield node, "dropped call", "pass"
            case ast.Call(args=[ast.expr() as first, ast.expr() as second, *rest]) if not any(
                isinstance(argument, ast.Starred) for argument in node.args
            ):
                swapped = copy.copy(node)
                swapped.args = [second, first, *rest]
                if ast.unparse(swapped) != ast.unparse(node):
                    yield node, "swapped arguments", ast.unparse(swapped)
            case ast.Compare(ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as operator]):
                moved = copy.copy(node)
                moved.ops = [_BOUNDS[type(operator)]()]
                yield node, "off by one", f"({ast.unparse(moved)})"
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                yield node, "off by one", str(number + 1)


def find(fault: Fault, clone: Path, tests: Sequence[str]) -> str:
    """The first check that fails with the fault in the clone; empty if none does."""
    path = clone / fault.file
    source = path.read_text()
    path.write_text(fault.planted(source))
    try:
        near, unit = ["pytest", _near_tests(fault)], ["tests.groups", "stacks", "unit"]
        for argv in (near, ["mypy"], unit, *([["pytest", *tests]] if tests else [])):
            if failure := _failure(argv, clone):
                return failure
        return ""
    finally:
        path.write_text(source)


def _near_tests(fault: Fault) -> str:
    """The folder of unit tests that mirrors the package, or else the package's own folder of tests."""
    package = Path(fault.file).parent
    unit, own = Path("tests", "unit"), Path("tests", package.parts[0])
    mirror = unit / (package.relative_to("components") if package.is_relative_to("components") else package)
    found = next(each for each in (mirror, *mirror.parents) if (PROJECT / each).is_dir())
    return str(own if found == unit and (PROJECT / own).is_dir() else found)


def _failure(argv: Sequence[str], clone: Path) -> str:
    options = ["-x", "-q", "-p", "no:cacheprovider"] if argv[0] == "pytest" else []
    own = {**os.environ, "PYTHONPATH": str(clone / "runtime")}
    done = subprocess.run([sys.executable, "-m", *argv, *options], cwd=clone, env=own, capture_output=True, text=True)
    if not done.returncode:
        return ""
    lines = (done.stdout + done.stderr).splitlines()
    # A group's lines have its name before them.
    named = [line for line in lines if re.search(r"(^|: )(FAILED|ERROR) tests/|: error: ", line)]
    return named[0][:300] if named else f"{argv[0]}: exit {done.returncode}"


def main() -> None:
    """Try each fault that FILE does not have yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("seed", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("tests", nargs="*", help="tests for what types and unit tests miss")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--draw", action="store_true", help="only list the faults")
    given = parser.parse_args()
    faults = draw(given.seed, given.count)
    if given.draw:
        print(*(f"{number} {fault}" for number, fault in enumerate(faults, 1)), sep="\n")
        return
    tried = [json.loads(line) for line in given.file.read_text().splitlines()] if given.file.exists() else []
    done = {one["number"] for one in tried if one["found"] or not given.tests}
    clone = Path(tempfile.gettempdir()) / f"tensorplane-planted-{given.seed}"
    shutil.rmtree(clone, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", PROJECT, clone], check=True)
    if (known := cache() / "mypy").exists():
        shutil.copytree(known, clone / ".mypy_cache")
    for number, fault in enumerate(faults, 1):
        if number not in done:
            found = find(fault, clone, given.tests)
            print(f"{number} {fault}\n    {found or 'not found'}", flush=True)
            with given.file.open("a") as file:
                file.write(json.dumps({"number": number, "found": found, **asdict(fault)}) + os.linesep)
    shutil.rmtree(clone)


if __name__ == "__main__":
    main()
