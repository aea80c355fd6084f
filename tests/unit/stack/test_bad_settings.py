"""Bad settings are refused before anything is built: every fault at once, a line each that names its key."""

import itertools
import random
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.components.clusters.existing import Existing
from tensorplane.components.clusters.settings import ClusterArgs
from tensorplane.components.volumes.backend import Backend
from tensorplane.workloads.family import WorkloadArgs
from tensorplane.workloads.training_job.strategies import Strategy
from tests.support.problems import dev, keys_of, problems_of, put, spoil

FAMILIES = {"clusters": ClusterArgs, "backends": Backend, "workloads": WorkloadArgs, "strategies": Strategy}


def mutants() -> list[dict[str, Any]]:
    """The single faults. `<backends>` in a line stands for the kinds of all backends: a new one changes no test."""
    text = (Path(__file__).parent / "mutants.yaml").read_text()
    for name, family in FAMILIES.items():
        *others, last = sorted(family.variants)
        text = text.replace(f"<{name}>", f"{', '.join(others)} or {last}")
    return list(yaml.safe_load(text))


MUTANTS = mutants()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: str(mutant["says"].split(" (")[0]))
def test_one_fault_is_one_line(mutant: dict[str, Any]) -> None:
    tree = dev()
    spoil(tree, mutant)
    assert problems_of(tree) == [f"tensorplane:{mutant['says']}"]


def test_the_unspoiled_settings_are_accepted() -> None:
    assert problems_of(dev()) == []


def test_accepts_what_the_context_variable_makes_of_the_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENSORPLANE_CONTEXT", "kind-dev")
    config = stack.load(Settings(dev())).config
    assert config.cluster == Existing(kind="existing", context="kind-dev")
    assert config.volumes["models"].backend_on(config.cluster).kind == "storageClass"


def test_a_backend_must_exist_on_the_cluster() -> None:
    tree = dev()
    tree["cluster"] = {"kind": "existing", "context": "kind-dev"}
    tree["volumes"]["models"]["backend"] = {"kind": "embedded"}
    assert problems_of(tree) == [
        "tensorplane:volumes.models.backend: embedded requires cluster kind embedded, but the cluster is "
        "existing; use another backend"
    ]


@pytest.mark.parametrize(("workers", "longest"), [(2, 37), (100, 36)])
def test_a_job_name_leaves_room_for_its_pods(workers: int, longest: int) -> None:
    tree = dev()
    job = tree["workloads"].pop("digits")
    job["strategy"]["workers"] = workers
    del job["queue"]
    tree["workloads"] = {"n" * (longest + 1): job}
    reason = f"the name has {longest + 1} characters; shorten it to {longest}, so that its pods' names stay valid"
    assert problems_of(tree) == [f"tensorplane:workloads.{'n' * (longest + 1)}: {reason}"]
    tree["workloads"] = {"n" * longest: job}
    assert problems_of(tree) == []


def test_a_key_of_two_lines_is_a_fault_of_one() -> None:
    tree = dev()
    tree["volumes"]["models"]["size\nGib"] = 1
    assert [line.split(": ")[:2] for line in problems_of(tree)] == [
        ["tensorplane:volumes.models.size\\nGib", "unknown setting; allowed here"]
    ]


def test_a_stack_whose_name_makes_no_namespace_must_name_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulumi, "get_stack", lambda: "team.Dev")
    need = "lower-case letters, digits and dashes, beginning with a letter, at most 63 characters"
    assert problems_of({}) == [
        "tensorplane:namespace: missing, and the default from the stack's name, tensorplane-team.Dev, "
        f"is not a valid name; use {need}"
    ]
    assert problems_of({"namespace": "team-dev"}) == []


def test_every_fault_of_a_file_at_once() -> None:
    tree = dev()
    put(tree, "volumez", {})
    put(tree, "namespace", "Vision_Team")
    put(tree, "volumes/models/sizeGib", -1)
    put(tree, "queues/training/memory", 2)
    put(tree, "workloads/digits/maxRestarts", "many")
    put(tree, "workloads/digits/env/TF_CONFIG", "{}")
    put(tree, "workloads/digits/checkpoints/volume", "modles")
    put(tree, "workloads/digits-server/kind", "modelserver")
    assert keys_of(problems_of(tree)) == [
        "namespace",
        "queues.training.memory",
        "volumes.models.sizeGib",
        "volumez",
        "workloads.digits-server.kind",
        "workloads.digits.checkpoints.volume",
        "workloads.digits.env.TF_CONFIG",
        "workloads.digits.maxRestarts",
    ]


def test_any_two_faults_in_different_places_are_both_reported() -> None:
    # Not those that replace a whole section or entry, and with it the other's place, nor those about the sum of a job,
    # or the kind of the cluster.
    needing_others = ("would never start", "has no GPUs", "use a map of settings", "have no load balancers")
    local = [m for m in MUTANTS if "/" in m.get("put", "") and not any(one in m["says"] for one in needing_others)]
    pairs = [
        (one, two)
        for one, two in itertools.combinations(local, 2)
        if one["put"].split("/")[:2] != two["put"].split("/")[:2]
    ]
    assert len(pairs) > 300
    for one, two in random.Random(3).sample(pairs, 150):
        tree = dev()
        spoil(tree, one)
        spoil(tree, two)
        assert keys_of(problems_of(tree)) == keys_of(f"tensorplane:{mutant['says']}" for mutant in (one, two))


@pytest.mark.parametrize(
    ("path", "value", "need"),
    [
        ("workloads/digits/strategy/workers", True, "invalid value true; use a whole number"),
        ("volumes/models/sizeGib", True, "invalid value true; use a number"),
        ("queues/default/gpus", {"t4": True}, "invalid value true; use a whole number"),
        ("volumes/models/retain", "no", "invalid value 'no'; use true or false (did you mean false?)"),
        ("volumes/models/retain", "True", "invalid value 'True'; use true or false"),
        ("volumes/models/retain", 0, "invalid value 0; use true or false"),
        (
            "workloads/digits/env/A",
            True,
            "invalid value true; use text (quote it if it looks like a number or boolean)",
        ),
    ],
)
def test_numbers_booleans_and_words_are_not_each_other(path: str, value: Any, need: str) -> None:
    tree = dev()
    put(tree, path, value)
    key = path.replace("/", ".") + (".t4" if isinstance(value, dict) else "")
    assert f"tensorplane:{key}: {need}" in problems_of(tree)
