"""Node groups as kops' InstanceGroups: every field is one that kops knows, and what cannot be exported is one line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import __main__ as commands
from cli import kops as command
from cli.kops import Choice
from components import catalog, kops
from components.node_group import NodeGroupArgs, Shape
from components.node_shape import Site, resolve
from embedded.fault import Fault
from tests.unit import kops_schema
from tests.unit.rendering import PROJECT

EXAMPLE = PROJECT / "examples" / "kops.yaml"
SITE = Site("existing", "eks", "us-east-1")
GROUPS: dict[str, dict[str, Any]] = {
    "cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 4},
    "spot": {"accelerator": "t4", "max": 4, "spot": True},
    "zones": {"accelerator": "t4", "max": 4, "zones": ["us-east-1a", "us-east-1b"], "diskGib": 300},
    "shared": {"accelerator": "t4", "max": 4, "sharing": {"kind": "timeSlicing", "replicas": 4}},
    "taints": {"accelerator": "t4", "max": 4, "taints": [{"key": "team", "effect": "PreferNoSchedule"}]},
    "labels": {"accelerator": "l4", "max": 4, "labels": {"team": "vision", "example.com/tier": "1"}},
}


def shape_of(group: dict[str, Any]) -> Shape:
    """The shape of a group on AWS."""
    shape, faults = resolve("group", NodeGroupArgs.model_validate(group), SITE)
    assert shape and not faults
    return shape


def exported(group: dict[str, Any], runtime: str = "present", **choice: str) -> dict[str, Any]:
    """The spec of the InstanceGroup that a group comes to."""
    manifest = kops.instance_group(shape_of(group), "research.example.com", runtime, **choice)
    assert kops_schema.wrong(manifest) == []
    spec: dict[str, Any] = manifest["spec"]
    return spec


@pytest.mark.parametrize("runtime", ["present", "operator"])
@pytest.mark.parametrize("name", GROUPS)
def test_every_field_is_one_that_kops_knows(name: str, runtime: str) -> None:
    exported(GROUPS[name], runtime, image="ubuntu", driver="nvidia-driver-570-server")


@pytest.mark.parametrize("accelerator", sorted(a for a in catalog.ACCELERATORS if catalog.counts("eks", a)))
def test_every_accelerator_of_aws_can_be_exported(accelerator: str) -> None:
    count = catalog.counts("eks", accelerator)[0]
    shape, _ = resolve(
        "group", NodeGroupArgs(accelerator=accelerator, per_node=count, max=1), Site("existing", "eks", None)
    )
    assert shape and shape.machine
    manifest = kops.instance_group(shape, "research.example.com", "present")
    assert kops_schema.wrong(manifest) == []
    assert manifest["spec"]["machineType"] == shape.machine.name
    assert manifest["spec"]["containerd"] == {"nvidiaGPU": {"enabled": True}}


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("spec/rootVolume", {"size": 100}, "spec.rootVolume: unknown field"),
        ("spec/containerd/nvidiaGPU/enable", True, "spec.containerd.nvidiaGPU.enable: unknown field"),
        ("spec/rootVolumeSize", "4", "spec.rootVolumeSize: '4' is no int"),
        ("spec/maxSize", -1, "minSize is greater than maxSize"),
        ("spec/role", "Nodes", "spec.role: 'Nodes' is none of ['Node']"),
        ("spec/taints", ["team"], "taint team"),
        ("spec/cloudLabels", {"Name": "me"}, "tag Name"),
        ("spec/nodeLabels", {"tier": 1}, "spec.nodeLabels.tier: 1 is no str"),
    ],
)
def test_the_check_itself_finds_what_kops_would_refuse(path: str, value: Any, says: str) -> None:
    manifest = kops.instance_group(shape_of(GROUPS["zones"]), "research.example.com", "present")
    *parents, last = path.split("/")
    inside: Any = manifest
    for key in parents:
        inside = inside.setdefault(key, {})
    inside[last] = value
    assert kops_schema.wrong(manifest) == [says]


def test_a_gpu_group() -> None:
    spec = exported(GROUPS["zones"])
    assert spec["machineType"] == "g4dn.xlarge"
    assert (spec["minSize"], spec["maxSize"], spec["rootVolumeSize"]) == (0, 4, 300)
    assert spec["subnets"] == ["us-east-1a", "us-east-1b"]
    assert spec["taints"] == ["nvidia.com/gpu=present:NoSchedule"]
    assert spec["nodeLabels"]["tensorplane.dev/accelerator"] == "t4"
    assert spec["nodeLabels"]["k8s.amazonaws.com/accelerator"] == "t4"
    assert spec["containerd"] == {"nvidiaGPU": {"enabled": True}}
    assert spec["instanceMetadata"] == {"httpTokens": "required", "httpPutResponseHopLimit": 1}
    assert spec["rootVolumeEncryption"] is True


def test_the_autoscaler_knows_what_an_empty_group_would_have() -> None:
    tags = exported(GROUPS["shared"])["cloudLabels"]
    assert tags["k8s.io/cluster-autoscaler/research.example.com"] == "owned"
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"] == "4"
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/ephemeral-storage"] == "100Gi"


def test_a_cpu_group_has_nothing_of_gpus() -> None:
    spec = exported(GROUPS["cpu"])
    assert "containerd" not in spec
    assert "subnets" not in spec
    assert "image" not in spec
    assert spec["taints"] == []
    assert not any("gpu" in key for key in (*spec["nodeLabels"], *spec["cloudLabels"]))


def test_a_spot_group_takes_what_is_to_be_had() -> None:
    spec = exported(GROUPS["spot"], "operator")
    assert spec["capacityRebalance"] is True
    assert spec["mixedInstancesPolicy"] == {
        "instances": ["g4dn.xlarge", "g4dn.2xlarge", "g4dn.4xlarge", "g4dn.8xlarge"],
        "onDemandBase": 0,
        "onDemandAboveBase": 0,
        "spotAllocationStrategy": "price-capacity-optimized",
    }
    assert "mixedInstancesPolicy" not in exported(GROUPS["cpu"])


def test_the_gpu_operator_brings_what_kops_would_install() -> None:
    assert "containerd" not in exported(GROUPS["zones"], "operator")


def test_image_and_driver_are_yours_to_choose() -> None:
    spec = exported(GROUPS["zones"], image="an-ubuntu", driver="nvidia-driver-570-server")
    assert spec["image"] == "an-ubuntu"
    assert spec["containerd"] == {"nvidiaGPU": {"enabled": True, "package": "nvidia-driver-570-server"}}


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


def faults_of(file: Path, **choice: str) -> list[str]:
    """The lines that the command prints instead of manifests."""
    with pytest.raises(Fault) as caught:
        command.text(file, Choice(**choice))
    return list(caught.value.lines)


def test_the_example_is_one_document_for_each_group() -> None:
    text = command.text(EXAMPLE, Choice())
    documents = list(yaml.safe_load_all(text))
    assert [document["metadata"]["name"] for document in documents] == ["cpu", "cpu-spot", "t4", "a100"]
    assert all(d["metadata"]["labels"] == {"kops.k8s.io/cluster": "research.example.com"} for d in documents)
    assert [kops_schema.wrong(document) for document in documents] == [[], [], [], []]
    assert text.count("# The cluster needs the same") == 2


def test_the_cluster_may_have_another_name_than_the_context() -> None:
    documents = list(yaml.safe_load_all(command.text(EXAMPLE, Choice(cluster="other.example.com"))))
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
        ({"cluster": EKS, "gpuRuntime": {"kind": "plugin"}}, "cluster.kind: got eks: kops' clusters are of kind "
         "existing"),
        ({"cluster": LAB, "nodeGroups": {"t4": GPU}}, "cluster.machines: missing: kops rents machines of AWS, need "
         "eks"),
        ({"nodeGroups": {}, **ALONE}, "nodeGroups: missing: an InstanceGroup is made of each"),
        ({"gpuRuntime": {"kind": "plugin"}}, "gpuRuntime.kind: got plugin, and kops installs a device plugin with the "
         "driver: need present, or operator for both"),
        ({"nodeGroups": {"cpu": CPU, "t4": {**GPU, "reserved": {"id": "cr-1"}}}}, "nodeGroups.t4.reserved: given, "
         "and the nodes are there already: leave it out"),
        ({"nodeGroups": {"cpu": CPU, "t4": {**GPU, "spot": True}}}, "nodeGroups.t4.spot: kops' device plugin does not "
         "tolerate tensorplane.dev/spot=true:NoSchedule, so that the nodes would have no GPUs: need gpuRuntime kind "
         "operator"),
        ({"nodeGroups": {"cpu": CPU, "g7": {"accelerator": "rtx-pro-6000", "max": 1}}, **ALONE},
         "nodeGroups.g7.accelerator: blackwell needs driver 570, kops installs 535: name a package of Ubuntu's with "
         "--driver, or use gpuRuntime kind operator"),
        # What is wrong with the settings themselves is said as everywhere.
        ({"nodeGroups": {"cpu": {**CPU, "min": 3}, "t4": GPU}}, "nodeGroups.cpu.min: got 3 with max 2, need at most 2"),
    ],
    ids=lambda part: part[:40] if isinstance(part, str) else "",
)  # fmt: skip
def test_what_cannot_be_exported_is_one_line(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    assert faults_of(stack_file(tmp_path, **changes)) == [f"tensorplane:{says}"]


def test_one_image_is_not_for_two_architectures(tmp_path: Path) -> None:
    groups = {"cpu": CPU, "arm": {"machine": "m7g.2xlarge", "max": 2}}
    file = stack_file(tmp_path, nodeGroups=groups, **ALONE)
    (line,) = faults_of(file, image="an-ubuntu")
    need = "leave it out, kops has one for each"
    assert line == f"tensorplane:nodeGroups: of amd64 (cpu) and arm64 (arm), and --image is for one of them: {need}"
    assert "image" not in command.text(file, Choice())


def test_with_the_operator_spot_gpus_can_be_exported(tmp_path: Path) -> None:
    groups = {"cpu": CPU, "t4": {**GPU, "spot": True}}
    file = stack_file(tmp_path, nodeGroups=groups, gpuRuntime={"kind": "operator"}, **ALONE)
    assert "containerd" not in command.text(file, Choice())


def test_with_a_newer_driver_the_newest_gpus_can_be_exported(tmp_path: Path) -> None:
    groups = {"cpu": CPU, "g7": {"accelerator": "rtx-pro-6000", "max": 1}}
    file = stack_file(tmp_path, nodeGroups=groups, **ALONE)
    assert "package: nvidia-driver-580-server" in command.text(file, Choice(driver="nvidia-driver-580-server"))


def test_encrypted_settings_are_not_guessed_at(tmp_path: Path) -> None:
    (line,) = faults_of(stack_file(tmp_path, nodeGroups={"secure": "AAAA"}))
    assert line == "tensorplane:nodeGroups: Pulumi alone can read what is encrypted; write it in clear"


def test_the_command_names_the_stacks_that_there_are(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["cli", "kops", "--stack", "nowhere"])
    assert commands.main() == 1
    assert "there is no Pulumi.nowhere.yaml; have" in capsys.readouterr().err
