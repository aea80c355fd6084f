"""Images of a single static program: the cluster's add-ons, under upstream's names, and the pods' sandbox."""

from __future__ import annotations

import shutil
from pathlib import Path

from embedded.images import debian
from embedded.images.layer import Recipe
from embedded.images.oci import Image
from embedded.step import Step
from embedded.toolchain import go_module, tools
from embedded.toolchain.go_module import required

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


def images() -> list[Image]:
    """All of them. A Fault names the program that is not built yet."""
    return [PAUSE, *(_program(name, program, path) for name, (program, path) in _PROGRAMS.items())]


def metrics_server() -> Image:
    """That of metrics-server, for stacks with model servers that scale on CPU. The same Fault."""
    version = required(go_module.metrics_server().source, "sigs.k8s.io/metrics-server")
    return _program(f"registry.k8s.io/metrics-server/metrics-server:{version}", "metrics-server", "/metrics-server")


def _program(name: str, program: str, path: str) -> Image:
    binary = tools().path(program)

    def make(root: Path, step: Step) -> None:
        step.note(f"copying {program}")
        shutil.copyfile(binary, root / path.lstrip("/"))
        (root / path.lstrip("/")).chmod(0o755)
        debian.accounts(root)

    # Tool folders are named by their sources, so the path identifies the content.
    recipe = Recipe(program, make, sources=("add_ons.py", "debian.py"), inputs=(str(binary),))
    return Image(name, (recipe,), entrypoint=(path,))
