"""Checks of the accelerator and node group that a pod requests."""

from collections.abc import Iterable, Iterator

from tensorplane.components.base.model import Resources, Tier
from tensorplane.components.base.plural import number_of
from tensorplane.components.base.problems import Key, Problem, did_you_mean
from tensorplane.components.node_groups.checks import pod_fit
from tensorplane.components.node_groups.fleet import Fleet
from tensorplane.components.node_groups.matching import keeping_off, most_per_pod
from tensorplane.components.node_groups.shape import Shape


def find_problems(
    fleet: Fleet,
    resources: Resources,
    at: Key,
    *,
    interruptible: bool,
    synchronous: bool = False,
    workload: Key | None = None,
) -> Iterator[Problem]:
    """Problems of a pod that no node can run. `at`: the path of its resources; `synchronous` as in `placement.spec`.

    `workload`: the path of the workload's settings, by default the one above `at`.
    """
    # The setting that makes a workload interruptible.
    resumes = (*(at[:-1] if workload is None else workload), "checkpoints")
    if resources.accelerator and not resources.gpus:
        yield Problem((*at, "accelerator"), "accelerator is set but gpus is 0; set gpus to 1 or more")
    elif isinstance(resources.accelerator, Tier):
        yield from _tier(resources.accelerator, fleet, at)
    elif resources.node_group:
        yield from _of_group(fleet, resources.node_group, resources, at, resumes, interruptible=interruptible)
        yield from _shared([resources.node_group], fleet, resources, at, synchronous)
    elif resources.accelerator and not fleet.groups and not fleet.unresolved:
        # Only nodes of declared groups have the label that it selects.
        wanted = " or ".join(resources.accelerators)
        reason = f"the stack declares no nodeGroups with {wanted}; declare one, or remove accelerator"
        yield Problem((*at, "accelerator"), reason, given=(("nodeGroups",), at), lacks=("nodeGroups",))
    elif fleet.groups and not fleet.unresolved and resources.gpus:
        yield from _open(fleet, resources, at, resumes, interruptible=interruptible)
        yield from _shared([shape.name for shape in fleet.offering(resources)], fleet, resources, at, synchronous)
    yield from pod_fit.find_problems(resources, at, fleet.taking(resources, interruptible=interruptible))


def _tier(tier: Tier, fleet: Fleet, at: Key) -> Iterator[Problem]:
    """Problem of a tier without any GPU of the fleet; others are replaced by their models before."""
    wanted = f"tier {tier.tier}{' or newer' if tier.or_newer else ''}"
    given = (("nodeGroups",), at)
    if fleet.unresolved:
        return
    if not fleet.gpu_years:
        reason = f"no node group has GPUs of {wanted}; declare one, or remove accelerator"
        yield Problem((*at, "accelerator"), reason, given=given, lacks=("nodeGroups",))
        return
    by_year: dict[int, list[str]] = {}
    for name, year in sorted(fleet.gpu_years.items()):
        by_year.setdefault(year, []).append(name)
    known = ", ".join(f"{year} ({', '.join(names)})" for year, names in sorted(by_year.items()))
    yield Problem(
        (*at, "accelerator", "tier"), f"no node group has GPUs of {wanted}; choose one of {known}", given=given
    )


def _shared(groups: Iterable[str], fleet: Fleet, resources: Resources, at: Key, synchronous: bool) -> Iterator[Problem]:
    """Problem of synchronous pods if all of their groups share GPUs."""
    found = [fleet.groups[name] for name in sorted(groups) if name in fleet.groups]
    if synchronous and resources.gpus and found and all(shape.args.sharing for shape in found):
        names = ", ".join(shape.name for shape in found)
        key = "nodeGroup" if resources.node_group else "accelerator" if resources.accelerator else "gpus"
        reason = f"pods share the GPUs of {names}, and workers of one job would wait for the slowest share in each step"
        remedy = "use a group without sharing, or strategy single"
        yield Problem((*at, key), f"{reason}; {remedy}", given=(("nodeGroups",), at))


