"""FSx for Lustre as it is registered: what it is made of, who reaches and owns it, what keeps it, its bucket."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import rendering
from tests.support.rendered_files import rendered_file, rendered_tree
from tests.support.rendering import PROJECT, Rendered
from tests.unit.volumes.clouds.test_eks import EAST, EKS, WEST, problems

LUSTRE = {"kind": "fsxLustre"}
SCRATCH = {**LUSTRE, "deployment": "scratch"}
LINKED = {**LUSTRE, "repository": {"bucket": "example-images"}}
NIGHTLY = {"schedule": "0 3 * * *", "expire": "35d"}
BACKUP = "backup-0123456789abcdef0"


def made() -> Rendered:
    return rendered_file(PROJECT / "examples" / "eks-data.yaml")


def with_volume(volume: dict[str, Any]) -> Rendered:
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}
    tree = {"cluster": EKS, "nodeGroups": groups, "volumes": {"fast": {"sizeGib": 1200, **volume}}}
    return rendered_tree(tree)


def system(of: Rendered, name: str) -> rendering.Registered:
    return of.one("fsx/lustreFileSystem:LustreFileSystem", f"tensorplane-dev-{name}")


def test_it_is_of_the_second_generation_on_ssds_and_compressed() -> None:
    assert {key: value for key, value in system(made(), "checkpoints").inputs.items() if key != "tags"} == {
        "subnetIds": "cluster-private-us-west-2a-id",
        "securityGroupIds": ["tensorplane-dev-checkpoints-lustre-id"],
        "deploymentType": "PERSISTENT_2",
        "storageType": "SSD",
        "storageCapacity": 1200,
        "perUnitStorageThroughput": 125,
        "metadataConfiguration": {"mode": "AUTOMATIC"},
        "fileSystemTypeVersion": "2.15",
        "dataCompressionType": "LZ4",
        "skipFinalBackup": False,
    }


def test_what_holds_data_is_kept_and_so_are_the_doors_to_it() -> None:
    kinds = ("fsx/lustreFileSystem:LustreFileSystem", "ec2/securityGroup:SecurityGroup", "PersistentVolume")
    for kind in kinds:
        for one in made().all(kind):
            if "tensorplane-dev" in one.name:
                assert (one.options.get("protect"), one.options.get("retainOnDelete")) == (True, True), one.name
    assert made().one("backup/vault:Vault").options["protect"] is True


def test_the_nodes_and_its_own_servers_reach_it_on_the_ports_of_lustre_and_nobody_else_does() -> None:
    group = "tensorplane-dev-checkpoints-lustre"
    found = {
        (way, one.inputs["securityGroupId"], one.inputs["referencedSecurityGroupId"], one.inputs["fromPort"])
        for way in ("Ingress", "Egress")
        for one in made().all(f"vpc/securityGroup{way}Rule:SecurityGroup{way}Rule")
        if one.name.startswith(group)
    }
    peers = (f"{group}-id", "sg-cluster")
    assert found == {
        *((way, f"{group}-id", peer, port) for way in ("Ingress", "Egress") for peer in peers for port in (988, 1018)),
        *(("Ingress", "sg-cluster", f"{group}-id", port) for port in (988, 1018)),
    }
    ranges = {
        (one.inputs["fromPort"], one.inputs["toPort"])
        for one in made().all("vpc/securityGroupIngressRule:SecurityGroupIngressRule")
        if one.name.startswith(group)
    }
    assert ranges == {(988, 988), (1018, 1023)}
    needed = system(made(), "checkpoints").options["dependsOn"]
    assert len([one for one in needed if one.startswith("SecurityGroup") and "Rule" in one]) == 10


def test_the_kubelet_gives_its_root_to_the_group_of_the_pods() -> None:
    spec = made().one("PersistentVolume", "tensorplane-dev-checkpoints").inputs["spec"]
    # Both are what ReadWriteOnceWithFSType, the driver's fsGroupPolicy, asks for; the first mode is the driver's.
    assert spec["accessModes"] == ["ReadWriteMany", "ReadWriteOnce"]
    assert spec["csi"]["fsType"] == "lustre"
    assert made().one("PersistentVolumeClaim", "checkpoints").inputs["spec"]["accessModes"] == ["ReadWriteMany"]


def test_pods_mount_it_by_its_name_once_the_driver_is_there() -> None:
    volume = made().one("PersistentVolume", "tensorplane-dev-checkpoints")
    name = "tensorplane-dev-checkpoints-id"
    assert volume.inputs["spec"]["csi"] == {
        "driver": "fsx.csi.aws.com",
        "fsType": "lustre",
        "volumeHandle": name,
        "volumeAttributes": {"dnsname": f"{name}.fsx.us-west-2.amazonaws.com", "mountname": "abcdefgh"},
    }
    assert volume.inputs["spec"]["mountOptions"] == ["flock", "noatime"]
    assert "Addon cluster-aws-fsx-csi-driver" in volume.options["dependsOn"]


def test_the_driver_makes_nothing_so_it_has_no_rights_in_aws() -> None:
    addon = made().one("eks/addon:Addon", "cluster-aws-fsx-csi-driver")
    assert "podIdentityAssociations" not in addon.inputs
    assert not [role.name for role in made().all("iam/role:Role") if "fsx" in role.name]


def test_placement_puts_it_and_its_pods_into_one_zone() -> None:
    assert system(made(), "images-fast").inputs["subnetIds"] == "cluster-private-us-west-2b-id"
    near, anywhere = (
        made().one("PersistentVolume", f"tensorplane-dev-{name}").inputs["spec"]
        for name in ("images-fast", "checkpoints")
    )
    (term,) = near["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2b"]}
    ]
    assert "nodeAffinity" not in anywhere


def test_where_nobody_says_the_zone_another_zone_of_the_cluster_moves_nothing() -> None:
    assert system(made(), "checkpoints").options["ignoreChanges"] == ["backupId", "subnetIds"]
    assert system(made(), "images-fast").options["ignoreChanges"] == ["backupId"]


def test_its_bucket_appears_as_files_and_the_link_s_end_deletes_nothing() -> None:
    link = made().one("fsx/dataRepositoryAssociation:DataRepositoryAssociation").inputs
    assert {key: value for key, value in link.items() if key != "tags"} == {
        "fileSystemId": "tensorplane-dev-images-fast-id",
        "fileSystemPath": "/",
        "dataRepositoryPath": "s3://example-images/train/",
        "batchImportMetaDataOnCreate": True,
        "deleteDataInFilesystem": False,
        "s3": {"autoImportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}},
    }
    assert system(made(), "images-fast").inputs["skipFinalBackup"] is True
    volume = made().one("PersistentVolume", "tensorplane-dev-images-fast")
    assert "DataRepositoryAssociation tensorplane-dev-images-fast" in volume.options["dependsOn"]


def test_files_go_to_a_bucket_where_that_is_asked_for() -> None:
    out = {"bucket": "example-out", "import": False, "export": True}
    link = with_volume({"backend": {**LUSTRE, "repository": out}}).one(
        "fsx/dataRepositoryAssociation:DataRepositoryAssociation"
    )
    assert link.inputs["s3"] == {"autoExportPolicy": {"events": ["NEW", "CHANGED", "DELETED"]}}
    assert (link.inputs["dataRepositoryPath"], link.inputs["batchImportMetaDataOnCreate"]) == (
        "s3://example-out/",
        False,
    )


def test_it_is_backed_up_by_aws_backup() -> None:
    (rule,) = made().one("backup/plan:Plan").inputs["rules"]
    assert (rule["schedule"], rule["lifecycle"]) == ("cron(0 2 * * ? *)", {"deleteAfter": 14})
    (arn,) = made().one("backup/selection:Selection").inputs["resources"]
    assert arn == "arn:aws:fsx:us-west-2:123456789012:file-system/tensorplane-dev-checkpoints-id"


def test_a_backup_is_restored_as_a_new_file_system() -> None:
    found = system(with_volume({"backend": {**LUSTRE, "kmsKey": WEST}, "from": {"snapshot": BACKUP}}), "fast")
    assert (found.inputs["backupId"], found.inputs["kmsKeyId"]) == (BACKUP, WEST)
    assert "backupId" in found.options["ignoreChanges"]


def test_scratch_space_asks_for_nothing_that_it_has_not() -> None:
    found = system(with_volume({"backend": {**SCRATCH, "compression": False}, "retain": False}), "fast")
    assert found.inputs["deploymentType"] == "SCRATCH_2"
    assert found.inputs["dataCompressionType"] == "NONE"
    assert not {"perUnitStorageThroughput", "metadataConfiguration", "kmsKeyId"} & set(found.inputs)
    assert found.inputs["skipFinalBackup"] is True
    assert "protect" not in found.options


@pytest.mark.parametrize(
    ("size", "near"),
    [(1300, 1200), (1201, 1200), (2401, 2400), (3000, 2400), (4000, 4800), (7000, 7200), (1800, 2400), (2400.5, 2400)],
)
def test_a_size_that_aws_does_not_sell_names_the_nearest(size: float, near: int) -> None:
    (line,) = problems({"backend": LUSTRE, "sizeGib": size})
    want = "for FSx for Lustre; use 1200 GiB, 2400 GiB or a multiple of 2400 GiB"
    assert line == f"sizeGib: invalid size {size:g} {want} (did you mean {near}?)"


@pytest.mark.parametrize("size", [1200, 2400, 4800, 24000])
def test_sizes_that_aws_sells_are_taken(size: int) -> None:
    assert problems({"backend": LUSTRE, "sizeGib": size}) == []


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({"backend": LUSTRE, "sizeGib": 10}, "sizeGib: invalid size 10 for backend fsxLustre; use 1,200 GiB"),
        ({"backend": {**LUSTRE, "throughput": 200}}, "backend.throughput: invalid value 200; use 125, 250, 500 "
         "or 1000"),
        ({"backend": {**SCRATCH, "throughput": 250}}, "backend.throughput: is not supported by a scratch file"),
        ({"backend": {**SCRATCH, "kmsKey": WEST}}, "backend.kmsKey: is not supported by a scratch file system;"),
        ({"backend": {**LUSTRE, "kmsKey": EAST}}, "backend.kmsKey: the key is in us-east-2, but the data is in"),
        ({"backend": SCRATCH, "snapshots": NIGHTLY}, "snapshots: is not supported, because FSx does not back up"),
        ({"backend": LINKED, "snapshots": NIGHTLY}, "snapshots: is not supported, because FSx does not back up"),
        ({"backend": LUSTRE, "snapshots": {**NIGHTLY, "keep": 3}},
         "snapshots.keep: is set, but AWS Backup keeps snapshots by age only; remove it, and set expire"),
        ({"backend": LUSTRE, "from": {"snapshot": "monday"}},
         "from.snapshot: 'monday' is not the id of an FSx backup; use one such as backup-0123456789abcdef0"),
        ({"backend": LUSTRE, "from": {"volume": "other"}},
         "from.volume: backend fsxLustre does not support clones; use cephfs, ebs, ezmeral or storageClass"),
        ({"backend": LUSTRE, "mirror": {"to": {"region": "us-east-2"}}},
         "mirror.to.region: backend fsxLustre cannot mirror to a region (it mirrors to remote or volume); use"),
        ({"backend": LUSTRE, "cache": {"sizeGib": 1}}, "cache: backend fsxLustre does not support a cache; use"),
        ({"backend": LUSTRE, "accessModes": ["ReadOnlyMany"]},
         "accessModes: backend fsxLustre does not support ReadOnlyMany; use"),
        ({"backend": LUSTRE, "placement": {"zones": ["us-west-2a", "us-west-2b"]}},
         "placement.zones: lists 2 zones, but this backend uses 1; list 1"),
        ({"backend": {**LUSTRE, "repository": {"bucket": "s3://images"}}},
         "backend.repository.bucket: invalid value 's3://images'; use a bucket name: 3 to 63 lower-case letters,"),
        ({"backend": {**LUSTRE, "repository": {"bucket": "images", "import": False}}},
         "backend.repository: sets neither import nor export, so it has no effect; set at least one"),
        ({"backend": {**LUSTRE, "repository": {"bucket": "images", "prefix": "/a"}}},
         "backend.repository.prefix: invalid value '/a'; use a path relative to the volume's root, such as"),
    ],
)  # fmt: skip
def test_what_fsx_cannot_do_is_one_line(volume: dict[str, Any], line: str) -> None:
    (found,) = problems({"sizeGib": 2400, **volume})
    assert found.startswith(line)
