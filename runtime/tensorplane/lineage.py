"""Where versions come from: what models and datasets record of what made them, in one format.

A model's version has it in `assets.extra/lineage.json`, a dataset's commit in its `provenance`. All keys are optional:

    inputs     what it was made from, a list of
               {dataset, version}: the dataset's name and the id of its version; where known also `commit`, the
               `reference` by which it was read, and its `volume` with its folder `path` there
               {model, version}: a folder VOLUME:/PATH of a model's versions, and a number in it
    job        name of the training job
    pipeline   name of the pipeline, and `stage`, that of its stage
    run        name of the run, of the job or of the pipeline
    parts      how many parts of a stage's inputs there were, and how many were `done`, `skipped` or `failed`
    failed     names of parts without a result
    image      container image
    code       digest of the job's files, `code-…`; `assets.extra/code.zip` of a model's version has them. Of a stage, a
               list of digests
    command    what the container ran, a list of words
    params     parameters of a pipeline's stage
    training   of a stage that is a training job, a hash of each part of its settings that decides the result
    publish    the model server to which a stage publishes its input
    settings   a training job's settings as below `workloads: NAME:`, without its files
    packages   a hash of the versions of the packages that the settings name
    data       what a training job mounts and reads: `volumes`, `streams`, and `dataset`, the fingerprint of a cache
    versions   of the library, of Python and of TensorFlow
    seed       TensorFlow's seed
    runSeed    the run's number (`seeds.py`), which decides the order of data and is the seed of programs without one
    steps, checkpoint, metrics    how far it was trained, and with which result
    rollback   of a commit that made earlier files the newest again: the `commit` that they are of, and its `provenance`
    published  when a model's version was published; commits have their time
    started    when the run's first pod, or the first part that a stage has worked on, started
    machines   the machines on which that ran, a list of {node, processor, kernel, accelerators, library, from, to} and
               the `pods` of a run or the number of `parts` of a stage; `accelerators` are {name, uuid, driver, cuda}
    restarts   when the run started again, a list of {time, pod, after}: the pod that ended first, and how
    reproduces the model's version that was made again: `model`, `version`, `run`, `runSeed`, `inputs`

The job's part comes from its settings, in the variable TENSORPLANE_LINEAGE. The library notes the rest while the job
trains. It only requires the standard library.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from tensorplane import declared_lineage, seeds
from tensorplane.datasets import reads
from tensorplane.version import __version__

FILE = Path("assets.extra") / "lineage.json"
"""Its place in a published version; model servers ignore the folder."""
CODE = Path("assets.extra") / "code.zip"
"""The place of the job's files in a published version."""
_PACKAGES = {"tensorflow": ("tensorflow", "tensorflow-cpu"), "keras": ("keras",), "tf_keras": ("tf_keras",)}

_noted: dict[str, Any] = {}


def note(**facts: Any) -> None:
    """Notes facts of this process' training: `steps`, `checkpoint` (a step), `metrics`, `dataset`; the last counts."""
    _noted.update(facts)


def run(environment: Mapping[str, str] = os.environ) -> str | None:
    """The name of the run; None outside training jobs that have one."""
    folder = environment.get("CHECKPOINT_DIR")
    return declared_lineage.read(environment).get("run") or (Path(folder).name if folder else None)


def record(
    publisher: str, metrics: Mapping[str, float] | None = None, environment: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """The record of a version that `publisher`, a run, publishes now. `metrics`: by default the last reported ones."""
    # Imported here: pods that only read records (`provenance.py`) have no launcher's modules.
    from tensorplane import pod_history

    job, stage = declared_lineage.read(environment), declared_lineage.stage(environment)
    words = [value for name, value in environment.items() if name != declared_lineage.STAGE]
    read = reads.noted([*sys.argv, *words]) if job else []
    known = {each["version"] for each in read}
    data = {**job.get("data", {}), **({"dataset": _noted["dataset"]} if "dataset" in _noted else {})}
    found = {
        **job,
        **stage,
        "run": publisher,
        "inputs": [*read, *(each for each in stage.get("inputs", ()) if each["version"] not in known)],
        "data": data,
        "versions": {"tensorplane": __version__, "python": platform.python_version(), **_packages()},
        "seed": _seed(),
        "runSeed": seeds.of_run(environment) if job else None,
        "steps": _noted.get("steps"),
        "checkpoint": _noted.get("checkpoint"),
        "metrics": dict(metrics if metrics is not None else _noted.get("metrics", {})),
        "published": pod_history.text(time.time()),
        **pod_history.of_run(environment),
    }
    return {name: value for name, value in found.items() if value not in (None, {}, [])}


def _seed() -> int | None:
    """TensorFlow's seed, whether the program or the library has set it; None without one, or without TensorFlow."""
    if "tensorflow" not in sys.modules:
        return None
    from tensorflow.python.eager import context

    seed = context.global_seed()
    return None if seed is None else int(seed)


def _packages() -> dict[str, str]:
    """Versions of the packages that the process uses."""
    found = {}
    for module, distributions in _PACKAGES.items():
        for distribution in distributions if module in sys.modules else ():
            try:
                found[module] = metadata.version(distribution)
            except metadata.PackageNotFoundError:
                continue
    return found
