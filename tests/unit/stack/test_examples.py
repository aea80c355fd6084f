"""Every stack file and every example builds, and registers what its golden says."""

import gc
import json
import os
import runpy
import shutil
from pathlib import Path

import pulumi
import pytest

from tests.policies import recordings
from tests.support import goldens
from tests.support.rendered_files import rendered_file
from tests.support.rendering import PROJECT, Golden, Render, settings_of

EXAMPLES = sorted((PROJECT / "examples").glob("*.yaml"))
STACKS = sorted(PROJECT.glob("Pulumi.*.yaml"))


def _golden_name(path: Path) -> str:
    return path.stem.replace("Pulumi.", "stack-")


@pytest.mark.parametrize("path", [*EXAMPLES, *STACKS], ids=lambda path: path.stem)
def test_registers_what_is_recorded(path: Path, golden: Golden) -> None:
    golden(_golden_name(path), rendered_file(path))


@pytest.mark.parametrize("path", [*EXAMPLES, *STACKS], ids=lambda path: path.stem)
def test_components_register_what_the_engine_sent_the_policies(path: Path) -> None:
    """The policies' tests judge recordings, which only the night compares with the engine as a whole."""
    found, recorded = (
        {(one["type"], one["name"]): {key for key, value in one["props"].items() if value is not None} for one in stack}
        for stack in (recordings.of_rendered(rendered_file(path)), recordings.stack(_golden_name(path)))
    )
    differing = [key for key in found if key[0].startswith("tensorplane:") and found[key] != recorded[key]]
    assert differing == [], recordings.AGAIN


def test_every_golden_belongs_to_a_stack_file_or_an_example() -> None:
    former = set(goldens.STACKS) - {_golden_name(path) for path in [*EXAMPLES, *STACKS]}
    if os.environ.get("UPDATE_GOLDEN"):
        for name in former:
            shutil.rmtree(goldens.GOLDEN / name)
    else:
        assert former == set(), "remove them with UPDATE_GOLDEN=1"


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_the_program_itself_builds_the_same(path: Path, render: Render) -> None:
    tree = settings_of(path).tree
    config = {f"tensorplane:{k}": v if isinstance(v, str) else json.dumps(v) for k, v in tree.items()}

    def program() -> None:
        pulumi.runtime.set_all_config(config, [])
        runpy.run_path(str(PROJECT / "__main__.py"), run_name="__main__")

    try:
        assert render(program).resources == rendered_file(path).resources
    finally:
        pulumi.runtime.set_all_config({}, [])
        gc.enable()  # the program turns it off, for its own short life
