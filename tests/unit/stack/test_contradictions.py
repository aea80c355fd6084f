"""Settings that are valid each and cannot hold together, and numbers that make no sense: one line, or a note."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.unit.stack.test_found_by_review import _notes, _problems, _tree

_SERVER = "workloads/digits-server"
_GATE = f"{_SERVER}/model/canary/gate"
_SEARCH = "workloads/digits-search/search/parameters"


@pytest.mark.parametrize(
    ("stack", "settings", "line"),
    [
        ("serving", {f"{_SERVER}/expose": {"kind": "gateway", "name": "public", "namespace": "gateways",
                                           "hosts": ["shapes.example.org"]}},
         "workloads.shapes-server.expose.hosts: shapes.example.org is also a host of model server digits-server, whose "
         "route gets its requests; use another host"),
        ("Pulumi.dev", {"acknowledge": {"replaceVolume": ["models"]}},
         "acknowledge.replaceVolume.0: volume models has retain: true, which refuses its replacement; set "),
        ("canary", {f"{_GATE}/0/threshold": 5}, "workloads.digits-server.model.canary.gate.0.threshold: invalid value "
         "5; use a threshold of errorRate below 1 (did you mean 0.05?)"),
        ("canary", {f"{_GATE}/1/threshold": 95}, "workloads.digits-server.model.canary.gate.1.threshold: invalid value "
         "95; use a threshold of accuracy above 0, at most 1 (did you mean 0.95?)"),
        ("canary", {f"{_GATE}/1/threshold": 0}, "workloads.digits-server.model.canary.gate.1.threshold: invalid value "
         "0; use a threshold of accuracy above 0, at most 1"),
        ("canary", {f"{_GATE}/0": {"metric": "latencyP99Millis", "threshold": 0}},
         "workloads.digits-server.model.canary.gate.0.threshold: invalid value 0; use a threshold of latencyP99Millis"),
        ("sweep", {f"{_SEARCH}/LAYERS/step": 10}, "workloads.digits-search.search.parameters.LAYERS.step: is 10, more "
         "than the range from 1 to 4, so 1 is the only value; set 3 or less"),
        ("Pulumi.dev", {"workloads/digits/checkpoints/path": "digits/1"}, "workloads.digits.checkpoints.path: is "
         "inside version 1 of the model in digits; use a folder that is in no version"),
        ("Pulumi.dev", {"workloads/digits/tensorboard": {"volume": "models", "path": "digits/2/logs"}},
         "workloads.digits.tensorboard.path: is inside version 2 of the model in digits; use a folder"),
        ("Pulumi.dev", {"workloads/digits/env/memoryGib": 4},
         "workloads.digits.env.memoryGib: memoryGib is a setting of the job, not a variable; move it out of env"),
        ("Pulumi.dev", {"workloads/digits/command/0": "“python3”"}, "workloads.digits.command.0: invalid value "
         "'“python3”'; use text without typographic quotes around it (did you mean python3?)"),
        ("serving", {"workloads/text-server/models/spam": {"uri": "s3://My-Bucket/x"}},
         "workloads.text-server.models.spam.uri: invalid value 's3://My-Bucket/x'; use the bucket name: 3 to 63 "
         "lower-case letters, digits, dots and dashes after s3:// (did you mean s3://my-bucket/x?)"),
        ("eks-volumes", {"volumes/models/snapshots": {"schedule": "0 3 * * *", "keep": 5}},
         "volumes.models.snapshots.keep: is set, but AWS Backup keeps snapshots by age only; remove it, "),
        ("scorer", {"workloads/clicks-scorer/output/topic": "clicks"}, "workloads.clicks-scorer.output.topic: is "
         "clicks, which is also the input's: results would be scored again; use another topic"),
        ("queues", {"cohorts": {"a": {"parent": "b"}, "b": {"parent": "a"}}}, "cohorts.a.parent: the cohorts form a "
         "cycle (a in b in a); set a parent that is not inside this cohort; also affects cohorts.b.parent"),
        ("snapshots", {"volumes/models/from": {"volume": "scratch"}}, "volumes.models.from.volume: volume scratch is "
         "itself a clone of this volume; choose another volume for one of them; also affects volumes.scratch.from.vol"),
        ("private-data", {"volumes/models-copy/mirror": {"to": {"volume": "models"}, "every": "15m"}},
         "volumes.models.mirror.to.volume: volume models-copy is already mirrored to this volume; remove one "
         "direction; also affects volumes.models-copy.mirror.to.volume"),
        ("teams", {"volumes/models/readers": ["digit"]}, "workloads.digits.model.volume: volume models does not allow "
         "digits to mount it; add it to the volume's readers or writers, which have digit"),
        ("queues", {"queues/production/lends": {"t4": 1}},
         "queues.production.lends.t4: is 1, but the queue's nominal quota is 0; remove it"),
        ("queues", {"teams/audio": {"gpus": 4}}, "teams.audio.gpus: is 4, but the queues of team audio offer 0; give a "
         "queue of the team GPUs, or remove it"),
        ("Pulumi.prod", {"nodeGroups/cpu/machine": "n2-standard-8"}, "nodeGroups.cpu.machine: unknown machine "
         "'n2-standard-8' on eks; make catalog CLOUD=eks lists all"),
        ("snapshots", {"volumes/models/snapshots/schedule": "TZ=Europe/Berlin 0 3 * * *"},
         "volumes.models.snapshots.schedule: invalid value 'TZ=Europe/Berlin 0 3 * * *'; use five fields in UTC ("),
    ],
)  # fmt: skip
def test_what_cannot_hold_together_is_one_line(stack: str, settings: dict[str, Any], line: str) -> None:
    tree = _tree(stack)
    for path, value in settings.items():
        _put(tree, path.split("/"), value)
    (found,) = problems_of(tree)
    assert found.startswith(f"tensorplane:{line}")


def _put(node: Any, path: list[str], value: Any) -> None:
    """Also at a position of a list."""
    key: Any = int(path[0]) if isinstance(node, list) else path[0]
    if path[1:]:
        _put(node[key] if isinstance(node, list) else node.setdefault(key, {}), path[1:], value)
    else:
        node[key] = value


def test_the_same_host_on_two_gateways_is_fine() -> None:
    other = {"kind": "gateway", "name": "other", "namespace": "gateways", "hosts": ["shapes.example.org"]}
    assert _problems("serving", **{f"{_SERVER}/expose": other}) == []


@pytest.mark.parametrize(
    ("stack", "path", "value", "note"),
    [
        ("queues", "teams/audio", {"retain": False},
         "teams.audio: no queue has the team, so its jobs cannot be queued; add it to teams of a queue"),
        ("streams", "streams/events/topics/clicks/partitions", 2, "workloads.ranker.strategy.workers: is 4, but topic "
         "clicks of stream events has 2 partitions, each read by one worker; set 2 or less, or raise partitions"),
        ("aks", f"{_SERVER}/expose", {"kind": "loadBalancer", "public": True, "allowedCidrs": ["0.0.0.0/0"]},
         "workloads.digits-server.expose.allowedCidrs: allows the whole internet, and TensorFlow Serving has no"),
    ],
)  # fmt: skip
def test_what_is_seldom_meant_is_a_note(stack: str, path: str, value: Any, note: str) -> None:
    (found,) = _notes(stack, **{path: value})
    assert found.startswith(note)
