"""A workload stack: one whose workloads run on the platform of another stack of the project, named by `platform`.

It reads the platform's settings from that stack's file, so that its workloads are checked and planned as the platform's
own are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tensorplane import stack_file
from tensorplane.components.base import problems, stack_name
from tensorplane.components.base.problems import Problem, did_you_mean
from tensorplane.components.base.settings import Settings
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.core.errors import UserError
from tensorplane.stack import model_folders
from tensorplane.stack.resolved import PlatformStack
from tensorplane.stack.settings import StackConfig
from tensorplane.stack_file import StackFile, Unreadable

PLATFORM, WORKLOADS = "platform", "workloads"
_OF_PROJECT = frozenset({"trainingJob", "sweep"})
"""Kinds whose files are relative to the folder of who declares them. What the workloads refer to is of other kinds."""


@dataclass(frozen=True)
class Joined:
    """A workload stack's settings together with those of its platform."""

    settings: Settings
    problems: tuple[Problem, ...]
    on: PlatformStack


def is_named(settings: Settings) -> bool:
    """Whether the settings are those of a workload stack."""
    return settings.tree.get(PLATFORM) is not None


def settings_of(own: Settings) -> Settings:
    """The settings of the platform that a workload stack names. A UserError if there are none."""
    files, platform = _files(own.folder), own.tree[PLATFORM]
    if any(path[0] == PLATFORM for path in own.secret):
        _refuse("is encrypted; store it unencrypted")
    if not isinstance(platform, str) or platform not in files:
        known = [name for name in files if name != stack_name.current()]
        shown = f"{platform!r} is" if isinstance(platform, str) else "it names"
        near = did_you_mean(platform, known) if isinstance(platform, str) else ""
        _refuse(f"{shown} no stack of this project; choose one of {', '.join(known) or 'none'}{near}")
    try:
        found = Settings.of_file(stack_file.read(files[platform]))
    except Unreadable as error:
        raise UserError(str(error)) from None
    if is_named(found):
        other = found.tree[PLATFORM]
        own_name = "remove it, or name another stack" if other == platform else f"name {other}"
        _refuse(f"{platform} has no platform of its own, it uses that of {other}; {own_name}")
    if hidden := [path for path in found.unread if path[0] == "cluster"]:
        _refuse(
            f"{'.'.join(hidden[0])} of {platform} is encrypted, so only {platform} can read it; store it unencrypted"
        )
    return replace(found, tree=spelled_out(found.tree, platform))


def _refuse(reason: str) -> None:
    problems.stop([Problem((PLATFORM,), reason)])


def spelled_out(tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The settings, with the names that are derived from the stack's name."""
    default = f"tensorplane-{name}"
    cluster = tree.get("cluster")
    found = {**tree, "namespace": tree.get("namespace") or default}
    if isinstance(cluster, Mapping) and "name" in _keys(cluster.get("kind")):
        found["cluster"] = {**cluster, "name": cluster.get("name") or default}
    return found


def _keys(kind: Any) -> set[str]:
    kinds = (each for each in ClusterArgs.kinds() if each.model_fields["kind"].default == kind)
    return {key for each in kinds for key in each.model_fields}


def joined(own: Settings, platform: Settings, config: StackConfig) -> Joined:
    """The workloads of a stack on its platform. `config`: the platform's settings, which have no problems."""
    platform_name = own.tree[PLATFORM]
    # What the platform's servers take from its jobs, they serve for workload stacks too, which do not read the jobs.
    taken, declared = model_folders.spelled_out(_map(platform.tree.get(WORKLOADS))), _map(own.tree.get(WORKLOADS))
    found = [*_not_here(own, platform_name), *shared_names(declared, platform_name, own.folder)]
    found += [
        Problem((WORKLOADS, name), f"platform {platform_name} has a workload of this name; choose another name")
        for name in declared
        if name in taken
    ]
    shared = {name: one for name, one in taken.items() if one.get("kind") not in _OF_PROJECT}
    sections = {_alias(field) for field in StackConfig.model_fields}
    unknown = {key: value for key, value in own.tree.items() if key not in sections}
    workloads = own.tree.get(WORKLOADS)
    together = {**declared, **shared} if isinstance(workloads, Mapping) or workloads is None else workloads
    tree = {**platform.tree, **unknown, PLATFORM: platform_name, WORKLOADS: together}
    secret = {path for path in platform.secret if path[0] != WORKLOADS or (path[1:2] and path[1] in shared)}
    secret |= {path for path in own.secret if path[0] == WORKLOADS or path[0] in unknown}
    on = PlatformStack(frozenset(taken), config.cluster_controllers)
    return Joined(replace(own, tree=tree, secret=frozenset(secret)), tuple(found), on)


def _map(section: Any) -> dict[str, Any]:
    return {str(name): one for name, one in section.items()} if isinstance(section, Mapping) else {}


def _alias(field: str) -> str:
    return StackConfig.model_fields[field].alias or field


def _not_here(own: Settings, platform: str) -> Iterator[Problem]:
    """The sections that belong to the platform."""
    for field in StackConfig.model_fields:
        if (key := _alias(field)) in own.tree and key not in (PLATFORM, WORKLOADS):
            reason = f"belongs to platform {platform}; declare it in Pulumi.{platform}.yaml, or remove platform"
            yield Problem((key,), reason)


def shared_names(declared: Mapping[str, Any], platform: str, folder: Path | None) -> Iterator[Problem]:
    """Workloads of the running stack whose names are taken by another workload stack of the same platform."""
    if not declared:
        return
    for stack, file in _files(folder).items():
        if stack in (platform, stack_name.current()) or (others := _declared(file, platform)) is None:
            continue
        for name in declared:
            if name in others:
                reason = f"stack {stack} has a workload of this name on platform {platform}; choose another name"
                yield Problem((WORKLOADS, name), reason)


def _declared(file: Path, platform: str) -> Mapping[str, Any] | None:
    """The workloads of a stack's file; None if it is no workload stack of this platform, or nobody can read it."""
    try:
        # Most are none, and parsing one takes longer than this.
        found = stack_file.read(file) if b"platform" in file.read_bytes() else StackFile()
    except (Unreadable, OSError):
        return None
    return _map(found.section(WORKLOADS)) if found.section(PLATFORM) == platform else None


def _files(folder: Path | None) -> dict[str, Path]:
    """The files of the project's stacks by name."""
    found = sorted(folder.glob("Pulumi.*.yaml")) if folder else []
    return {path.name.removeprefix("Pulumi.").removesuffix(".yaml"): path for path in found}
