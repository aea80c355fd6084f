"""What starts pods that no preview shows: manifests and charts from elsewhere, objects by other providers, commands.

One list of them all. Each counts as what the policy's configuration states, under its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gpu_usage import pods_in
from gpu_usage.manifest import Manifest, UncountableError, UnseenError, dotted
from gpu_usage.pods_in import Search

_KINDS: Mapping[tuple[str, str], str] = {
    ("argoproj.io", "Application"): "Argo CD",
    ("argoproj.io", "ApplicationSet"): "Argo CD",
    ("helm.toolkit.fluxcd.io", "HelmRelease"): "Flux",
    ("kustomize.toolkit.fluxcd.io", "Kustomization"): "Flux",
    ("helm.cattle.io", "HelmChart"): "k3s",
    ("fleet.cattle.io", "GitRepo"): "Fleet",
    ("fleet.cattle.io", "HelmOp"): "Fleet",
    ("helm.crossplane.io", "Release"): "Crossplane",
    ("kappctrl.k14s.io", "App"): "kapp-controller",
    ("packaging.carvel.dev", "PackageInstall"): "kapp-controller",
    ("core.oam.dev", "Application"): "KubeVela",
    ("pulumi.com", "Stack"): "Pulumi's operator",
    ("pulumi.com", "Program"): "Pulumi's operator",
    ("configsync.gke.io", "RootSync"): "Config Sync",
    ("configsync.gke.io", "RepoSync"): "Config Sync",
    ("addons.cluster.x-k8s.io", "HelmChartProxy"): "Cluster API",
    ("addons.cluster.x-k8s.io", "HelmReleaseProxy"): "Cluster API",
    ("config.projectsveltos.io", "ClusterProfile"): "Sveltos",
    ("config.projectsveltos.io", "Profile"): "Sveltos",
    ("helm.k0sproject.io", "Chart"): "k0s",
    ("operators.coreos.com", "Subscription"): "the Operator Lifecycle Manager",
    ("olm.operatorframework.io", "ClusterExtension"): "the Operator Lifecycle Manager",
    ("trainer.kubeflow.org", "TrainJob"): "Kubeflow Trainer",
    **dict.fromkeys(
        (
            ("policy.karmada.io", f"{scope}{kind}Policy")
            for scope in ("", "Cluster")
            for kind in ("Propagation", "Override")
        ),
        "Karmada",
    ),
    ("kubeai.org", "Model"): "KubeAI",
    ("kaito.sh", "Workspace"): "KAITO",
}
"""Kubernetes objects, and what starts pods for them: from elsewhere, or of a size that a name stands for."""
_FETCHING = {"argoproj.io": "Argo", "tekton.dev": "Tekton"}
_FETCHED = frozenset({"manifestFrom", "bundle"})
"""Fields of these groups for objects from elsewhere, beside Tekton's `resolver` and the `source` of a Sensor."""
_SOURCES = frozenset({"configmap", "file", "git", "s3", "url"})
_TOKENS = re.compile(
    # Providers of Terraform, that of Kubernetes too: its tokens have `index` where Pulumi's have an API's version.
    r"(?P<provider>(kubernetes|kubectl|helm|kustomization|argocd|rancher2):index/.*|flux:index/.*"
    r"|azure-native:kubernetesconfiguration(/\w+)?:FluxConfiguration)"
    r"|(?P<command>command:(local|remote):Command)"
)
_APPLIES = re.compile(
    r"\b(kubectl|helm|helmfile|kustomize|oc|k3s|argocd|argo|flux|kapp|kpt|skaffold|eksctl|ansible-playbook"
    r"|terraform|tofu|pulumi|KUBECONFIG)\b|\bcurl\b.*/apis?/"
)
_TEXTS = ("create", "update", "environment", "stdin")


def find_error(token: str, body: Mapping[str, Any], manifest: Manifest | None) -> UnseenError | None:
    """Why nobody can count what this resource starts; None if it is of no kind on the list."""
    by = _applied_by(token, body, manifest)
    if by is None:
        return None
    problem = f"{by} may start pods with GPUs that this preview does not show"
    return UnseenError(problem, "declare its objects in the stack as resources of the kubernetes provider")


def refuse_shown(body: Mapping[str, Any]) -> None:
    """Error of GPUs in what is shown of it, where none are stated."""
    spec = {key: value for key, value in body.items() if key not in ("metadata", "status")}
    asking = next((each for each in Search(own_fields=True).demands(spec) if each.gpus), None)
    if asking:
        problem = f"`{dotted(asking.path)}` requests GPUs, and the policy's configuration states 0"
        raise UncountableError(problem, "state their number there, or remove them")


def _applied_by(token: str, body: Mapping[str, Any], manifest: Manifest | None) -> str | None:
    if found := _TOKENS.fullmatch(token):
        if found["provider"]:
            return f"the provider {token.partition(':')[0]}"
        texts = " ".join(str(body.get(key)) for key in _TEXTS)
        return f"the command {used[0].split()[0]}" if (used := _APPLIES.search(texts)) else None
    if manifest is None:
        return _by_cloud(token, body)
    by = _KINDS.get(manifest.type) or _FETCHING.get(manifest.group)
    return by if manifest.type in _KINDS or (by and _fetches(manifest.body)) else None


def _by_cloud(token: str, body: Mapping[str, Any]) -> str | None:
    if token.startswith("gcp:gkehub/feature"):
        return "Config Sync" if "'configmanagement'" in str(body) else None
    values = body.get("configurationValues") if token.endswith(":Addon") else None
    return "the add-on" if isinstance(values, str) and pods_in.in_text(values, ("configurationValues",)) else None


def _fetches(value: Any) -> bool:
    """Whether something in a manifest says where the objects or tasks of others are fetched."""
    if isinstance(value, dict):
        source = value.get("source")
        is_fetched = isinstance(source, dict) and not _SOURCES.isdisjoint(source)
        is_resolved = value.get("resolver", "cluster") != "cluster"
        return is_fetched or is_resolved or not _FETCHED.isdisjoint(value) or any(map(_fetches, value.values()))
    return isinstance(value, list) and any(map(_fetches, value))
