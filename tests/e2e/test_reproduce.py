"""`tensorplane reproduce`: random models are made again from their lineage, equal to the bit.

The models follow from the seed. Each reads a version of a dataset that is no longer the newest when it is made again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Deployed
from tests.support import command, counts

pytestmark = [pytest.mark.counted, pytest.mark.nightly("random models, two jobs of TensorFlow each")]

_PROGRAM = Path(__file__).parent / "programs" / "random_model.py"
_SEED = counts.seed()
_MODELS = counts.of(quick=1, nightly=50)
_SIZE = ("--queue", "training", "--cpus", "0.3", "--memory-gib", "1", "--volume", "models:/models")


@pytest.fixture
def folder(deployed: Deployed, tmp_path: Path) -> Iterator[Path]:
    """A person's folder with the program."""
    (tmp_path / "train.py").write_text(_PROGRAM.read_text())
    yield tmp_path
    job_sets = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/tensorplane-dev/jobsets"
    for one in deployed.kube.items(job_sets):
        if one["metadata"]["name"].startswith("random-"):
            deployed.kube.delete(f"{job_sets}/{one['metadata']['name']}")


@pytest.mark.parametrize("number", range(_MODELS))
def test_a_random_model_is_made_again_to_the_bit(folder: Path, number: int) -> None:
    name = f"random-{_SEED}-{number}"
    command.output(folder, "run", *_SIZE, "--name", name, "--", "python", "train.py", f"{_SEED}.{number}")
    tree = command.output(folder, "lineage", f"models:/{name}")
    assert re.search(rf"run {name}-\w+, job {name}$", tree, re.MULTILINE), tree
    assert re.search(rf"── numbers-{_SEED}\.{number}@\w+  dataset models:/datasets/numbers-", tree), tree
    assert re.search(r"commit \w+: the first$", tree, re.MULTILINE), tree
    assert re.search(r"^started \d{4}-\d\d-\d\d [\d:]{8} UTC\non \S+: .*kernel \d", tree, re.MULTILINE), tree
    said = command.output(folder, "reproduce", f"models:/{name}@1")
    again = (
        rf"{name}@1: made again as models:/reproduced/{name}/1@1, equal to the bit: \d+ variables and \d signatures$"
    )
    assert re.search(again, said, re.MULTILINE), said
    assert "has finished already" in command.output(folder, "reproduce", f"models:/{name}@1")
    gone = command.output(folder, "reproduce", f"models:/{name}@99", code=1)
    assert f"models:/{name}@99: no version has this number; choose one of 1" in gone
