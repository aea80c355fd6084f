"""Settings of the GPU runtime that cannot work with the cluster or its node groups: a line each, before anything."""

from dataclasses import replace
from typing import Any

import pytest

from tensorplane.components.gpu_runtime import GpuRuntimeArgs
from tensorplane.components.gpu_runtime.operator import Operator
from tensorplane.components.gpu_runtime.plugin import Plugin
from tensorplane.components.gpu_runtime.present import Present
from tensorplane.components.node_groups.fleet import Fleet
from tests.support.problems import problems_of
from tests.unit.gpu_runtime.test_gpu_runtime import SHARING, problems, settings, shared


@pytest.mark.parametrize(
    ("runtime", "kind", "names", "line"),
    [
        (
            Operator(),
            "gke",
            ("whole",),
            "gpuRuntime.kind: kind operator is not available on cluster kind gke, which brings its own; use present",
        ),
        (
            Plugin(),
            "gke",
            ("whole",),
            "gpuRuntime.kind: kind plugin is not available on cluster kind gke, which brings its own; use present",
        ),
        (
            Operator(),
            "embedded",
            ("whole",),
            "gpuRuntime.kind: kind operator is not available on cluster kind embedded; use plugin or present",
        ),
        (
            Operator(driver=True),
            "eks",
            ("whole",),
            "gpuRuntime.driver: node images of cluster kind eks have the driver; set driver: false",
        ),
        (
            Operator(toolkit=True),
            "eks",
            ("whole",),
            "gpuRuntime.toolkit: node images of cluster kind eks have the toolkit; set toolkit: false",
        ),
        (
            Operator(driver=False, toolkit=True),
            "aks",
            ("whole",),
            "gpuRuntime.driver: node images of cluster kind aks have no driver where the operator runs; remove "
            "it, or use kind plugin",
        ),
        (
            Operator(driver_version="595.91.07"),
            "eks",
            ("whole",),
            "gpuRuntime.driverVersion: the operator installs no driver on this cluster; remove driverVersion",
        ),
        (
            Present(),
            "aks",
            ("mps-8",),
            "nodeGroups.mps-8.sharing: conflicts with gpuRuntime kind present, whose device plugin tensorplane "
            "does not configure; use gpuRuntime kind plugin or operator",
        ),
        (
            None,
            "existing",
            ("time-slicing-4",),
            "nodeGroups.time-slicing-4.sharing: conflicts with gpuRuntime kind present, whose device plugin "
            "tensorplane does not configure; use gpuRuntime kind plugin or operator",
        ),
        (
            None,
            "eks",
            ("mig-1g.10gb",),
            "nodeGroups.mig-1g.10gb.sharing: on cluster kind eks only the GPU Operator configures MIG; use "
            "gpuRuntime kind operator",
        ),
    ],
)
def test_what_cannot_work_is_one_line(
    runtime: GpuRuntimeArgs | None, kind: str, names: tuple[str, ...], line: str
) -> None:
    assert problems(runtime, kind, shared(*names)) == [line]


def test_googles_own_plugin_is_told_by_the_node_pool() -> None:
    assert problems(None, "gke", shared(*SHARING)) == []


@pytest.mark.parametrize(
    ("version", "accepted"),
    [(None, False), ("595.91.07", False), ("580.178.04", True), ("535.230.02", True)],
)
def test_old_cards_need_a_driver_that_still_knows_them(version: str | None, accepted: bool) -> None:
    new = shared("whole").groups["whole"]
    assert new.accelerator
    old = replace(new, accelerator=replace(new.accelerator, name="v100", architecture="volta"))
    runtime = Operator(driver_version=version)
    driver = f"driver {version}" if version else "the operator's own driver"
    line = f"gpuRuntime.driverVersion: {driver} does not support v100; set a driver of branch 580 or older"
    found = problems(runtime, "existing", Fleet({"old": old}))
    assert [one.split(", such as")[0] for one in found] == ([] if accepted else [line])
    assert problems(runtime, "existing", Fleet({"new": new})) == []


@pytest.mark.parametrize("kind", ["eks", "existing"])
def test_the_operator_serves_every_way_of_sharing(kind: str) -> None:
    assert problems(Operator(), kind, shared(*SHARING)) == []


@pytest.mark.parametrize(
    ("given_settings", "line"),
    [
        (
            {"kind": "pluggin"},
            "gpuRuntime.kind: invalid value 'pluggin'; use operator, plugin or present (did you mean plugin?)",
        ),
        ({"kind": "plugin", "runtimeClass": "Nvidia_"}, "gpuRuntime.runtimeClass: invalid value 'Nvidia_'; use"),
        ({"kind": "plugin", "driver": True}, "gpuRuntime.driver: unknown setting; allowed here: featureDiscovery"),
        ({"kind": "plugin", "metrics": "prometheus"}, "gpuRuntime.metrics: invalid value 'prometheus'; use none,"),
        (
            {"kind": "operator", "driverVersion": "580"},
            "gpuRuntime.driverVersion: invalid value '580'; use a driver's version",
        ),
    ],
)
def test_mistyped_settings_are_one_line(given_settings: dict[str, Any], line: str) -> None:
    (found,) = problems_of(settings(gpuRuntime=given_settings))
    assert found.startswith(f"tensorplane:{line}")


def test_a_stack_with_such_settings_is_refused() -> None:
    shares = {"old": {"accelerator": "t4", "max": 2, "sharing": {"kind": "timeSlicing", "replicas": 2}}}
    (line,) = problems_of(settings(nodeGroups=shares))
    assert line.startswith("tensorplane:nodeGroups.old.sharing: conflicts with gpuRuntime kind present")
    assert problems_of(settings(nodeGroups=shares, gpuRuntime={"kind": "plugin"})) == []
