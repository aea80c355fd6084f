"""The Go modules of the tools: the programs of each, and the flags of its build."""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from tensorplane.toolchain.golang import MODULES
from tensorplane.toolchain.tool_folders import tools_folder

_KUBERNETES_VERSION = "k8s.io/component-base/version"
_PULUMI = "github.com/pulumi/pulumi"
_PULUMI_VERSION = f"{_PULUMI}/sdk/v3/go/common/version.Version"
_CNI_PLUGINS = "github.com/containernetworking/plugins/plugins"
_HELM = "helm.sh/helm/v3/cmd/helm"
_CSI = "github.com/kubernetes-csi"
_ARGO_WORKFLOWS = "github.com/argoproj/argo-workflows/v3"
_KEDA = "github.com/kedacore/keda/v2"
_PROMETHEUS = "github.com/prometheus/prometheus"
_TRAEFIK = "github.com/traefik/traefik/v3"
_NOT_INLINED = (
    "cloud.google.com/...",
    "github.com/alecthomas/...",
    "github.com/aws/...",
    "github.com/Azure/...",
    "github.com/containerd/containerd/...",
    "github.com/envoyproxy/...",
    "github.com/kubeflow/...",
    f"{_CSI}/...",
    "github.com/pb33f/...",
    f"{_PULUMI}/pkg/v3/cmd/...",
    f"{_PULUMI}/pkg/v3/codegen/...",
    "helm.sh/...",
    "k8s.io/apiextensions-apiserver/...",
    "k8s.io/client-go/applyconfigurations/...",
    "k8s.io/client-go/informers/...",
    "k8s.io/client-go/kubernetes/...",
    "k8s.io/client-go/listers/...",
    "k8s.io/dynamic-resource-allocation/...",
    "k8s.io/kube-aggregator/...",
    "k8s.io/kubectl/...",
    "k8s.io/kubernetes/...",
    "sigs.k8s.io/gateway-api/...",
    "sigs.k8s.io/jobset/...",
    "sigs.k8s.io/kueue/...",
    "sigs.k8s.io/kustomize/...",
)
"""Packages that wait for servers, or are called once for each request: without inlining they compile sooner, the
largest in little more than half the time. What encodes, decodes, stores or compares objects is not among them."""


@dataclass(frozen=True)
class GoModule:
    """A module with pinned requirements, built into a folder that is named by a hash of all inputs."""

    name: str
    source: Path
    """Folder of go.mod, go.sum and the module's own main packages."""
    only: tuple[str, ...] = ()
    """Package paths to build. By default every tool of go.mod and every main of the module's own."""
    flags: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    """`variable=text` pairs for the linker; without them the programs do not know their version."""
    charts: tuple[str, ...] = ()
    """Modules whose `charts/NAME` folder is copied next to the programs; NAME ends the module's path."""
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Additional names of a program that behaves according to its name."""
    crds: tuple[str, ...] = ()
    """Modules whose `config/crd` files are copied next to the programs."""
    release: str = ""
    """The tag of upstream's images of these programs."""
    manifests: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Upstream's manifests, as patterns by module, that become templates of the chart in the module's own `chart`."""
    definitions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same, of CustomResourceDefinitions that must exist before the chart's other objects."""
    copied: str = ""
    """A module that is built from a copy, with its own pins and the files of `added`, which its archive lacks."""

    @cached_property
    def _mod(self) -> str:
        return (self.source / "go.mod").read_text()

    @property
    def _mains(self) -> list[str]:
        return sorted(path.parent.name for path in self.source.glob("*/main.go"))

    @property
    def packages(self) -> list[str]:
        """The packages for `go build`."""
        return list(self.only) or ["tool", *(["./..."] if self._mains else [])]

    @property
    def programs(self) -> list[str]:
        """Names of the built programs."""
        packages = self.only or (*self._tools, *self._mains)
        return sorted([*(Path(package).name for package in packages), *self._called])

    @property
    def _tools(self) -> list[str]:
        block = re.search(r"^tool \(\n(.*?)^\)", self._mod, re.MULTILINE | re.DOTALL)
        return block[1].split() if block else re.findall(r"^tool (\S+)$", self._mod, re.MULTILINE)

    @property
    def chart(self) -> Path | None:
        """The folder of the module's own chart, which is copied next to the programs; None if it has none."""
        folder = self.source / "chart"
        return folder if folder.exists() else None

    @property
    def added(self) -> Path:
        """The folder of files for the copy."""
        return self.source / "added"

    @property
    def _called(self) -> list[str]:
        return [name for names in self.names.values() for name in names]

    def without(self, programs: Collection[str]) -> GoModule | None:
        """The module with only the packages that make other programs than these; None if no package is left."""
        if not programs:
            return self
        names = {name: tuple(each for each in also if each not in programs) for name, also in self.names.items()}

        def is_left(package: str) -> bool:
            program = Path(package).name
            return bool(names[program]) if program in names else program not in programs

        only = tuple(filter(is_left, self.only))
        return replace(self, only=only, names=names) if only else None

    @property
    def build_flags(self) -> list[str]:
        """Flags of `go build`, without debug information, which doubles link time and size.

        A package compiles on one thread, because there are always enough of them for all processors.
        """
        compiler = "-dwarf=false -c=1"
        not_inlined = [f"-gcflags={packages}={compiler} -l" for packages in _NOT_INLINED]
        linker = " ".join(["-s", "-w", *(f"-X {pair}" for pair in self.versions)])
        return [
            "-trimpath",
            "-buildvcs=false",
            f"-gcflags=all={compiler}",
            *not_inlined,
            *self.flags,
            f"-ldflags={linker}",
        ]

    @cached_property
    def folder(self) -> Path:
        """The folder of the built programs, whose name changes with every input."""
        digest = hashlib.sha256()
        files = [self.source / "go.mod", self.source / "go.sum", *sorted(self.source.rglob("*.go"))]
        for folder in (self.source / "chart", self.added):
            files += sorted(path for path in folder.rglob("*") if path.is_file())
        for path in files:
            digest.update(f"{path.relative_to(self.source)}\0".encode() + path.read_bytes() + b"\0")
        recipe = [platform.machine(), *self.build_flags, *self.packages, *self._called, *self.charts, *self.crds]
        recipe += [pattern for each in (self.manifests, self.definitions) for some in each.values() for pattern in some]
        recipe += [self.copied] if self.copied else []
        digest.update("\0".join(recipe).encode())
        return tools_folder() / f"{self.name}-{digest.hexdigest()[:12]}"

    @property
    def is_built(self) -> bool:
        return self.folder.exists()

    def path(self, program: str) -> Path:
        """The program's path once the module is built."""
        return self.folder / "bin" / program


