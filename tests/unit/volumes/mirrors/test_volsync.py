"""Mirrors by VolSync: the objects that it takes, what its movers may do, and what is refused."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest
import yaml

from tensorplane import stack
from tensorplane.components.controllers.volsync import values as volsync_values
from tensorplane.components.volumes.mirrors import volsync
from tests.support import rendering
from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import PROJECT, Rendered, settings_of
from tests.support.volsync_schema import find_problems
from tests.support.volume_problems import EXISTING, FILES, lines

CEPH = {"kind": "cephfs"}
NFS = {"kind": "nfs", "server": "nfs.example.com", "folder": "/copy"}
TO_COPY = {"to": {"volume": "copy"}, "every": "15m"}
AWAY = {"to": {"remote": {"address": "mirror.example.org", "keySecret": "mirror-key", "port": 8443}}, "every": "1h"}


def built(volumes: dict[str, Any], **more: Any) -> Rendered:
    volumes = {name: {"sizeGib": 10, **args} for name, args in volumes.items()}
    tree = {"cluster": EXISTING, "volumes": volumes, **more}
    return rendered_tree(tree)


@cache
def pair() -> Rendered:
    """A volume of CephFS with a copy on an NFS server, whose writers are listed."""
    return built(
        {
            "models": {"backend": CEPH, "mirror": {**TO_COPY, "alert": True}},
            "copy": {"backend": NFS, "writers": ["digits"]},
        }
    )


def spec(made: Rendered, kind: str, name: str) -> Any:
    found = made.one(kind, name)
    manifest = {"apiVersion": found.inputs["apiVersion"], "kind": kind, "spec": found.inputs["spec"]}
    assert find_problems(manifest) == []
    return found.inputs["spec"]


def test_what_is_sent_is_of_one_moment_and_goes_to_the_copy() -> None:
    sent = spec(pair(), "ReplicationSource", "models")
    assert (sent["sourcePVC"], sent["trigger"]) == ("models", {"schedule": "*/15 * * * *"})
    how = sent["rsyncTLS"]
    assert how["address"] == "volsync-rsync-tls-dst-copy.tensorplane-dev.svc"
    assert how["keySecret"] == "volsync-rsync-tls-copy"
    assert how["copyMethod"] == "Snapshot"
    # A snapshot of CephFS is mounted as it is, without a copy.
    assert how["accessModes"] == ["ReadOnlyMany"]


def test_copies_that_come_and_go_leave_nothing_behind() -> None:
    how = spec(pair(), "ReplicationSource", "models")["rsyncTLS"]
    classes = {one.inputs["metadata"]["name"]: one.inputs for one in pair().all("StorageClass")}
    passing = classes.pop(how["storageClassName"])
    (own,) = classes.values()
    assert (passing["reclaimPolicy"], own["reclaimPolicy"]) == ("Delete", "Retain")
    assert passing["parameters"] == own["parameters"]
    snapshots = pair().one("VolumeSnapshotClass").inputs
    assert (snapshots["metadata"]["name"], snapshots["deletionPolicy"]) == (how["volumeSnapshotClassName"], "Delete")


@pytest.mark.parametrize(
    "backend",
    [
        {"kind": "ezmeral", "cluster": "c", "cldbHosts": ["a"], "restServers": ["b"], "provisionerSecret": "p",
         "ticketSecret": "t", "secretNamespace": "n"},
        FILES,
    ],
)  # fmt: skip
def test_another_driver_s_snapshot_is_copied_first(backend: dict[str, Any]) -> None:
    made = built({"models": {"backend": backend, "mirror": TO_COPY}, "copy": {"backend": NFS}})
    how = spec(made, "ReplicationSource", "models")["rsyncTLS"]
    assert how["copyMethod"] == "Snapshot"
    assert "accessModes" not in how
    assert ("storageClassName" in how) == bool(made.all("StorageClass"))


@pytest.mark.parametrize("backend", [NFS, {"kind": "juicefs", "secret": "s", "secretNamespace": "n"}])
def test_where_no_copy_is_whole_the_volume_itself_is_read(backend: dict[str, Any]) -> None:
    made = built({"models": {"backend": {**backend}, "mirror": TO_COPY}, "copy": {"backend": CEPH}})
    assert spec(made, "ReplicationSource", "models")["rsyncTLS"]["copyMethod"] == "Direct"
    taken = spec(made, "ReplicationDestination", "copy")["rsyncTLS"]
    assert taken["copyMethod"] == "Snapshot"
    assert [one.inputs["metadata"]["name"] for one in made.all("VolumeSnapshotClass")] == [
        taken["volumeSnapshotClassName"]
    ]


def test_the_copy_is_a_volume_that_stays() -> None:
    taken = spec(pair(), "ReplicationDestination", "copy")["rsyncTLS"]
    assert taken["destinationPVC"] == "copy"
    assert "keySecret" not in taken
    assert pair().one("PersistentVolumeClaim", "copy").options["protect"] is True


def test_movers_are_restricted_pods_without_a_token_and_reach_each_other_alone() -> None:
    how = spec(pair(), "ReplicationSource", "models")["rsyncTLS"]
    context = how["moverSecurityContext"]
    assert (context["runAsNonRoot"], context["seccompProfile"]) == (True, {"type": "RuntimeDefault"})
    assert pair().one("ServiceAccount", how["moverServiceAccount"]).inputs["automountServiceAccountToken"] is False
    policy = pair().one("NetworkPolicy", "volume.mirrors").inputs["spec"]
    movers = {"podSelector": policy["podSelector"]}
    assert [rule["from"] for rule in policy["ingress"]] == [[movers]]
    assert [rule["to"] for rule in policy["egress"]] == [[movers]]


def test_movers_are_let_in_where_writers_are_listed() -> None:
    (check,) = pair().one("ValidatingAdmissionPolicy", "tensorplane-dev-copy-access").inputs["spec"]["validations"]
    assert 'in ["digits", "volume.mirrors"]' in check["expression"]


def test_volsync_comes_first_and_only_where_the_stack_installs_it() -> None:
    source = pair().one("ReplicationSource", "models")
    assert {"Release volsync", "ReplicationDestination copy"} <= set(source.options["dependsOn"])
    assert pair().one("Release").inputs["values"]["rsync-tls"]["tag"] == "0.16.0"
    volumes = {"models": {"backend": CEPH, "mirror": TO_COPY}, "copy": {"backend": NFS}}
    assert built(volumes, controllers={"volsync": "present"}).all("Release") == []
    assert built({"models": {"backend": CEPH}}).all("Release") == []


def test_an_alert_tells_that_the_copy_is_late() -> None:
    (group,) = pair().one("PrometheusRule").inputs["spec"]["groups"]
    (rule,) = group["rules"]
    assert rule["expr"] == (
        'volsync_volume_out_of_sync{obj_namespace="tensorplane-dev", obj_name="models", role="source"} == 1'
    )
    assert rule["for"] == "15m"
    assert pair().one("Release").inputs["values"]["metrics"] == {"disableAuth": True}
    assert volsync_values(alerts=False)["metrics"] == {"disableAuth": False}


def test_a_mirror_into_another_cluster_has_two_sides() -> None:
    here = built({"models": {"backend": CEPH, "mirror": AWAY}})
    how = spec(here, "ReplicationSource", "models")["rsyncTLS"]
    assert (how["address"], how["port"], how["keySecret"]) == ("mirror.example.org", 8443, "mirror-key")
    (_, away) = here.one("NetworkPolicy", "volume.mirrors").inputs["spec"]["egress"]
    assert away == {"ports": [{"protocol": "TCP", "port": 8443}]}

    there = built({"models": {"backend": CEPH, "from": {"mirror": {"keySecret": "mirror-key"}}}})
    taken = spec(there, "ReplicationDestination", "models")["rsyncTLS"]
    assert (taken["serviceType"], taken["keySecret"]) == ("LoadBalancer", "mirror-key")
    assert there.one("PersistentVolumeClaim", "models").inputs["spec"].get("dataSource") is None
    assert there.one("NetworkPolicy", "volume.mirrors").inputs["spec"]["ingress"] == [
        {"ports": [{"protocol": "TCP", "port": 8000}]}
    ]


def test_a_mirror_within_the_cluster_can_be_asked_for_from_outside_too() -> None:
    made = built({"models": {"backend": CEPH, "from": {"mirror": {"expose": "cluster"}}}})
    taken = spec(made, "ReplicationDestination", "models")["rsyncTLS"]
    assert (taken["serviceType"], "keySecret" in taken) == ("ClusterIP", False)


@pytest.mark.parametrize(
    ("every", "said"),
    [("1m", "*/1 * * * *"), ("20m", "*/20 * * * *"), ("60m", "0 */1 * * *"), ("6h", "0 */6 * * *"), ("1d", "0 0 * * *"),
     ("45m", None), ("90m", None), ("5h", None), ("2d", None)],
)  # fmt: skip
def test_an_interval_is_a_part_of_an_hour_or_of_a_day(every: str, said: str | None) -> None:
    assert volsync.schedule(every) == said


def test_a_long_name_is_shortened_as_volsync_does_it() -> None:
    assert volsync.receiver_name("n" * 41) == f"volsync-rsync-tls-dst-{'n' * 41}"
    assert volsync.receiver_name("n" * 42) == "volsync-rsync-tls-dst-dc9c4002"


@pytest.mark.parametrize(
    ("models", "line"),
    [
        (
            {"mirror": {**TO_COPY, "to": {"volume": "models"}}},
            "mirror.to.volume: volume models cannot be its own mirror",
        ),
        (
            {"mirror": {**TO_COPY, "to": {"volume": "copi"}}},
            "mirror.to.volume: no volume is named 'copi'; choose one of copy",
        ),
        ({"mirror": {"to": {"volume": "copy"}}}, "mirror.every: missing, but VolSync requires an interval that"),
        ({"mirror": {**TO_COPY, "every": "45m"}}, "mirror.every: is 45m, but VolSync requires an interval that"),
        ({"mirror": {**TO_COPY, "every": "soon"}}, "mirror.every: invalid value 'soon'; use minutes, hours or days"),
        ({"mirror": {**TO_COPY, "to": {}}}, "mirror.to: empty map; use exactly one of region, pool, volume, remote"),
        (
            {"mirror": {**AWAY, "to": {"remote": {"address": "a"}}}},
            "mirror.to.remote.keySecret: required setting is missing: Secret of the stack's namespace with the",
        ),
        (
            {"mirror": {**TO_COPY, "to": {"region": "r"}}},
            "mirror.to.region: backend cephfs cannot mirror to a region (it mirrors to peer or remote or volume);",
        ),
        ({"mirror": TO_COPY, "from": {"volume": "copy"}, "sizeGib": 11}, "from"),
        (
            {"mirror": TO_COPY, "snapshots": {"schedule": "@daily", "keep": 0}},
            "snapshots.keep: invalid value 0; use 1 or more",
        ),
    ],
)
def test_nonsense_is_one_line(models: dict[str, Any], line: str) -> None:
    found = lines(models={"backend": CEPH, **models}, copy={"backend": NFS})
    if line == "from":
        assert any(text.startswith("copy.sizeGib: 10 is less than volume models, whose mirror it") for text in found)
        return
    assert [text[len("models.") :][: len(line)] for text in found] == [line]


def test_two_volumes_do_not_follow_each_other_nor_two_the_same() -> None:
    there_and_back = lines(
        models={"backend": CEPH, "mirror": TO_COPY},
        copy={"backend": NFS, "mirror": {"to": {"volume": "models"}, "every": "1h"}},
    )
    assert there_and_back == [
        "models.mirror.to.volume: volume copy is already mirrored to this volume; remove one direction; also affects "
        "volumes.copy.mirror.to.volume",
    ]
    both = lines(
        models={"backend": CEPH, "mirror": TO_COPY}, more={"backend": CEPH, "mirror": TO_COPY}, copy={"backend": NFS}
    )
    assert both == [
        "more.mirror.to.volume: volume copy is already the mirror of volume models; use a volume of its own"
    ]
    taken = lines(models={"backend": CEPH, "mirror": TO_COPY}, copy={"backend": NFS, "from": {"mirror": {}}})
    assert [line.split(",")[0] for line in taken] == ["copy.from.mirror: conflicts with volumes.models.mirror"]


def test_the_embedded_cluster_has_a_way_of_its_own() -> None:
    embedded = {"kind": "embedded"}
    for backend in ({"kind": "embedded"}, FILES):
        assert lines(cluster=embedded, models={"backend": backend, "mirror": TO_COPY}, copy={}) == [
            "models.mirror.to.volume: VolSync does not run on the embedded cluster; use mirror: "
            "{to: {pool: mirror}}, or another kind of cluster"
        ]
    assert lines(cluster=embedded, models={"mirror": {"to": {"volume": "models"}}}) == [
        "models.mirror.to.volume: volume models cannot be its own mirror; choose another volume"
    ]
    (line,) = lines(cluster=embedded, models={"from": {"mirror": {}}})
    assert line.startswith("models.from.mirror: VolSync does not run on the embedded cluster")


@pytest.mark.parametrize(
    ("cluster", "backend"),
    [
        ({"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}}, {"kind": "efs"}),
        (
            {"kind": "aks", "region": "westeurope", "inheritedAdmins": True, "endpoint": {"deployFromInside": True}},
            {"kind": "netappFiles"},
        ),
    ],
)
def test_a_backend_with_mirrors_of_its_own_can_have_volsync_s_too(
    cluster: dict[str, Any], backend: dict[str, Any]
) -> None:
    found = lines(
        cluster=cluster,
        models={"backend": backend, "sizeGib": 100, "mirror": TO_COPY},
        copy={"backend": NFS, "sizeGib": 100},
    )
    assert [line for line in found if "irror" in line or "copy" in line] == []


def test_efs_replicates_itself_only_where_a_region_is_named() -> None:
    path = PROJECT / "examples" / "eks-volumes.yaml"
    settings = settings_of(path)
    volumes = settings.tree["volumes"]
    name = next(one for one, args in volumes.items() if args.get("mirror"))
    volumes[name]["mirror"] = TO_COPY
    volumes["copy"] = {"sizeGib": volumes[name]["sizeGib"], "backend": {"kind": "efs"}}
    made = rendering.run(lambda: stack.build(stack.load(settings)))
    assert made.all("ReplicationConfiguration") == []
    assert spec(made, "ReplicationSource", name)["rsyncTLS"]["copyMethod"] == "Direct"


def test_nobody_writes_into_a_copy() -> None:
    job = {
        "kind": "trainingJob",
        "strategy": {"kind": "single"},
        "command": ["true"],
        "volumes": {"copy": "/copy", "away": "/away"},
    }
    volumes = {
        "models": {"sizeGib": 1, "backend": CEPH, "mirror": TO_COPY},
        "copy": {"sizeGib": 1, "backend": NFS},
        "away": {"sizeGib": 1, "backend": CEPH, "from": {"mirror": {}}},
    }
    tree = {"cluster": EXISTING, "volumes": volumes, "workloads": {"digits": job}}
    assert problems_of(tree) == [
        "tensorplane:workloads.digits.volumes.copy: volume copy is the mirror of volume models, which "
        "overwrites it; mount it with readOnly: true",
        "tensorplane:workloads.digits.volumes.away: volume away is the mirror of a volume of another "
        "cluster, which overwrites it; mount it with readOnly: true",
    ]
    read = {"path": "/copy", "readOnly": True}
    job["volumes"] = {"copy": read, "away": {**read, "path": "/away"}}
    assert problems_of(tree) == []


def documented() -> list[Rendered]:
    """The stack before a failover, after it, and on the way back, as the page has them."""
    page = (PROJECT / "docs" / "volsync.md").read_text()
    before, failed_over, turned = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[:3]
    trees = [yaml.safe_load(text)["config"]["tensorplane:volumes"] for text in (before, failed_over, turned)]
    return [built(tree) for tree in trees]


def test_failover_and_failback_as_documented_leave_every_volume_as_it_is() -> None:
    kept = [
        {f"{r.type} {r.name}": (r.inputs, r.options["protect"]) for r in made.resources if "PersistentVolume" in r.type}
        for made in documented()
    ]
    assert len(kept[0]) == 3
    assert kept[0] == kept[1] == kept[2]


def test_failover_ends_the_mirror_and_failback_turns_it_around() -> None:
    ends = [
        [one.name for kind in ("ReplicationSource", "ReplicationDestination") for one in made.all(kind)]
        for made in documented()
    ]
    assert ends == [["datasets", "datasets-copy"], [], ["datasets-copy", "datasets"]]
