"""An update of tensorplane alone restarts no gang: stacks that a version with another library deployed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.plugins.kubernetes import kinds
from tests.recorded import in_process, recording, stacks

BEFORE = Path(__file__).with_name("before")
"""States of the version before runs recorded their library; `record.py` says how states are made."""
_JOB_SET = "kubernetes:jobset.x-k8s.io/v1alpha2:JobSet"
_CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
NAMES = sorted(path.stem for path in BEFORE.glob("*.json"))


def _recorded(name: str) -> str:
    return (BEFORE / f"{name}.json").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_gangs_keep_their_job_set_and_the_library_that_it_mounts(name: str) -> None:
    found = [
        (step["op"], kinds.name(step["urn"]))
        for step in in_process.steps(name, _recorded(name))
        if kinds.token(step["urn"]) in (_JOB_SET, _CONFIG_MAP)
    ]
    assert ("same", "digits") in found
    own = {operation for operation, made in found if made in ("digits", "digits-files", "tensorplane-library")}
    assert own <= {"same", "update"}
    assert [kind for kind, made in found if made.startswith("tensorplane-library-")] == ["create"]


def test_the_engine_keeps_them_too(tmp_path: Path) -> None:
    with stacks.opened(tmp_path) as project:
        project.add("dev", stacks.FILES["dev"])
        project.restore("dev", recording.deployment(_recorded("dev"), stacks.NAME, "dev"))
        steps = [step for step in project.preview("dev") if kinds.token(step["urn"]) in (_JOB_SET, _CONFIG_MAP)]
    found = {kinds.name(step["urn"]): step["op"] for step in steps}
    assert found["digits"] == "same"
    assert {found["tensorplane-library"], found["digits-files"]} <= {"same", "update"}
