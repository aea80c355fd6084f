"""The last lines of `tensorplane up`: the stack's servers and teams, and the command with which each is used next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tensorplane.core import command_lines
from tensorplane.core.kube import Kube
from tensorplane.driver import canaries
from tensorplane.driver.watch import MODEL_SERVER, TRAINING_JOB

_PIPELINE = "pipeline"
_DEPLOYMENT = "/apis/apps/v1/namespaces/{}/deployments/{}"


def list_servers(
    api: Kube | None, outputs: Mapping[str, Any], declared: Mapping[str, Any], stack: str
) -> Iterator[str]:
    """A line for each model server of the stack's `outputs`. `declared`: the workloads of its settings. `api`: None if
    the cluster does not answer.
    """
    for name, one in outputs["workloads"].items():
        if one["kind"] != MODEL_SERVER:
            continue
        if api is None or _is_ready(api, outputs["namespace"], one["deployment"]):
            tried = canaries.describe_trial(api, outputs["namespace"], one["deployment"]) if api else ""
            yield f"Server {name}{tried and f' tries {tried}'}: {command_lines.tensorplane(f'models {name}', stack)}"
        elif job := _publisher(name, declared):
            yield f"Server {name} waits for the model of {job}: {command_lines.tensorplane(f'logs -f {job}', stack)}"
        elif pipeline := _pipeline(name, declared):
            words = f"runs start {pipeline}"
            yield f"Server {name} waits for the model of {pipeline}: {command_lines.tensorplane(words, stack)}"
        else:
            words = f"run --publish {name} … -- python train.py"
            yield f"Server {name} waits for a model: {command_lines.tensorplane(words, stack)}"


def list_teams(teams: Mapping[str, Any], stack: str) -> Iterator[str]:
    """A line for each team with members, whose kubeconfig is the stack's to give. `teams`: those of its settings."""
    for name, args in teams.items():
        if (args or {}).get("members"):
            words = f"kubeconfig --team {name} --output ~/.kube/{name}.kubeconfig"
            yield f"Team {name}, for its members: {command_lines.tensorplane(words, stack)}"


def _is_ready(api: Kube, namespace: str, deployment: str) -> bool:
    """Whether a pod of the server has loaded a model."""
    found = api.get(_DEPLOYMENT.format(namespace, deployment)) or {}
    return bool((found.get("status") or {}).get("readyReplicas"))


def _publisher(server: str, declared: Mapping[str, Any]) -> str | None:
    """The first training job of the settings that writes a model of the server."""
    folders = _folders(declared.get(server) or {})
    for name, args in declared.items():
        if isinstance(args, dict) and args.get("kind") == TRAINING_JOB:
            publishes = (args.get("onSuccess") or {}).get("publish") == server
            if publishes or _folder(args.get("model")) in folders:
                return name
    return None


def _pipeline(server: str, declared: Mapping[str, Any]) -> str | None:
    """The first pipeline of the settings with a stage that publishes to the server."""
    for name, args in declared.items():
        if isinstance(args, dict) and args.get("kind") == _PIPELINE:
            stages = (args.get("stages") or {}).values()
            if any(f"{stage.get('publish')}".partition("/")[0] == server for stage in stages):
                return name
    return None


def _folders(server: Mapping[str, Any]) -> set[tuple[Any, Any]]:
    models = [server.get("model"), *(server.get("models") or {}).values()]
    return {_folder(one) for one in models if one}


def _folder(model: Any) -> tuple[Any, Any]:
    return (model.get("volume"), model.get("path")) if isinstance(model, dict) else (None, None)
