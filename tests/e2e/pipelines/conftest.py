"""One deployment for all tests of pipelines: its updates take as long as a run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.conftest import Deployed
from tests.e2e.pipelines import settings
from tests.e2e.pipelines.deployed import Pipelines, with_pipelines


@pytest.fixture(scope="package")
def pipeline(deployed: Deployed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipelines]:
    """The dev stack with the pipelines of `settings`."""
    with with_pipelines(deployed, tmp_path_factory.mktemp("pipelines"), settings.sections()) as made:
        yield made
