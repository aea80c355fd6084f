"""TF_CONFIG: what every pod of every job reads, for any number of roles and replicas."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tensorplane.components.base.model import Resources
from tensorplane.workloads.training_job import job_set, tf_config
from tensorplane.workloads.training_job.role import TENSORFLOW, TENSORFLOW_PORT, Role
from tensorplane.workloads.training_job.strategies.multi_worker_mirrored import MultiWorkerMirrored
from tensorplane.workloads.training_job.strategies.single import Single

LABEL = st.from_regex(r"[a-z]([-a-z0-9]{0,10}[a-z0-9])?", fullmatch=True)
ROLES = st.lists(
    st.builds(
        Role,
        name=st.sampled_from(["chief", "worker", "ps"]),
        replicas=st.integers(1, 40),
        resources=st.just(Resources()),
        ports=st.just({TENSORFLOW: TENSORFLOW_PORT}),
        env=st.just({}),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda role: role.name,
)


def as_pod_reads_it(variables: list[dict[str, Any]], index: int) -> dict[str, Any]:
    """TF_CONFIG after Kubernetes put the pod's index in, which works for variables that are declared before."""
    names = [variable["name"] for variable in variables]
    assert names[:2] == ["TF_TASK_INDEX", "TF_CONFIG"]
    config: dict[str, Any] = json.loads(variables[1]["value"].replace("$(TF_TASK_INDEX)", str(index)))
    return config


@given(run=LABEL, roles=ROLES)
def test_all_pods_agree_on_the_cluster_and_know_their_place(run: str, roles: list[Role]) -> None:
    clusters = []
    for role in roles:
        variables = tf_config.environment(run, roles, role)
        for index in range(role.replicas):
            config = as_pod_reads_it(variables, index)
            assert config["task"] == {"type": role.name, "index": index}
            own = config["cluster"][role.name][index]
            # JobSet's rule: <jobset>-<role>-<job>-<pod>, resolved below the subdomain, which is the JobSet's name.
            assert own == f"{run}-{role.name}-0-{index}.{run}:2222"
            values = {each["name"]: each.get("value", "") for each in variables}
            assert values["TF_JOB_NAME"] == role.name
            assert {name: values[tf_config.hosts(name)].split(",") for name in config["cluster"]} == config[
                "cluster"
            ], "scripts that take their cluster as parameters have the same"
            clusters.append(config["cluster"])
    assert all(cluster == clusters[0] for cluster in clusters)
    assert {name: len(addresses) for name, addresses in clusters[0].items()} == {r.name: r.replicas for r in roles}


@given(roles=ROLES, data=st.data())
def test_the_longest_name_fits_and_no_longer_one_does(roles: list[Role], data: st.DataObject) -> None:
    length = job_set.longest_name(roles)
    longest = 0
    for role in roles:
        pod_name = tf_config.hostname(f"{'n' * length}-01234567", role.name, role.replicas - 1) + "-abcde"
        longest = max(longest, len(pod_name))
    assert longest == 63


@given(workers=st.integers(1, 1000))
def test_workers_are_one_indexed_job_of_the_jobset(workers: int) -> None:
    roles = MultiWorkerMirrored(workers=workers).roles(Resources())
    spec = job_set.spec("r", roles, lambda role: {}, max_restarts=0)
    (job,) = spec["replicatedJobs"]
    assert (job["name"], job["replicas"]) == ("worker", 1)
    assert job["template"]["spec"]["completions"] == job["template"]["spec"]["parallelism"] == workers
    assert spec["network"]["subdomain"] == "r"
    # One variable of a process may hold 128 KiB on Linux.
    assert len(tf_config.environment("n" * 40, roles, roles[0])[1]["value"]) < 128 * 1024


def test_a_single_process_has_no_tf_config() -> None:
    roles = Single().roles(Resources())
    assert tf_config.environment("run", roles, roles[0]) == []


def test_an_evaluator_has_a_task_and_is_not_in_the_cluster() -> None:
    evaluator = Role("evaluator", 1, Resources(), required_for_success=False)
    roles = [Role("chief", 1, Resources(), {TENSORFLOW: TENSORFLOW_PORT}), evaluator]
    config = as_pod_reads_it(tf_config.environment("run", roles, roles[1]), 0)
    assert config == {"cluster": {"chief": ["run-chief-0-0.run:2222"]}, "task": {"type": "evaluator", "index": 0}}
