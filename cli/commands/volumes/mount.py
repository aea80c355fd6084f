"""Mounts a volume of the embedded cluster on this machine, for those whom its readers and writers name."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tensorplane.cli import stack_config, temporary_pod
from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.commands.cp import volume_pod
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.driver.target import Target
from tensorplane.embedded.cluster import pool
from tensorplane.embedded.cluster.lock import only_one
from tensorplane.embedded.cluster.node_paths import NodePaths
from tensorplane.stack import ResolvedStack


@dataclass(frozen=True)
class MountOptions:
    """The command's arguments."""

    name: str
    path: str
    stack: str
    context: str
    account: str
    read_only: bool


def run(options: MountOptions) -> str:
    """Mounts it, and says where. UserError if the cluster is another one, or if the volume is not for this account."""
    resolved = stack_config.load(stack_config.file(options.stack))
    pod = volume_pod.of(resolved, options.name, options.account, read_only=options.read_only)
    target = Target.of(options.context, stack=options.stack)
    if not target.embedded:
        raise UserError(_elsewhere(resolved, options.name))
    if os.geteuid() != 0:
        raise UserError("mounting requires root; run the command with sudo")
    access = Access.of(options.stack, None, options.context)
    # As the API server judges a pod that mounts it, groups of users included.
    path = f"{temporary_pod.pods_of(access.namespace)}/{pod['metadata']['name']}"
    access.api.apply(path, pod, "tensorplane", dry_run=True)
    folder, volume = _folder(options.path), _id(access.api, access.namespace, options.name)
    with only_one(target.instance):
        pool.mount_volume(NodePaths(target.instance), volume, folder, read_only=options.read_only)
    how = " read-only" if options.read_only else ""
    return f"{folder}: volume {options.name}, mounted{how}; unmount it with: umount {folder}"


def _elsewhere(resolved: ResolvedStack, name: str) -> str:
    """How to reach a volume of another cluster."""
    backend = resolved.config.volumes[name].backend_on(resolved.config.cluster)
    outside = backend.capabilities.external_access
    copy = f"copy files with: tensorplane cp {name}:/PATH ."
    if outside:
        return f"{name}: is on backend {backend.kind}, for which other machines use {outside} (docs/data.md); or {copy}"
    return f"{name}: is on backend {backend.kind}, which only pods of the cluster mount; {copy}"


def _folder(path: str) -> Path:
    """The folder to mount at, created if it is missing. A UserError if it holds something."""
    folder = Path(path).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if folder.is_mount() or any(folder.iterdir()):
            raise UserError(f"{folder}: is not empty; name an empty folder, or one that does not exist")
    except OSError as error:
        raise UserError(f"{folder}: {error.strerror}; name another folder") from None
    return folder


def _id(api: Kube, namespace: str, claim: str) -> str:
    """The CSI driver's ID of a claim's volume. A UserError if it has none yet."""
    found = api.get(f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{claim}")
    name = ((found or {}).get("spec") or {}).get("volumeName")
    volume: Object | None = api.get(f"/api/v1/persistentvolumes/{name}") if name else None
    if volume is None:
        raise UserError(f"{claim}: the cluster has no such volume yet; deploy the stack with: {command_lines.deploy()}")
    return str(volume["spec"]["csi"]["volumeHandle"])
