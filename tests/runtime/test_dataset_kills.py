"""Committers that are killed at any call to the file system, two at once, beside readers: only whole versions are seen.

`make test` kills a handful; TENSORPLANE_KILLS is how many, and TENSORPLANE_SEED which.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tensorplane.datasets import Dataset
from tests.runtime import dataset_committer
from tests.support.rendering import PROJECT

SEED = os.environ.get("TENSORPLANE_SEED", "1")
KILLS = int(os.environ.get("TENSORPLANE_KILLS", "20"))
NAMES = ("ann", "bob")
POLLS_PER_KILL = 34
"""At least 10,000 polls for 300 kills."""


def test_killed_committers_leave_whole_versions_and_lose_no_update(tmp_path: Path) -> None:
    root = tmp_path / "dataset"
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'runtime'}"}
    program = [sys.executable, dataset_committer.__file__, str(root)]
    committers = [
        subprocess.Popen([*program, name, f"{KILLS // 2}", SEED], env=environment, stdout=subprocess.PIPE, text=True)
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
