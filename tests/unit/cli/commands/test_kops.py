"""Node groups as kops' InstanceGroups: every field is one that kops knows, and what cannot be exported is one line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.cli import __main__ as commands
from tensorplane.cli.commands.kops import command as kops
from tensorplane.cli.commands.kops.command import Choice
from tensorplane.core.errors import UserError
from tests.support import kops_schema
from tests.support.rendering import PROJECT

EXAMPLE = PROJECT / "examples" / "kops.yaml"


def stack_file(tmp_path: Path, **changes: Any) -> Path:
    """The example with some of its settings changed."""
    config = yaml.safe_load(EXAMPLE.read_text())["config"]
    if "nodeGroups" in changes:
        # Its quotas are those of the example's own groups.
        config |= {"tensorplane:queues": {}, "tensorplane:workloads": {}}
    config |= {f"tensorplane:{key}": value for key, value in changes.items()}
    file = tmp_path / "Pulumi.lab.yaml"
    file.write_text(yaml.safe_dump({"config": config}))
    return file


def problems_of(file: Path, **choice: str) -> list[str]:
    """The lines that the command prints instead of manifests."""
    with pytest.raises(UserError) as caught:
        kops.text(file, Choice(**choice))
    return list(caught.value.lines)


def test_the_example_is_one_document_for_each_group() -> None:
    text = kops.text(EXAMPLE, Choice())
    documents = list(yaml.safe_load_all(text))
    assert [document["metadata"]["name"] for document in documents] == ["cpu", "cpu-spot", "t4", "a100"]
    assert all(d["metadata"]["labels"] == {"kops.k8s.io/cluster": "research.example.com"} for d in documents)
    assert [kops_schema.find_problems(document) for document in documents] == [[], [], [], []]
    assert text.count("# The cluster needs the same") == 2


def test_the_cluster_may_have_another_name_than_the_context() -> None:
    documents = list(yaml.safe_load_all(kops.text(EXAMPLE, Choice(cluster="other.example.com"))))
    assert {d["metadata"]["labels"]["kops.k8s.io/cluster"] for d in documents} == {"other.example.com"}
    assert "k8s.io/cluster-autoscaler/other.example.com" in documents[0]["spec"]["cloudLabels"]


ZONES = ["us-east-1a", "us-east-1b", "us-east-1c"]
EKS = {"kind": "eks", "region": "us-east-1", "zones": ZONES, "endpoint": {"deployFromInside": True}}
LAB = {"kind": "existing", "context": "lab"}
CPU = {"machine": "m7i.2xlarge", "min": 1, "max": 2}
GPU = {"accelerator": "t4", "max": 2}
ALONE: dict[str, Any] = {"workloads": {}, "queues": {}, "volumes": {}}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"cluster": EKS, "gpuRuntime": {"kind": "plugin"}},
            "cluster.kind: cluster kind eks is not run by kops; use kind existing"),
        ({"cluster": LAB, "nodeGroups": {"t4": GPU}},
            "cluster.machines: machines is not set, but kops runs clusters on AWS; set it to eks"),
        ({"nodeGroups": {}, **ALONE}, "nodeGroups: no node groups are declared; declare one per InstanceGroup"),
        ({"gpuRuntime": {"kind": "plugin"}},
            "gpuRuntime.kind: kops already installs a device plugin with the driver; use kind present, or "
            "operator to install both"),
        ({"nodeGroups": {"cpu": CPU, "t4": {**GPU, "reserved": {"id": "cr-1"}}}},
            "nodeGroups.t4.reserved: is set, but the nodes already exist; remove it"),
        ({"nodeGroups": {"cpu": CPU, "t4": {**GPU, "spot": True}}},
            "nodeGroups.t4.spot: kops' device plugin does not tolerate tensorplane.dev/spot=true:NoSchedule, so "
            "the nodes would have no GPUs; use gpuRuntime kind operator"),
        ({"nodeGroups": {"cpu": CPU, "g7": {"accelerator": "rtx-pro-6000", "max": 1}}, **ALONE},
         "nodeGroups.g7.accelerator: blackwell requires driver 570, and kops installs 535; name a newer Ubuntu "
         "package with --driver, or use gpuRuntime kind operator"),
        # What is wrong with the settings themselves is said as everywhere.
        ({"nodeGroups": {"cpu": {**CPU, "min": 3}, "t4": GPU}},
            "nodeGroups.cpu.min: min is 3 but max is 2; set min to 2 or less"),
    ],
    ids=lambda part: part[:40] if isinstance(part, str) else "",
)  # fmt: skip
def test_what_cannot_be_exported_is_one_line(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    assert problems_of(stack_file(tmp_path, **changes)) == [f"tensorplane:{says}"]


def test_one_image_is_not_for_two_architectures(tmp_path: Path) -> None:
    groups = {"cpu": CPU, "arm": {"machine": "m7g.2xlarge", "max": 2}}
    file = stack_file(tmp_path, nodeGroups=groups, **ALONE)
    (line,) = problems_of(file, image="an-ubuntu")
    reason = "the groups have amd64 (cpu) and arm64 (arm), and --image fits one architecture"
    assert line == f"tensorplane:nodeGroups: {reason}; omit --image to use kops' own images"
    assert "image" not in kops.text(file, Choice())


def test_with_the_operator_spot_gpus_can_be_exported(tmp_path: Path) -> None:
    groups = {"cpu": CPU, "t4": {**GPU, "spot": True}}
    file = stack_file(tmp_path, nodeGroups=groups, gpuRuntime={"kind": "operator"}, **ALONE)
    assert "containerd" not in kops.text(file, Choice())


def test_with_a_newer_driver_the_newest_gpus_can_be_exported(tmp_path: Path) -> None:
    groups = {"cpu": CPU, "g7": {"accelerator": "rtx-pro-6000", "max": 1}}
    file = stack_file(tmp_path, nodeGroups=groups, **ALONE)
    assert "package: nvidia-driver-580-server" in kops.text(file, Choice(driver="nvidia-driver-580-server"))


def test_encrypted_settings_are_not_guessed_at(tmp_path: Path) -> None:
    (line,) = problems_of(stack_file(tmp_path, nodeGroups={"secure": "AAAA"}))
    assert line == "tensorplane:nodeGroups: only Pulumi can read encrypted values; write them unencrypted"


def test_the_command_names_the_stacks_that_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cli", "kops", "--stack", "nowhere"])
    assert commands.main() == 1
    assert "Pulumi.nowhere.yaml does not exist; choose one of" in capsys.readouterr().err
