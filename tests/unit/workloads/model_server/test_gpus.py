"""Model servers that share a GPU: each gets its part of the memory, and together no more than there is."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.problems import problems_of
from tests.support.rendered_files import rendered_tree

_FLAG = "--per_process_gpu_memory_fraction="


def _server(**settings: Any) -> dict[str, Any]:
    resources = {"cpus": 1, "memoryGib": 2, "gpus": 1}
    return {"kind": "modelServer", "model": {"volume": "models", "path": "m"}, "resources": resources, **settings}


def _tree(sharing: dict[str, Any] | None, **servers: dict[str, Any]) -> dict[str, Any]:
    shared = {"accelerator": "l4", "max": 2, **({"sharing": sharing} if sharing else {})}
    return {
        "cluster": {"kind": "eks", "region": "us-west-2", "endpoint": {"deployFromInside": True}},
        "nodeGroups": {"cpu": {"machine": "m7i.2xlarge", "min": 1, "max": 2}, "shared": shared},
        "volumes": {"models": {"sizeGib": 10, "backend": {"kind": "nfs", "server": "nas.example", "folder": "/m"}}},
        "workloads": servers,
    }


def _sliced(replicas: int) -> dict[str, Any]:
    return {"kind": "timeSlicing", "replicas": replicas}


@pytest.mark.parametrize(
    ("sharing", "settings", "flags"),
    [
        (_sliced(4), {}, [f"{_FLAG}0.25"]),
        (_sliced(3), {}, [f"{_FLAG}0.333"]),
        (_sliced(4), {"gpuMemoryFraction": 0.4}, [f"{_FLAG}0.4"]),
        # NVIDIA's MPS divides the memory itself.
        ({"kind": "mps", "replicas": 4}, {}, []),
        (None, {}, []),
        (None, {"gpuMemoryFraction": 0.5}, [f"{_FLAG}0.5"]),
    ],
)
def test_a_server_reserves_its_part_of_a_shared_gpu(
    sharing: dict[str, Any] | None, settings: dict[str, Any], flags: list[str]
) -> None:
    made = rendered_tree(_tree(sharing, ranker=_server(**settings)))
    (container,) = made.one("Deployment", "ranker").inputs["spec"]["template"]["spec"]["containers"]
    assert [arg for arg in container["args"] if arg.startswith(_FLAG)] == flags


_AT = "tensorplane:workloads"
_OF = "pods that share a GPU of node group shared would reserve"


@pytest.mark.parametrize(
    ("servers", "lines"),
    [
        (
            {"a": _server(replicas=4, gpuMemoryFraction=0.9)},
            [f"{_AT}.a.gpuMemoryFraction: is 0.9, but 4 {_OF} 3.6 of its memory (a 4 x 0.9); set 0.25 or less"],
        ),
        (
            {"a": _server(scaling={"min": 1, "max": 2, "cpu": 70}, gpuMemoryFraction=0.75)},
            [f"{_AT}.a.gpuMemoryFraction: is 0.75, but 2 {_OF} 1.5 of its memory (a 2 x 0.75); set 0.5 or less"],
        ),
        (
            {"a": _server(gpuMemoryFraction=0.6), "b": _server(replicas=2)},
            [
                f"{_AT}.a.gpuMemoryFraction: is 0.6, but 3 {_OF} 1.1 of its memory (a 1 x 0.6, b 2 x 0.25);"
                " set 0.333 or less"
            ],
        ),
        ({"a": _server(replicas=4)}, []),
        ({"a": _server(replicas=2, gpuMemoryFraction=0.5)}, []),
        ({"a": _server(gpuMemoryFraction=0.5), "b": _server(replicas=2)}, []),
        ({"a": _server(replicas=7, gpuMemoryFraction=0.25)}, []),
    ],
    ids=["replicas", "autoscaled", "two servers", "defaults", "halves", "one and two", "more than one GPU"],
)
def test_servers_on_one_gpu_reserve_no_more_than_all_of_it(servers: dict[str, Any], lines: list[str]) -> None:
    assert problems_of(_tree(_sliced(4), **servers)) == lines


def test_on_gpus_of_their_own_there_is_no_sum() -> None:
    assert problems_of(_tree(None, a=_server(replicas=2, gpuMemoryFraction=0.9))) == []
