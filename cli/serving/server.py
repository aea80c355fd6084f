"""Model servers of a stack, or those that a team may ask, and requests to their REST API."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from tensorplane.cli import temporary_pod
from tensorplane.cli.access import Access
from tensorplane.cli.api_values import Object
from tensorplane.cli.kueue.objects import condition
from tensorplane.cli.serving import rest, rollout
from tensorplane.cli.serving.rollout import Rollout
from tensorplane.components.base.labels import CANARY, COMPONENT, NAME, TRACK
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tensorplane.stack_file.nearest import did_you_mean
from tensorplane.workloads.model_server import manifest as manifests
from tensorplane.workloads.model_server import serving_config

AVAILABLE = "AVAILABLE"
"""The state of a version that is served, as TensorFlow Serving names it."""
Labels = Mapping[str, Mapping[str, int]]
"""The versions of a model's labels, by label, by model."""


@dataclass(frozen=True)
class Server:
    """A model server."""

    api: Kube
    namespace: str
    name: str
    models: Labels
    replicas: int | None = None
    """Wanted pods; None for members of a team, who see no pods, and ask the Service through the API server."""
    ready: int | None = None
    rollout: Rollout | None = None
    """What its canary's controller has decided; None without a canary."""

    def pods(self) -> list[str]:
        """The paths of its ready pods in the API, those of a canary last."""
        return [path for path, _ in self._pods()]

    def canary_pods(self) -> list[str]:
        """The paths of its canary's ready pods in the API."""
        return [path for path, of_canary in self._pods() if of_canary]

    def _pods(self) -> list[tuple[str, bool]]:
        """Each ready pod's path, and whether it is a canary's, which come last."""
        inside = temporary_pod.pods_of(self.namespace)
        ready = [
            (f"{inside}/{pod['metadata']['name']}", (pod["metadata"].get("labels") or {}).get(TRACK) == CANARY)
            for pod in self.api.items(inside, labelSelector=f"{NAME}={self.name}")
            if condition(pod, "Ready").holds
        ]
        return sorted(ready, key=lambda pod: pod[1])

    def ask(self, model: str, suffix: str = "", body: Any = None, *, canary: bool = False) -> Any:
        """What the REST API answers about a model. A UserError with the server's reason if that is an error.

        `suffix`: the end of the path, such as `:predict`; `body`: of a POST; `canary`: a pod of the canary is asked, if
        one is ready.
        """
        path = f"/v1/models/{quote(model)}{suffix}"
        status, answer = self._of_service(path, body) if self.replicas is None else self._of_pod(path, body, canary)
        if status == 200:
            return answer
        raise UserError(f"{self.name}/{model}: {_reason(answer) or f'the server answers with status {status}'}")

    def _of_service(self, path: str, body: Any) -> tuple[int, Any]:
        status, answer = self.api.request_service(
            self.namespace, self.name, manifests.REST_PORT, path, body, seconds=rest.SECONDS
        )
        if status == 503 and "no endpoints available" in str(answer):
            raise self.without_pods()
        return status, answer

    def without_pods(self) -> UserError:
        """What to do where no pod is ready."""
        return UserError(
            f"{self.name}: no pod is ready; they are once each of its models has a version: publish one, for example"
            f" with tensorplane run … --publish {self.name}"
        )

    def states(self, model: str, *, canary: bool = False) -> dict[int, str]:
        """The states of a model's versions, as TensorFlow Serving names them, the newest first. UserError if the server
        does not answer.
        """
        found = self.ask(model, canary=canary)["model_version_status"]
        return {int(one["version"]): _state(one) for one in sorted(found, key=lambda one: -int(one["version"]))}

    def _of_pod(self, path: str, body: Any, canary: bool) -> tuple[int, Any]:
        ready = (canary and self.canary_pods()) or self.pods()
        if not ready:
            raise self.without_pods()
        status, answer = rest.ask(self.api, ready[0], path, body)
        return status, json.loads(answer) if status == 200 else answer


