"""Checks of jobs on TPUs against the node groups, the queue and the image."""

from collections.abc import Iterator

from tensorplane.components.base.problems import Key, Problem
from tensorplane.components.node_groups.matching import SPOT, keeping_off
from tensorplane.components.node_groups.shape import Shape
from tensorplane.workloads.family import Declared
from tensorplane.workloads.training_job.role import Role
from tensorplane.workloads.training_job.settings import JobSettings


def find_problems(settings: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    """Problems of a job on TPUs; none of other jobs. `at`: the path of the job."""
    for role in settings.roles():
        # Problems of the accelerator are reported by the strategy.
        if role.topology and not any(settings.strategy.problems(settings.resources)):
            yield from _groups(role, settings, at, declared)
            yield from _rest(settings, at)


def _groups(role: Role, settings: JobSettings, at: Key, declared: Declared) -> Iterator[Problem]:
    fleet, group_name = declared.fleet, role.resources.node_group
    if fleet.unresolved:
        return
    fitting = [
        shape for shape in fleet.offering(role.resources) if group_name in (None, shape.name) and _is_slice(shape, role)
    ]
    chips, (accelerator,) = role.resources.gpus, role.resources.accelerators
    # The pods tolerate the taints of a group that they name, but may only be interrupted if they resume.
    unsafe = not settings.resumes
    closed = {
        shape.name: (shape.args.spot and unsafe and SPOT) if group_name else keeping_off(shape, settings.resumes)
        for shape in fitting
    }
    given = (("nodeGroups",), (*at, "resources"))
    path = (*at, "strategy", "topology")
    if not fitting:
        which = f"node group {group_name} does not have" if group_name else "no node group has"
        shape = f"{{accelerator: {accelerator}, perNode: {chips}, topology: {role.topology}, max: {role.replicas}}}"
        reason = f"{which} {accelerator} as {role.topology} with {chips} on each machine"
        yield Problem(path, f"{reason}; declare one on a GKE cluster: {shape}", given=given)
    elif all(closed.values()):
        reasons = ", ".join(f"{name} ({why})" for name, why in closed.items())
        remedy = "declare another group, or meet its condition"
        yield Problem(
            path,
            f"no node group with such TPUs accepts the pods: {reasons}; {remedy}",
            given=(*given, (*at, "checkpoints")),
        )


def _is_slice(shape: Shape, role: Role) -> bool:
    """Whether the machines of a group are such a slice, or the one machine of it."""
    own = shape.args.topology or (shape.machine.topology if shape.machine and role.replicas == 1 else None)
    return shape.per_node == role.resources.gpus and own == role.topology


def _rest(settings: JobSettings, at: Key) -> Iterator[Problem]:
    if settings.queue is not None:
        reason = "is set, but queues have no quota of TPUs, and Kueue would never admit the job"
        yield Problem((*at, "queue"), f"{reason}; remove queue")
    if settings.image is None:
        reason = "missing, but the default TensorFlow image does not support TPUs"
        yield Problem((*at, "image"), f"{reason}; use one with the package tensorflow-tpu")
