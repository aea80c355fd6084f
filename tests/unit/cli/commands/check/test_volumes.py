"""What only the cluster knows is wrong with volumes: a line each, from recorded answers."""

from __future__ import annotations

from typing import Any

import pytest

from tensorplane.cli.commands.check import volumes as live_check
from tensorplane.components.clusters.embedded import Embedded
from tensorplane.components.volumes.settings import VolumeArgs

AT = "/api/v1/namespaces/ml/persistentvolumeclaims"
ANSWERS: dict[str, list[dict[str, Any]]] = {
    AT: [
        {
            "metadata": {"name": "models"},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}},
        },
        {
            "metadata": {"name": "rounded"},
            "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "103Mi"}}},
        },
        {
            "metadata": {"name": "old"},
            "spec": {
                "storageClassName": "fast",
                "dataSource": {"kind": "VolumeSnapshot", "name": "models-20261121-1500"},
                "resources": {"requests": {"storage": "2Gi"}},
            },
        },
        {
            "metadata": {"name": "again"},
            "spec": {
                "storageClassName": "ml-again-of-mirror-of-models",
                "resources": {"requests": {"storage": "2Gi"}},
            },
        },
        {
            "metadata": {"name": "files"},
            "spec": {"storageClassName": "", "resources": {"requests": {"storage": "2Gi"}}},
        },
    ],
    "/apis/storage.k8s.io/v1/storageclasses": [{"metadata": {"name": "fast"}}, {"metadata": {"name": "slow"}}],
    "/apis/snapshot.storage.k8s.io/v1/namespaces/ml/volumesnapshots": [
        {"metadata": {"name": "models-20261121-1500"}, "status": {"restoreSize": "2Gi"}},
        {"metadata": {"name": "young"}},
        {"metadata": {"name": "tenth"}, "status": {"restoreSize": "103Mi"}},
    ],
}


class Api:
    """An API server, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def items(self, path: str) -> list[dict[str, Any]]:
        self.asked.append(path)
        return ANSWERS[path]


def find_lines(**volumes: Any) -> list[str]:
    declared = {name: VolumeArgs.model_validate(args) for name, args in volumes.items()}
    return [str(fault) for fault in live_check.problems(declared, Embedded(), "ml", Api())]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("volume", "says"),
    [
        ({"sizeGib": 1, "backend": {"kind": "storageClass", "name": "fasst"}},
         "backend.name: the cluster has no StorageClass 'fasst'; choose one of fast, slow (did you mean fast?)"),
        ({"sizeGib": 1, "from": {"snapshot": "models-20261121-1500"}},
         "sizeGib: snapshot models-20261121-1500, from which the volume is created, has 2 GiB; "
         "set sizeGib to 2 or more"),
        ({"sizeGib": 2, "from": {"snapshot": "models-20261121-1600"}},
         "from.snapshot: namespace ml has no VolumeSnapshot 'models-20261121-1600'; choose one of "
         "models-20261121-1500, tenth, young (did you mean models-20261121-1500?)"),
    ],
)  # fmt: skip
def test_a_new_volume_is_compared_with_what_is_there(volume: Any, says: str) -> None:
    assert find_lines(new=volume) == [f"tensorplane:volumes.new.{says}"]


def test_a_volume_that_is_there_does_not_shrink_and_may_have_lost_its_origin() -> None:
    assert find_lines(models={"sizeGib": 1.5}) == [
        "tensorplane:volumes.models.sizeGib: volume models has 2 GiB and cannot shrink; set sizeGib to 2 or more"
    ]
    gone = {"kind": "storageClass", "name": "gone"}
    origin = {"snapshot": "models-20261121-1500"}
    assert find_lines(old={"sizeGib": 2, "backend": gone, "from": origin}, files={"sizeGib": 1}) == []


@pytest.mark.parametrize(
    ("name", "origin", "says"),
    [
        ("models", {"snapshot": "tenth"},
         "from.snapshot: volume models exists already and was created empty, not from tenth"),
        ("models", {"volume": "old"}, "from.volume: volume models exists already and was created empty, not from old"),
        ("models", {"mirrorOf": "old"},
         "from.mirrorOf: volume models exists already and was created empty, not from old"),
        ("old", {"snapshot": "tenth"}, "from.snapshot: volume old exists already and was created from snapshot "
         "models-20261121-1500, not from tenth"),
    ],
)  # fmt: skip
def test_an_origin_changed_after_creation_is_one_line_with_the_remedy(name: str, origin: Any, says: str) -> None:
    (line,) = find_lines(**{name: {"sizeGib": 2, "from": origin}})
    assert line.startswith(f"tensorplane:volumes.{name}.{says}; ")
    assert line.endswith("or declare another volume with it and mount that one")


def test_a_volume_keeps_its_origin_and_may_leave_it_out() -> None:
    assert find_lines(again={"sizeGib": 2, "from": {"mirrorOf": "models"}}) == []
    assert find_lines(old={"sizeGib": 2}, again={"sizeGib": 2}) == []


def test_a_size_is_compared_as_its_claim_says_it() -> None:
    assert find_lines(rounded={"sizeGib": 0.1}, anew={"sizeGib": 0.1, "from": {"snapshot": "tenth"}}) == []


def test_valid_volumes_have_no_faults_and_unused_facts_are_not_read() -> None:
    fast = {"kind": "storageClass", "name": "fast"}
    assert find_lines(new={"sizeGib": 2, "backend": fast, "from": {"snapshot": "models-20261121-1500"}}) == []
    assert find_lines(new={"sizeGib": 1, "from": {"snapshot": "young"}}) == []
    assert find_lines(new={"sizeGib": 1200, "backend": {"kind": "fsxLustre"}, "from": {"snapshot": "backup-1"}}) == []
    api = Api()
    assert list(live_check.problems({}, Embedded(), "ml", api)) == []  # type: ignore[arg-type]
    assert list(live_check.problems({"models": VolumeArgs(size_gib=3)}, Embedded(), "ml", api)) == []  # type: ignore[arg-type]
    assert api.asked == [AT]
