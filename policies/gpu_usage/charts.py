"""Resources whose objects a preview does not show: Helm releases, and components that create objects from text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpu_usage.manifest import UNKNOWN, Manifest, UncountableError, dotted, part, unknown, whole_number
from gpu_usage.pods_in import Search

# Charts that tensorplane installs, by address. Their pods request no accelerators.
OWN = frozenset(
    {
        "oci://registry.k8s.io/kueue/charts/kueue",
        "oci://registry.k8s.io/jobset/charts/jobset",
        "oci://public.ecr.aws/karpenter/karpenter",
        "oci://public.ecr.aws/karpenter/karpenter-crd",
        "oci://mcr.microsoft.com/microsoft.azuremanagedlustre/azurelustre-csi-driver",
        "https://kubernetes-sigs.github.io/metrics-server/metrics-server",
        "https://kedacore.github.io/charts/keda",
        "https://prometheus-community.github.io/helm-charts/prometheus",
        "https://traefik.github.io/charts/traefik",
        "https://argoproj.github.io/argo-helm/argo-workflows",
        "https://backube.github.io/helm-charts/volsync",
        "https://nvidia.github.io/k8s-device-plugin/nvidia-device-plugin",
        "https://nvidia.github.io/dcgm-exporter/helm-charts/dcgm-exporter",
        "https://helm.ngc.nvidia.com/nvidia/gpu-operator",
        "https://kubernetes.github.io/autoscaler/cluster-autoscaler",
        "https://aws.github.io/eks-charts/aws-efa-k8s-device-plugin",
    }
)
# The same, built for the embedded cluster, in the folder `charts` of its instance.
_BUILT = frozenset(
    {
        *("kueue", "jobset", "volsync", "nvidia-device-plugin", "metrics-server", "keda", "prometheus", "traefik"),
        "argo-workflows",
    }
)
# Inputs with additional values that no policy sees.
_HIDDEN = ("valueYamlFiles", "postrender")
_COMPONENTS = re.compile(r"kubernetes:(yaml(/v2)?:Config(File|Group)|kustomize(/v2)?:Directory|helm\.sh/v\d:Chart)")
_CONTENTS = ("yaml", "objs", "files", "file", "directory", "chart", "values")


def is_component(token: str) -> bool:
    """Whether a type is one of the Kubernetes SDK's components, whose objects are resources of their own."""
    return _COMPONENTS.fullmatch(token) is not None


def refuse_empty(token: str, body: Mapping[str, Any], *, has_objects: bool) -> None:
    """Error of a component whose objects the preview does not show."""
    kind = token.rpartition(":")[2]
    for key in _CONTENTS:
        if key in body and _holds_unknown(body[key]):
            raise UncountableError(
                f"`{key}` is not known before the update, and neither are its objects",
                f"give the {kind} plain values instead of outputs of other resources",
            )
    if not has_objects:
        problem = "this preview does not show its objects, which may request GPUs"
        raise UncountableError(problem, f"give the {kind} plain values instead of outputs of other resources")


def gpus(release: Manifest, declared: Mapping[str, Any], config: str, home: str | None) -> int:
    """Accelerators of a release: none for a known chart, else the number in the policy's configuration.

    `home`: the folder of the embedded cluster's instance, with charts built for it; None in other clusters.
    """
    chart = _address(release.body)
    for key in _HIDDEN:
        if release.body.get(key):
            raise UncountableError(
                f"`{key}` may request GPUs where no policy sees it", "write what it sets into `values`"
            )
    values = release.body.get("values")
    if values is UNKNOWN:
        raise unknown(("values",))
    stated = whole_number(declared[chart], ("charts", chart)) if chart in declared else 0
    if not (chart in declared or chart in OWN or (home and chart in {f"{home}/charts/{name}" for name in _BUILT})):
        remedy = (
            f'state what each release of it requests in {config}, for example "charts": {{"{chart}": 0}} next to '
            "maxGpus, or make it a kubernetes.helm.v4.Chart, whose objects are counted"
        )
        raise UncountableError(f"what the chart {chart} requests cannot be seen in a preview", remedy)
    asking = next((each for each in Search().demands(part(release.body, "values"), ("values",)) if each.gpus), None)
    if asking and not stated:
        problem = f"`{dotted(asking.path)}` requests GPUs, and how many pods of it the chart runs is not known here"
        raise UncountableError(problem, f'state their number in {config} as "charts": {{"{chart}": …}}, or remove them')
    return stated


def _address(body: Mapping[str, Any]) -> str:
    options = part(body, "repositoryOpts")
    chart, repository = body.get("chart"), options.get("repo")
    for key, value in (("chart", chart), ("repo", repository)):
        if value is UNKNOWN:
            raise unknown((key,))
    return f"{str(repository).rstrip('/')}/{chart}" if repository else str(chart)


def _holds_unknown(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_holds_unknown(each) for each in value.values())
    return any(_holds_unknown(each) for each in value) if isinstance(value, list) else value is UNKNOWN
