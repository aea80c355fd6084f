"""Images of a single static program: the cluster's add-ons, under upstream's names, and the pods' sandbox."""

from __future__ import annotations

import shutil
from pathlib import Path

from tensorplane.core.step import Step
from tensorplane.images import debian
from tensorplane.images.layer import Recipe
from tensorplane.images.oci import Image
from tensorplane.toolchain import go_module, tools
from tensorplane.toolchain.go_module import required

_MODULE = go_module.kubernetes().source
# Upstream's images start their program from this path, which upstream's manifests and charts may name.
_PROGRAMS = {
    f"tensorplane.local/coredns:{required(_MODULE, 'github.com/coredns/coredns')}": ("coredns", "/coredns"),
    f"registry.k8s.io/kueue/kueue:{required(_MODULE, 'sigs.k8s.io/kueue')}": ("kueue", "/manager"),
    f"registry.k8s.io/jobset/jobset:{required(_MODULE, 'sigs.k8s.io/jobset')}": ("jobset", "/manager"),
}

PAUSE = Image(
    "tensorplane.local/pause:1",
    (Recipe("pause", debian.pause, sources=("debian.py",)),),
    entrypoint=("/usr/bin/catatonit", "-P"),
)
OF_CONTROLLERS = {
    "metrics-server": {"registry.k8s.io/metrics-server/metrics-server": ("metrics-server", "/metrics-server")},
    "keda": {
        "ghcr.io/kedacore/keda": ("operator", "/keda"),
        "ghcr.io/kedacore/keda-metrics-apiserver": ("adapter", "/keda-adapter"),
    },
    "prometheus": {"quay.io/prometheus/prometheus": ("prometheus", "/bin/prometheus")},
    "traefik": {"docker.io/library/traefik": ("traefik", "/usr/local/bin/traefik")},
    "argo-workflows": {
        "quay.io/argoproj/workflow-controller": ("workflow-controller", "/bin/workflow-controller"),
        "quay.io/argoproj/argoexec": ("argoexec", "/bin/argoexec"),
    },
}
"""Images of the controllers: the program in each, and its path."""


def images() -> list[Image]:
    """All of them. A UserError names the program that is not built yet."""
    return [PAUSE, *(_program(name, program, path) for name, (program, path) in _PROGRAMS.items())]


def controller(name: str) -> list[Image]:
    """Those of one of `go_module.CONTROLLERS`, for stacks that use it. The same UserError."""
    tag = go_module.CONTROLLERS[name]().release
    return [_program(f"{image}:{tag}", program, path) for image, (program, path) in OF_CONTROLLERS[name].items()]


def _program(name: str, program: str, path: str) -> Image:
    binary = tools().path(program)

    def make(root: Path, step: Step) -> None:
        step.note(f"copying {program}")
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(binary, target)
        target.chmod(0o755)
        debian.accounts(root)

    # Tool folders are named by their sources, so the path identifies the content.
    recipe = Recipe(program, make, sources=("add_ons.py", "debian.py"), inputs=(str(binary),))
    return Image(name, (recipe,), entrypoint=(path,))
