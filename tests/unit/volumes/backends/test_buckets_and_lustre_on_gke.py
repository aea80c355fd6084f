"""Buckets and parallel file systems on GKE as they are registered; what they cannot do is one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_file, rendered_tree
from tests.support.rendering import PROJECT, Rendered, settings_of
from tests.support.volume_problems import lines
from tests.unit.clusters.gke import built as gke

GKE = {"kind": "gke", "project": "ml-platform", "region": "us-central1"}
OWN = {"network": "n", "subnetwork": "s", "podsRange": "p", "servicesRange": "v"}
BUCKET: Mapping[str, Any] = {"kind": "gcsFuse"}
LUSTRE: Mapping[str, Any] = {"kind": "managedLustre"}
FILES: Mapping[str, Any] = {"kind": "filestore", "tier": "zonal"}
DISK: Mapping[str, Any] = {"kind": "persistentDisk", "type": "hyperdisk-ml"}
EAST = {"mirror": {"to": {"region": "us-east1"}}}
ROX = {"accessModes": ["ReadOnlyMany"]}
OLD = {"from": {"snapshot": "weights-20261120-1600"}}
HERE = {"placement": {"zones": ["us-central1-a"]}}
POOL = "iam.googleapis.com/projects/123456789012/locations/global/workloadIdentityPools/ml-platform.svc.id.goog"
KEY = "projects/ml-platform/locations/{}/keyRings/r/cryptoKeys/k"


def made() -> Rendered:
    return rendered_file(PROJECT / "examples" / "gke-training-data.yaml")


def built(cluster: Mapping[str, Any] = GKE, **volumes: Mapping[str, Any]) -> Rendered:
    """What a stack with these volumes registers."""
    tree = {"cluster": cluster, "nodeGroups": {"cpu": dict(gke.CPU)}, "volumes": volumes}
    return rendered_tree(tree)


def test_a_bucket_is_private_keeps_what_is_deleted_and_has_folders_that_can_be_renamed() -> None:
    bucket = made().one("Bucket", "tensorplane-dev-images")
    found = bucket.inputs
    assert (found["uniformBucketLevelAccess"], found["publicAccessPrevention"]) == (True, "enforced")
    assert found["hierarchicalNamespace"] == {"enabled": True}
    assert found["softDeletePolicy"]["retentionDurationSeconds"] == 7 * 24 * 3600
    assert (found["forceDestroy"], found["location"]) == (False, "US-CENTRAL1")
    assert bucket.options["protect"] is bucket.options["retainOnDelete"] is True


def test_a_bucket_that_is_not_retained_goes_with_its_objects() -> None:
    bucket = built(old={"sizeGib": 1, "backend": BUCKET, "retain": False}).one("Bucket")
    assert bucket.inputs["forceDestroy"] is True
    assert "protect" not in bucket.options


def test_a_bucket_is_mounted_as_the_user_of_all_pods_through_a_cache_and_by_its_claim_alone() -> None:
    spec = made().one("PersistentVolume", "tensorplane-dev-images").inputs["spec"]
    assert spec["csi"] == {
        "driver": "gcsfuse.csi.storage.gke.io",
        "volumeHandle": "tensorplane-dev-images-1234567:tensorplane-dev-images",
        "volumeAttributes": {"fileCacheCapacity": "80Gi", "fileCacheForRangeRead": "true"},
    }
    assert spec["mountOptions"] == [
        "implicit-dirs", "uid=65532", "gid=65532", "file-mode=664", "dir-mode=775",
        "file-cache:enable-parallel-downloads:true",
    ]  # fmt: skip
    assert spec["claimRef"]["name"] == "images"
    public = made().one("PersistentVolume", "tensorplane-dev-public").inputs["spec"]
    assert public["csi"]["volumeHandle"] == "acme-public-datasets:tensorplane-dev-public"
    assert public["mountOptions"][-1] == "only-dir=imagenet/2026"
    assert "volumeAttributes" not in public["csi"]


def _rights(rendered: Rendered) -> dict[str, tuple[str, str]]:
    members = [member.inputs for member in rendered.all("BucketIAMMember")]
    return {one["member"].removeprefix("principal://"): (one["bucket"], one["role"]) for one in members}


def test_readers_read_the_bucket_writers_write_it_and_nobody_else_gets_a_right() -> None:
    subject = f"{POOL}/subject/ns/tensorplane-dev/sa"
    rights = {who: right for who, right in _rights(made()).items() if "storage-transfer" not in who}
    assert rights == {
        f"{subject}/digits": ("tensorplane-dev-images-1234567", "roles/storage.objectViewer"),
        f"{subject}/ingest": ("tensorplane-dev-images-1234567", "roles/storage.objectUser"),
        # Nobody is listed, and the volume is for reading alone.
        f"principalSet://{POOL}/namespace/tensorplane-dev": ("acme-public-datasets", "roles/storage.objectViewer"),
    }
    everybody = _rights(built(data={"sizeGib": 1, "backend": BUCKET}))
    assert everybody == {
        f"principalSet://{POOL}/namespace/tensorplane-dev": ("tensorplane-dev-data-1234567", "roles/storage.objectUser")
    }
    assert not [one for one in made().resources if "projects/iAM" in one.type and "storage" in one.inputs["role"]]


def test_pods_that_mount_a_bucket_get_the_driver_s_part_and_a_way_to_it_alone() -> None:
    (job,) = made().one("JobSet").inputs["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]["metadata"]
    assert pod["annotations"]["gke-gcsfuse/volumes"] == "true"
    assert {pod["annotations"][f"gke-gcsfuse/{limit}-limit"] for limit in ("cpu", "memory", "ephemeral-storage")} == {
        "0"
    }
    policy = made().one("NetworkPolicy", "tensorplane-dev-cloud-storage").inputs["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= pod["labels"].items()
    reached = [(rule["to"][0]["ipBlock"]["cidr"], rule["ports"][0]["port"]) for rule in policy["egress"]]
    assert reached == [("199.36.153.8/30", 443), ("169.254.169.254/32", 80), ("169.254.169.252/32", 988)]
    record = made().one("RecordSet").inputs
    assert (record["name"], record["rrdatas"]) == ("storage.googleapis.com.", [f"199.36.153.{n}" for n in range(8, 12)])
    assert made().one("ManagedZone").inputs["visibility"] == "private"


def test_pods_of_other_volumes_are_left_alone() -> None:
    rendered = built(data={"sizeGib": 10, "backend": {"kind": "persistentDisk"}})
    assert not rendered.all("ManagedZone")
    assert "tensorplane-dev-cloud-storage" not in [policy.name for policy in rendered.all("NetworkPolicy")]


def test_in_a_network_of_yours_its_dns_is_yours_too() -> None:
    cluster = {**GKE, "network": {"existing": OWN}}
    rendered = built(cluster, data={"sizeGib": 1, "backend": {**BUCKET, "addresses": ["10.1.0.5/32"]}})
    assert not rendered.all("ManagedZone")
    rules = rendered.one("NetworkPolicy", "tensorplane-dev-cloud-storage").inputs["spec"]["egress"]
    assert rules[0]["to"][0]["ipBlock"]["cidr"] == "10.1.0.5/32"


def test_a_mirror_is_a_bucket_elsewhere_that_storage_transfer_keeps_alike() -> None:
    copy = made().one("Bucket", "tensorplane-dev-images-mirror")
    # Not protected, so that the setting can be removed; the copy stays.
    assert (copy.inputs["location"], copy.options.get("protect")) == ("US-EAST1", None)
    assert copy.options["retainOnDelete"] is True
    job = made().one("TransferJob").inputs
    assert job["schedule"]["repeatInterval"] == "21600s"
    assert job["transferSpec"]["gcsDataSource"]["bucketName"] == "tensorplane-dev-images-1234567"
    assert job["transferSpec"]["gcsDataSink"]["bucketName"] == "tensorplane-dev-images-mirror-1234567"
    assert job["transferSpec"]["transferOptions"]["deleteObjectsUniqueInSink"] is True
    roles = {
        (member.inputs["bucket"], member.inputs["role"])
        for member in made().all("BucketIAMMember")
        if "storage-transfer" in member.inputs["member"]
    }
    assert roles == {
        ("tensorplane-dev-images-1234567", "roles/storage.objectViewer"),
        ("tensorplane-dev-images-1234567", "roles/storage.legacyBucketReader"),
        ("tensorplane-dev-images-mirror-1234567", "roles/storage.objectUser"),
        ("tensorplane-dev-images-mirror-1234567", "roles/storage.legacyBucketReader"),
    }


def test_a_parallel_file_system_is_in_the_zone_of_its_readers_and_kept() -> None:
    lustre = made().one("lustre/instance:Instance")
    found = lustre.inputs
    assert (found["capacityGib"], found["perUnitStorageThroughput"]) == ("18000", "500")
    assert (found["location"], found["network"]) == (
        "us-central1-a",
        "projects/ml-platform/global/networks/tensorplane-dev",
    )
    assert lustre.options["protect"] is lustre.options["retainOnDelete"] is True
    spec = made().one("PersistentVolume", "tensorplane-dev-scratch").inputs["spec"]
    assert spec["csi"]["driver"] == "lustre.csi.storage.gke.io"
    assert spec["csi"]["volumeHandle"] == f"ml-platform/us-central1-a/{found['instanceId']}"
    assert spec["csi"]["volumeAttributes"] == {"mountpoint": f"10.200.0.2@tcp:/{found['filesystem']}"}
    (term,) = spec["nodeAffinity"]["required"]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == ["us-central1-a"]


def test_no_two_file_systems_of_a_node_are_called_the_same() -> None:
    two = built(
        {**GKE, "lustre": True},
        **{name: {"sizeGib": 9000, "backend": LUSTRE, **HERE} for name in ("one", "two")},
    )
    names = [one.inputs["filesystem"] for one in two.all("Instance")]
    assert len(set(names)) == 2
    assert all(len(name) <= 8 and name.isalnum() and name[0].isalpha() for name in names)


def test_the_cluster_reaches_lustre_and_its_nodes_load_the_driver() -> None:
    (cluster,) = (one.inputs for one in made().resources if one.type == "gcp:container/cluster:Cluster")
    assert cluster["addonsConfig"]["lustreCsiDriverConfig"] == {"enabled": True}
    pools = {pool.name: pool.inputs["nodeConfig"] for pool in made().all("NodePool")}
    assert pools["cpu"]["linuxNodeConfig"] == {"nodeKernelModuleLoading": {"policy": "ENFORCE_SIGNED_MODULES"}}
    assert "linuxNodeConfig" not in pools["l4"]
    firewall = made().one("Firewall").inputs
    assert (firewall["sourceRanges"], firewall["allows"]) == (
        ["10.200.0.0/20"],
        [{"protocol": "tcp", "ports": ["988"]}],
    )
    assert made().one("Connection").inputs["reservedPeeringRanges"] == ["cluster-services"]
    (other,) = (one.inputs for one in built().resources if one.type == "gcp:container/cluster:Cluster")
    assert "lustreCsiDriverConfig" not in other["addonsConfig"]
    assert not [pool for pool in built().all("NodePool") if "linuxNodeConfig" in pool.inputs["nodeConfig"]]


@pytest.mark.parametrize(
    ("backend", "volume", "line"),
    [
        (BUCKET, {"mirror": {"to": {"region": "us-central1"}}},
         "mirror.to.region: us-central1 is the region of the volume itself; choose another region"),
        (BUCKET, {"mirror": {"to": {"region": "us-eest1"}}},
         "mirror.to.region: unknown region 'us-eest1'; choose one of africa-south1, asia-east1, asia-east2,"),
        (BUCKET, {"mirror": {"to": {"region": "us-east1"}, "every": "30m"}},
         "mirror.every: 30m is too short for Storage Transfer; set 1h or more"),
        ({**BUCKET, "bucket": "gs://data"}, {}, "backend.bucket: invalid value 'gs://data'; use a bucket name,"),
        ({**BUCKET, "bucket": "b-1"}, {"mirror": {"to": {"region": "us-east1"}}},
         "mirror: is not supported for the existing bucket b-1; remove mirror, or bucket to create one"),
        ({**BUCKET, "bucket": "b-1", "kmsKey": "k"}, {},
         "backend.kmsKey: applies to a new bucket only; remove it, and configure bucket b-1 itself"),
        ({**BUCKET, "hierarchical": True}, {}, "backend.hierarchical: applies to an existing bucket only; set"),
        ({**BUCKET, "kmsKey": "k"}, {}, "backend.kmsKey: 'k' is not the id of a Cloud KMS key; use"),
        ({**BUCKET, "kmsKey": KEY.format("us-east1")}, {},
         "backend.kmsKey: the key is in us-east1, but the data is in us-central1; use a key of us-central1"),
        (
            {**BUCKET, "kmsKey": KEY.format("us-central1")},
            {"mirror": {"to": {"region": "us-east1"}}},
            "backend.mirrorKmsKey: missing, but kmsKey is set and works in its own region only; set a key for the",
        ),
        ({**BUCKET, "mirrorKmsKey": "k"}, {}, "backend.mirrorKmsKey: is set, but the volume has no mirror; remove"),
        ({**BUCKET, "prefix": "/data"}, {}, "backend.prefix: invalid value '/data'; use a path relative"),
        (BUCKET, {"snapshots": {"schedule": "0 * * * *", "keep": 2}},
         "snapshots: backend gcsFuse does not support snapshots; use cephfs, ezmeral, filestore, juicefs,"),
        (BUCKET, {"quota": True}, "quota: backend gcsFuse does not support an enforced size; use cephfs, ezmeral,"),
        (BUCKET, HERE, "placement: backend gcsFuse does not support placement; use filestore, managedLustre or"),
    ],
)  # fmt: skip
def test_what_a_bucket_cannot_do_is_one_line(backend: Mapping[str, Any], volume: dict[str, Any], line: str) -> None:
    found = [text for text in lines(cluster=GKE, models={"backend": backend, **volume}) if text.startswith("models.")]
    assert [text[len("models.") :][: len(line)] for text in found] == [line]


@pytest.mark.parametrize(
    ("backend", "volume", "line"),
    [
        ({}, {"sizeGib": 10}, "sizeGib: invalid size 10 for backend managedLustre; use 9,000 GiB or more"),
        ({}, {"sizeGib": 10000}, "sizeGib: 10000 is not a multiple of 9,000 GiB, as 1000 MBps per TiB requires;"),
        ({"mbpsPerTib": 125}, {}, "sizeGib: 9000 is not a multiple of 72,000 GiB, as 125 MBps per TiB requires;"),
        ({"mbpsPerTib": 300}, {}, "backend.mbpsPerTib: invalid value 300; use 125, 250, 500 or 1000"),
        ({}, {"placement": {"zones": ["us-central1-a", "us-central1-b"]}},
         "placement.zones: lists 2 zones, but this backend uses 1; list 1"),
        ({}, {"placement": {"zones": ["us-central1-x"]}},
         "placement.zones: us-central1-x is not a zone of the cluster; choose one of us-central1-a,"),
        ({}, {"placement": None}, "placement: missing, but Managed Lustre is in one zone; set the zone of the nodes "
         "that read it, such as us-central1-a"),
        ({"kmsKey": KEY.format("global")}, {}, "backend.kmsKey: the key is in global, but the data is in"),
        ({}, {"snapshots": {"schedule": "0 * * * *", "keep": 2}},
         "snapshots: backend managedLustre does not support snapshots; use cephfs, ezmeral, filestore, juicefs,"),
        ({}, {"mirror": {"to": {"region": "us-east1"}}},
         "mirror.to.region: backend managedLustre cannot mirror to a region (it mirrors to remote or volume);"),
    ],
)  # fmt: skip
def test_what_lustre_cannot_do_is_one_line(backend: dict[str, Any], volume: dict[str, Any], line: str) -> None:
    volume = {"sizeGib": 9000, **HERE, "backend": {**LUSTRE, **backend}, **volume}
    asked = {key: value for key, value in volume.items() if value is not None}
    found = [text for text in lines(cluster={**GKE, "lustre": True}, models=asked) if text.startswith("models.")]
    assert [text[len("models.") :][: len(line)] for text in found] == [line]


def test_lustre_needs_the_cluster_s_driver_and_nodes_that_load_it() -> None:
    asked = {"sizeGib": 9000, "backend": LUSTRE, **HERE}
    assert "models.backend: managedLustre requires a driver on the nodes; set cluster.lustre: true" in lines(
        cluster=GKE, models=asked
    )
    old = gke.problems(lustre=True, version="1.33")
    assert old == ["tensorplane:cluster.version: nodes of 1.33 cannot load Lustre's kernel modules; use 1.34 or newer"]
    group = {"machine": "n2-standard-8", "max": 4, "provisioner": "automatic"}
    assert [line for line in gke.problems({"cpu": gke.CPU, "burst": group}, lustre=True) if "burst.provisioner" in line]
    gpus = {"accelerator": "l4", "max": 4, "provisioner": "automatic"}
    assert not [
        line for line in gke.problems({"cpu": gke.CPU, "burst": gpus}, lustre=True) if "burst.provisioner" in line
    ]


def test_both_need_to_know_a_network_of_yours() -> None:
    cluster = {**GKE, "lustre": True, "network": {"existing": OWN}}
    volumes: dict[str, Any] = {"bucket": {"backend": BUCKET}, "lustre": {"sizeGib": 9000, "backend": LUSTRE, **HERE}}
    found = [text.partition(":")[0] for text in lines(cluster=cluster, **volumes) if "uses an existing network" in text]
    assert found == ["bucket.backend.addresses", "lustre.backend.network"]


@pytest.mark.parametrize(
    ("backend", "refused"),
    [(BUCKET, False), ({**BUCKET, "bucket": "b-1"}, True), ({**BUCKET, "bucket": "b-1", "hierarchical": True}, False)],
)
def test_checkpoints_go_to_buckets_whose_folders_can_be_renamed(backend: Mapping[str, Any], refused: bool) -> None:
    job = {
        "kind": "trainingJob",
        "command": ["python"],
        "strategy": {"kind": "single"},
        "volumes": {"runs": "/runs"},
        "checkpoints": {"volume": "runs"},
    }
    tree = {
        "cluster": GKE,
        "nodeGroups": {"cpu": dict(gke.CPU)},
        "volumes": {"runs": {"sizeGib": 1, "backend": backend}},
        "workloads": {"digits": job},
    }
    assert bool([line for line in problems_of(tree) if "cannot rename files" in line]) is refused


def test_a_mirrored_server_is_made_with_the_one_that_follows_it_and_both_are_kept() -> None:
    here, there = (made().one("filestore/instance:Instance", f"tensorplane-dev-runs{end}") for end in ("", "-mirror"))
    for server, location in ((here, "us-central1"), (there, "us-east1")):
        found = server.inputs
        assert (found["tier"], found["location"]) == ("REGIONAL", location)
        assert found["fileShares"] == {"name": "volume", "capacityGb": 2560}
        assert found["networks"][0]["network"] == "tensorplane-dev"
        assert found["deletionProtectionEnabled"] is True
        assert server.options["protect"] is server.options["retainOnDelete"] is True
    assert "initialReplication" not in here.inputs
    follows = {"role": "STANDBY", "replicas": [{"peerInstance": "tensorplane-dev-runs-id"}]}
    assert there.inputs["initialReplication"] == follows
    spec = made().one("PersistentVolume", "tensorplane-dev-runs").inputs["spec"]
    assert spec["csi"] == {
        "driver": "filestore.csi.storage.gke.io",
        "volumeHandle": f"modeInstance/us-central1/{here.inputs['name']}/volume",
        "volumeAttributes": {"ip": "10.9.0.2", "volume": "volume"},
    }
    assert made().one("CronJob", "snapshots-runs")


def test_a_mirrored_server_of_one_zone_follows_into_one_zone() -> None:
    rendered = built(data={"sizeGib": 1024, "backend": FILES, **EAST})
    found = {one.name: one.inputs["location"] for one in rendered.all("filestore/instance:Instance")}
    assert found == {"tensorplane-dev-data": "us-central1-a", "tensorplane-dev-data-mirror": "us-east1-b"}
    assert not [one.name for one in rendered.resources if "beforeDelete" in one.options]
    assert [made.name for made in rendered.all("StorageClass")] == ["tensorplane-files"], "none of the volume's own"


def test_a_snapshot_is_taken_before_a_mirrored_claim_is_deleted_and_before_nothing_else() -> None:
    rendered = built(data={"sizeGib": 1024, "backend": FILES, **EAST, "retain": False})
    hooked = [(one.type, one.name) for one in rendered.resources if "beforeDelete" in one.options]
    assert hooked == [("kubernetes:core/v1:PersistentVolumeClaim", "data")]
    server = rendered.one("filestore/instance:Instance", "tensorplane-dev-data")
    assert (server.inputs["deletionProtectionEnabled"], "protect" in server.options) == (False, False)


def test_a_disk_that_many_nodes_read_begins_as_a_snapshot() -> None:
    found = made().one("StorageClass", "tensorplane-dev-weights").inputs
    assert found["parameters"] == {"type": "hyperdisk-ml", "provisioned-throughput-on-create": "4000Mi"}
    claim = made().one("PersistentVolumeClaim", "weights").inputs["spec"]
    assert (claim["accessModes"], claim["dataSource"]["name"]) == (["ReadOnlyMany"], "weights-20261120-1600")


@pytest.mark.parametrize(
    ("backend", "volume", "line"),
    [
        (FILES, {"mirror": {"to": {"region": "us-central1"}}},
         "mirror.to.region: us-central1 is the region of the volume itself; choose another region"),
        (FILES, {"mirror": {**EAST["mirror"], "every": "1h"}},
         "mirror.every: is 1h, but Filestore replicates continuously; remove it"),
        ({**FILES, "tier": "basicHdd"}, EAST, "mirror: is not supported by tier basicHdd; set tier zonal or"),
        (FILES, {**EAST, **OLD}, "from: conflicts with mirror, because a mirrored Filestore starts empty; restore"),
        (FILES, {"sizeGib": 1100}, "sizeGib: 1100 is not a multiple of 256 GiB, as tier zonal requires; use 1,024"),
        (FILES, {"sizeGib": 10000}, "sizeGib: 10000 is not a multiple of 256 GiB, as tier zonal requires; use"),
        (FILES, {"sizeGib": 12000}, "sizeGib: 12000 is not a multiple of 2,560 GiB, as tier zonal requires; use"),
        (FILES, {**EAST, "placement": {"zones": ["us-central1-a", "us-central1-b"]}},
         "placement.zones: lists 2 zones, but a mirrored Filestore uses 1; list 1"),
        ({**FILES, "kmsKey": KEY.format("us-central1")}, EAST,
         "backend.mirrorKmsKey: missing, but kmsKey is set and works in its own region only; set a key for the"),
        ({**DISK, "type": "pd-ssd"}, {**ROX, **OLD}, "accessModes: pd-ssd does not support ReadOnlyMany; set type"),
        (DISK, ROX, "from: missing, but a ReadOnlyMany disk cannot be written to; set the snapshot that it restores"),
        (DISK, {"accessModes": ["ReadWriteOnce", "ReadOnlyMany"], **OLD},
         "accessModes: mixes ReadOnlyMany with another mode, which a disk does not support; choose one"),
        ({**DISK, "throughputMib": 300}, {}, "backend.throughputMib: invalid throughput 300 for a hyperdisk-ml of"),
        ({**DISK, "iops": 3000}, {}, "backend.iops: is not configurable for hyperdisk-ml, where it follows from"),
        ({**DISK, "type": "hyperdisk-balanced", "throughputMib": 2401}, {},
         "backend.throughputMib: 2401 exceeds the limit of hyperdisk-balanced; set 2,400 or less"),
    ],
)  # fmt: skip
def test_what_servers_and_disks_cannot_do_is_one_line(
    backend: Mapping[str, Any], volume: dict[str, Any], line: str
) -> None:
    asked = {"sizeGib": 1024, "backend": backend, **volume}
    found = [text for text in lines(cluster=GKE, models=asked) if text.startswith("models.")]
    assert [text[len("models.") :][: len(line)] for text in found] == [line]


def test_nobody_mounts_for_writing_what_is_for_reading_alone() -> None:
    tree = dict(settings_of(PROJECT / "examples" / "gke-training-data.yaml").tree)
    workloads = {"digits": {**tree["workloads"]["digits"], "volumes": {"weights": {}, "scratch": {}, "runs": {}}}}
    found = [line for line in problems_of({**tree, "workloads": workloads}) if "is read-only" in line]
    assert found == ["tensorplane:workloads.digits.volumes.weights: volume weights is read-only; set readOnly: true"]


@pytest.mark.parametrize(
    "volumes",
    [
        {"data": {"sizeGib": 1, "backend": BUCKET, "mirror": {"to": {"volume": "other"}, "every": "1h"}}},
        {"data": {"sizeGib": 1, "backend": BUCKET, "from": {"mirror": {"keySecret": "k"}}}},
    ],
)
def test_volsync_s_pods_cannot_mount_buckets(volumes: dict[str, Any]) -> None:
    found = lines(cluster=GKE, **volumes, other={"sizeGib": 10, "backend": {"kind": "persistentDisk"}})
    assert [line for line in found if line.startswith("data.")]
