"""Stops an instance and checks that nothing of it is left on the machine."""

from __future__ import annotations

import shutil
from pathlib import Path

from tensorplane.core.errors import UserError
from tensorplane.embedded.cluster import cgroups, network, pool, processes
from tensorplane.embedded.cluster.host import run
from tensorplane.embedded.cluster.lock import only_one
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.embedded.instance import Instance


def stop(instance: Instance) -> None:
    """Idempotent, also after a kill -9. Data and containerd's images stay in the instance's home."""
    with only_one(instance):
        clean(instance)
        if left := residue(instance):
            raise UserError(
                *(f"cluster {instance.name}: {line} still exists after stopping; remove it" for line in left)
            )


def remove(instance: Instance) -> None:
    """Stops the instance and deletes its home: etcd, keys, images, volumes."""
    stop(instance)
    with only_one(instance):
        shutil.rmtree(instance.home, ignore_errors=True)
        if instance.home.exists():
            raise UserError(
                f"{instance.home}: cannot be deleted completely, since some of its files are in use; end what uses them"
            )


def clean(instance: Instance) -> None:
    """Ends whatever exists, for a caller that holds the lock.

    All at once, without terminating pods first: etcd and containerd survive it like a power failure, and a worker's
    last checkpoint is complete.
    """
    pool.unmount_volumes(NodePaths(instance))
    processes.kill(instance)
    pool.wait_until_released(NodePaths(instance))
    network.delete(instance)
    cgroups.remove(instance)


def residue(instance: Instance) -> list[str]:
    """What is left of the instance outside its home, a line each; empty after a clean stop."""
    ours = (str(instance.home), str(instance.run), str(network.path(instance)))
    links = (instance.uplink,)
    return [
        *(f"process {pid}" for pid in sorted(processes.members(instance))),
        *(f"mount {target}" for target in network.mounts() if any(_is_in(target, one) for one in ours)),
        *(f"loop device {name}" for name in pool.loop_devices(NodePaths(instance))),
        *(f"interface {name}" for name in links if Path(f"/sys/class/net/{name}").exists()),
        *(f"network namespace {path}" for path in [network.path(instance)] if path.exists()),
        *(f"route {line}" for line in run("ip", "route", "show").splitlines() if f"dev {instance.uplink} " in line),
        *(f"cgroup {folder}" for folder in cgroups.folders(instance)),
        *(f"folder {path}" for path in (instance.run,) if path.exists()),
        *(f"file {path}" for path in network.notes(instance)),
    ]


def _is_in(path: str, folder: str) -> bool:
    """Whether a path is this one or below it. Another instance's name may begin with this one's."""
    return path == folder or path.startswith(f"{folder}/")
