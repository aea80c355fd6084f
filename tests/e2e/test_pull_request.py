"""From a branch to its repair: preview, report, merge, deployment and drift, with a remote repository and clones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config

from tensorplane.cli.commands.drift.command import DRIFTED
from tensorplane.core.paths import PROJECT
from tensorplane.core.step import Step
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.driver.update.stack import Stack
from tensorplane.version import __version__
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.support import repository
from tests.support.repository import Clone
from tests.support.waiting import eventually

NAME = "flow"
NAMESPACE = f"tensorplane-{NAME}"
FILE = f"Pulumi.{NAME}.yaml"
_CLAIMS = f"/api/v1/namespaces/{NAMESPACE}/persistentvolumeclaims"
_POLICY = f"/apis/networking.k8s.io/v1/namespaces/{NAMESPACE}/networkpolicies/server-clients"


def _settings(*, cpus: float = 1, **sections: Any) -> str:
    """Its server has no model."""
    server = {"kind": "modelServer", "model": {"volume": "models", "path": "none"}}
    volumes = {name: {"sizeGib": 1, "retain": False} for name in ("models", "scratch")}
    return stacks.settings(
        queues={"small": {"priority": "low", "cpus": cpus, "memoryGib": 1}},
        workloads={"server": {**server, "resources": {"cpus": 0.1, "memoryGib": 0.5}}},
        **{"volumes": volumes, **sections},
    )


BEFORE = _settings()
WITHOUT = {"volumes": {"models": {"sizeGib": 1, "retain": False}}}


@pytest.fixture
def clones(tmp_path: Path) -> tuple[Clone, Clone]:
    """Of the author of a change, and of CI."""
    policies = (PROJECT / "policies/config.dev.json").read_text()
    origin = repository.remote(tmp_path, {FILE: BEFORE, f"policies/config.{NAME}.json": policies})
    return Clone(tmp_path / "author", origin), Clone(tmp_path / "ci", origin)


@pytest.fixture
def stack(deployed: Deployed, clones: tuple[Clone, Clone]) -> Iterator[Stack]:
    """The stack as CI deploys it."""
    settings = replace(deployed.stack.settings, name=NAME, project=clones[1].folder)
    made = replace(deployed.stack, settings=settings)
    yield made
    (settings.project / FILE).write_text(BEFORE)
    made.prepare(Step("prepare"))
    made.destroy(Step("destroy"))


def _deployed(stack: Stack, *, refresh: bool = False) -> None:
    stack.prepare(Step("prepare"))
    stack.up(Step("pulumi up"), refresh=refresh, policies=Policies.RUN)


def _previewed(clone: Clone) -> tuple[int, str]:
    done = clone.tensorplane("preview", "--stack", NAME, "--base", "origin/main")
    report = clone.folder / "preview.md"
    assert report.exists(), done.stderr
    return done.returncode, report.read_text()


@pytest.mark.nightly("updates, drift and repair; e2e/paths has the previews of such a change")
def test_a_change_is_reviewed_merged_deployed_and_repaired(
    deployed: Deployed, clones: tuple[Clone, Clone], stack: Stack
) -> None:
    author, ci = clones
    _deployed(stack)

    author.git("switch", "-q", "-c", "topic")
    author.commit("less", {FILE: _settings(cpus=2, **WITHOUT)})
    author.git("push", "-q", "origin", "topic")
    ci.git("fetch", "-q")
    ci.git("switch", "-q", "topic")
    code, report = _previewed(ci)
    assert code == 1
    assert "**This update is refused: it would lose data.**" in report
    assert "- **volume scratch is deleted (1 GiB requested)" in report
    assert "`tensorplane:acknowledge: {deleteVolume: [scratch]}` to Pulumi.flow.yaml**" in report

    acknowledged = _settings(cpus=2, **WITHOUT, acknowledge={"deleteVolume": ["scratch"]})
    author.commit("on purpose", {FILE: acknowledged})
    author.git("push", "-q", "origin", "topic")
    ci.git("pull", "-q")
    code, report = _previewed(ci)
    assert code == 0, report
    assert "; acknowledged by acknowledge.deleteVolume" in report
    assert "- queue **small**: guaranteed cores 1 → 2" in report
    assert f" policies (tensorplane {__version__}) | passed |" in report
    assert "- volume **scratch** is deleted: 1 GiB" in report
    assert "<svg" in (ci.folder / "preview.svg").read_text()

    author.git("switch", "-q", "main")
    author.git("merge", "-q", "--no-ff", "-m", "merge topic", "topic")
    author.git("push", "-q", "origin", "main")
    ci.git("switch", "-q", "main")
    ci.git("pull", "-q")
    _deployed(stack)
    eventually(lambda: {one["metadata"]["name"] for one in deployed.kube.items(_CLAIMS)} == {"models"})

    drift = ci.tensorplane("drift", "--stack", NAME)
    assert (drift.returncode, drift.stdout) == (0, "No drift.\n"), drift.stderr
    deployed.kube.delete(_POLICY)
    apps = client.AppsV1Api(config.new_client_from_config(str(deployed.instance.kubeconfig)))
    patch = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 20}}}}
    apps.patch_namespaced_deployment("server", NAMESPACE, patch)
    drift = ci.tensorplane("drift", "--stack", NAME)
    assert drift.returncode == DRIFTED, drift.stdout + drift.stderr
    changed, deleted, repair = drift.stdout.splitlines()
    assert changed.startswith("Deployment server was changed: spec.template.spec.terminationGracePeriodSeconds ")
    assert deleted == "NetworkPolicy server-clients was deleted"
    assert repair.endswith("; to repair: make up STACK=flow REFRESH=1")
    _deployed(stack, refresh=True)
    assert deployed.kube.get(_POLICY)
    drift = ci.tensorplane("drift", "--stack", NAME)
    assert (drift.returncode, drift.stdout) == (0, "No drift.\n"), drift.stderr
