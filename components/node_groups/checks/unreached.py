"""Node groups that no workload of the stack can run on."""

from collections.abc import Collection, Iterator

from tensorplane.components.base.problems import Note
from tensorplane.components.node_groups.fleet import Fleet


def notes(fleet: Fleet, pods: Collection[tuple[str | None, bool]]) -> Iterator[Note]:
    """Notes about groups that no workload of the stack can run on; other jobs may use them.

    `pods`: the node group in each workload's resources, and whether it is interruptible.
    """
    required = {name for name, _ in pods}
    for name, shape in fleet.groups.items():
        path = ("nodeGroups", name)
        if shape.args.spot and not any(interruptible for _, interruptible in pods):
            reason = "no workload of this stack can run on spot nodes (only training jobs with checkpoints can)"
            yield Note((*path, "spot"), f"{reason}; the group is for other jobs")
        elif (taint := shape.own_taint) and name not in required:
            reason = f"no workload of this stack tolerates {taint.key}={taint.value}:{taint.effect}"
            yield Note((*path, "taints"), f"{reason}; a workload with nodeGroup: {name} in its resources does")
