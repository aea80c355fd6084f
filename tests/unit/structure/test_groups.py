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


class _Planted(Group):
    """Instead of tests, what a test says."""

    def command(self, *options: str) -> list[str]:
        return [*super().command(*options)[:3], "-p", "no:cacheprovider", *self.folders]


class _Passed(Group):
    def command(self, *options: str) -> list[str]:
        return [
            "echo",
            "1 passed in 0.01s\n\n%3|1795961401.859|FAIL|rdkafka#producer-18| Connection refused",
        ]


def test_a_group_that_fails_is_the_run_s_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_planted.py").write_text("def test_it():\n    raise AssertionError('no such cluster')\n")
    assert groups.run({"planted": _Planted((str(tmp_path),)), "fine": _Passed(())}) == 1
    # Last, where CI shows it: that one failed, why, and the count.
    *_, fine, failed, error, count = capsys.readouterr().out.splitlines()
    assert fine == "fine: 1 passed in 0.01s"
    assert failed.startswith("planted: FAILED ")
    assert error == "planted: E       AssertionError: no such cluster"
    assert count.startswith("planted: ") and "1 failed" in count


def test_a_group_that_a_signal_ended_says_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_planted.py").write_text("import os\n\ndef test_it():\n    os.abort()\n")
    assert groups.run({"planted": _Planted((str(tmp_path),))}) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "planted: ended by SIGABRT: Aborted"


_ONE_FIXTURE = """
import pytest

class Fault(Exception):
    pass

@pytest.fixture(scope="module")
def cluster():
    raise Fault("pulumi up: failed (exit 1)\\n  error: no webhook")

@pytest.mark.parametrize("number", range(24))
def test_it(cluster, number):
    pass
"""


def test_what_fails_many_tests_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_planted.py").write_text(_ONE_FIXTURE)
    assert groups.run({"planted": _Planted((str(tmp_path),))}) == 1
    *_, errors, first, second, count = capsys.readouterr().out.splitlines()
    assert errors.startswith("planted: ERROR ") and errors.count("test_it[") == 3
    assert errors.endswith("and 21 more - test_planted.Fault: pulumi up: failed (exit 1)")
    assert first.endswith("Fault: pulumi up: failed (exit 1)") and second.endswith("error: no webhook")
    assert "24 errors" in count


def test_groups_that_all_pass_are_the_run_s_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert groups.run({"fine": _Passed(())}) == 0
    assert "FAILED" not in capsys.readouterr().out
