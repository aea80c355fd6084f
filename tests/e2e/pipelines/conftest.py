"""The pipelines of the dev stack, and a stack with all others: an update takes as long as a run."""

from __future__ import annotations

import runpy
from collections.abc import Iterator

import pytest
from rich.console import Console

from tensorplane.cli.commands.cp import command as cp_command
from tensorplane.core.paths import PROJECT
from tests.e2e import stacks
from tests.e2e.conftest import Deployed
from tests.e2e.pipelines import deployed as pipelines
from tests.e2e.pipelines import settings
from tests.e2e.pipelines.deployed import Pipelines
from tests.e2e.pipelines.images import Example


@pytest.fixture(scope="module")
def of_dev(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """The dev stack's."""
    with pipelines.opened(deployed.kube, deployed.stack, tmp_path_factory.mktemp("pipelines")) as made:
        yield made


@pytest.fixture(scope="package")
def pipeline(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """Those of a stack of their own."""
    folder = tmp_path_factory.mktemp("pipelines")
    with stacks.own(deployed, folder, "pipelines") as own:
        own.up(**settings.of_others())
        with pipelines.opened(deployed.kube, own.stack, folder) as made:
            yield made
            made.delete_runs()


@pytest.fixture(scope="module")
def example(pipeline: Pipelines, tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The example of images, without any yet."""
    drawn = tmp_path_factory.mktemp("drawn")
    runpy.run_path(str(PROJECT / "examples" / "image-classification" / "sheets.py"))["main"](drawn)
    held_out = cp_command.CopyOptions(
        str(drawn / "held-out.jsonl"), "data:held-out/digits.jsonl", pipeline.access.stack
    )
    cp_command.copy(pipeline.access.api, pipeline.resolved, held_out, Console(quiet=True))
    return Example(pipeline, drawn)
