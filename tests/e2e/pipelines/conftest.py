"""One deployment for all tests of pipelines: its updates take as long as a run."""

from __future__ import annotations

import runpy
from collections.abc import Iterator

import pytest
from rich.console import Console

from cli.commands.cp import query as cp
from embedded.paths import PROJECT
from tests.e2e.conftest import Deployed
from tests.e2e.pipelines import settings
from tests.e2e.pipelines.deployed import Pipelines, with_pipelines
from tests.e2e.pipelines.images import Example


@pytest.fixture(scope="package")
def pipeline(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """The dev stack with the pipelines of `settings`."""
    with with_pipelines(deployed, tmp_path_factory.mktemp("pipelines"), settings.sections()) as made:
        yield made


@pytest.fixture(scope="package")
def example(pipeline: Pipelines, tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The example of images, without any yet."""
    drawn = tmp_path_factory.mktemp("drawn")
    runpy.run_path(str(PROJECT / "examples" / "image-classification" / "sheets.py"))["main"](drawn)
    held_out = cp.Question(str(drawn / "held-out.jsonl"), "data:held-out/digits.jsonl", "dev")
    cp.copy(pipeline.access.api, pipeline.resolved, held_out, Console(quiet=True))
    return Example(pipeline, drawn)


@pytest.fixture(scope="package", autouse=True)
def first_commits(example: Example) -> tuple[str, str]:
    """Three sheets and labels of two. Their run goes on while tests of other pipelines wait for theirs."""
    return example.commit(sheets=3, labels=2)
