"""The table of tests: each test has a page that makes its promise, and each path of the pages has tests."""

from __future__ import annotations

import pytest

from tensorplane.core.paths import PROJECT
from tests import report

_FILES = [path.relative_to(PROJECT).as_posix() for path in sorted((PROJECT / "tests").rglob("test_*.py"))]


def test_each_file_of_tests_has_a_page_that_exists() -> None:
    pages = report.pages()
    assert [file for file in _FILES if not report.page(file, pages)] == []
    assert [page for page in pages.values() if not (PROJECT / page).exists()] == []


def test_each_path_of_the_pages_has_tests() -> None:
    assert [path for path in report.pages() if not any(file.startswith(path) for file in _FILES)] == []


@pytest.mark.parametrize(
    ("test", "page"),
    [("tests/a/test_x.py", "x.md"), ("tests/a/test_y.py", "a.md"), ("tests/b/test_x.py", "")],
)
def test_the_longest_path_counts(test: str, page: str) -> None:
    assert report.page(test, {"tests/a/": "a.md", "tests/a/test_x": "x.md"}) == page


def test_a_claim_is_the_tests_name_in_words() -> None:
    assert report.claim("tests/a/test_x.py::test_a_lost_worker_restarts_the_gang") == "a lost worker restarts the gang"