def _state(version: Mapping[str, Any]) -> str:
    """With the reason if it could not be loaded."""
    reason = " ".join((version.get("status") or {}).get("error_message", "").split())
    return f"{version['state']}: {reason}" if reason else str(version["state"])


def _reason(answer: Any) -> str:
    """The reason in the body of an error on one line: the model server's, or the API server's."""
    try:
        found = json.loads(answer)
        reason = found.get("error") or found["message"]
    except (TypeError, ValueError, KeyError, AttributeError):
        return ""
    return " ".join(str(reason).split())


def servers(access: Access) -> list[Server]:
    """The servers of the stack's namespace; for a team those that serve from its volumes."""
    if access.team:
        return _of_team(access)
    path = f"/apis/apps/v1/namespaces/{access.namespace}/deployments"
    found = access.api.items(path, labelSelector=f"{COMPONENT}={manifests.COMPONENT_VALUE},!{TRACK}")
    return [_deployed(access, one) for one in sorted(found, key=lambda one: str(one["metadata"]["name"]))]


def _deployed(access: Access, deployment: Object) -> Server:
    name = deployment["metadata"]["name"]
    text = _data(access, _models_map(deployment) or manifests.models_map(name)).get(manifests.MODELS_KEY)
    models = serving_config.labels(text) if text else {_first_model(deployment): {}}
    ready = (deployment.get("status") or {}).get("readyReplicas") or 0
    wanted = deployment["spec"].get("replicas", 1)
    return Server(access.api, access.namespace, name, models, wanted, ready, rollout.of(access, name, ready))


def _models_map(deployment: Object) -> str | None:
    """The ConfigMap that the pods mount as their model config file."""
    mounted = deployment["spec"]["template"]["spec"].get("volumes", ())
    names = [str(one["configMap"]["name"]) for one in mounted if one.get("configMap")]
    return next((name for name in names if name.endswith(manifests.models_map(""))), None)


def _data(access: Access, config_map: str) -> Mapping[str, str]:
    found = access.api.get(f"/api/v1/namespaces/{access.namespace}/configmaps/{config_map}") or {}
    return found.get("data") or {}


def _first_model(deployment: Object) -> str:
    """The model of a server with an image of its own, which has no model config file."""
    (container, *_) = deployment["spec"]["template"]["spec"]["containers"]
    return next(str(one["value"]) for one in container["env"] if one["name"] == "MODEL_NAME")


def _of_team(access: Access) -> list[Server]:
    from tensorplane.cli.commands.run.platform import Platform  # imports the stack

    tree = Platform.of_team(access).settings.tree
    found = []
    for name, args in sorted((tree.get("workloads") or {}).items()):
        model = args["model"]
        models = {model["path"].rpartition("/")[2]: model.get("labels") or {}}
        found.append(Server(access.api, tree["namespace"], name, models))
    return found


def chosen(access: Access, target: str | None) -> list[tuple[Server, str]]:
    """The models of all servers, of SERVER, or the one of SERVER/MODEL. A UserError if there is none of this name."""
    there = {one.name: one for one in servers(access)}
    if target is None:
        return [(one, model) for one in there.values() for model in one.models]
    name, _, wanted = target.partition("/")
    if name not in there:
        owner = f"team {access.team}" if access.team else f"stack {access.stack}"
        raise UserError(f"{name}: {owner} has no such model server; {_choose(name, there)}")
    models = there[name].models
    if wanted and wanted not in models:
        raise UserError(f"{target}: {name} serves no such model; {_choose(wanted, models)}")
    return [(there[name], model) for model in ([wanted] if wanted else models)]


def one(access: Access, target: str) -> tuple[Server, str]:
    """The one model of SERVER or SERVER/MODEL. A UserError if there is none, or if the server has several."""
    first, *more = chosen(access, target)
    if more:
        models = ", ".join(f"{target}/{model}" for model in first[0].models)
        raise UserError(f"{target}: serves several models; choose one of {models}")
    return first


def _choose(name: str, names: Mapping[str, Any]) -> str:
    return f"it has {', '.join(names) or 'none'}{did_you_mean(name, names)}"