def required(source: Path, module: str) -> str:
    """The version of a module that a go.mod requires, as `v1.2.3`."""
    found = re.search(rf"^\s*(?:require )?{re.escape(module)} (v\S+)", (source / "go.mod").read_text(), re.MULTILINE)
    if not found:
        raise ValueError(f"{source / 'go.mod'} does not require {module}")
    return found[1]


_TOOLS = MODULES / "tools"
"""One module for the programs below, so that they share versions, and each package is compiled once for all of them."""


def kubernetes() -> GoModule:
    """Kubernetes with etcd, CoreDNS, the CNI plugins, helm, and the add-ons with their charts."""
    version = required(_TOOLS, "k8s.io/kubernetes")
    major, minor, _ = version.removeprefix("v").split(".")
    return GoModule(
        "kubernetes",
        _TOOLS,
        only=(
            "./coredns",
            "./etcd",
            "./kube",
            *(f"{_CNI_PLUGINS}/{name}" for name in ("ipam/host-local", "main/bridge", "main/loopback", "meta/portmap")),
            _HELM,
            "k8s.io/kubernetes/cmd/kubectl",
            "sigs.k8s.io/jobset",
            "sigs.k8s.io/kueue/cmd/kueue",
        ),
        versions=(
            f"{_KUBERNETES_VERSION}.gitVersion={version}",
            f"{_KUBERNETES_VERSION}.gitMajor={major}",
            f"{_KUBERNETES_VERSION}.gitMinor={minor}",
        ),
        charts=("sigs.k8s.io/kueue", "sigs.k8s.io/jobset"),
        names={"kube": ("kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet")},
    )


def helm() -> GoModule:
    """Only helm, for an existing cluster: the provider installs charts with it."""
    return GoModule("helm", _TOOLS, only=(_HELM,))


def containerd() -> GoModule:
    """containerd, its shim and its client. The btrfs snapshotter would need C headers."""
    programs = ("containerd", "containerd-shim-runc-v2", "ctr")
    packages = (f"github.com/containerd/containerd/v2/cmd/{program}" for program in programs)
    return GoModule("containerd", _TOOLS, only=tuple(packages), flags=("-tags=no_btrfs",))


def kwok() -> GoModule:
    """KWOK, which simulates nodes: only for node groups on the embedded cluster."""
    version = required(_TOOLS, "sigs.k8s.io/kwok")
    versions = (f"sigs.k8s.io/kwok/pkg/consts.Version={version}",)
    return GoModule("kwok", _TOOLS, only=("sigs.k8s.io/kwok/cmd/kwok",), versions=versions)


