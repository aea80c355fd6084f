"""`tensorplane volumes` asks a real cluster; the commands that it prints delete bytes for good, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial

from tensorplane import stack
from tensorplane.cli.commands.check import node_sizes
from tensorplane.cli.commands.check.volumes import problems
from tensorplane.cli.commands.volumes import leftovers, rows
from tensorplane.cli.commands.volumes import objects as volume_facts
from tensorplane.cli.commands.volumes.leftovers import Leftover
from tensorplane.components.base.settings import Settings
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.components.volumes.settings import VolumeArgs
from tensorplane.core.paths import PROJECT
from tests.storage import kubectl
from tests.storage.claims import CLAIMS, SNAPSHOTS, Claims
from tests.support.waiting import eventually


def _left(claims: Claims, was: str) -> list[Leftover]:
    facts = volume_facts.gather(claims.kube, "default")
    return [one for one in leftovers.leftovers(facts) if one.was == f"default/{was}"]


def test_it_shows_what_the_cluster_has(claims: Claims) -> None:
    claims.claim("shown", "ReadWriteMany")
    claims.pod("shown", "shown")
    claims.snapshot("shown-1", "shown")
    facts = volume_facts.gather(claims.kube, "default")
    assert not facts.notes
    shown = next(one for one in rows.volumes(facts, {"shown": {}}) if one.name == "shown")
    assert (shown.storage, shown.phase, shown.access) == ("tensorplane-embedded", "Bound", ("RWX",))
    assert (shown.size, shown.pods, shown.protection) == (64 * 2**20, ("shown",), "retained")
    (taken,) = shown.snapshots
    assert (taken.name, taken.reason, taken.ready, taken.size) == ("shown-1", "-", True, 64 * 2**20)


def test_the_command_itself_runs_and_a_wrong_name_is_one_line(claims: Claims) -> None:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "tensorplane.cli", "volumes", *words]
        return subprocess.run(argv, cwd=PROJECT, env=os.environ, capture_output=True, text=True, check=False)

    assert claims.instance.kubeconfig.exists()
    assert run().returncode == 0
    wrong = run("nothing")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)
    assert wrong.stderr.startswith("nothing: namespace tensorplane-dev has no such volume; choose one of ")


def test_what_deletes_for_good_deletes_that_and_nothing_else(claims: Claims) -> None:
    name = claims.claim("given-up")["spec"]["volumeName"]
    claims.snapshot("given-up-1", "given-up")
    content = claims.content_of(name)
    claims.kube.delete(f"{CLAIMS}/given-up")
    claims.kube.delete(f"{SNAPSHOTS}/given-up-1")
    (volume,) = eventually(lambda: _left(claims, "given-up"))
    (snapshot,) = eventually(lambda: _left(claims, "given-up-1"))
    held = next(one for one in claims.kube.items(kubectl.CONTENTS) if one["metadata"]["name"] == snapshot.name)
    copy = claims.pool / "snapshots" / held["status"]["snapshotHandle"]
    assert content.exists()
    assert copy.exists()

    kubectl.run(claims.instance.kubeconfig, volume.gone)
    eventually(lambda: not content.exists())
    assert copy.exists()
    kubectl.run(claims.instance.kubeconfig, snapshot.gone)
    eventually(lambda: not copy.exists())


def test_a_preview_knows_classes_and_snapshots_that_are_there(claims: Claims) -> None:
    # Names of its own: other tests have claims in this namespace.
    claims.claim("told-origin", mib=128)
    claims.snapshot("told-origin-1", "told-origin")
    wanted = {
        "told-small": {"sizeGib": 0.0625, "from": {"snapshot": "told-origin-1"}},
        "told-lost": {"sizeGib": 1, "from": {"snapshot": "told-origin-2"}},
        "told-odd": {"sizeGib": 1, "backend": {"kind": "storageClass", "name": "tensorplane-embeded"}},
        "told-origin": {"sizeGib": 0.0625},
        "told-right": {"sizeGib": 0.125, "from": {"snapshot": "told-origin-1"}},
    }
    declared = {name: VolumeArgs.model_validate(args) for name, args in wanted.items()}
    told = [
        str(fault).removeprefix("tensorplane:volumes.")
        for fault in problems(declared, Embedded(), "default", claims.kube)
    ]
    assert len(told) == 4
    assert (
        told[0] == "told-origin.sizeGib: volume told-origin has 128 MiB and cannot shrink; set sizeGib to 0.125 or more"
    )
    assert told[1].startswith(
        "told-odd.backend.name: the cluster has no StorageClass 'tensorplane-embeded'; choose one of "
    )
    assert told[2].startswith(
        "told-small.sizeGib: snapshot told-origin-1, from which the volume is created, has 128 MiB"
    )
    assert told[3].startswith(
        "told-lost.from.snapshot: namespace default has no VolumeSnapshot 'told-origin-2'; choose one of "
    )


def test_a_pod_larger_than_this_machine_is_refused_before_it_waits(claims: Claims) -> None:
    job = {"kind": "trainingJob", "strategy": {"kind": "single"}, "command": ["python3", "-m", "train"]}
    sizes = {"told-wide": {"cpus": 1000}, "told-deep": {"memoryGib": 60000}, "told-small": {"cpus": 0.1}}
    tree = {"workloads": {name: {**job, "resources": size} for name, size in sizes.items()}}
    nodes = partial(node_sizes.of_nodes, claims.kube)
    told = [str(fault) for fault in node_sizes.problems(stack.load(Settings(tree)), nodes)]
    keys = ["workloads.told-wide.resources.cpus", "workloads.told-deep.resources.memoryGib"]
    assert [line.removeprefix("tensorplane:").split(": ")[0] for line in told] == keys
