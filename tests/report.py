"""`python -m tests.report`: what each test proves, where, and what it costs, in tests/report.tsv; `make test-report`.

A row is a test function with all its cases: the claim, which is its name in words; the page that makes the promise
(tests/pages.yaml); whether `make test`, `make test-nightly` or both run it; and the seconds of its last runs on this
machine.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from tensorplane.core.paths import PROJECT
from tests.support import costs

TABLE = PROJECT / "tests" / "report.tsv"
PAGES = PROJECT / "tests" / "pages.yaml"
_COLUMNS = ("test", "claim", "page", "where", "cases", "seconds", "processor", "why by night")


@dataclass
class Row:
    """A test function."""

    test: str
    claim: str
    where: set[str] = field(default_factory=set)
    why: str = ""
    cases: int = 0
    seconds: float = 0.0
    processor: float = 0.0


class _Collected:
    """The items of all tests, those of other runs included."""

    def __init__(self) -> None:
        self.items: list[pytest.Item] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.items = list(items)


def rows(items: list[pytest.Item], measured: Mapping[str, Mapping[str, float]]) -> Iterator[Row]:
    """A row for each function, in the order of the files."""
    found: dict[str, Row] = {}
    for item in items:
        name = item.nodeid.partition("[")[0]
        row = found.setdefault(name, Row(name, claim(name)))
        row.where |= where(item)
        marker = item.get_closest_marker("nightly")
        row.why = row.why or (str(marker.args[0]) if marker and marker.args else "")
        row.cases += 1
        cost = measured.get(item.nodeid, {})
        row.seconds += cost.get("seconds", 0)
        row.processor += cost.get("processor", 0)
    yield from (found[name] for name in sorted(found))


def claim(name: str) -> str:
    """A test's name in words."""
    return name.rpartition("::")[2].removeprefix("test_").replace("_", " ")


def where(item: pytest.Item) -> set[str]:
    """The commands that run a test."""
    if item.get_closest_marker("gpu"):
        return {"test-gpu"}
    marks = {name for name in ("nightly", "counted") if item.get_closest_marker(name)}
    return ({"test-nightly"} if marks else set()) | (set() if "nightly" in marks else {"test"})


def page(test: str, pages: Mapping[str, str]) -> str:
    """The page of the longest path that a test is below; empty if there is none."""
    paths = [path for path in pages if test.startswith(path)]
    return pages[max(paths, key=len)] if paths else ""


def pages() -> dict[str, str]:
    """The page of each path of tests."""
    found: dict[str, str] = yaml.safe_load(PAGES.read_text())
    return found


def write(table: Path, found: Iterator[Row]) -> int:
    """Writes the rows, and returns how many."""
    known, count = pages(), 0
    with table.open("w", newline="") as file:
        lines = csv.writer(file, delimiter="\t", lineterminator="\n")
        lines.writerow(_COLUMNS)
        for count, row in enumerate(found, 1):  # noqa: B007  # the last one is the number of rows
            costs_of_row = (row.cases, f"{row.seconds:.1f}", f"{row.processor:.1f}")
            lines.writerow(
                (row.test, row.claim, page(row.test, known), " ".join(sorted(row.where)), *costs_of_row, row.why)
            )
    return count


def main() -> int:
    """Writes the table."""
    collected = _Collected()
    code = pytest.main(["--collect-only", "-qq", "-m", "", "tests"], plugins=[collected])
    if code:
        return int(code)
    count = write(TABLE, rows(collected.items, costs.read()))
    print(f"{TABLE.relative_to(PROJECT)}: {count} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
