"""Buckets as volumes, as they are registered: how a new one is kept safe, who may do what with it, its copy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support import rendering
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Rendered
from tests.unit.volumes.backends.test_fsx_lustre import made
from tests.unit.volumes.clouds.test_eks import EAST, EKS, WEST, problems

S3 = {"kind": "s3"}
YOURS = {**S3, "bucket": "example-images"}
MIRROR = {"mirror": {"to": {"region": "us-east-2"}}}
MODELS = "tensorplane-dev-models"
COPY = f"{MODELS}-mirror"
GUARDS = (
    "Bucket",
    "BucketPublicAccessBlock",
    "BucketOwnershipControls",
    "BucketServerSideEncryptionConfiguration",
    "BucketVersioning",
    "BucketLifecycleConfiguration",
    "BucketPolicy",
)


def s3(of: Rendered, kind: str, name: str) -> rendering.Registered:
    return of.one(f"s3/{kind[0].lower()}{kind[1:]}:{kind}", name)


def with_volume(**volume: Any) -> Rendered:
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}
    tree = {"cluster": EKS, "nodeGroups": groups, "volumes": {"models": {"sizeGib": 1, **volume}}}
    return rendered_tree(tree)


def rights(of: Rendered, name: str) -> list[dict[str, Any]]:
    document = json.loads(of.one("iam/rolePolicy:RolePolicy", name).inputs["policy"])
    assert all(statement["Effect"] == "Allow" for statement in document["Statement"])
    return [{key: value for key, value in one.items() if key != "Effect"} for one in document["Statement"]]


@pytest.mark.parametrize("name", [MODELS, COPY])
def test_a_new_bucket_is_closed_to_the_public_encrypted_versioned_and_reached_over_tls(name: str) -> None:
    block = s3(made(), "BucketPublicAccessBlock", name).inputs
    switches = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
    assert all(block[switch] is True for switch in switches)
    assert s3(made(), "BucketOwnershipControls", name).inputs["rule"] == {"objectOwnership": "BucketOwnerEnforced"}
    assert s3(made(), "BucketVersioning", name).inputs["versioningConfiguration"] == {"status": "Enabled"}
    (rule,) = s3(made(), "BucketServerSideEncryptionConfiguration", name).inputs["rules"]
    assert rule == {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}
    (deny,) = json.loads(s3(made(), "BucketPolicy", name).inputs["policy"])["Statement"]
    assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "s3:*")
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert deny["Resource"] == [f"arn:aws:s3:::{name}-id", f"arn:aws:s3:::{name}-id/*"]


def test_a_bucket_is_kept_and_all_that_guards_it_too() -> None:
    for kind in GUARDS:
        kept, copy = s3(made(), kind, MODELS).options, s3(made(), kind, COPY).options
        assert (kept.get("protect"), kept.get("retainOnDelete")) == (True, True), kind
        # Not protected, so that the setting can be removed; the copy stays where it is.
        assert (copy.get("protect"), copy.get("retainOnDelete")) == (None, True), kind
    assert not s3(made(), "Bucket", MODELS).inputs.get("forceDestroy")
    assert not s3(made(), "Bucket", COPY).inputs.get("forceDestroy")
    given_up = with_volume(backend=S3, retain=False, **MIRROR)
    assert s3(given_up, "Bucket", MODELS).inputs["forceDestroy"] is True
    assert not s3(given_up, "Bucket", COPY).inputs.get("forceDestroy")


def test_nothing_is_written_before_the_bucket_is_safe() -> None:
    needed = made().one("PersistentVolume", MODELS).options["dependsOn"]
    assert {f"{kind} {MODELS}" for kind in GUARDS[1:]} <= set(needed)


def test_broken_uploads_go_and_what_was_replaced_goes_when_that_is_asked_for() -> None:
    broken, replaced = s3(made(), "BucketLifecycleConfiguration", MODELS).inputs["rules"]
    assert broken["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 7}
    assert replaced["noncurrentVersionExpiration"] == {"noncurrentDays": 90}
    assert "days" not in replaced["expiration"]
    (only,) = s3(with_volume(backend=S3), "BucketLifecycleConfiguration", MODELS).inputs["rules"]
    assert "noncurrentVersionExpiration" not in only


def test_the_driver_has_the_rights_that_the_volumes_need_and_no_more() -> None:
    addon = made().one("eks/addon:Addon", "cluster-aws-mountpoint-s3-csi-driver").inputs
    (identity,) = addon["podIdentityAssociations"]
    assert identity["serviceAccount"] == "s3-csi-driver-sa"
    role = "cluster-aws-mountpoint-s3-csi-driver"
    assert not [one.name for one in made().all("iam/rolePolicyAttachment:RolePolicyAttachment") if role in one.name]
    mine = {one.name for one in made().all("iam/rolePolicy:RolePolicy") if one.inputs["role"] == f"{role}-id"}
    assert mine == {MODELS, "tensorplane-dev-images"}
    assert rights(made(), MODELS) == [
        {"Action": "s3:ListBucket", "Resource": f"arn:aws:s3:::{MODELS}-id"},
        {
            "Action": ["s3:GetObject", "s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"],
            "Resource": f"arn:aws:s3:::{MODELS}-id/*",
        },
    ]
    assert rights(made(), "tensorplane-dev-images") == [
        {
            "Action": "s3:ListBucket",
            "Resource": "arn:aws:s3:::example-images",
            "Condition": {"StringLike": {"s3:prefix": ["train/", "train/*"]}},
        },
        {"Action": ["s3:GetObject"], "Resource": "arn:aws:s3:::example-images/train/*"},
    ]
    assert f"RolePolicy {MODELS}" in made().one("PersistentVolume", MODELS).options["dependsOn"]


def test_a_key_of_yours_encrypts_the_bucket_and_the_driver_may_use_it() -> None:
    found = with_volume(backend={**S3, "kmsKey": WEST, "mirrorKmsKey": EAST}, **MIRROR)
    (rule,) = s3(found, "BucketServerSideEncryptionConfiguration", MODELS).inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "aws:kms", "kmsMasterKeyId": WEST}
    assert rule["bucketKeyEnabled"] is True
    assert rights(found, MODELS)[2:] == [{"Action": ["kms:Decrypt", "kms:GenerateDataKey"], "Resource": WEST}]
    (there,) = s3(found, "BucketServerSideEncryptionConfiguration", COPY).inputs["rules"]
    assert there["applyServerSideEncryptionByDefault"]["kmsMasterKeyId"] == EAST
    (copied,) = s3(found, "BucketReplicationConfig", COPY).inputs["rules"]
    assert copied["sourceSelectionCriteria"] == {"sseKmsEncryptedObjects": {"status": "Enabled"}}
    assert copied["destination"]["encryptionConfiguration"] == {"replicaKmsKeyId": EAST}
    assert rights(found, f"cluster-{COPY}")[3:] == [
        {"Action": "kms:Decrypt", "Resource": WEST},
        {"Action": ["kms:Encrypt", "kms:GenerateDataKey"], "Resource": EAST},
    ]
    read = with_volume(backend={**YOURS, "kmsKey": WEST}, accessModes=["ReadOnlyMany"])
    assert rights(read, MODELS)[2:] == [{"Action": ["kms:Decrypt"], "Resource": WEST}]


def test_a_mirror_is_a_bucket_in_the_other_region_that_s3_replicates_to() -> None:
    for kind in GUARDS:
        assert s3(made(), kind, COPY).inputs["region"] == "us-east-2", kind
        assert "region" not in s3(made(), kind, MODELS).inputs, kind
    replication = s3(made(), "BucketReplicationConfig", COPY)
    assert replication.inputs["bucket"] == f"{MODELS}-id"
    (rule,) = replication.inputs["rules"]
    assert (rule["status"], rule["deleteMarkerReplication"]) == ("Enabled", {"status": "Enabled"})
    assert rule["destination"] == {
        "bucket": f"arn:aws:s3:::{COPY}-id",
        "metrics": {"status": "Enabled", "eventThreshold": {"minutes": 15}},
        "replicationTime": {"status": "Enabled", "time": {"minutes": 15}},
    }
    needed = replication.options["dependsOn"]
    assert {f"BucketVersioning {MODELS}", f"BucketVersioning {COPY}"} <= set(needed)
    reads, objects, writes = rights(made(), f"cluster-{COPY}")
    assert reads["Resource"] == f"arn:aws:s3:::{MODELS}-id"
    assert objects["Resource"] == f"arn:aws:s3:::{MODELS}-id/*"
    assert writes == {
        "Action": ["s3:ReplicateObject", "s3:ReplicateDelete", "s3:ReplicateTags"],
        "Resource": f"arn:aws:s3:::{COPY}-id/*",
    }


def test_without_a_time_s3_decides_when_and_its_lag_is_still_measured() -> None:
    (rule,) = s3(with_volume(backend=S3, **MIRROR), "BucketReplicationConfig", COPY).inputs["rules"]
    assert rule["destination"] == {"bucket": f"arn:aws:s3:::{COPY}-id", "metrics": {"status": "Enabled"}}


def test_pods_own_the_files_and_replace_them_as_a_whole() -> None:
    spec = made().one("PersistentVolume", MODELS).inputs["spec"]
    assert spec["mountOptions"] == [
        "region us-west-2", "uid=65532", "gid=65532", "allow-other", "allow-delete", "allow-overwrite"
    ]  # fmt: skip
    assert spec["csi"] == {
        "driver": "s3.csi.aws.com",
        "volumeHandle": MODELS,
        "volumeAttributes": {"bucketName": f"{MODELS}-id", "authenticationSource": "driver"},
    }
    assert spec["claimRef"]["name"] == "models"
    assert spec["accessModes"] == ["ReadWriteMany"]


def test_what_is_read_only_is_mounted_so_and_a_cache_has_a_limit() -> None:
    spec = made().one("PersistentVolume", "tensorplane-dev-images").inputs["spec"]
    assert spec["mountOptions"] == [
        "region us-west-2", "uid=65532", "gid=65532", "allow-other", "prefix train/", "read-only"
    ]  # fmt: skip
    assert spec["accessModes"] == ["ReadOnlyMany"]
    assert spec["csi"]["volumeAttributes"] == {
        "bucketName": "example-images",
        "authenticationSource": "driver",
        "cache": "emptyDir",
        "cacheEmptyDirSizeLimit": "50Gi",
    }
    on_disks = with_volume(backend={**YOURS, "region": "eu-west-1", "cacheClass": "gp3"}, cache={"sizeGib": 0.5})
    spec = on_disks.one("PersistentVolume", MODELS).inputs["spec"]
    assert spec["mountOptions"][0] == "region eu-west-1"
    assert spec["csi"]["volumeAttributes"] == {
        "bucketName": "example-images",
        "authenticationSource": "driver",
        "cache": "ephemeral",
        "cacheEphemeralStorageClassName": "gp3",
        "cacheEphemeralStorageResourceRequest": "512Mi",
    }
    assert on_disks.all("s3/bucket:Bucket") == []


def test_the_longest_names_fit() -> None:
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}
    volume = {"sizeGib": 1, "backend": S3, **MIRROR}
    tree = {"cluster": EKS, "namespace": "n" * 40, "nodeGroups": groups, "volumes": {"v" * 60: volume}}
    found = rendered_tree(tree)
    random_end = len("-1234567")
    assert all(len(one.name) + random_end <= 63 for one in found.all("s3/bucket:Bucket"))
    assert all(len(one.name) + random_end <= 64 for one in found.all("iam/role:Role"))


def test_checkpoints_and_models_of_a_job_go_elsewhere() -> None:
    job = {
        "kind": "trainingJob",
        "strategy": {"kind": "multiWorkerMirrored", "workers": 2},
        "command": ["python", "-m", "train"],
        "volumes": {"models": "/models"},
        "checkpoints": {"volume": "models"},
    }
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}
    tree = {"cluster": EKS, "nodeGroups": groups, "volumes": {"models": {"sizeGib": 1, "backend": S3}}}
    (line,) = problems_of({**tree, "workloads": {"digits": job}})
    reason = "volume models is on backend s3, which cannot rename files; use a volume on "
    assert line.startswith(f"tensorplane:workloads.digits.checkpoints.volume: {reason}")
    able = line.rpartition("use a volume on ")[2].split(", ")
    assert {"ebs", "efs", "fsxLustre"} <= set(able)
    assert "s3" not in able
    del job["checkpoints"]
    assert problems_of({**tree, "workloads": {"digits": job}}) == []


def test_a_bucket_can_be_mirrored_into_another_volume_and_none_into_it() -> None:
    efs = {"sizeGib": 1, "backend": {"kind": "efs"}}
    bucket = {"sizeGib": 1, "backend": S3}
    groups = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 2}}

    def mirrored(volume: dict[str, Any], into: dict[str, Any]) -> list[str]:
        volumes = {"one": {**volume, "mirror": {"to": {"volume": "two"}, "every": "1h"}}, "two": into}
        return problems_of({"cluster": EKS, "nodeGroups": groups, "volumes": volumes})

    assert mirrored(bucket, efs) == []
    (line,) = mirrored(efs, bucket)
    assert line.startswith("tensorplane:volumes.one.mirror.to.volume: backend s3 cannot rename files")


@pytest.mark.parametrize(
    ("volume", "line"),
    [
        ({"backend": S3, "snapshots": {"schedule": "@daily"}},
         "snapshots: backend s3 does not support snapshots; use cephfs, ebs, efs, ezmeral, fsxLustre, juicefs"),
        ({"backend": S3, "from": {"volume": "other"}}, "from.volume: backend s3 does not support clones; use"),
        ({"backend": S3, "quota": True}, "quota: backend s3 does not support an enforced size; use cephfs, ebs,"),
        ({"backend": S3, "placement": {"zones": ["us-west-2a"]}},
         "placement: backend s3 does not support placement; use ebs, efs or fsxLustre"),
        ({"backend": S3, "accessModes": ["ReadWriteOnce"]},
         "accessModes: backend s3 does not support ReadWriteOnce; use cephfs, ebs, efs, ezmeral, fsxLustre,"),
        ({"backend": {**S3, "region": "us-east-2"}}, "backend.region: applies to an existing bucket only; remove"),
        ({"backend": {**S3, "cacheClass": "gp3"}}, "backend.cacheClass: is set but cache is not; set"),
        ({"backend": {**YOURS, "keepReplacedDays": 3}}, "backend.keepReplacedDays: applies to a new bucket only;"),
        ({"backend": YOURS, **MIRROR}, "mirror: is not supported for the existing bucket example-images; remove"),
        ({"backend": S3, "mirror": {"to": {"region": "us-west-2"}}},
         "mirror.to.region: us-west-2 is the region of the volume itself; choose another region"),
        ({"backend": S3, "mirror": {"to": {"region": "us-east-2"}, "every": "1h"}},
         "mirror.every: invalid interval 1h for S3 replication; use 15m (Replication Time Control), or remove"),
        ({"backend": S3, "mirror": {"to": {"region": "us-eest-2"}}},
         "mirror.to.region: unknown region 'us-eest-2'; choose one of af-south-1, ap-east-1, ap-northeast-1,"),
        ({"backend": {**YOURS, "region": "us-weast-2"}},
         "backend.region: unknown region 'us-weast-2'; choose one of af-south-1, ap-east-1, ap-northeast-1,"),
        ({"backend": {**S3, "kmsKey": WEST}, **MIRROR}, "backend.mirrorKmsKey: missing, but kmsKey is set and"),
        ({"backend": {**S3, "mirrorKmsKey": EAST}, **MIRROR},
         "backend.mirrorKmsKey: is set but kmsKey is not; set both, or neither (S3 replicates with a key only"),
        ({"backend": {**S3, "kmsKey": WEST, "mirrorKmsKey": WEST}, **MIRROR},
         "backend.mirrorKmsKey: the key is in us-west-2, but the data is in us-east-2; use a key of us-east-2"),
        ({"backend": {**S3, "mirrorKmsKey": WEST}}, "backend.mirrorKmsKey: is set, but the volume has no mirror;"),
        ({"backend": {**S3, "kmsKey": EAST}}, "backend.kmsKey: the key is in us-east-2, but the data is in"),
        ({"backend": {**YOURS, "region": "us-east-2", "kmsKey": WEST}},
         "backend.kmsKey: the key is in us-west-2, but the data is in us-east-2; use a key of us-east-2"),
        ({"backend": {**S3, "bucket": "Images"}}, "backend.bucket: invalid value 'Images'; use a bucket name: 3 to"),
        ({"backend": {**S3, "bucket": "a--usw2-az1--x-s3"}},
         "backend.bucket: invalid value 'a--usw2-az1--x-s3'; use a general purpose bucket (directory buckets are"),
        ({"backend": {**YOURS, "prefix": "/train"}}, "backend.prefix: invalid value '/train'; use a path relative"),
    ],
)  # fmt: skip
def test_what_s3_cannot_do_is_one_line(volume: dict[str, Any], line: str) -> None:
    (found,) = problems(volume)
    assert found.startswith(line)
