"""What the API server refuses where queues are, and that what it lets in runs: the policies, on a real cluster."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tensorplane.cli.commands.top import rows
from tensorplane.cli.commands.why import answer
from tensorplane.cli.commands.why import command as why
from tensorplane.cli.kueue import objects as queue_objects
from tensorplane.cli.kueue import workloads
from tensorplane.components.base.labels import JOB_SET_NAME, PRIORITY_LABEL, QUEUE_LABEL
from tensorplane.components.queues.settings import PRIORITIES
from tensorplane.components.versions import KUEUE_API
from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tests.queues.docs_job import TEAM, example, makers, pod, ranked, template_of, without_gpus
from tests.queues.jobs import JOB_SET, Jobs, Object
from tests.queues.limits import limited
from tests.support.waiting import eventually

WORKLOADS = f"/apis/{KUEUE_API}/namespaces/{TEAM}/workloads"


def test_the_job_set_of_the_docs_runs_as_it_is_written_never_grows_and_keeps_its_priority(queues: Jobs) -> None:
    queues.api.create(example(), manager="test")
    eventually(lambda: queues.running()["sweep"] == 2)
    assert {kind for _, _, kind in queues.landed()} == {"t4"}
    assert [each["spec"]["priority"] for each in queues.kube.items(WORKLOADS)] == [PRIORITIES["low"]]

    (job,) = queues.kube.items(f"/apis/batch/v1/namespaces/{TEAM}/jobs", labelSelector=f"{JOB_SET_NAME}=sweep")
    more = {"spec": {"parallelism": 9, "completions": 9}}
    with pytest.raises(ApiError, match="only controllers create and change Jobs of a JobSet"):
        queues.api.patch(GVK("batch", "v1", "Job"), job["metadata"]["name"], TEAM, more, manager="test")

    def change(**labels: str | None) -> None:
        queues.api.patch(JOB_SET, "sweep", TEAM, {"metadata": {"labels": labels}}, manager="test")

    with pytest.raises(ApiError, match="is not the priority class of the job's queue"):
        change(**{PRIORITY_LABEL: "tensorplane-dev-production"})
    change(mine="a")


def test_gpus_that_no_queue_admits_are_refused(jobs: Jobs) -> None:
    unqueued = example(labels={})
    assert "create a JobSet with the label kueue.x-k8s.io/queue-name" in jobs.refusal(unqueued)
    for thing in makers(example()):
        assert "create a JobSet with the label" in jobs.refusal(thing), thing["kind"]
    for namespace in (TEAM, jobs.stack):
        assert "Kueue did not admit this pod" in jobs.refusal(pod(example(), namespace))


@pytest.mark.parametrize("by", ["claim", "template", "class"])
def test_devices_that_may_be_gpus_need_a_queue(jobs: Jobs, by: str) -> None:
    """No policy sees what a claim of dynamic resource allocation holds."""
    unqueued = example(labels={})
    spec = template_of(unqueued)["spec"]
    (container,) = spec["containers"]
    container["resources"] = {"limits": {"memory": "1Gi"}}
    assert jobs.refusal(unqueued) == ""
    if by == "class":
        container["resources"]["limits"]["deviceclass.resource.kubernetes.io/gpu.nvidia.com"] = 8
    else:
        spec["resourceClaims"] = [
            {"name": "gpus", f"resourceClaim{'Template' if by == 'template' else ''}Name": "eight"}
        ]
        container["resources"]["claims"] = [{"name": "gpus"}]
    assert "create a JobSet with the label kueue.x-k8s.io/queue-name" in jobs.refusal(unqueued)
    assert [thing["kind"] for thing in makers(unqueued) if "create a JobSet" not in jobs.refusal(thing)] == []
    for namespace in (TEAM, jobs.stack):
        assert "Kueue did not admit this pod" in jobs.refusal(pod(unqueued, namespace))
    assert jobs.refusal(example() | {"spec": unqueued["spec"]}) == ""


def test_pods_without_gpus_need_no_queue(jobs: Jobs) -> None:
    plain = example(labels={})
    (container,) = template_of(plain)["spec"]["containers"]
    container["resources"] = {"limits": {"memory": "1Gi", "nvidia.com/gpu": 0}}
    assert jobs.refusal(plain) == ""
    assert jobs.refusal(pod(plain)) == ""
    assert [jobs.refusal(thing) for thing in makers(plain)] == [""] * 6


def test_nobody_but_kueue_says_that_a_pod_is_admitted(jobs: Jobs) -> None:
    forged = example(labels={})
    template_of(forged)["metadata"] = {"labels": {"kueue.x-k8s.io/podset": "worker"}}
    assert "Kueue did not admit this pod" in jobs.refusal(pod(forged))
    assert "only Kueue sets this label" in jobs.refusal(forged)


OTHERS = [("research", "production"), ("research", "batch"), ("other", "research"), ("research", "none-such")]


@pytest.mark.parametrize(("of_queue", "of_class"), OTHERS)
def test_a_job_with_the_priority_of_another_queue_is_refused(jobs: Jobs, of_queue: str, of_class: str) -> None:
    borrowed = example(labels=ranked(of_queue, of_class))
    advice = f"set it to tensorplane-dev-{of_queue}" if of_queue == "research" else "remove it"
    told = f"priority-class: tensorplane-dev-{of_class} is not the priority class of the job's queue; {advice}"
    assert told in jobs.refusal(borrowed)
    for thing in makers(without_gpus(borrowed)):
        assert told in jobs.refusal(thing), thing["kind"]


def test_queues_and_priority_classes_of_others_are_theirs(jobs: Jobs) -> None:
    theirs = {QUEUE_LABEL: "other", PRIORITY_LABEL: "urgent"}
    assert jobs.refusal(example(labels=theirs)) == ""
    mixed = example(labels={**theirs, QUEUE_LABEL: "research"})
    assert "set it to tensorplane-dev-research" in jobs.refusal(mixed)


@pytest.mark.parametrize("labels", [{}, {PRIORITY_LABEL: "tensorplane-dev-research"}])
def test_pods_of_a_queue_have_no_priority_of_their_own(jobs: Jobs, labels: Object) -> None:
    job = example(labels={QUEUE_LABEL: "research", **labels})
    template_of(job)["spec"]["priorityClassName"] = "system-cluster-critical"
    assert "set the label kueue.x-k8s.io/priority-class: tensorplane-dev-research" in jobs.refusal(job)


VARIANTS: list[tuple[str, Any, bool]] = [
    ("pod/runAsNonRoot", None, False),
    ("pod/runAsNonRoot", False, False),
    ("one/runAsNonRoot", False, False),
    ("one/runAsNonRoot", True, True),
    ("pod/runAsUser", 0, False),
    ("pod/runAsUser", None, True),
    ("one/runAsUser", 0, False),
    ("pod/seccompProfile", None, False),
    ("pod/seccompProfile", {"type": "Unconfined"}, False),
    ("one/seccompProfile", {"type": "Unconfined"}, False),
    ("one/seccompProfile", {"type": "RuntimeDefault"}, True),
    ("one/allowPrivilegeEscalation", None, False),
    ("one/allowPrivilegeEscalation", True, False),
    ("one/capabilities", None, False),
    ("one/capabilities", {"drop": ["NET_RAW"]}, False),
    ("one/capabilities", {"drop": ["ALL"], "add": ["SYS_ADMIN"]}, False),
    ("one/capabilities", {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}, True),
    ("one/readOnlyRootFilesystem", True, True),
    ("spec/hostNetwork", True, False),
    ("spec/hostPID", True, False),
    ("spec/hostIPC", True, False),
    ("spec/volumes", [{"name": "a", "hostPath": {"path": "/tmp"}}], False),
    ("spec/volumes", [{"name": "a", "nfs": {"server": "a", "path": "/"}}], False),
    ("spec/volumes", [{"name": "a", "emptyDir": {}}, {"name": "b", "secret": {"secretName": "b"}}], True),
    ("spec/initContainers", [{"name": "first", "image": "a"}], False),
    ("container/ports", [{"containerPort": 80, "hostPort": 80}], False),
    ("container/ports", [{"containerPort": 80}], True),
    ("pod/seLinuxOptions", {"type": "spc_t"}, False),
    ("one/seLinuxOptions", {"user": "system_u"}, False),
    ("one/seLinuxOptions", {"type": "container_t", "level": "s0:c1,c2"}, True),
    ("pod/appArmorProfile", {"type": "Unconfined"}, False),
    ("one/appArmorProfile", {"type": "RuntimeDefault"}, True),
    ("pod/sysctls", [{"name": "kernel.msgmax", "value": "1"}], False),
    ("pod/sysctls", [{"name": "net.ipv4.tcp_syncookies", "value": "1"}], True),
    ("one/procMount", "Default", True),
    ("pod/windowsOptions", {"runAsUserName": "a"}, True),
    ("container/livenessProbe", {"httpGet": {"port": 80, "host": "example.com"}}, False),
    ("container/livenessProbe", {"httpGet": {"port": 80, "path": "/"}}, True),
    ("container/lifecycle", {"preStop": {"tcpSocket": {"port": 80, "host": "example.com"}}}, False),
]


@pytest.mark.parametrize(("path", "value", "restricted"), VARIANTS)
def test_a_job_is_refused_where_its_pods_would_be(jobs: Jobs, path: str, value: Any, restricted: bool) -> None:
    """Pod Security itself says which."""
    job = example()
    spec = template_of(job)["spec"]
    (container,) = spec["containers"]
    part, key = path.split("/")
    place = {"pod": spec["securityContext"], "one": container["securityContext"], "spec": spec, "container": container}
    if value is None:
        del place[part][key]
    else:
        place[part][key] = value
    alone = pod(job)
    for one in alone["spec"]["containers"]:
        del one["resources"]
    said = jobs.refusal(alone)
    assert ("violates PodSecurity" not in said) is restricted, said
    told = jobs.refusal(job)
    assert ("the pods would violate Pod Security level restricted" not in told) is restricted, told
    assert restricted == (not told)


def test_what_a_job_lacks_is_said_at_once(jobs: Jobs) -> None:
    job = example()
    spec = template_of(job)["spec"]
    del spec["securityContext"], spec["containers"][0]["securityContext"]
    told = jobs.refusal(job)
    for each in ("runAsNonRoot: true", "seccompProfile", "allowPrivilegeEscalation: false", "drop: [ALL]"):
        assert each in told


@pytest.mark.nightly("the return of quota asks `why` of the same refusal")
def test_why_and_top_tell_of_pods_that_are_refused_all_the_same(queues: Jobs) -> None:
    def told() -> answer.Answer:
        return why.ask(queues.kube, queues.stack, f"{TEAM}/sweep", {})

    with limited(queues, "no-pods", pods="0"):
        queues.api.create(example(), manager="test")
        eventually(lambda: told().state == "admitted" and any("refuses its pods" in line for line in told().lines))
        (line,) = told().lines
        assert line.startswith("The API server refuses its pods: ")
        assert "exceeded quota: no-pods" in line
        facts = queue_objects.gather(queues.kube, queues.stack)
        (team,) = (one for one in rows.of(facts, workloads.works(facts)).namespaces if one.name == TEAM)
        assert (team.running, team.starting) == (0, 1)


def test_pods_without_gpus_stay_off_machines_with_gpus(jobs: Jobs) -> None:
    job = example()
    (worker,) = job["spec"]["replicatedJobs"]
    chief = copy.deepcopy({**worker, "name": "chief"})
    small = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    chief["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = small
    job["spec"]["replicatedJobs"] = [chief, worker]
    refused = jobs.refusal(job)
    assert "spec.nodeSelector: pods without GPUs could be scheduled to nodes with GPUs; set it" in refused
    assert "{tensorplane.dev/accelerator: none}" in refused
    template_of(job)["spec"]["nodeSelector"] = {"tensorplane.dev/accelerator": "none"}
    assert jobs.refusal(job) == ""
