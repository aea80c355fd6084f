"""Every pod of the examples passes Pod Security `restricted`; those of the dev stack fit a small machine."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT, Registered, Rendered, settings_of

# Azure has deployments, too: those of resources.
_DEPLOYMENT = "kubernetes:apps/v1:Deployment"
_ALL = sorted([*(PROJECT / "examples").glob("*.yaml"), *PROJECT.glob("Pulumi.*.yaml")])
AGENTS = [[f"agents.{path.parent.name}"] for path in PROJECT.glob("agents/*/__main__.py")]
FILES = [path for path in _ALL if "workloads" in settings_of(path).tree]


def pods(rendered: Rendered) -> Iterator[dict[str, Any]]:
    """The pod specs among everything registered."""
    for resource in rendered.resources:
        if resource.type == _DEPLOYMENT:
            yield resource.inputs["spec"]["template"]["spec"]
        if resource.type.endswith(":JobSet"):
            for job in resource.inputs["spec"]["replicatedJobs"]:
                yield job["template"]["spec"]["template"]["spec"]


def violations(pod: dict[str, Any]) -> list[str]:
    """What the `restricted` Pod Security Standard says against a pod spec."""
    found = [f"{key} is set" for key in ("hostNetwork", "hostPID", "hostIPC") if pod.get(key)]
    allowed = {
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    }
    for volume in pod.get("volumes", []):
        found += [f"volume {volume['name']} is a {kind}" for kind in set(volume) - {"name"} - allowed]
    outer = pod.get("securityContext", {})
    for container in [*pod["containers"], *pod.get("initContainers", [])]:
        inner = container.get("securityContext", {})
        both = {**outer, **inner}
        checks = {
            "privileged": not both.get("privileged"),
            "allowPrivilegeEscalation": inner.get("allowPrivilegeEscalation") is False,
            "capabilities.drop": "ALL" in inner.get("capabilities", {}).get("drop", []),
            "capabilities.add": set(inner.get("capabilities", {}).get("add", [])) <= {"NET_BIND_SERVICE"},
            "runAsNonRoot": both.get("runAsNonRoot") is True,
            "runAsUser": both.get("runAsUser") != 0,
            "seccompProfile": both.get("seccompProfile", {}).get("type") in ("RuntimeDefault", "Localhost"),
            "hostPort": not any(port.get("hostPort") for port in container.get("ports", [])),
        }
        found += [name for name, holds in checks.items() if not holds]
    return found


@pytest.fixture(params=FILES, ids=lambda path: path.stem)
def rendered(request: pytest.FixtureRequest) -> Rendered:
    return rendered_file(request.param)


def test_pods_are_restricted(rendered: Rendered) -> None:
    made = list(pods(rendered))
    assert made
    assert [violations(pod) for pod in made] == [[] for _ in made]


def test_pods_hold_no_token_and_write_only_where_they_may(rendered: Rendered) -> None:
    accounts = {account.name: account for account in rendered.all("ServiceAccount")}
    for pod in pods(rendered):
        # Programs of the stack's own run nothing of anybody's. Those with an account ask the API server.
        agent = any(container.get("command", [])[2:3] in AGENTS for container in pod["containers"])
        asks = agent and "serviceAccountName" in pod
        assert pod.get("automountServiceAccountToken", True) is asks
        if asks or not agent:
            assert accounts[pod["serviceAccountName"]].inputs["automountServiceAccountToken"] is asks
        for container in pod["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
        containers = [*pod["containers"], *pod.get("initContainers", ())]
        mounted = {mount["name"] for container in containers for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in pod["volumes"]}


def test_the_check_can_fail() -> None:
    pod = {"hostNetwork": True, "containers": [{"name": "c"}], "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}
    assert violations(pod) == [
        "hostNetwork is set",
        "volume v is a hostPath",
        "allowPrivilegeEscalation",
        "capabilities.drop",
        "runAsNonRoot",
        "seccompProfile",
    ]


def _milli(cpu: str) -> float:
    return float(cpu.removesuffix("m")) if cpu.endswith("m") else float(cpu) * 1000


def _mebi(memory: str) -> float:
    return float(memory.removesuffix("Mi")) if memory.endswith("Mi") else float(memory.removesuffix("Gi")) * 1024


def _requests(resource: Registered) -> Iterator[dict[str, str]]:
    """Requests of every pod that a resource brings, once for each."""
    if resource.type == _DEPLOYMENT:
        spec = resource.inputs["spec"]
        yield from [spec["template"]["spec"]["containers"][0]["resources"]["requests"]] * int(spec["replicas"])
    if resource.type.endswith(":JobSet"):
        for job in resource.inputs["spec"]["replicatedJobs"]:
            spec = job["template"]["spec"]
            pod = spec["template"]["spec"]
            yield from [pod["containers"][0]["resources"]["requests"]] * int(spec["parallelism"])
    if resource.type.endswith(":Release"):
        controller = resource.inputs["values"].get("controller") or resource.inputs["values"]["controllerManager"]
        yield (controller.get("manager") or controller)["resources"]["requests"]


def test_the_dev_stack_fits_two_cores_and_four_gibibytes() -> None:
    rendered = rendered_file(PROJECT / "Pulumi.dev.yaml")
    asked = [requests for resource in rendered.resources for requests in _requests(resource)]
    assert len(asked) >= 5, "the job, the server, and the controllers that the queue needs"
    # Beside them: CoreDNS, at most 100m and 70Mi (the values that kubeadm gives it).
    assert sum(_milli(requests["cpu"]) for requests in asked) + 100 <= 2000
    assert sum(_mebi(requests["memory"]) for requests in asked) + 70 <= 4096
