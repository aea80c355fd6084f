"""Whether the code of a deployed job differs from this machine's is known without a preview."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.driver.update import run_effects
from tensorplane.workloads.pods import sources
from tensorplane.workloads.pods.files import bundle, shared_library

SOURCE = "examples/digits/train.py"
FILES = {"train.py": SOURCE}


def exported(*config_maps: str, namespace: bool = True) -> dict[str, Any]:
    prefix = "urn:pulumi:dev::tensorplane::"
    kinds = ["TrainingJob", *(["Namespace"] if namespace else [])]
    made = [{"urn": f"{prefix}tensorplane:index:{one}::digits", "type": f"tensorplane:index:{one}"} for one in kinds]
    kind = "kubernetes:core/v1:ConfigMap"
    deployed = [
        {"urn": f"{prefix}{kind}::{name}", "type": kind, "inputs": {"metadata": {"name": name}}} for name in config_maps
    ]
    return {"deployment": {"resources": [*made, *deployed]}}


LIBRARY = shared_library(sources.library()).name
CODE = bundle("digits-files", sources.read(FILES)).name


@pytest.mark.parametrize(
    ("deployed", "files", "differs"),
    [
        ([LIBRARY, CODE], FILES, False),
        ([LIBRARY], {}, False),
        ([LIBRARY, "digits-files-0a1b2c3d"], FILES, True),
        (["tensorplane-library-0a1b2c3d", CODE], FILES, False),
        ([LIBRARY, CODE], {"train.py": {"secure": "v1:x"}}, True),
    ],
    ids=["the same", "none", "other files", "another library", "encrypted"],
)
def test_code_differs_by_its_content(deployed: list[str], files: dict[str, Any], differs: bool) -> None:
    assert run_effects.code_differs(exported(*deployed), {"digits": {"files": files}}) == differs


def test_a_stack_without_training_jobs_has_none() -> None:
    assert run_effects.has_jobs(exported())
    assert not run_effects.has_jobs({"deployment": {"resources": []}})
    assert not run_effects.has_jobs({"deployment": {}})
