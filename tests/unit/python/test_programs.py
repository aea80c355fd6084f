"""The programs of examples/python, as their user runs them: in their folder, with their own modules first."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import pytest

import tensorplane.pulumi as tp
from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.core.paths import PROJECT
from tests.support import rendering

EXAMPLES = PROJECT / "examples" / "python"
_JOBS: dict[str, set[str]] = {
    "one-sweep": set(),
    "own-components": {"vision-nightly", "speech-nightly"},
    "two-jobs": {"line-fast", "line-slow"},
}
_RUN = """
import json, runpy, sys
sys.path[:0] = ["."]  # as Python has it for a program; then its own components come before this project's
from tests.support import rendering

found = rendering.run(lambda: runpy.run_path("__main__.py", run_name="__main__") and None)
print(json.dumps([[each.type, each.name] for each in found.resources]))
"""


def _made(folder: Path) -> list[tuple[str, str]]:
    argv = [sys.executable, "-c", _RUN]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((os.environ.get("PYTHONPATH", ""), str(PROJECT)))}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [(kind, name) for kind, name in json.loads(done.stdout)]


def _names(made: list[tuple[str, str]], kind: str) -> set[str]:
    return {name for each, name in made if each.rpartition(":")[2] == kind}


@pytest.mark.parametrize("name", sorted(each.name for each in EXAMPLES.iterdir()))
def test_an_example_declares_what_it_says(name: str) -> None:
    made = _made(EXAMPLES / name)
    jobs = {
        "two-jobs": {"line-fast", "line-slow"},
        "one-sweep": set(),
        "own-components": {"vision-nightly", "speech-nightly"},
    }
    assert _names(made, "TrainingJob") == jobs[name]
    assert _names(made, "JobSet") == jobs[name]
    assert _names(made, "Sweep") == ({"rates"} if name == "one-sweep" else set())


_TREE: dict[str, Any] = {
    "cluster": {"kind": "existing", "context": "lab"},
    "controllers": {"jobset": "chart"},
    "queues": {"research": {"cpus": 8, "memoryGib": 32}},
    "volumes": {"models": {"sizeGib": 10}},
}
_JOB: dict[str, Any] = {
    "strategy": {"kind": "multiWorkerMirrored", "workers": 2},
    "command": ["python", "-c", "print(1)"],
    "volumes": {"models": "/models"},
    "queue": "research",
}
_SERVER: dict[str, Any] = {"model": {"volume": "models", "path": "a"}}


def _rendered(program: Callable[[], Any]) -> dict[tuple[str, str], Any]:
    return {(each.type, each.name): each.inputs for each in rendering.run(program).resources}


def test_a_program_declares_what_yaml_does() -> None:
    """So that a stack can go from the one to the other without a replacement."""
    declared = {"train": {"kind": "trainingJob", **_JOB}, "serve": {"kind": "modelServer", **_SERVER}}
    tree = {**_TREE, "namespace": "tensorplane-ml", "workloads": declared}
    yaml = _rendered(lambda: stack.build(stack.load(Settings(tree))))

    def program() -> None:
        platform = tp.Stack("ml", _TREE)
        tp.ModelServer("serve", platform=platform, **_SERVER)
        tp.TrainingJob("train", platform=platform, **_JOB)

    assert _rendered(program) == yaml


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"queue": "reserch"}, "argument queue: no queue is named 'reserch'; choose one of research"),
        ({"grace_seconds": "x"}, "argument grace_seconds: invalid value 'x'; use a whole number"),
        ({"skript": "a.py"}, "argument skript: unknown setting; "),
        ({"strategy": {"kind": "singl"}}, "argument strategy.kind: invalid value 'singl'; use "),
    ],
)
def test_a_fault_names_the_argument(given: dict[str, Any], line: str) -> None:
    def program() -> None:
        tp.TrainingJob("train", platform=tp.Stack("ml", _TREE), **{**_JOB, **given})

    with pytest.raises(pulumi.RunError, match=rf"^TrainingJob train, {re.escape(line)}"):
        rendering.run(program)


def test_the_faults_of_all_workloads_end_the_program_together() -> None:
    def program() -> None:
        platform = tp.Stack("ml", _TREE)
        first = tp.TrainingJob("first", platform=platform, **{**_JOB, "queue": "reserch"})
        pulumi.export("made of a refused one", first.outputs["jobSet"])
        tp.ModelServer("serve", platform=platform, **_SERVER)
        tp.TrainingJob("second", platform=platform, **{**_JOB, "grace_seconds": "x"})

    with pytest.raises(pulumi.RunError) as caught:
        rendering.run(program)
    said = [line.partition(":")[0] for line in str(caught.value).splitlines()]
    assert said == ["TrainingJob first, argument queue", "TrainingJob second, argument grace_seconds"]


def test_sections_are_typed_arguments_too() -> None:
    def program() -> None:
        platform = tp.Stack(
            "ml",
            {"controllers": _TREE["controllers"]},
            cluster=tp.Existing(context="lab"),
            queues={"research": tp.QueueArgs(cpus=8, memory_gib=32)},
            volumes={"models": tp.VolumeArgs(size_gib=10)},
        )
        tp.TrainingJob("train", platform=platform, **_JOB)

    def from_yaml() -> None:
        tp.TrainingJob("train", platform=tp.Stack("ml", _TREE), **_JOB)

    assert _rendered(program) == _rendered(from_yaml)


def test_a_section_is_given_once() -> None:
    def program() -> None:
        tp.Stack("ml", _TREE, queues={})

    with pytest.raises(pulumi.RunError, match=r"^queues: is in settings and an argument; give it once$"):
        rendering.run(program)


def test_the_program_records_its_settings_without_what_others_produce(monkeypatch: pytest.MonkeyPatch) -> None:
    exported: dict[str, Any] = {}
    monkeypatch.setattr(pulumi, "export", exported.__setitem__)

    def program() -> None:
        tp.TrainingJob("train", platform=tp.Stack("ml", _TREE), **_JOB, env={"KEY": pulumi.Output.secret("hunter2")})

    rendering.run(program)
    recorded = exported["tensorplaneSettings"]
    assert "hunter2" not in recorded
    job = {"kind": "trainingJob", **_JOB, "env": {"KEY": {"secure": ""}}}
    assert json.loads(recorded) == {**_TREE, "namespace": "tensorplane-ml", "workloads": {"train": job}}


def test_a_workload_needs_its_controller() -> None:
    def program() -> None:
        tp.TrainingJob("train", platform=tp.Stack("ml", {**_TREE, "controllers": {}}), **_JOB)

    with pytest.raises(pulumi.RunError, match=r"TrainingJob train: is a trainingJob, but .* no JobSet"):
        rendering.run(program)


def test_a_program_brings_its_own_namespace() -> None:
    def program(labels: dict[str, str], name: str = "ml") -> Callable[[], None]:
        def run() -> None:
            own = k8s.core.v1.Namespace("mine", metadata={"name": name, "labels": labels})
            tp.TrainingJob("train", platform=tp.Stack("ml", _TREE, namespace="ml", own_namespace=own), **_JOB)

        return run

    made = _rendered(program({**tp.NAMESPACE_LABELS, "team": "vision"}))
    assert [name for kind, name in made if kind.endswith(":Namespace") and kind.startswith("kubernetes")] == ["mine"]
    assert made["kubernetes:jobset.x-k8s.io/v1alpha2:JobSet", "train"]["metadata"]["namespace"] == "ml"
    with pytest.raises(pulumi.RunError, match=r"^namespace ml: lacks the labels .*part-of: tensorplane"):
        rendering.run(program({}))
    with pytest.raises(pulumi.RunError, match=r"^namespace: is ml, but the program's own is other$"):
        rendering.run(program(dict(tp.NAMESPACE_LABELS), "other"))


def test_a_program_has_one_stack() -> None:
    def program() -> None:
        tp.Stack("ml", _TREE)
        tp.Stack("more", _TREE)

    with pytest.raises(pulumi.RunError, match="more: stack ml is in this program already"):
        rendering.run(program)
