"""Settings of many teams with a queue each, over twenty node groups of different accelerators."""

from __future__ import annotations

from itertools import product

from tensorplane.components.base.settings import Settings

_ACCELERATORS = ("t4", "l4", "v100-32gb", "a100-40gb", "a100-80gb", "h100-80gb", "l40s")
_WAYS: tuple[tuple[str, dict[str, object]], ...] = (
    ("", {}),
    ("-spot", {"spot": True}),
    ("-time-slicing-2", {"sharing": {"kind": "timeSlicing", "replicas": 2}}),
)
_GROUPS = 20
_PRIORITIES = ("low", "normal", "high")


def settings(teams: int) -> Settings:
    """Each team has a queue with two guaranteed GPUs of each kind, and may borrow four more."""
    variants: list[tuple[str, dict[str, object]]] = [
        (f"{accelerator}{mark}", {"accelerator": accelerator, **more})
        for accelerator, (mark, more) in product(_ACCELERATORS, _WAYS)
    ]
    kinds = dict(variants[: _GROUPS - 1])
    names = [f"team-{index}" for index in range(teams)]
    queues = {
        name: {
            "priority": _PRIORITIES[index % len(_PRIORITIES)],
            "cpus": 4,
            "memoryGib": 16,
            "gpus": dict.fromkeys(kinds, 2),
            "mayBorrow": dict.fromkeys(kinds, 4),
            "teams": [name],
        }
        for index, name in enumerate(names)
    }
    groups = {f"group-{kind}": {**group, "perNode": 8, "max": 200} for kind, group in kinds.items()}
    return Settings(
        {
            "cluster": {"kind": "existing", "context": "bench"},
            "gpuRuntime": {"kind": "plugin"},
            "nodeGroups": {"cpu": {"max": 500}, **groups},
            "teams": {name: {} for name in names},
            "queues": queues,
        }
    )
