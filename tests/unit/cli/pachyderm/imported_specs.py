"""Specs that tests import, and the settings that come out."""

from __future__ import annotations

from typing import Any

import yaml

from tensorplane.cli.pachyderm import convert, text
from tensorplane.cli.pachyderm.convert import Imported
from tensorplane.cli.pachyderm.spec import Spec
from tensorplane.cli.pachyderm.stage import Choice

_STACK: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "team"},
    "nodeGroups": {"gpus": {"accelerator": "t4", "perNode": 1, "min": 2, "max": 2}},
    "volumes": {"data": {"sizeGib": 10, "backend": {"kind": "nfs", "server": "nas.example", "folder": "/data"}}},
    "queues": {"research": {"gpus": {"t4": 2}}},
}


def import_specs(*specs: dict[str, Any], choice: Choice = Choice("research", "t4"), **more: Any) -> Imported:  # noqa: B008
    return convert.convert([Spec.model_validate(one) for one in specs], choice, **more)


def tree_of(made: Imported) -> dict[str, Any]:
    """The settings as they are written, in a stack."""
    datasets = {name: {"volume": "data"} for name in made.datasets}
    config = yaml.safe_load(text.settings(made, {"datasets": datasets}))["config"]
    return {**_STACK, **{key.removeprefix("tensorplane:"): value for key, value in config.items()}}


def spec_with(**more: Any) -> dict[str, Any]:
    pfs = {"pfs": {"repo": "photos", "glob": "/*"}}
    return {"pipeline": {"name": "a"}, "transform": {"image": "team/a:1", "cmd": ["a"]}, "input": pfs, **more}


def stage_of(*specs: dict[str, Any], name: str = "a") -> dict[str, Any]:
    (workload,) = import_specs(*specs).workloads.values()
    found: dict[str, Any] = workload["stages"][name]
    return found
