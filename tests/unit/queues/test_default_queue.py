"""The queue named default: Kueue puts into it what names no queue."""

from typing import Any

import pytest

from tests.support.problems import dev, problems_of


def test_a_job_without_a_queue_is_not_put_into_one_by_its_name() -> None:
    tree = dev()
    del tree["workloads"]["digits"]["queue"]
    assert problems_of(tree) == []
    tree["queues"] = {"default": tree["queues"]["training"]}
    assert problems_of(tree) == [
        "tensorplane:workloads.digits.queue: missing, and Kueue puts jobs without a queue into queue "
        "default, at priority 0; set queue, or rename queue default"
    ]
    tree["workloads"]["digits"]["queue"] = "default"
    assert problems_of(tree) == []
    # Another Kueue than tensorplane's may take servers, too.
    tree |= {"cluster": {"kind": "existing", "context": "c"}, "controllers": {"kueue": "present", "jobset": "present"}}
    assert problems_of(tree) == [
        "tensorplane:queues.default: the cluster's own Kueue may queue the pods that serve digits-server in it; "
        "use another name"
    ]


@pytest.mark.parametrize(
    ("more", "jobs"),
    [
        ({"snapshots": {"schedule": "@daily"}}, "take snapshots of models"),
        (
            {"mirror": {"to": {"remote": {"address": "a.example.org", "keySecret": "key"}}, "every": "1h"}},
            "mirror models",
        ),
        ({"from": {"mirror": {}}}, "mirror models"),
        ({}, None),
    ],
)
def test_a_kueue_of_the_clusters_own_holds_back_no_jobs_of_volumes(more: dict[str, Any], jobs: str | None) -> None:
    tree = {
        "cluster": {"kind": "existing", "context": "c"},
        "volumes": {"models": {"sizeGib": 1, "backend": {"kind": "cephfs"}, **more}},
        "queues": {"default": {"cpus": 1, "memoryGib": 1}},
    }
    assert problems_of(tree) == []
    line = f"tensorplane:queues.default: the cluster's own Kueue may queue the pods that {jobs} in it; use another name"
    assert problems_of({**tree, "controllers": {"kueue": "present"}}) == ([line] if jobs else [])


def test_where_kueue_admits_pods_no_queue_catches_those_of_others() -> None:
    tree = dev()
    tree["queues"] = {"default": tree["queues"]["training"]}
    tree["workloads"]["digits"]["queue"] = "default"
    tree["controllers"] = {"argoWorkflows": "present"}
    assert problems_of(tree) == [
        "tensorplane:queues.default: with pipelines, Kueue puts every pod that names no queue into this one; "
        "use another name"
    ]
