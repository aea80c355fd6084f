"""The documented stacks through the real engine, with the policies of `make up`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.policies import previews
from tests.support.snippets import Snippet, snippets

pytestmark = pytest.mark.nightly("3 s of engine each; tests/docs judges all without an engine")


@pytest.mark.parametrize("snippet", snippets(), ids=str)
def test_the_policies_let_it_pass(snippet: Snippet, tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    tree = snippet.tree(tmp_path)
    settings = tmp_path / "Pulumi.mine.yaml"
    settings.write_text(yaml.safe_dump({"config": {f"tensorplane:{key}": value for key, value in tree.items()}}))
    found = previews.judged(tmp_path / "engine", settings, previews.config_of(tree))
    assert found.passed, found.output
    assert found.sent
