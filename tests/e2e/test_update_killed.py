"""`pulumi up` killed at any moment: the next one converges, nothing is orphaned, nothing is done by hand."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tensorplane.core.step import Step
from tensorplane.driver.update.stack import Stack
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.support import counts
from tests.support.waiting import eventually

pytestmark = [pytest.mark.counted, pytest.mark.nightly("random kills, an update and a destruction each")]

KILLS = counts.of(quick=3, nightly=40)
SEED = counts.seed()
LINES = 20
NAMESPACE = "tensorplane-killed"
# Its server has no model and is never Ready: `pulumi up` does not wait for it.
SETTINGS = stacks.settings(
    volumes={"scratch": {"sizeGib": 1, "retain": False}},
    queues={"small": {"priority": "low", "cpus": 1, "memoryGib": 1}},
    workloads={
        "server": {
            "kind": "modelServer",
            "model": {"volume": "scratch", "path": "nothing"},
            "resources": {"cpus": 0.1, "memoryGib": 0.5},
        }
    },
)


@pytest.fixture
def stack(deployed: Deployed, tmp_path: Path) -> Stack:
    named = replace(deployed.stack, settings=replace(deployed.stack.settings, name="killed"))
    made = named.with_settings(tmp_path, SETTINGS)
    made.prepare(Step("prepare"))
    return made


def _killed_at(stack: Stack, line: int) -> None:
    """Runs `pulumi up` and kills it when it has printed so many lines about resources that it creates."""
    arguments = ["up", "--yes", "--skip-preview", "--non-interactive", "--config-file", str(stack.settings.file)]
    child = subprocess.Popen(
        [str(stack.pulumi), *arguments, "--stack", stack.settings.name],
        cwd=stack.settings.project,
        env=os.environ | stack.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with child:
        lines = (one for one in child.stdout or () if re.search(r" kubernetes:\S+ \S+ creat(ing|ed) ", one))
        for _ in itertools.islice(lines, line):
            pass
        # The engine alone, as the kernel's out-of-memory killer would; its children notice by themselves.
        child.kill()


def _state(stack: Stack) -> dict[str, Any]:
    exported = subprocess.run(
        [stack.pulumi, "stack", "export", "--stack", stack.settings.name],
        cwd=stack.settings.folder, env=os.environ | stack.environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    deployment: dict[str, Any] = json.loads(exported.stdout)["deployment"]
    return deployment


def _live(deployed: Deployed) -> set[str]:
    """Names of what exists in the stack's namespace and was not made by a controller."""
    found = set()
    for group, kind in (
        ("/api/v1", "configmaps"),
        ("/api/v1", "services"),
        ("/api/v1", "serviceaccounts"),
        ("/api/v1", "persistentvolumeclaims"),
        ("/apis/apps/v1", "deployments"),
        ("/apis/networking.k8s.io/v1", "networkpolicies"),
        ("/apis/kueue.x-k8s.io/v1beta2", "localqueues"),
    ):
        for one in deployed.kube.items(f"{group}/namespaces/{NAMESPACE}/{kind}"):
            if one["metadata"]["name"] not in ("default", "kube-root-ca.crt"):
                found.add(one["metadata"]["name"])
    return found


def test_kills_leave_nothing_for_a_person_to_do(deployed: Deployed, stack: Stack) -> None:
    moments = random.Random(SEED)
    for _ in range(KILLS):
        _killed_at(stack, moments.randint(1, LINES))
        stack.prepare(Step("prepare"))
        stack.up(Step("pulumi up"))

        state = _state(stack)
        assert not state.get("pending_operations")
        ids = [one["id"] for one in state["resources"] if one["type"].startswith("kubernetes:")]
        live = _live(deployed)
        assert live
        assert live <= {one.split("/")[-1] for one in ids}, "an object that the stack does not know is an orphan"

        stack.destroy(Step("destroy"))
        eventually(lambda: not _live(deployed), about=lambda: _live(deployed))
    stack.up(Step("pulumi up"))
    assert set(stack.up(Step("pulumi up"))) == {"same"}
    stack.destroy(Step("destroy"))