def metrics_server() -> GoModule:
    """metrics-server with its chart: only for stacks with model servers that scale on CPU."""
    source = MODULES / "metrics-server"
    version = required(source, "sigs.k8s.io/metrics-server")
    return GoModule(
        "metrics-server",
        source,
        versions=(f"sigs.k8s.io/metrics-server/pkg/version.gitVersion={version}",),
        charts=("sigs.k8s.io/metrics-server",),
        release=version,
    )


def keda() -> GoModule:
    """KEDA with a chart of its manifests: only for stacks with workloads that scale by metrics or lag.

    Its admission webhooks are not part of it: the checks of the stack find the same problems earlier.
    """
    source = MODULES / "keda"
    version = required(source, _KEDA).removeprefix("v")
    manifests = (
        "config/crd/bases/*.yaml",
        "config/rbac/role*.yaml",
        "config/service_account/service_account.yaml",
        "config/manager/service.yaml",
        "config/metrics-server/role*.yaml",
        "config/metrics-server/*service.yaml",
    )
    return GoModule(
        "keda",
        source,
        versions=(f"{_KEDA}/version.Version={version}",),
        release=version,
        manifests={_KEDA: manifests},
    )


def prometheus() -> GoModule:
    """Prometheus with a chart, without its web pages: for the same stacks. Of its ways to discover targets, it has
    that by Kubernetes alone, since the clients of all clouds would triple its size."""
    source = MODULES / "prometheus"
    # Its module v0.314.0 is the release v3.14.0.
    _, minor, patch = required(source, _PROMETHEUS).split(".")
    version = f"{int(minor) // 100}.{int(minor) % 100}.{patch}"
    return GoModule(
        "prometheus",
        source,
        flags=("-tags=remove_all_sd,enable_kubernetes_sd",),
        versions=(f"github.com/prometheus/common/version.Version={version}",),
        release=f"v{version}",
    )


def traefik() -> GoModule:
    """Traefik with a chart and the Gateway API's definitions, without the pages of its dashboard: only for stacks with
    a Gateway."""
    source = MODULES / "traefik"
    version = required(source, _TRAEFIK)
    return GoModule(
        "traefik",
        source,
        only=("./cmd/traefik",),
        versions=(f"{_TRAEFIK}/pkg/version.Version={version}",),
        release=version,
        definitions={"sigs.k8s.io/gateway-api": ("config/crd/standard/gateway.networking.k8s.io_*.yaml",)},
        copied=_TRAEFIK,
    )


def argo_workflows() -> GoModule:
    """The controller and the executor of Argo Workflows with a chart: only for stacks with pipelines."""
    source = MODULES / "argo-workflows"
    version = required(source, _ARGO_WORKFLOWS)
    return GoModule(
        "argo-workflows",
        source,
        only=("./cmd/argoexec", "./cmd/workflow-controller"),
        versions=(f"{_ARGO_WORKFLOWS}.version={version}",),
        release=version,
        manifests={_ARGO_WORKFLOWS: ("manifests/base/crds/minimal/argoproj.io_*.yaml",)},
        copied=_ARGO_WORKFLOWS,
    )


CONTROLLERS: Mapping[str, Callable[[], GoModule]] = {
    "metrics-server": metrics_server,
    "keda": keda,
    "prometheus": prometheus,
    "traefik": traefik,
    "argo-workflows": argo_workflows,
}
"""What scales workloads, brings clients to them and runs pipelines: only for stacks that use it, by name."""


def csi() -> GoModule:
    """The CSI sidecar controllers, which turn claims and snapshots into calls of a driver, and their CRDs."""
    return GoModule(
        "csi",
        _TOOLS,
        only=(
            f"{_CSI}/external-provisioner/v6/cmd/csi-provisioner",
            f"{_CSI}/external-resizer/v2/cmd/csi-resizer",
            f"{_CSI}/external-snapshotter/v8/cmd/csi-snapshotter",
            f"{_CSI}/external-snapshotter/v8/cmd/snapshot-controller",
        ),
        crds=(f"{_CSI}/external-snapshotter/client/v8",),
    )


def csi_sanity() -> GoModule:
    """The CSI project's own tests of drivers: only for this project's tests."""
    return GoModule("csi-sanity", _TOOLS, only=(f"{_CSI}/csi-test/v5/cmd/csi-sanity",))


def pulumi() -> GoModule:
    """The Pulumi CLI. The Automation API refuses one without a version."""
    version = required(_TOOLS, f"{_PULUMI}/pkg/v3")
    versions = (f"{_PULUMI_VERSION}={version}",)
    return GoModule("pulumi", _TOOLS, only=(f"{_PULUMI}/pkg/v3/cmd/pulumi",), versions=versions)
