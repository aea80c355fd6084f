"""Every new cluster's stack exports its kubeconfig, and nobody sees it who does not ask for secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT


@pytest.mark.parametrize(
    "path",
    [PROJECT / "Pulumi.prod.yaml", PROJECT / "Pulumi.staging.yaml", PROJECT / "examples" / "aks.yaml"],
    ids=lambda path: path.stem,
)
def test_the_kubeconfig_is_a_secret(path: Path) -> None:
    assert "kubeconfig" in rendered_file(path).secret


def test_a_cluster_that_was_there_exports_none() -> None:
    exported = rendered_file(PROJECT / "Pulumi.dev.yaml")
    assert "kubeconfig" not in exported.exports
