"""What the guard of GPUs refuses of what runs in the cluster now, and where it lets GPUs pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tensorplane.cli.commands.check import guard_objects, guarded_pods
from tensorplane.cli.commands.check.guarded_pods import Object
from tensorplane.cli.output.texts import first_names
from tensorplane.components.admission import gpu_guard
from tensorplane.components.admission.namespaces import Spaces
from tensorplane.components.base.labels import PART_OF, TENSORPLANE
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Note
from tensorplane.core.kube import Kube
from tensorplane.stack import ResolvedStack
from tensorplane.stack.gpu_guard import spaces_of

_AT = ("gpusInOtherNamespaces",)
_BINDINGS = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
_MAX_NAMES = 5


def notes(resolved: ResolvedStack, api: Kube, repair: str) -> Iterator[Note]:
    """A line for each: missing parts of the guard, pods of the stack's namespaces that it refuses, LimitRanges there,
    and pods elsewhere. `repair`: the command that creates what somebody deleted."""
    config = resolved.config
    if config.platform:
        return
    spaces, action = spaces_of(resolved), config.gpus_in_other_namespaces
    pods = list(guarded_pods.with_accelerators(api.items("/api/v1/pods")))
    refused = [pod for pod in _inside(pods, spaces) if guarded_pods.is_refused(pod, spaces)]
    denies = bool(spaces.kinds or action) or _in_force(api, spaces, gpu_guard.OWN) == "deny"
    yield from _missing(guard_objects.missing(resolved, api), repair)
    yield from _own_pods(spaces, _names(refused), denies=denies)
    yield from _limit_ranges(_inside(api.items("/api/v1/limitranges"), spaces))
    spared = {one["metadata"]["name"] for one in api.metadata("/api/v1/namespaces") if _is_spared(one)}
    others = [pod for pod in pods if pod["metadata"]["namespace"] not in {*spaces.namespaces, *spared}]
    yield from _other_pods(action, _in_force(api, spaces, gpu_guard.OTHER), _names(others))


def _missing(lacking: list[str], repair: str) -> Iterator[Note]:
    if lacking:
        what = f"parts of the GPU guard are missing in the cluster: {first_names(lacking, _MAX_NAMES)}"
        yield Note(("namespace",), f"{what}; create them with: {repair}")


def _own_pods(spaces: Spaces, refused: list[str], *, denies: bool) -> Iterator[Note]:
    """`refused`: pods in the stack's namespaces that could not be created again, as `namespace/name`."""
    if not refused:
        return
    held = f"{number_of(len(refused), 'pod')} with GPUs ({first_names(refused, _MAX_NAMES)})"
    if spaces.kinds:
        problem = f"the GPU guard refuses pods that run now when they start again: {held} of no admitted job"
        yield Note(("queues",), f"{problem}; run them with tensorplane run, or declare them in workloads")
    elif denies:
        problem = f"the GPU guard refuses pods that run now when they start again: {held} that no setting declares"
        yield Note(("workloads",), f"{problem}; declare them")
    else:
        problem = f"once set, pods that run now in {spaces.stack} are refused when they start again: {held}"
        yield Note(_AT, f"{problem} that no setting declares; declare them in workloads before")


def _limit_ranges(found: Iterable[Object]) -> Iterator[Note]:
    if giving := _names(one for one in found if guarded_pods.gives_some(one)):
        problem = f"containers that request no GPUs get some by {number_of(len(giving), 'LimitRange')}"
        remedy = 'set default and defaultRequest of these resources to "0"'
        yield Note(("namespace",), f"{problem} ({first_names(giving, _MAX_NAMES)}); {remedy}")


def _other_pods(action: gpu_guard.Action | None, in_force: str | None, pods: list[str]) -> Iterator[Note]:
    """`in_force`: what the cluster does now. `pods`: those in namespaces that no stack manages."""
    held = f": {number_of(len(pods), 'pod')} with GPUs there ({first_names(pods, _MAX_NAMES)})" if pods else ""
    if "deny" in (action, in_force):
        if pods:
            remedy = f"run them in a queue, or label their namespaces {gpu_guard.ALLOWED}=allowed"
            yield Note(_AT, f"deny refuses pods that run now when they start again{held}; {remedy}")
    elif action != "allow":
        how = "are only warned about" if in_force else "are let in"
        yield Note(
            _AT, f"pods with GPUs in namespaces that no stack manages {how}{held}; set it to deny, warn or allow"
        )


def _is_spared(namespace: Object) -> bool:
    labels = namespace["metadata"].get("labels") or {}
    return labels.get(PART_OF) == TENSORPLANE[PART_OF] or labels.get(gpu_guard.ALLOWED) == "allowed"


def _inside(things: Iterable[Object], spaces: Spaces) -> Iterator[Object]:
    """Those in a namespace of the stack."""
    return (one for one in things if one["metadata"]["namespace"] in spaces.namespaces)


def _names(things: Iterable[Object]) -> list[str]:
    return [f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in things]


def _in_force(api: Kube, spaces: Spaces, policy: str) -> str | None:
    """What a policy does now: deny or warn; None if the cluster does not have it."""
    binding = api.get(f"{_BINDINGS}/{spaces.stack}{policy}")
    return str(binding["spec"]["validationActions"][0]).lower() if binding else None
