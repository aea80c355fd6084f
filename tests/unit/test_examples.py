"""Every stack file and every example builds, and registers what its golden says."""

import gc
import json
import runpy
from pathlib import Path
from typing import Any

import pulumi
import pytest

import stack
from tests.unit.rendering import PROJECT, Golden, Render, settings_of

EXAMPLES = sorted((PROJECT / "examples").glob("*.yaml"))
STACKS = sorted(PROJECT.glob("Pulumi.*.yaml"))


@pytest.mark.parametrize("path", [*EXAMPLES, *STACKS], ids=lambda path: path.stem)
def test_registers_what_is_recorded(path: Path, render: Render, golden: Golden) -> None:
    rendered = render(lambda: stack.build(stack.StackConfig.load(settings_of(path))))
    golden(path.stem.replace("Pulumi.", "stack-"), rendered)


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_the_program_itself_builds_the_same(path: Path, render: Render) -> None:
    tree = settings_of(path).tree
    config = {f"tensorplane:{k}": v if isinstance(v, str) else json.dumps(v) for k, v in tree.items()}

    def program() -> None:
        pulumi.runtime.set_all_config(config, [])
        runpy.run_path(str(PROJECT / "__main__.py"), run_name="__main__")

    def built() -> dict[str, Any]:
        return dict(stack.build(stack.StackConfig.load(settings_of(path))))

    try:
        assert render(program).resources == render(built).resources
    finally:
        pulumi.runtime.set_all_config({}, [])
        gc.enable()  # the program turns it off, for its own short life
