"""What tensorplane itself makes passes: every example and environment, as the engine sent it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tensorplane.components import versions
from tests.policies import recordings
from tests.policies.conftest import PACK, Judge, Violations
from tests.policies.stacks import Resource, flat
from tests.support import goldens

CHARTS = {name: chart for name, chart in vars(versions).items() if isinstance(chart, versions.Chart)}

TPU_CHIPS = {"gke-tpu-jobs": 4 * 4 + 8}
"""The quota counts every accelerator; a stack exports its GPUs."""


def _resources(name: str) -> tuple[list[Resource], int]:
    gpus = int(goldens.exports(name).get("gpus", 0)) + TPU_CHIPS.get(name, 0)
    return recordings.stack(name), gpus


@pytest.mark.parametrize("name", goldens.STACKS)
def test_a_stack_asks_for_what_it_exports_and_no_more(violations: Violations, name: str) -> None:
    resources, gpus = _resources(name)
    assert len(resources) > 5
    assert violations(*resources, maxGpus=gpus) == []
    if gpus:
        (message,) = violations(*resources, maxGpus=gpus - 1)
        assert f"The workloads request {gpus} GPUs" in message


def _config(name: str, gpus: int) -> dict[str, Any]:
    """The configuration of an environment; for examples, the defaults and as many GPUs as they request."""
    file = PACK / f"config.{name.removeprefix('stack-')}.json"
    config: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"gpu-quota": {"maxGpus": gpus}}
    return config


@pytest.mark.parametrize("name", goldens.STACKS)
def test_a_stack_complies_with_every_rule(judge: Judge, name: str) -> None:
    resources, gpus = _resources(name)
    told = judge("*", resources, _config(name, gpus))
    assert len(told) >= 25
    advised = {"image-digests"} - _config(name, gpus).keys()
    assert {rule: messages for rule, messages in told.items() if messages and rule not in advised} == {}


@pytest.mark.parametrize("name", [name for name in goldens.STACKS if goldens.exports(name).get("gpus")])
def test_only_on_the_embedded_cluster_a_stack_may_request_gpus_without_configuration(judge: Judge, name: str) -> None:
    resources, _ = _resources(name)
    (kind,) = (each["props"]["kind"] for each in resources if each["type"] == "tensorplane:index:Cluster")
    assert (judge("gpu-quota", resources, {})["gpu-quota"] == []) == (kind == "embedded")


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS.keys())
def test_a_chart_that_tensorplane_installs_is_known(violations: Violations, chart: versions.Chart) -> None:
    options = {"repositoryOpts": {"repo": chart.repository}} if chart.repository else {}
    assert violations(flat("helm.sh/v3:Release", chart.name, chart=chart.reference, **options)) == []
