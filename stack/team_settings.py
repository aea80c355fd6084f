"""The settings of the stack that a team's members may read: those by which their jobs are checked and planned.

They are in a ConfigMap of the team's namespace, so that `tensorplane run --team` needs no file of this project's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from tensorplane.components.base import stack_name
from tensorplane.components.base.labels import labels
from tensorplane.components.base.produced import Produced
from tensorplane.components.base.sdk import k8s, pulumi
from tensorplane.stack.resolved import ResolvedStack

NAME = "tensorplane-platform"
SETTINGS, STACK, TEAM = "settings", "stack", "team"
"""Keys of the ConfigMap: the settings as JSON, and the names of the stack and of the team."""
_SECTIONS = {"cluster", "node_groups", "gpu_runtime", "controllers", "queues", "cohorts", "topology", "teams"}
"""Streams are in the stack's namespace, where a team's jobs cannot reach them."""
_OF_VOLUMES = {"size_gib", "backend", "access_modes", "path"}
"""Who else may mount a volume, and how it is saved, is the stack's concern."""
_FOLDER = {"volume", "path"}
"""Of a model, whether the settings name its folder or a job."""
_OF_SERVERS: Mapping[str, Any] = {"kind": True, "model": _FOLDER, "models": {"__all__": _FOLDER}, "resources": True}


def declare(resolved: ResolvedStack, namespaces: Mapping[str, pulumi.Input[str]], opts: pulumi.ResourceOptions) -> None:
    """Creates the ConfigMap of each team with members. `namespaces`: those of the teams."""
    for team, args in resolved.config.teams.items():
        if args.members:
            k8s.core.v1.ConfigMap(
                f"{team}-{NAME}",
                metadata={"name": NAME, "namespace": namespaces[team], "labels": labels(team, "queue")},
                data={
                    SETTINGS: _as_json(tree(resolved, team)),
                    STACK: stack_name.current(),
                    TEAM: team,
                },
                opts=opts,
            )


def servers(resolved: ResolvedStack, team: str) -> list[str]:
    """The model servers to which a team can publish."""
    own = resolved.config.teams[team].volumes
    return [
        name
        for name, folder in resolved.models.items()
        if own.get(folder.volume) == "readWrite" and name in resolved.config.workloads
    ]


def tree(resolved: ResolvedStack, team: str) -> dict[str, Any]:
    """The published settings, without encrypted ones, with the volumes that the team has and the model servers to which
    it can publish. What other resources produce is in it as their outputs."""
    config = resolved.config
    own = config.teams[team].volumes
    included: Any = {
        **dict.fromkeys(_SECTIONS, True),
        "volumes": dict.fromkeys(own, _OF_VOLUMES),
        "workloads": dict.fromkeys(servers(resolved, team), _OF_SERVERS),
    }
    # Not in the mode for JSON, which takes no outputs of other resources.
    found: dict[str, Any] = config.model_dump(by_alias=True, exclude_unset=True, include=included)
    for path in resolved.secret:
        _remove(found, path)
    for name, args in found.get("teams", {}).items():
        if name != team:
            # They name people, and volumes that this team does not have.
            for private in ("budget", "members", "volumes"):
                args.pop(private, None)
    return {**{key: value for key, value in found.items() if value != {}}, "namespace": config.namespace_name}


_SECRET = object()


def _as_json(tree: Any) -> pulumi.Output[str]:
    """The settings once they are known, without the secrets among what other resources produce."""
    return pulumi.Output.from_input(_opened(tree)).apply(lambda known: json.dumps(_public(known), sort_keys=True))


def _opened(tree: Any) -> Any:
    """The tree with `_SECRET` in place of outputs that are secret."""
    if isinstance(tree, Produced):
        output = pulumi.Output.from_input(tree)
        is_secret: pulumi.Output[bool] = pulumi.Output.from_input(cast(Any, output.is_secret()))
        both = pulumi.Output.all(is_secret, pulumi.Output.unsecret(output))
        return both.apply(lambda found: _SECRET if found[0] else found[1])
    if isinstance(tree, Mapping):
        return {key: _opened(each) for key, each in tree.items()}
    return [_opened(each) for each in tree] if isinstance(tree, list | tuple) else tree


def _public(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {key: _public(each) for key, each in tree.items() if each is not _SECRET}
    return [_public(each) for each in tree if each is not _SECRET] if isinstance(tree, list) else tree


def _remove(tree: Any, path: tuple[str, ...]) -> None:
    *above, last = path
    for key in above:
        tree = tree.get(key) if isinstance(tree, dict) else None
    if isinstance(tree, dict):
        tree.pop(last, None)
