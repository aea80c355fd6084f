"""A report in which everything that somebody else chose is hostile: it has the parts of any report, and the texts."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from tensorplane.cli.commands.preview import picture, render, stages
from tensorplane.cli.commands.preview.pods import Pods
from tensorplane.cli.commands.preview.report import Change, PolicyResult, Property, Report
from tensorplane.cli.output import escaping
from tensorplane.components.base import outputs
from tensorplane.driver.update.data_at_risk import Risk
from tests.hosts.preview_events import group, queue
from tests.support import forges
from tests.support.hostile_names import HOSTILE


def _report(name: str) -> Report:
    """A report with the name in every place."""
    t4 = group("t4", name, (0, 2), gpusMax=2, hourlyUsdMax=1.0, taints=[f"{name}=x:NoSchedule"])
    image = f"another.example/{name}"
    stage = {"reads": [name], "writes": name, "after": [], "program": "1", "parallel": 1, "gpus": 1, "queue": name}
    components: dict[str, Any] = {
        outputs.NODE_GROUP: {name: (t4, {**t4, "maxNodes": 4, "gpusMax": 4, "labels": {name: name}})},
        outputs.QUEUE: {name: (queue("low", {name: (1, 0, 0)}), queue("low", {name: (2, 0, 0)}, name))},
        outputs.VOLUME: {
            name: ({"sizeGib": 1, "backend": name}, {}),
            "b": ({}, {"sizeGib": 1, "backend": "nfs", "datasets": {name: name}}),
        },
        outputs.MODEL_SERVER: {name: ({"serves": {name: name}, "image": "1"}, {"serves": {name: "2"}, "image": image})},
        outputs.TRAINING_JOB: {name: ({"image": image, "queue": None}, {"image": "2", "queue": name})},
        outputs.PIPELINE: {name: ({}, {"stages": [name], "dag": {name: stage}})},
    }
    changed = Property(name, name, "2", replaces=True)
    return Report(
        "prod",
        changes=(
            Change("delete", "core/v1:ConfigMap", name),
            Change("replace", "jobset.x-k8s.io/v1alpha2:JobSet", name, (changed,)),
            Change("update", "aws:eks/nodeGroup:NodeGroup", name, (changed,)),
            Change("update", f"v1:{name}", name, (Property("a", "", name, replaces=False),)),
        ),
        components=components,
        pods_before=(Pods(outputs.TRAINING_JOB, name, name, spec={"containers": []}),),
        policy_results=(
            PolicyResult(name, "tensorplane 0.1.0", "mandatory", (f"{name} requests 4 GPUs",)),
            PolicyResult("b", "t"),
        ),
        errors=(name, f"queues.{name}: unknown"),
        warnings=(name, f"volume {name} is small"),
        risks=(Risk(f"volume {name} is deleted; add `x: [b]`", stops_update=True), Risk(name)),
        runs=(f"new run of {name}: image changed",),
        stand_ins=((name, "unused"),),
        failed=True,
    )


@pytest.mark.parametrize("forge", forges.FORGES)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_report_has_the_same_parts_whatever_the_names(name: str, forge: str) -> None:
    shown, plain = (forges.page(forge, render.markdown(_report(each))) for each in (name, "plain-name"))
    without_code = [[tag for tag in page.tags if tag != "code"] for page in (shown, plain)]
    assert without_code[0] == without_code[1], "no markup"
    assert (shown.wrong, shown.unclosed, list(shown.live())) == ([], [], [])
    visible = " ".join(escaping.visible(name).split())
    assert " ".join(shown.text.split()).count(visible) >= 20
    without_names = len(plain.open_text.replace("plain-name", ""))
    assert len(shown.open_text) >= without_names, "nothing is hidden"


@pytest.mark.parametrize("name", HOSTILE)
def test_pictures_show_names_as_they_are(name: str) -> None:
    for text in (picture.svg(_report(name)), stages.svg(_report(name))):
        drawn = "".join(ElementTree.fromstring(text).itertext())
        assert escaping.visible(name)[:20] in drawn
        assert not any(escaping.visible(each) != each for each in drawn if each != "\n")
