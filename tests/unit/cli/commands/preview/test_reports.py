"""Seven changes as a reviewer reads them, without the state: each golden is a complete report."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tensorplane.cli.commands.preview import comparison, picture, render
from tensorplane.cli.commands.preview.engine import Streamed
from tensorplane.cli.commands.preview.report import Report
from tensorplane.driver.update.data_at_risk import Acknowledged
from tests.support import previewed_graphs

REPORTS = Path(__file__).parent / "reports"
COMMIT = "3f9c2ab417"
BEFORE = previewed_graphs.settings(REPORTS / "before.yaml")
ASKED = Acknowledged("Pulumi.prod.yaml")

Tree = dict[str, Any]
Edit = Callable[[Tree], object]


def _accelerator(tree: Tree) -> None:
    tree["nodeGroups"]["old"]["accelerator"] = "l4"
    tree["queues"]["research"]["gpus"] = {"l4": 8}


def _renamed(tree: Tree) -> None:
    tree["volumes"]["weights"] = tree["volumes"].pop("models")
    job, server = tree["workloads"]["digits"], tree["workloads"]["digits-server"]
    job["volumes"] = {"weights": "/models", "scratch": "/scratch"}
    for folder in (job["model"], job["checkpoints"], server["model"]):
        folder["volume"] = "weights"


def _gate(tree: Tree) -> None:
    tree["workloads"]["digits-server"]["model"]["canary"]["gate"][0]["threshold"] = 0.05


CHANGES: Mapping[str, Edit | None] = {
    "scale-a-group": lambda tree: tree["nodeGroups"]["new"].update(max=8),
    "change-an-accelerator": _accelerator,
    "rename-a-volume": _renamed,
    "raise-a-quota": lambda tree: tree["queues"]["production"]["gpus"].update({"h100-80gb": 32}),
    "delete-an-environment": None,
    "change-a-gate": _gate,
    "raise-a-jobs-memory": lambda tree: tree["workloads"]["digits"]["resources"].update(memoryGib=16),
}
"""Of the settings before; None: the file is gone."""


@pytest.fixture(scope="module")
def before() -> Streamed:
    """The preview of the merge base."""
    return previewed_graphs.streamed(BEFORE)


def _report(before: Streamed, edit: Edit | None) -> Report:
    if edit is None:
        return comparison.report(
            "prod", COMMIT, before, Streamed([], failed=False), acknowledged=ASKED, stack_removed=True
        )
    tree = copy.deepcopy(dict(BEFORE))
    edit(tree)
    return comparison.report("prod", COMMIT, before, previewed_graphs.streamed(tree), acknowledged=ASKED)


@pytest.mark.parametrize("name", CHANGES)
def test_the_report_of_a_change_is_as_recorded(name: str, before: Streamed) -> None:
    found = _report(before, CHANGES[name])
    written = {
        f"{name}.md": render.markdown(replace(found, picture=f"{name}.svg")),
        f"{name}.svg": picture.svg(found),
    }
    for file, text in written.items():
        recorded = REPORTS / file
        if os.environ.get("UPDATE_GOLDEN"):
            recorded.write_text(text)
        assert text == recorded.read_text(), file


def test_a_dataset_in_another_folder_is_a_line_although_no_resource_changes() -> None:
    before, after = (
        previewed_graphs.streamed({**BEFORE, "datasets": {"images": {"volume": "models", "path": path}}})
        for path in ("raw", "images")
    )
    text = render.markdown(comparison.report("prod", COMMIT, before, after, acknowledged=ASKED))
    assert "- dataset **images** is in **images** of volume **models** instead of **raw** of volume **models**" in text
    assert "- dataset images: its versions stay in raw of volume models; copy that folder" in text
