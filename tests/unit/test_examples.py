"""Every stack file and every example builds, and registers what its golden says."""

from pathlib import Path

import pytest

import stack
from tests.unit.rendering import PROJECT, Golden, Render, settings_of

EXAMPLES = sorted((PROJECT / "examples").glob("*.yaml"))
STACKS = sorted(PROJECT.glob("Pulumi.*.yaml"))


@pytest.mark.parametrize("path", [*EXAMPLES, *STACKS], ids=lambda path: path.stem)
def test_registers_what_is_recorded(path: Path, render: Render, golden: Golden) -> None:
    rendered = render(lambda: stack.build(stack.StackConfig.load(settings_of(path))))
    golden(path.stem.replace("Pulumi.", "stack-"), rendered)
