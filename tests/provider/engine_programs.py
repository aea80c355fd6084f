"""Programs for the real engine, run in a process of their own: `python -m tests.provider.engine_programs REQUEST`.

REQUEST is a JSON object: the path of a `kubeconfig`, and `steps`, each an `action` (preview, up, refresh, destroy,
cancel) with its `options`, the `program` with its `arguments`, and the `settings` of its Provider. Printed is a JSON
list with an answer per step. A failed or killed engine leaves the Python of its inline program in disorder, which the
tests' own must not suffer.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
from pulumi import automation

from tensorplane.components.admission import gpu_guard
from tensorplane.components.admission.namespaces import Spaces
from tensorplane.components.clusters.existing import Existing
from tensorplane.components.namespace.component import Namespace
from tensorplane.workloads.pods.owner import Owner

Program = Callable[[k8s.Provider], None]

GROUP = "engine.tensorplane.local"


def crd() -> Any:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    return {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
    }


def world(data: dict[str, str], size: int = 1) -> Program:
    """A namespace, what is in it, a CRD and its object: all made in one run."""

    def program(provider: k8s.Provider) -> None:
        inside = pulumi.ResourceOptions(provider=provider)
        namespace = k8s.core.v1.Namespace("room", opts=inside)
        metadata = k8s.meta.v1.ObjectMetaArgs(namespace=namespace.metadata.name)
        # Background: the garbage collector learns of a new kind within half a minute only.
        in_background = {"pulumi.com/deletionPropagationPolicy": "background"}
        settings = k8s.core.v1.ConfigMap("settings", metadata=metadata, data=data, opts=inside)
        password = pulumi.Output.secret("correct-horse-battery")
        k8s.core.v1.Secret("login", metadata=metadata, string_data={"password": password}, opts=inside)
        definition = k8s.apiextensions.v1.CustomResourceDefinition(
            "things", metadata={"name": f"things.{GROUP}"}, spec=crd(), opts=inside
        )
        k8s.apiextensions.CustomResource(
            "thing",
            api_version=f"{GROUP}/v1",
            kind="Thing",
            metadata={"namespace": namespace.metadata.name, "annotations": in_background},
            spec={"size": size},
            opts=pulumi.ResourceOptions(provider=provider, depends_on=[definition]),
        )
        pulumi.export("namespace", namespace.metadata.name)
        pulumi.export("settings", settings.metadata.name)

    return program


def waiting_pod(namespace: str, *, skip: bool) -> Program:
    """A pod that is never ready, since nothing runs pods here: its creation is pending until it is not awaited."""
    annotations = {"pulumi.com/skipAwait": "true"} if skip else {}

    def program(provider: k8s.Provider) -> None:
        k8s.core.v1.Pod(
            "pod",
            metadata={"name": "pod", "namespace": namespace, "annotations": annotations},
            spec={"containers": [{"name": "main", "image": "a:1"}], "termination_grace_period_seconds": 0},
            opts=pulumi.ResourceOptions(provider=provider),
        )

    return program


def job(namespace: str) -> Program:
    """A Job that says in many ways what is so anyway."""
    container = {"name": "main", "image": "a:1", "env": [], "tty": False, "resources": {"limits": {}}}
    pod = {"containers": [container], "volumes": [], "host_network": False, "node_selector": {}, "scheduler_name": ""}
    spec: Any = {"template": {"spec": {**pod, "restart_policy": "Never"}}}

    def program(provider: k8s.Provider) -> None:
        k8s.batch.v1.Job(
            "job",
            metadata={"name": "job", "namespace": namespace, "annotations": {"pulumi.com/skipAwait": "true"}},
            spec=spec,
            opts=pulumi.ResourceOptions(provider=provider),
        )

    return program


def variables(value: str) -> Program:
    """The Secret of a workload's variables, as the stack makes it."""

    def program(provider: k8s.Provider) -> None:
        inside = pulumi.ResourceOptions(provider=provider)
        namespace = Namespace("variables", protect=False, opts=inside)
        owner = Owner(pulumi.ComponentResource("tests:index:Job", "job", None, inside), "job", namespace, "training")
        secret = owner.secret("job-env", {"PIN": value})
        pulumi.export("secret", secret.metadata["name"])

    return program


def guard(found: str) -> Program:
    """The policy of pods with GPUs for a stack without queues. `found`: what becomes of them: deny or warn."""

    def program(provider: k8s.Provider) -> None:
        policy = gpu_guard.own_policies(Spaces("guarded", {}, [], {}, only_job_sets=True))[0]
        binding: Any = policy.bind(pulumi.ResourceOptions(provider=provider), pulumi.Output.from_input(found))
        pulumi.export("actions", binding.spec["validation_actions"])

    return program


def of_this_machine(context: str) -> Program:
    """Two objects: by a context of the machine's own kubeconfig, as `kind: existing` has it, and by its current one."""

    def program(provider: k8s.Provider) -> None:
        existing = Existing(context=context).connect("existing", {}, pulumi.ResourceOptions())
        k8s.core.v1.ConfigMap("by-context", opts=pulumi.ResourceOptions(provider=existing.provider))
        k8s.core.v1.ConfigMap("by-default")

    return program


PROGRAMS: dict[str, Callable[..., Program]] = {
    "world": world,
    "waiting_pod": waiting_pod,
    "job": job,
    "variables": variables,
    "guard": guard,
    "of_this_machine": of_this_machine,
}


def run(kubeconfig: str, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Carries out the steps on one stack. A step that fails is told, and the next one begins."""
    step = steps[0]

    def inline() -> None:
        provider = k8s.Provider("cluster", kubeconfig=pulumi.Output.secret(kubeconfig), **step["settings"])
        PROGRAMS[step["program"]](**step["arguments"])(provider)

    stack = automation.create_or_select_stack("test", project_name="tests", program=inline)
    answers = []
    for step in steps:
        answers.append(_answer(functools.partial(getattr(stack, step["action"]), **step["options"])))
    return answers


def _answer(action: Callable[[], Any]) -> dict[str, Any]:
    try:
        result = action()
    except automation.CommandError as error:
        return {"error": str(error)}
    outputs = {key: output.value for key, output in getattr(result, "outputs", {}).items()}
    summary = getattr(result, "summary", None)
    changes = dict(summary.resource_changes or {}) if summary else dict(getattr(result, "change_summary", {}))
    return {"changes": changes, "outputs": outputs, "said": getattr(result, "stdout", "")}


if __name__ == "__main__":
    REQUEST = json.loads(sys.argv[1])
    print(json.dumps(run(Path(REQUEST["kubeconfig"]).read_text(), REQUEST["steps"])))
