"""Committers that are killed at any call to the file system, two at once, beside readers: only whole versions are seen.

In the nightly run, the seed decides at which.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tensorplane.datasets import Dataset
from tests.runtime import dataset_committer
from tests.support import counts
from tests.support.rendering import PROJECT

SEED = counts.seed()
KILLS = counts.of(quick=20, nightly=300)
NAMES = ("ann", "bob")
POLLS_PER_KILL = 34
"""At least 10,000 polls for 300 kills."""
_ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'runtime'}"}


_COMMITS = """
import sys
from pathlib import Path
from tests.runtime import dataset_committer

root, call = sys.argv[1:]
dataset_committer.kill_at(int(call))
dataset_committer.commit(Path(root), "ann", collect=False)
"""


@pytest.mark.parametrize("call", [1, 20, 60, 90])
def test_a_committer_that_is_killed_leaves_the_version_before_or_the_whole_next_one(tmp_path: Path, call: int) -> None:
    root = tmp_path / "dataset"
    assert [dataset_committer.commit(root, "ann", collect=False) for _ in range(2)] == [1, 2]
    killed = subprocess.run([sys.executable, "-c", _COMMITS, str(root), str(call)], env=_ENVIRONMENT)
    assert killed.returncode == -signal.SIGKILL
    dataset = Dataset(root)
    left = dataset_committer.value(dataset.open(), "ann")
    assert left in (2, 3)
    assert not list(dataset.damaged())
    assert dataset_committer.commit(root, "ann", collect=False) == left + 1


@pytest.mark.counted
@pytest.mark.nightly("kills; the test above has some")
def test_killed_committers_leave_whole_versions_and_lose_no_update(tmp_path: Path) -> None:
    root = tmp_path / "dataset"
    program = [sys.executable, dataset_committer.__file__, str(root)]
    committers = [
        subprocess.Popen(
            [*program, name, f"{KILLS // 2}", f"{SEED}"], env=_ENVIRONMENT, stdout=subprocess.PIPE, text=True
        )
        for name in NAMES
    ]
    dataset, polls, seen = Dataset(root), 0, dict.fromkeys(NAMES, 0)
    while polls < KILLS * POLLS_PER_KILL or any(one.poll() is None for one in committers):
        polls += 1
        if "main" in dataset.branches():
            for name, number in _values(dataset, dataset.open()).items():
                assert number >= seen[name], "a reader went back to an older version"
                seen[name] = number
    reports = {name: json.loads(one.communicate()[0]) for name, one in zip(NAMES, committers, strict=True)}
    assert [one.returncode for one in committers] == [0, 0]
    assert {name: (report["killed"], report["lost"]) for name, report in reports.items()} == dict.fromkeys(
        NAMES, (KILLS // 2, [])
    )
    final = _values(dataset, dataset.open())
    for name, report in reports.items():
        # A killed attempt may have committed before it could say so.
        assert report["acknowledged"] <= final[name] <= report["acknowledged"] + report["killed"]
    history = [made.message for made in dataset.log()][::-1]
    for name in NAMES:
        own = [message for message in history if message.startswith(name)]
        assert own == [f"{name} {number}" for number in range(1, final[name] + 1)]
    assert not list(dataset.damaged())
    assert len(reports) == len(NAMES)


def _values(dataset: Dataset, folder: Path) -> dict[str, int]:
    return {name: dataset_committer.value(folder, name) for name in NAMES}
