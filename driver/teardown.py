"""`down` stops the embedded cluster; `purge` also deletes its data and the states of the stacks on it."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tensorplane import stack_file
from tensorplane.core import command_lines
from tensorplane.core.errors import UserError
from tensorplane.core.paths import PROJECT
from tensorplane.driver.stack_settings import StackSettings, settings_folder
from tensorplane.driver.target import Target, state_files
from tensorplane.embedded import cluster
from tensorplane.embedded.instance import Instance


def down(instance: Instance, stack: str | None = None) -> None:
    """Stops the embedded cluster; data, tools and images stay. `stack`: the one that the caller named."""
    refuse_other_clusters(stack, command_lines.goal("down"))
    running = cluster.is_running(instance)
    cluster.stop(instance)
    print(f"Stopped. Data is kept; `{command_lines.deploy()}` starts it again." if running else "Nothing was running.")


_CLUSTER_TYPE = "tensorplane:index:Cluster"
_CLAIM_TYPE = "kubernetes:core/v1:PersistentVolumeClaim"


@dataclass(frozen=True)
class OnCluster:
    """A stack whose objects are in the embedded cluster, as its state has them."""

    project: str
    name: str
    claims: tuple[str, ...]
    """Its volumes, as namespace/name."""


def purge(instance: Instance, stack: str | None = None, *, confirmed: bool) -> None:
    """Stops the embedded cluster and deletes its data, with the state of the stacks on it; prints what is deleted.

    `stack`: the one that the caller named.
    """
    refuse_other_clusters(stack, command_lines.goal("purge"))
    stacks = list_stacks(instance.stacks)
    print(*describe_purge(instance, stacks), sep="\n")
    if not confirmed:
        if not sys.stdin.isatty():
            raise UserError("Nothing was deleted. Confirm with: tensorplane purge --yes")
        if input(f"Type {instance.name} to delete it: ") != instance.name:
            raise UserError("Nothing was deleted.")
    cluster.stop(instance)
    # Before the cluster's data: after a kill, the same command can continue.
    delete_states(instance.stacks, stacks)
    cluster.remove(instance)
    print("Deleted. Tools and images stay in the cache.")


def list_stacks(home: Path) -> list[OnCluster]:
    """The stacks of a home that are on the embedded cluster; no other state may be deleted with it."""
    found = []
    for path in state_files(home):
        resources = _resources(path)
        kinds = {(one.get("inputs") or {}).get("kind") for one in resources if one.get("type") == _CLUSTER_TYPE}
        if kinds == {"embedded"}:
            claims = sorted(str(one.get("id")) for one in resources if one.get("type") == _CLAIM_TYPE)
            found.append(OnCluster(path.parent.name, path.stem, tuple(claims)))
    return found


def _resources(path: Path) -> list[dict[str, Any]]:
    # A state that cannot be read may belong to another cluster.
    try:
        state = json.loads(path.read_text())
        return list(state["checkpoint"]["latest"]["resources"])
    except (ValueError, TypeError, KeyError):
        return []


def describe_purge(instance: Instance, stacks: Sequence[OnCluster]) -> list[str]:
    """What a purge deletes and what it keeps, a line each."""
    deleted = [(one.project, one.name) for one in stacks]
    found = [(path.parent.name, path.stem) for path in state_files(instance.stacks)]
    others = [one for one in found if one not in deleted]
    claims = [claim for one in stacks for claim in one.claims]
    return [
        f"{command_lines.goal('purge')} permanently deletes the embedded cluster {instance.name}:",
        f"  data     {instance.home}: every object and every volume of the cluster, with its snapshots",
        f"  volumes  {', '.join(claims) or 'none that a stack declares'}",
        f"  stacks   {_names(deleted) or 'none'}: Pulumi's state of what is on this cluster",
        f"It keeps {instance.stacks}:",
        f"  stacks   {_names(others) or 'no other stack'}; and the passphrase, which reads encrypted settings",
    ]


def _names(stacks: Sequence[tuple[str, str]]) -> str:
    """Stacks by project and name; those of this project by their name alone."""
    here = stack_file.project_name(PROJECT)
    return ", ".join(sorted(name if project == here else f"{project}/{name}" for project, name in stacks))


def delete_states(home: Path, stacks: Sequence[OnCluster]) -> None:
    """Deletes Pulumi's state, backups, history and locks of these stacks, and their copied settings and logs."""
    backend = home / "pulumi" / ".pulumi"
    for one in stacks:
        for folder in ("history", "backups", "locks", "locks/organization"):
            shutil.rmtree(backend / folder / one.project / one.name, ignore_errors=True)
        shutil.rmtree(home / "logs" / one.name, ignore_errors=True)
        (settings_folder(home, one.project) / f"Pulumi.{one.name}.yaml").unlink(missing_ok=True)
        # The state itself last: after a kill, it shows that the stack is on this cluster.
        for file in sorted((backend / "stacks" / one.project).glob(f"{one.name}.json*"), reverse=True):
            file.unlink()


def refuse_other_clusters(stack: str | None, command: str) -> None:
    """A UserError if the caller named a stack that is not on the embedded cluster."""
    if stack is None:
        return
    target = Target.of("", stack=stack)
    StackSettings(stack, target.home).source()
    if not target.embedded:
        its = f"a cluster of kind {target.cloud}" if target.cloud else f"the cluster of context {target.context}"
        raise UserError(
            f"{command_lines.option('stack', stack)}: `{command}` only works on the embedded cluster, and this stack "
            f"is on {its}; to delete the stack's resources there, run: pulumi destroy --stack {stack} --run-program"
        )
