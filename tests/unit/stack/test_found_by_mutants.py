"""Settings that could never have worked and were accepted, until mutants of the stacks (tests/mutants) found them."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from tests.support.problems import problems_of, put
from tests.support.rendering import PROJECT, settings_of
from tests.unit.cli.commands.check.test_check import _problems

_ARN = "arn:aws:kms:us-west-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"
_JOB, _SERVER = "workloads/digits", "workloads/digits-server"
_TRAIN = "examples/digits/train.py"


def _with(stack: str, **settings: Any) -> list[str]:
    folder = PROJECT if stack.startswith("Pulumi.") else PROJECT / "examples"
    tree = copy.deepcopy(settings_of(folder / f"{stack}.yaml").tree)
    for path, value in settings.items():
        put(tree, path, value)
    return [line.removeprefix("tensorplane:") for line in problems_of(tree)]


@pytest.mark.parametrize(
    ("stack", "path", "value", "line"),
    [
        # Commands that start no program, or a program without what it is to run.
        ("Pulumi.dev", f"{_JOB}/command", ["python3 train.py"],
         "command.0: 'python3 train.py' is a single argument; use one item for each argument: [python3, train.py]"),
        ("Pulumi.dev", f"{_JOB}/command", [" python3", "train.py"],
         "command.0: ' python3' has spaces or invisible characters; use the program alone"),
        ("Pulumi.dev", f"{_JOB}/command", ["\u200bpython3", "train.py"],
         "command.0: invalid value '\\u200bpython3'; use text without the invisible character U+200B (did you mean"),
        ("Pulumi.dev", f"{_JOB}/command", ["sh", "-c", "python3 \u200btrain.py\ufeff"],
         "command.2: invalid value 'python3 \\u200btrain.py\\ufeff'; use text without the invisible character U+200B "
         "(did you mean python3 train.py?)"),
        ("Pulumi.dev", f"{_JOB}/command", ["x" * 70_000],
         "command.0: has 70,000 characters, more than Linux allows in a path; use a shorter path"),
        ("Pulumi.dev", f"{_JOB}/command", ["./train.py"],
         "command.0: train.py is one of `files`, which are not executable; start it with a program such as python3"),
        ("Pulumi.dev", f"{_JOB}/command", ["python3", "-u", "trian.py"],
         "command.2: 'trian.py' is not one of `files`; add it (did you mean train.py?)"),
        ("Pulumi.dev", f"{_JOB}/command", ["python3", ""],
         "command.1: is empty; name the script that Python runs"),
        ("Pulumi.dev", f"{_JOB}/command", ["/bin/sh", "-c"],
         "command.1: nothing follows -c; add the code or module that /bin/sh runs"),
        # Settings one level too deep, and files and folders that no system can have.
        ("Pulumi.dev", f"{_JOB}/env/maxRestarts", 10,
         "env.maxRestarts: maxRestarts is a setting of the job, not a variable; move it out of env, or rename the"),
        ("Pulumi.dev", f"{_JOB}/files/a", f"{_TRAIN}{'x' * 300}", f"files.a: {_TRAIN}xxx"),
        ("Pulumi.dev", f"{_JOB}/files/a", "package:.a/b", "files.a: package:.a/b: no Python package '.a' is installed"),
        ("Pulumi.dev", f"{_JOB}/files/a", "package:a.b/c", "files.a: package:a.b/c: no Python package 'a.b'"),
        ("Pulumi.dev", f"{_JOB}/files/{'x' * 250}", _TRAIN, "files.xxx"),
        ("Pulumi.dev", f"{_JOB}/volumes/models", f"/{'x' * 256}",
         "volumes.models.path: invalid value '/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…; use"),
        ("Pulumi.dev", f"{_JOB}/volumes/models", "/$(HOME)",
         "volumes.models.path: invalid value '/$(HOME)'; use a path without $(, after which Kubernetes expects"),
        ("Pulumi.dev", f"{_JOB}/model/path", "é" * 128,
         "model.path: invalid value 'ééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…; use a path"),
        ("Pulumi.dev", f"{_JOB}/model/path", "~/digits", "model.path: invalid value '~/digits'; use a path "
         "relative to"),
        ("Pulumi.dev", f"{_JOB}/model/path", "digits\u202e", "model.path: invalid value 'digits\\u202e'; use one "
         "line of text"),
        # Machines that nobody described.
        ("Pulumi.dev", f"{_SERVER}/resources/nodeGroup", "cpu",
         "resources.nodeGroup: no node group is named 'cpu'; declare it in nodeGroups"),
        ("Pulumi.dev", f"{_SERVER}/resources/gpus", 1,
         "resources.gpus: is 1, but the node of the embedded cluster has no GPUs; set 0, declare simulated nodes"),
        ("existing-cluster", f"{_SERVER}/resources", {"gpus": 1, "accelerator": "l4"},
         "resources.accelerator: the stack declares no nodeGroups with l4; declare one"),
        # Sizes, keys and networks that a cloud refuses.
        ("eks-volumes", "nodeGroups/cpu/machine", "t3.micro",
         "machine: t3.micro is too small for the pods that EKS runs on each node; use one with at least 2 GiB"),
        ("Pulumi.prod", "nodeGroups/new/zones", ["us-west-2b", "us-west-2a"],
         "zones: EFA connects machines of one zone only; choose one of us-west-2b, us-west-2a, or declare a group"),
        ("aks-volumes", "nodeGroups/cpu/diskGib", 2049,
         "diskGib: 2049 GiB exceeds the largest node disk of AKS; set 2048 or less"),
        ("gke-volumes", "volumes/experiment/backend/kmsKey", _ARN,
         "backend.kmsKey: 'arn:aws:kms:us-west-2:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab' is not"),
        ("gke-tpu", "cluster/network/existing/subnetwork", "projects/acme-network/regions/us-east1/subnetworks/ml",
         "network.existing.subnetwork: is in region us-east1, but the cluster is in us-west1; use a subnetwork of"),
        ("gke-tpu", "cluster/network/existing/network", "projects/Acme Network/global/networks/ml",
         "network.existing.network: 'projects/Acme Network/global/networks/ml' is not a valid name; use its name,"),
        ("existing-cluster", "queues/research/cpus", 2**63 - 1,
         "cpus: invalid value 9223372036854775807; use 10,000,000 or less"),
        ("private-data", "volumes/models-copy/backend/restServers", ["api1.example.org:8443x"],
         "backend.restServers.0: invalid value 'api1.example.org:8443x'; use one host, such as"),
        ("gke-tpu", "cluster/network/controlPlaneCidr", "team",
         "network.controlPlaneCidr: invalid value 'team'; use IPv4 addresses as a CIDR, such as 10.0.0.0/16"),
        # Empty for ever, or never as new as what they follow.
        *(("private-data", f"volumes/{volume}/accessModes", ["ReadOnlyMany"],
           "accessModes: is ReadOnlyMany only, but VolSync writes the mirror's data to this volume; use")
          for volume in ("labels", "models-copy")),
        *((stack, f"volumes/{volume}/accessModes", ["ReadOnlyMany"],
           "accessModes: is ReadOnlyMany only, but the volume starts empty, so it would stay empty; set `from`, or")
          for stack, volume in (("gke-volumes", "datasets"), ("eks-data", "models"), ("private-data", "checkpoints"))),
    ],
)  # fmt: skip
def test_what_could_never_work_is_one_line(stack: str, path: str, value: Any, line: str) -> None:
    (found,) = _with(stack, **{path: value})
    section, name, _ = path.split("/", 2)
    assert found.startswith(f"{section}.{line}" if section == "cluster" else f"{section}.{name}.{line}")


@pytest.mark.parametrize(
    ("stack", "path", "value"),
    [
        ("gke-volumes", "volumes/experiment-copy/placement/zones", "us-central1-a"),
        ("datasets", "datasets/clicks/table/partitions", "day"),
        ("Pulumi.prod", "cluster/zones", "us-west-2a"),
        ("gke-tpu", "cluster/zones", "us-west1-c"),
        ("aks", "cluster/zones", "1"),
        ("Pulumi.prod", "nodeGroups/new/zones", "us-west-2b"),
        ("simulated-fleet", "nodeGroups/cpu/zones", "a"),
    ],
)  # fmt: skip
def test_what_a_cloud_takes_once_is_refused_twice(stack: str, path: str, value: str) -> None:
    (found,) = _with(stack, **{path: [value, value]})
    line = f"invalid value (a list); use each value once, not {value} twice"
    assert found == f"{path.replace('/', '.')}: {line}"


@pytest.mark.parametrize(
    ("stack", "path", "value"),
    [
        ("Pulumi.dev", f"{_JOB}/command", ["python3", "-W", "ignore", "./train.py", "--quick"]),
        ("Pulumi.dev", f"{_JOB}/command", ["python3", "-m", "train"]),
        ("Pulumi.dev", f"{_JOB}/command", ["sh", "-c", "python3 train.py"]),
        ("Pulumi.dev", f"{_JOB}/command", ["python3", "/opt/train.py"]),
        ("Pulumi.dev", f"{_JOB}/env/MAX_RESTARTS", 10),
        ("eks-data", "volumes/models",
         {"sizeGib": 1, "backend": {"kind": "s3", "bucket": "acme-models"}, "accessModes": ["ReadOnlyMany"]}),
        ("gke-tpu", "cluster/network/existing/subnetwork", "ml"),
    ],
)  # fmt: skip
def test_what_can_work_is_accepted(stack: str, path: str, value: Any) -> None:
    assert _with(stack, **{path: value}) == []


def test_without_files_there_is_no_script_to_run() -> None:
    (line,) = _with("Pulumi.dev", **{f"{_JOB}/files": {}})
    assert line.startswith(
        "workloads.digits.command.1: 'train.py' is not one of `files`; add it, or use an image that has it"
    )


def test_a_script_may_be_in_an_image_of_yours() -> None:
    mine = {f"{_JOB}/image": "registry.example/train:1.4", f"{_JOB}/command": ["python3", "other.py"]}
    assert _with("Pulumi.dev", **mine, **{f"{_JOB}/files": {}}) == []


def test_an_invalid_boolean_is_not_shown_as_a_number(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    job = "kind: trainingJob, strategy: {kind: single}, command: [a], volumes: {b: /b}"
    text = f"workloads: {{x: {{{job}, checkpoints: {{volume: b, path: True}}}}}}, volumes: {{b: {{sizeGib: 1}}}}"
    file.write_text(f"config: {{{text}}}\n")
    (line,) = _problems(file)
    assert line.startswith("tensorplane:workloads.x.checkpoints.path: invalid value True; use text")


def test_a_number_with_a_leading_zero_is_not_silently_octal(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config: {volumes: {a: {sizeGib: 017}, b: {sizeGib: 007}, c: {sizeGib: 0x10}}}\n")
    assert _problems(file) == [
        "tensorplane:volumes.a.sizeGib: Pulumi reads 017 as an octal number, 15; write 17 or 15",
    ]


def test_an_octal_number_outside_of_its_limits_is_refused_for_its_size_alone(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.dev.yaml"
    file.write_text("config: {nodeGroups: {a: {accelerator: t4, perNode: 061, max: 2}}}\n")
    assert _problems(file) == ["tensorplane:nodeGroups.a.perNode: invalid value 061; use 16 or less"]
