"""The peer of the production stack's start: bare imports of what the stack's program imports, and of nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.rendering import PROJECT

pytestmark = pytest.mark.nightly("whether a benchmark is fair: builds production twice")

PROGRAM = """
import sys

from bench import graph_programs

graph_programs.main(sys.argv[1], "prod")
# The SDKs import what they consist of when it is first asked for: until then it is there by name alone.
print(*(name for name, module in sys.modules.items() if type(module).__name__ != "_LazyModule"))
"""


def _imported(way: str) -> set[str]:
    """The modules of Pulumi and its SDKs that one of the programs imports."""
    argv = [sys.executable, "-c", PROGRAM, way]
    shown = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True)
    return {name for name in shown.stdout.split() if name.startswith("pulumi")}


def test_the_peer_imports_nothing_of_the_sdks_that_the_stack_does_without() -> None:
    peer = _imported("imports")
    assert {name.partition(".")[0] for name in peer} == {"pulumi", "pulumi_aws", "pulumi_kubernetes"}
    assert peer - _imported("stack") == set()
