"""RuntimeClasses: their handler may show containers GPUs that these do not request, and their overhead adds some."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from gpu_usage import accelerators
from gpu_usage.manifest import UNKNOWN, Manifest, UncountableError, part, unknown

KIND = ("node.k8s.io", "RuntimeClass")
_SHOWS = re.compile(r".*(nvidia|gpu|habana|ascend).*|(.*[-_.])?amd([-_.].*)?", re.IGNORECASE)


def shows_gpus(name: Any) -> bool:
    """Whether a RuntimeClass or handler of that name shows GPUs."""
    return isinstance(name, str) and _SHOWS.fullmatch(name) is not None


def with_gpus(manifests: Iterable[Manifest]) -> frozenset[str]:
    """Names of the RuntimeClasses whose handler shows GPUs."""
    classes = (each for each in manifests if each.type == KIND)
    return frozenset(str(each.metadata("name")) for each in classes if shows_gpus(each.body.get("handler")))


def refuse(runtime: Manifest) -> None:
    """Error of a RuntimeClass that adds GPUs to pods, or about which too little is known."""
    handler, name = runtime.body.get("handler"), runtime.metadata("name")
    if handler is UNKNOWN:
        raise unknown(("handler",))
    if shows_gpus(handler) and not isinstance(name, str):
        problem = f"its handler {handler} shows pods GPUs that they do not request, and its name is not known here"
        raise UncountableError(problem, "give it a plain `metadata.name`")
    for resource, amount in part(part(runtime.body, "overhead"), "podFixed", ("overhead",)).items():
        if accelerators.is_asked(resource) and amount not in (0, "0"):
            problem = f"its overhead adds {resource} to every pod that names it"
            raise UncountableError(problem, "remove it from `overhead.podFixed`, and request it in containers")