def _of_group(
    fleet: Fleet, name: str, resources: Resources, at: Key, resumes: Key, *, interruptible: bool
) -> Iterator[Problem]:
    if shape := fleet.groups.get(name):
        yield from _group(shape, resources, at, resumes, interruptible=interruptible)
    elif name not in fleet.unresolved:
        known = sorted({*fleet.groups, *fleet.unresolved})
        remedy = f"choose one of {', '.join(known)}{did_you_mean(name, known)}" if known else "declare it in nodeGroups"
        lacks = ("nodeGroups", name) if known else ("nodeGroups",)
        reason = f"no node group is named {name!r}; {remedy}"
        yield Problem((*at, "nodeGroup"), reason, given=(("nodeGroups",), at), lacks=lacks)


def _open(fleet: Fleet, resources: Resources, at: Key, resumes: Key, *, interruptible: bool) -> Iterator[Problem]:
    """Problems of a pod without a node group."""
    given, having = (("nodeGroups",), at), fleet.offering(resources)
    missing = [name for name in resources.accelerators if name not in fleet.gpu_models]
    wanted = " or ".join(resources.accelerators)
    if missing:
        offered = any(shape.accelerator and shape.accelerator.name == missing[0] for shape in having)
        reason = f"workloads cannot request {missing[0]}" if offered else f"no node group has {missing[0]!r}"
        known = fleet.gpu_models
        remedy = (
            f"choose one of {', '.join(known)}{did_you_mean(missing[0], known)}"
            if known
            else "declare a group with GPUs"
        )
        yield Problem((*at, "accelerator"), f"{reason}; {remedy}", given=given)
        return
    most = max((most_per_pod(shape) for shape in having if not keeping_off(shape, interruptible)), default=None)
    if most is None and fleet.gpu_models:
        closed = ", ".join(f"{shape.name} ({keeping_off(shape, interruptible)})" for shape in having)
        reason = (
            f"no node group with {wanted or 'GPUs'} accepts the pod: {closed}; meet a condition, or declare a group"
        )
        yield Problem((*at, "accelerator" if wanted else "gpus"), reason, given=(*given, resumes))
    elif most is None:
        yield Problem(
            (*at, "gpus"), "no node group has GPUs; declare one with an accelerator, or set gpus to 0", given=given
        )
    elif resources.gpus > most:
        yield _too_many(f"the largest node with {wanted}" if wanted else "the largest node", most, at)


def _group(shape: Shape, resources: Resources, at: Key, resumes: Key, *, interruptible: bool) -> Iterator[Problem]:
    """Problems of a pod that names this group."""
    path, given = (*at, "nodeGroup"), (("nodeGroups",), at)
    accelerator = shape.accelerator.name if shape.accelerator else None
    if resources.accelerators and accelerator not in resources.accelerators:
        wanted = " or ".join(resources.accelerators)
        reason = f"{shape.name} has {accelerator or 'no accelerator'}; choose a group with {wanted}"
        yield Problem(path, reason, given=given)
    elif shape.accelerator and not shape.accelerator.counts_as_gpu:
        reason = f"{shape.name} has {accelerator}, which workloads cannot request; choose a group with GPUs or CPUs"
        yield Problem(path, reason, given=given)
    elif shape.accelerator and not resources.gpus:
        reason = f"{shape.name} accepts only pods with GPUs"
        remedy = "set gpus to 1 or more, or choose a group without accelerator"
        yield Problem(path, f"{reason}; {remedy}", given=given)
    elif resources.gpus > (most := most_per_pod(shape)):
        yield _too_many(f"a node of {shape.name}", most, at)
    if shape.args.spot and not interruptible:
        reason = f"{shape.name} is spot and accepts only training jobs with checkpoints"
        yield Problem(path, f"{reason}; set checkpoints, or choose another group", given=(*given, resumes))


def _too_many(node: str, most: int, at: Key) -> Problem:
    reason = f"{node} has {number_of(most, 'GPU')}; set gpus to {most} or less"
    return Problem((*at, "gpus"), reason, given=(("nodeGroups",), at))
