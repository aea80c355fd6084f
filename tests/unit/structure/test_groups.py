"""`make test` runs every folder of tests once, and fails when one group fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import groups
from tests.groups import Group


def test_each_folder_with_tests_is_in_one_group() -> None:
    folders = groups.folders_with_tests()
    assert {"unit", "e2e", "queues"} <= set(folders)
    assert groups.ungrouped(folders) == []


def test_a_new_folder_must_be_put_into_a_group() -> None:
    assert groups.ungrouped(["unit", "planted"]) == ["planted"]
    both = {"a": Group(("unit",)), "b": Group(("unit",), "-2")}
    assert groups.ungrouped(["unit"], both) == ["unit"]


def test_each_group_has_clusters_of_its_own() -> None:
    suffixes = [group.instance for group in groups.GROUPS.values() if group.instance]
    assert len(suffixes) == len(set(suffixes)) > 1


@pytest.mark.parametrize(("body", "code"), [("assert True", 0), ("raise AssertionError('no such cluster')", 1)])
def test_a_group_that_fails_is_the_run_s_failure(
    body: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_planted.py").write_text(f"def test_it():\n    {body}\n")

    class Planted(Group):
        def command(self, *options: str) -> list[str]:
            return [*super().command(*options)[:3], "-p", "no:cacheprovider", str(tmp_path)]

    assert groups.run({"planted": Planted(())}) == code
    printed = capsys.readouterr().out
    assert ("planted: FAILED" in printed) == bool(code)
    assert ("planted: E       AssertionError" in printed) == bool(code)
    assert f"1 {'failed' if code else 'passed'}" in printed.splitlines()[-1]
