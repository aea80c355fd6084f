"""What `check --cluster` says of a Kueue, a JobSet and an Argo that the stack did not install."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest
import yaml

from tensorplane import stack
from tensorplane.cli.commands.check import controllers
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tensorplane.core.kube import Kube
from tests.support.rendering import PROJECT

_TREE = {
    key.removeprefix("tensorplane:"): value
    for key, value in yaml.safe_load((PROJECT / "examples" / "existing-cluster.yaml").read_text())["config"].items()
}
_WAITS = {"apiVersion": "config.kueue.x-k8s.io/v1beta2", "kind": "Configuration", "waitForPodsReady": {"timeout": "5m"}}


def _deployment(name: str, image: str, *, replicas: int = 1, **toleration: Any) -> dict[str, Any]:
    pod = {"containers": [{"image": "proxy:1"}, {"image": image}], "tolerations": [toleration] if toleration else None}
    about = {"name": name, "namespace": f"{name}-system"}
    return {"metadata": about, "spec": {"replicas": replicas, "template": {"spec": pod}}}


def _notes(*deployments: dict[str, Any], configuration: Any = None, **settings: Any) -> list[str]:
    text = configuration if isinstance(configuration, str) else json.dumps(configuration or _WAITS)

    def items(path: str, **_: str) -> list[dict[str, Any]]:
        return [{"data": {"config.yaml": text}}] if path.endswith("/configmaps") else list(deployments)

    tree = {**_TREE, "controllers": settings or {"kueue": "present", "jobset": "present"}}
    resolved = stack.load(Settings(tree=tree))
    return [str(note) for note in controllers.notes(resolved, cast(Kube, SimpleNamespace(items=items)))]


_KUEUE = "registry.k8s.io/kueue/kueue:v0.15.0"


def test_a_controller_that_waits_for_kubernetes_is_named_with_what_helps() -> None:
    (line,) = _notes(_deployment("kueue", _KUEUE), _deployment("kueueviz", "registry.k8s.io/kueue/kueueviz-backend:1"))
    assert line == (
        "tensorplane:controllers.kueue: the cluster's Kueue (kueue-system/kueue) has 1 replica, which starts elsewhere"
        " 300 s after its node is lost; no gang restarts meanwhile; run 2 replicas, or let its pods tolerate"
        " node.kubernetes.io/unreachable for 10 s"
    )
    (line,) = _notes(_deployment("jobset", "registry.k8s.io/jobset/jobset@sha256:0", operator="Exists"))
    assert (
        "controllers.jobset: the cluster's JobSet (jobset-system/jobset) has 1 replica, which starts nowhere else"
        in line
    )


@pytest.mark.parametrize(
    "how",
    [
        {"replicas": 2},
        {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10},
    ],
)
def test_a_controller_that_is_soon_elsewhere_needs_no_line(how: dict[str, Any]) -> None:
    assert _notes(_deployment("kueue", _KUEUE, **how)) == []


def test_what_the_stack_installs_needs_no_line() -> None:
    assert _notes(_deployment("kueue", _KUEUE), kueue="chart") == []


def test_a_kueue_that_does_not_wait_for_pods_keeps_the_quota_of_a_lost_gang() -> None:
    without = "apiVersion: config.kueue.x-k8s.io/v1beta1\nkind: Configuration\n# waits: no\nintegrations: {}\n"
    (line,) = _notes(_deployment("kueue", _KUEUE, replicas=2), configuration=without)
    assert "has no waitForPodsReady: a gang that finds no other node when its own is lost keeps its quota" in line
    for waits, lines in (("{timeout: 5m}", 0), ("{enable: false}", 1)):
        told = _notes(_deployment("kueue", _KUEUE, replicas=2), configuration=f"{without}waitForPodsReady: {waits}\n")
        assert len(told) == lines
    assert _notes(_deployment("kueue", _KUEUE, replicas=2), configuration="a: b") == [], "not a configuration"


def test_who_may_not_list_them_hears_nothing() -> None:
    def refuses(path: str, **_: str) -> list[dict[str, Any]]:
        raise UserError("forbidden")

    tree = {**_TREE, "controllers": {"kueue": "present"}}
    api = cast(Kube, SimpleNamespace(items=refuses))
    assert list(controllers.notes(stack.load(Settings(tree=tree)), api)) == []
