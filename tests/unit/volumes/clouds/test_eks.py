"""Volumes on EKS as they are registered: what each is made of, who reaches it, how it is backed up."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.rendered_files import rendered_file, rendered_tree
from tests.support.rendering import PROJECT, Rendered
from tests.support.volume_problems import lines

EKS = {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}}
EBS = {"backend": {"kind": "ebs"}}
EFS = {"backend": {"kind": "efs"}}
EAST = "arn:aws:kms:us-east-2:123456789012:key/1234abcd"
WEST = "arn:aws:kms:us-west-2:123456789012:key/1234abcd"
NIGHTLY = {"schedule": "0 3 * * *", "expire": "35d"}


def made() -> Rendered:
    return rendered_file(PROJECT / "examples" / "eks-volumes.yaml")


def problems(volume: dict[str, Any]) -> list[str]:
    found = lines(cluster=EKS, models=volume)
    return [line.removeprefix("models.") for line in found if line.startswith("models.")]


def test_efs_is_encrypted_and_kept() -> None:
    system = made().one("efs/fileSystem:FileSystem")
    assert system.inputs["encrypted"] is True
    for kind in ("efs/fileSystem:FileSystem", "efs/accessPoint:AccessPoint", "backup/vault:Vault", "PersistentVolume"):
        options = made().one(kind).options
        assert (options["protect"], options["retainOnDelete"]) == (True, True), kind


def test_efs_is_reached_from_the_nodes_alone_in_every_zone() -> None:
    assert len(made().all("efs/mountTarget:MountTarget")) == 3
    rule = made().one("vpc/securityGroupIngressRule:SecurityGroupIngressRule").inputs
    assert (rule["referencedSecurityGroupId"], rule["fromPort"], rule["toPort"]) == ("sg-cluster", 2049, 2049)
    assert "cidrIpv4" not in rule


def test_pods_mount_efs_over_tls_as_the_owner_of_its_folder_once_it_can_be_reached() -> None:
    volume = made().one("PersistentVolume")
    name = "tensorplane-dev-models"
    assert volume.inputs["spec"]["csi"] == {"driver": "efs.csi.aws.com", "volumeHandle": f"{name}-id::{name}-id"}
    assert volume.inputs["spec"]["mountOptions"] == ["tls"]
    assert {"Addon cluster-aws-efs-csi-driver", f"MountTarget {name}-us-west-2a"} <= set(volume.options["dependsOn"])
    owner = made().one("efs/accessPoint:AccessPoint").inputs["posixUser"]
    assert owner == {"uid": 65532, "gid": 65532}


def test_the_driver_of_efs_is_there_where_a_volume_needs_it() -> None:
    tree = {"cluster": EKS, "nodeGroups": {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}}
    plain = rendered_tree(tree)
    assert "cluster-aws-efs-csi-driver" not in {r.name for r in plain.all("eks/addon:Addon")}
    addon = made().one("eks/addon:Addon", "cluster-aws-efs-csi-driver")
    assert [one["serviceAccount"] for one in addon.inputs["podIdentityAssociations"]] == ["efs-csi-controller-sa"]
    assert "NodeGroup cpu" in addon.options["dependsOn"]


def test_efs_is_backed_up_by_aws_backup_and_copied_by_efs() -> None:
    (rule,) = made().one("backup/plan:Plan").inputs["rules"]
    assert (rule["schedule"], rule["lifecycle"]) == ("cron(0 3 * * ? *)", {"deleteAfter": 35})
    assert made().one("efs/replicationConfiguration:ReplicationConfiguration").inputs["destination"] == {
        "region": "us-east-2"
    }
    assert [job.name for job in made().all("CronJob")] == ["snapshots-experiment"]


def test_efs_in_one_zone_draws_its_pods_there() -> None:
    placed = {"sizeGib": 1, "backend": {"kind": "efs"}, "placement": {"zones": ["us-west-2b"]}}
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}
    tree = {"cluster": EKS, "nodeGroups": groups, "volumes": {"near": placed}}
    found = rendered_tree(tree)
    assert found.one("efs/fileSystem:FileSystem").inputs["availabilityZoneName"] == "us-west-2b"
    assert [target.inputs["subnetId"] for target in found.all("efs/mountTarget:MountTarget")] == [
        "cluster-private-us-west-2b-id"
    ]
    (term,) = found.one("PersistentVolume").inputs["spec"]["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["us-west-2b"]


def test_a_long_name_fits_into_what_aws_backup_takes() -> None:
    tree = {
        "cluster": EKS,
        "namespace": "n" * 40,
        "nodeGroups": {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}},
        "volumes": {"v" * 60: {"sizeGib": 1, "backend": {"kind": "efs"}, "snapshots": NIGHTLY}},
    }
    found = rendered_tree(tree)
    # Pulumi adds eight characters.
    assert len(found.one("backup/vault:Vault").name) + 8 <= 50


def test_ebs_has_a_class_of_its_own_that_keeps_the_disk_and_says_the_zone() -> None:
    kept, copy = (made().one("StorageClass", f"tensorplane-dev-{name}") for name in ("experiment", "experiment-copy"))
    assert kept.inputs["parameters"] == {"type": "gp3", "encrypted": "true", "iops": "6000", "throughput": "500"}
    assert (kept.inputs["reclaimPolicy"], copy.inputs["reclaimPolicy"]) == ("Retain", "Delete")
    (topology,) = kept.inputs["allowedTopologies"]
    assert topology["matchLabelExpressions"] == [{"key": "topology.kubernetes.io/zone", "values": ["us-west-2a"]}]
    assert kept.inputs["metadata"]["name"] != copy.inputs["metadata"]["name"]
    claim = made().one("PersistentVolumeClaim", "experiment").inputs["spec"]
    assert claim["storageClassName"] == kept.inputs["metadata"]["name"]


def test_a_key_of_yours_encrypts_disks_and_the_driver_may_use_that_key_alone() -> None:
    own = {"sizeGib": 1, "backend": {"kind": "ebs", "kmsKey": WEST}}
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}
    tree = {"cluster": EKS, "nodeGroups": groups, "volumes": {"own": own, "usual": {"sizeGib": 1, **EBS}}}
    found = rendered_tree(tree)
    usual, keyed = (found.one("StorageClass", f"tensorplane-dev-{name}") for name in ("usual", "own"))
    assert keyed.inputs["parameters"]["kmsKeyId"] == WEST
    assert "kmsKeyId" not in usual.inputs["parameters"]
    rights = found.one("iam/rolePolicy:RolePolicy", "cluster-aws-ebs-csi-driver-keys").inputs
    assert rights["role"] == "cluster-aws-ebs-csi-driver-id"
    use, hand_on = json.loads(rights["policy"])["Statement"]
    assert use["Resource"] == hand_on["Resource"] == [WEST]
    assert set(use["Action"]) == {
        "kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKeyWithoutPlaintext", "kms:ReEncrypt*"
    }  # fmt: skip
    assert hand_on["Action"] == "kms:CreateGrant"
    assert hand_on["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    assert "RolePolicy cluster-aws-ebs-csi-driver-keys" in keyed.options["dependsOn"]


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({**EBS, "accessModes": ["ReadWriteMany"]}, "accessModes: backend ebs does not support ReadWriteMany; use"),
        ({**EBS, "mirror": {"to": {"region": "us-east-2"}}},
         "mirror.to.region: backend ebs cannot mirror to a region (it mirrors to remote or volume); use efs or"),
        ({**EBS, "sizeGib": 0.5}, "sizeGib: invalid size 0.5 for backend ebs; use 1 to 65,536 GiB"),
        ({"backend": {"kind": "ebs", "iops": 6000}}, "backend.iops: 6000 exceeds the limit for 10 GiB; set 5000 or"),
        ({"backend": {"kind": "ebs", "throughputMib": 751}},
         "backend.throughputMib: 751 exceeds the limit for 3000 IOPS; set 750 or less"),
        ({**EBS, "placement": {"zones": ["us-west-2x"]}},
         "placement.zones: us-west-2x is not a zone of the cluster; choose one of us-west-2a, us-west-2b,"),
        ({"backend": {"kind": "ebs", "kmsKey": "alias/ml"}}, "backend.kmsKey: invalid value 'alias/ml'; use the "
         "ARN of a KMS k"),
        ({"backend": {"kind": "efs", "kmsKey": EAST}}, "backend.kmsKey: the key is in us-east-2, but the data is"),
        ({"backend": {"kind": "ebs", "kmsKey": EAST}}, "backend.kmsKey: the key is in us-east-2, but the data is"),
        ({**EFS, "placement": {"zones": ["us-west-2a", "us-west-2b"]}},
         "placement.zones: lists 2 zones, but this backend uses 1; list 1"),
        ({**EFS, "from": {"snapshot": "x"}}, "from.snapshot: AWS Backup restores into a file system"),
        ({**EFS, "mirror": {"to": {"region": "us-west-2"}}},
         "mirror.to.region: us-west-2 is the region of the volume itself; choose another region"),
        ({**EFS, "mirror": {"to": {"region": "us-eest-2"}}},
         "mirror.to.region: unknown region 'us-eest-2'; choose one of af-south-1, ap-east-1, ap-northeast-1,"),
        ({**EFS, "mirror": {"to": {"region": "us-east-2"}, "every": "15m"}},
         "mirror.every: is 15m, but EFS replicates continuously; remove it"),
        ({**EFS, "quota": True}, "quota: backend efs does not support an enforced size; use cephfs, ebs, ezmeral,"),
        ({**EBS, "cache": {"sizeGib": 10}}, "cache: backend ebs does not support a cache; use juicefs or s3"),
        ({**EFS, "snapshots": {"schedule": "0 3 * * *"}},
         "snapshots.expire: missing, but AWS Backup keeps snapshots for whole days; set one such as 30d"),
        ({**EFS, "snapshots": {**NIGHTLY, "keep": 3}}, "snapshots.keep: is set, but AWS Backup keeps snapshots by"),
        ({**EFS, "snapshots": {**NIGHTLY, "expire": "36h"}},
         "snapshots.expire: is 36h, but AWS Backup keeps snapshots for whole days; set one such as 30d"),
        ({**EFS, "snapshots": {**NIGHTLY, "schedule": "*/5 * * * *"}},
         "snapshots.schedule: '*/5 * * * *' runs more than once an hour, which AWS Backup does not support; set"),
        ({**EFS, "snapshots": {**NIGHTLY, "schedule": "0 3 1 * mon"}},
         "snapshots.schedule: names days of the month and of the week, but AWS Backup supports one of them;"),
        ({"encrypted": True}, "encrypted: backend storageClass does not support encryption at rest; use cephfs,"),
    ],
)  # fmt: skip
def test_what_aws_cannot_do_is_one_line(volume: dict[str, Any], line: str) -> None:
    (found,) = problems(volume)
    assert found.startswith(line)
