"""What helm makes of a chart with the stack's own values."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane import toolchain
from tensorplane.core.errors import UserError

Objects = Mapping[tuple[str, str], dict[str, Any]]
"""By kind and name."""


def rendered(name: str, chart: Path, namespace: str, values: Mapping[str, Any]) -> Objects:
    """The objects that helm would install. Tests that ask for the same again get the same, and change nothing in it."""
    return _rendered(name, chart, namespace, json.dumps(values))


@functools.cache
def _rendered(name: str, chart: Path, namespace: str, values: str) -> Objects:
    argv = [str(_helm()), "template", name, str(chart), "--namespace", namespace, "--values", "-"]
    made = subprocess.run(argv, input=values, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    objects = [one for one in yaml.load_all(made.stdout, yaml.CSafeLoader) if one]
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


@functools.cache
def _helm() -> Path:
    """That of this machine; minutes of compiling are not for a test to start."""
    try:
        return toolchain.tools().path("helm")
    except UserError as fault:
        pytest.fail(f"charts cannot be rendered: {fault}")
