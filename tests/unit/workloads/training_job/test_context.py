"""A job's manifests from the settings alone are those that the program registers, for each stack of this project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tensorplane import stack
from tensorplane.components.base.labels import STACK
from tensorplane.stack import ResolvedStack
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.platform_context import job_context
from tensorplane.workloads.training_job.workload import TrainingJobArgs
from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT, Rendered, settings_of

STACKS = [
    path
    for path in sorted([*PROJECT.glob("Pulumi.*.yaml"), *(PROJECT / "examples").glob("*.yaml")])
    if "trainingJob" in path.read_text()
]


def jobs(resolved: ResolvedStack) -> Mapping[str, TrainingJobArgs]:
    found = resolved.config.workloads.items()
    return {name: args for name, args in found if isinstance(args, TrainingJobArgs)}


def planned(name: str, args: TrainingJobArgs, resolved: ResolvedStack) -> JobManifest:
    image = args.image or args.default_image(resolved.config.cluster.images)
    assert isinstance(image, str)
    shares = args.shares_library and not resolved.config.platform
    facts = job_context(name, args, resolved.platform, team=args.team, shares_library=shares)
    return plan(args, facts, image=image)


def registered(rendered: Rendered, manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object of a manifest's kind and name, as the program asked the engine to create it."""
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    (found,) = (each.inputs for each in rendered.all(kind) if each.inputs["metadata"].get("name") == name)
    metadata = found["metadata"]
    # A workload stack marks its objects as its own.
    labels = {key: value for key, value in metadata["labels"].items() if key != STACK}
    return {**found, "metadata": {**metadata, "labels": labels}}


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_the_manifests_are_those_that_the_program_registers(path: Path) -> None:
    resolved = stack.load(settings_of(path))
    rendered = rendered_file(path)
    for name, args in jobs(resolved).items():
        for manifest in planned(name, args, resolved).objects:
            assert registered(rendered, manifest) == manifest


def test_several_stacks_have_jobs_with_queues_volumes_and_streams() -> None:
    every = [job for path in STACKS for job in jobs(stack.load(settings_of(path))).values()]
    assert len(every) > 10
    assert all(any(getattr(job, key) for job in every) for key in ("queue", "volumes", "streams", "files"))
