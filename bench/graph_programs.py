"""`python -m bench.graph_programs WAY WHAT`: one program that `bench.graph` times, in a process of its own."""

from __future__ import annotations

import json
import sys
import time
from functools import partial

_BEGAN = time.perf_counter()
# The machines of a fleet of a thousand groups, in rotation.
_ACCELERATORS = ({"accelerator": "t4"}, {"accelerator": "l4"}, {"accelerator": "h100-80gb", "perNode": 8})
_REGION = "us-west-2"
# The SDK modules that the stack's program uses, by a resource of each: a module is loaded on the first access to
# something in it.
_USED = {
    "prod": (
        "pulumi_aws.autoscaling.Tag",
        "pulumi_aws.cloudwatch.LogGroup",
        "pulumi_aws.ec2.Vpc",
        "pulumi_aws.eks.Cluster",
        "pulumi_aws.iam.Role",
        "pulumi_aws.kms.Key",
        "pulumi_aws.sqs.Queue",
        "pulumi_aws.vpc.SecurityGroupIngressRule",
        "pulumi_kubernetes.admissionregistration.v1.ValidatingAdmissionPolicy",
        "pulumi_kubernetes.apiextensions.CustomResource",
        "pulumi_kubernetes.apps.v1.Deployment",
        "pulumi_kubernetes.core.v1.Namespace",
        "pulumi_kubernetes.helm.v3.Release",
        "pulumi_kubernetes.networking.v1.NetworkPolicy",
        "pulumi_kubernetes.rbac.v1.Role",
        "pulumi_kubernetes.storage.v1.StorageClass",
    ),
}


def main(way: str, what: str) -> None:
    """Runs it, and prints its seconds."""
    programs = {
        "stack": _stack,
        "imports": _imports,
        "ours": _ours,
        "plain": _plain,
        "queues": _queues,
        "teams": _teams,
    }
    print(f"{programs[way](what):.4f}")


def _stack(name: str) -> float:
    """From nothing imported to the complete graph of Pulumi.NAME.yaml: the project's own program."""
    import runpy

    import pulumi

    from bench.mocked import run
    from tensorplane import stack_file
    from tensorplane.core.paths import PROJECT

    tree = stack_file.read(PROJECT / f"Pulumi.{name}.yaml").config
    pulumi.runtime.set_all_config({key: json.dumps(value) for key, value in tree.items()})
    run(partial(runpy.run_path, str(PROJECT)), stack=name)
    return time.perf_counter() - _BEGAN


def _imports(name: str) -> float:
    """`import pulumi` and the SDKs' modules that the stack uses, loaded as a plain program loads them."""
    import importlib
    from functools import reduce

    import pulumi  # noqa: F401

    for resource in _USED[name]:
        sdk, *path = resource.split(".")
        reduce(getattr, path, importlib.import_module(sdk))
    return time.perf_counter() - _BEGAN


def _build(settings: object) -> None:
    from tensorplane import stack

    stack.build(stack.load(settings))  # type: ignore[arg-type]


def _ours(size: str) -> float:
    """A stack of `size` node groups, each with a training job on it."""
    from bench.mocked import run
    from tensorplane.components.base.settings import Settings

    tree = {"cluster": {"kind": "eks", "region": _REGION, "endpoint": {"deployFromInside": True}}, **_fleet(int(size))}
    import pulumi_aws  # noqa: F401  # imports are no part of the graph
    import pulumi_kubernetes  # noqa: F401

    from tensorplane import stack  # noqa: F401

    began = time.perf_counter()
    run(lambda: _build(Settings(tree)), stack="bench")
    return time.perf_counter() - began


def _fleet(size: int) -> dict[str, dict[str, object]]:
    groups: dict[str, object] = {"cpu": {"machine": "m7i.2xlarge", "min": 2, "max": 10}}
    jobs: dict[str, object] = {}
    for index in range(size):
        accelerator = _ACCELERATORS[index % len(_ACCELERATORS)]
        groups[f"group-{index}"] = {**accelerator, "max": 4, "labels": {"bench": str(index)}}
        jobs[f"job-{index}"] = {
            "kind": "trainingJob",
            "strategy": {"kind": "single"},
            "command": ["python3", "-c", "pass"],
            "image": "registry.example/train-gpu:2.21.0",
            "resources": {"gpus": 1, "nodeGroup": f"group-{index}"},
        }
    return {"nodeGroups": groups, "workloads": jobs}


def _plain(size: str) -> float:
    """The same resources, written with the typed SDKs alone."""
    import pulumi_aws  # noqa: F401
    import pulumi_kubernetes  # noqa: F401

    from bench.mocked import run
    from bench.plain_graph import build

    began = time.perf_counter()
    run(lambda: build(int(size)), stack="bench")
    return time.perf_counter() - began


def _queues(teams: str) -> float:
    """From settings to Kueue's objects, with checks: flavors, quotas and queues of many teams."""
    from bench.mocked import run
    from bench.team_queues import settings
    from tensorplane.components.queues.manifest import cluster_queue_spec
    from tensorplane.stack import load

    given = settings(int(teams))

    def generate() -> None:
        resolved = load(given)
        config = resolved.config
        for name, args in config.queues.items():
            cluster_queue_spec(args, resolved.quotas[name], config.namespace_name, [config.namespace_name])

    began = time.perf_counter()
    run(generate, stack="bench")
    return time.perf_counter() - began


def _teams(teams: str) -> float:
    """The complete graph of many teams, as a preview registers it."""
    from bench.mocked import run
    from bench.team_queues import settings

    given = settings(int(teams))
    import pulumi_kubernetes  # noqa: F401

    from tensorplane import stack  # noqa: F401

    began = time.perf_counter()
    run(lambda: _build(given), stack="bench")
    return time.perf_counter() - began


if __name__ == "__main__":
    main(*sys.argv[1:])
