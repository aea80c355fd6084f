"""What the API server refuses where queues are, and that what it lets in runs: the policies, on a real cluster."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from cli.commands.top import rows
from cli.commands.why import answer, query
from cli.kueue import facts as queue_facts
from cli.kueue import workloads
from components.queues.settings import PRIORITIES
from components.versions import KUEUE_API
from embedded.provider.api import GVK, ApiError
from tests.queues.jobs import JOB_SET, Jobs, Object
from tests.support.rendering import PROJECT
from tests.support.waiting import eventually

TEAM = "vision"
WORKLOADS = f"/apis/{KUEUE_API}/namespaces/{TEAM}/workloads"
(BLOCK,) = re.findall(r"```yaml\n(apiVersion: jobset.*?)```", (PROJECT / "docs" / "queues.md").read_text(), re.S)


def example(**metadata: Any) -> Object:
    """The JobSet of docs/queues.md, for a stack where Kueue places no pods by node."""
    found: Object = yaml.safe_load(BLOCK)
    found["metadata"] |= metadata
    del template_of(found)["metadata"]
    return found


def template_of(job: Object) -> Object:
    """The pod template of its one role."""
    template: Object = job["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


def ranked(of_queue: str, of_class: str) -> Object:
    """Labels of a job in a queue, with the priority class of a queue of the stack."""
    return {
        "kueue.x-k8s.io/queue-name": of_queue,
        "kueue.x-k8s.io/priority-class": f"tensorplane-dev-{of_class}",
    }


def without_gpus(job: Object) -> Object:
    """The same job, on machines without GPUs."""
    plain = copy.deepcopy(job)
    (container,) = template_of(plain)["spec"]["containers"]
    container["resources"] = {"limits": {"memory": "1Gi"}}
    template_of(plain)["spec"]["nodeSelector"] = {"tensorplane.dev/accelerator": "none"}
    return plain


def refusal(jobs: Jobs, thing: Object) -> str:
    """Why the API server would refuse it; nothing where it would not."""
    try:
        jobs.api.create(thing, manager="test", dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


def pod(job: Object, namespace: str = TEAM) -> Object:
    """A pod of its template, alone."""
    template = copy.deepcopy(template_of(job))
    metadata = {**template.get("metadata", {}), "name": "alone", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def test_the_job_set_of_the_docs_runs_as_it_is_written(queues: Jobs) -> None:
    queues.api.create(example(), manager="test")
    eventually(lambda: queues.running()["sweep"] == 2)
    assert {kind for _, _, kind in queues.landed()} == {"t4"}


def _makers(job: Object) -> Iterator[Object]:
    """Its template in what else makes pods."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": template_of(job)["spec"]}
    always = {**template, "spec": {**template["spec"], "restartPolicy": "Always"}}
    about = {"name": "other", "namespace": TEAM, "labels": job["metadata"]["labels"]}
    selected = {"selector": {"matchLabels": {"a": "b"}}, "template": always}
    for api, kind, spec in (
        ("batch/v1", "Job", {"template": template}),
        ("batch/v1", "CronJob", {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}),
        ("apps/v1", "Deployment", selected),
        ("apps/v1", "StatefulSet", {**selected, "serviceName": "other"}),
        ("apps/v1", "ReplicaSet", selected),
        ("apps/v1", "DaemonSet", selected),
    ):
        yield {"apiVersion": api, "kind": kind, "metadata": about, "spec": spec}


def test_gpus_that_no_queue_admits_are_refused(queues: Jobs) -> None:
    unqueued = example(labels={})
    assert "create a JobSet with the label kueue.x-k8s.io/queue-name" in refusal(queues, unqueued)
    for thing in _makers(example()):
        assert "create a JobSet with the label" in refusal(queues, thing), thing["kind"]
    for namespace in (TEAM, queues.stack):
        assert "Kueue did not admit this pod" in refusal(queues, pod(example(), namespace))


@pytest.mark.parametrize("by", ["claim", "template", "class"])
def test_devices_that_may_be_gpus_need_a_queue(jobs: Jobs, by: str) -> None:
    """No policy sees what a claim of dynamic resource allocation holds."""
    unqueued = example(labels={})
    spec = template_of(unqueued)["spec"]
    (container,) = spec["containers"]
    container["resources"] = {"limits": {"memory": "1Gi"}}
    assert refusal(jobs, unqueued) == ""
    if by == "class":
        container["resources"]["limits"]["deviceclass.resource.kubernetes.io/gpu.nvidia.com"] = 8
    else:
        spec["resourceClaims"] = [
            {"name": "gpus", f"resourceClaim{'Template' if by == 'template' else ''}Name": "eight"}
        ]
        container["resources"]["claims"] = [{"name": "gpus"}]
    assert "create a JobSet with the label kueue.x-k8s.io/queue-name" in refusal(jobs, unqueued)
    assert [thing["kind"] for thing in _makers(unqueued) if "create a JobSet" not in refusal(jobs, thing)] == []
    for namespace in (TEAM, jobs.stack):
        assert "Kueue did not admit this pod" in refusal(jobs, pod(unqueued, namespace))
    assert refusal(jobs, example() | {"spec": unqueued["spec"]}) == ""


def test_pods_without_gpus_need_no_queue(queues: Jobs) -> None:
    plain = example(labels={})
    (container,) = template_of(plain)["spec"]["containers"]
    container["resources"] = {"limits": {"memory": "1Gi", "nvidia.com/gpu": 0}}
    assert refusal(queues, plain) == ""
    assert refusal(queues, pod(plain)) == ""
    assert [refusal(queues, thing) for thing in _makers(plain)] == [""] * 6


def test_nobody_but_kueue_says_that_a_pod_is_admitted(queues: Jobs) -> None:
    forged = example(labels={})
    template_of(forged)["metadata"] = {"labels": {"kueue.x-k8s.io/podset": "worker"}}
    assert "Kueue did not admit this pod" in refusal(queues, pod(forged))
    assert "only Kueue sets this label" in refusal(queues, forged)


def test_an_admitted_job_does_not_grow(queues: Jobs) -> None:
    queues.api.create(example(), manager="test")
    eventually(lambda: queues.running()["sweep"] == 2)
    (job,) = queues.kube.items(f"/apis/batch/v1/namespaces/{TEAM}/jobs")
    more = {"spec": {"parallelism": 9, "completions": 9}}
    with pytest.raises(ApiError, match="an admitted job cannot grow"):
        queues.api.patch(GVK("batch", "v1", "Job"), job["metadata"]["name"], TEAM, more, manager="test")


OTHERS = [("research", "production"), ("research", "batch"), ("other", "research"), ("research", "none-such")]


@pytest.mark.parametrize(("of_queue", "of_class"), OTHERS)
def test_a_job_with_the_priority_of_another_queue_is_refused(jobs: Jobs, of_queue: str, of_class: str) -> None:
    borrowed = example(labels=ranked(of_queue, of_class))
    advice = f"set it to tensorplane-dev-{of_queue}" if of_queue == "research" else "remove it"
    told = f"priority-class: tensorplane-dev-{of_class} is not the priority class of the job's queue; {advice}"
    assert told in refusal(jobs, borrowed)
    for thing in _makers(without_gpus(borrowed)):
        assert told in refusal(jobs, thing), thing["kind"]


def test_queues_and_priority_classes_of_others_are_theirs(jobs: Jobs) -> None:
    theirs = {"kueue.x-k8s.io/queue-name": "other", "kueue.x-k8s.io/priority-class": "urgent"}
    assert refusal(jobs, example(labels=theirs)) == ""
    mixed = example(labels={**theirs, "kueue.x-k8s.io/queue-name": "research"})
    assert "set it to tensorplane-dev-research" in refusal(jobs, mixed)


def test_the_priority_of_a_job_stays_that_of_its_queue(queues: Jobs) -> None:
    queues.api.create(example(), manager="test")
    eventually(lambda: queues.running()["sweep"] == 2)

    def change(**labels: str | None) -> None:
        queues.api.patch(JOB_SET, "sweep", TEAM, {"metadata": {"labels": labels}}, manager="test")

    with pytest.raises(ApiError, match="is not the priority class of the job's queue"):
        change(**{"kueue.x-k8s.io/priority-class": "tensorplane-dev-production"})
    change(mine="a")
    assert [each["spec"]["priority"] for each in queues.kube.items(WORKLOADS)] == [PRIORITIES["low"]]


@pytest.mark.parametrize("labels", [{}, {"kueue.x-k8s.io/priority-class": "tensorplane-dev-research"}])
def test_pods_of_a_queue_have_no_priority_of_their_own(jobs: Jobs, labels: Object) -> None:
    job = example(labels={"kueue.x-k8s.io/queue-name": "research", **labels})
    template_of(job)["spec"]["priorityClassName"] = "system-cluster-critical"
    assert "set the label kueue.x-k8s.io/priority-class: tensorplane-dev-research" in refusal(jobs, job)


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
    said = refusal(jobs, alone)
    assert ("violates PodSecurity" not in said) is restricted, said
    told = refusal(jobs, job)
    assert ("the pods would violate Pod Security level restricted" not in told) is restricted, told
    assert restricted == (not told)


def test_what_a_job_lacks_is_said_at_once(jobs: Jobs) -> None:
    job = example()
    spec = template_of(job)["spec"]
    del spec["securityContext"], spec["containers"][0]["securityContext"]
    told = refusal(jobs, job)
    for each in ("runAsNonRoot: true", "seccompProfile", "allowPrivilegeEscalation: false", "drop: [ALL]"):
        assert each in told


@pytest.fixture
def no_pods(jobs: Jobs) -> Iterator[None]:
    """The team takes no pods, for a reason that nobody knew when the job was made."""
    spec = {"hard": {"pods": "0"}}
    metadata = {"name": "no-pods", "namespace": TEAM}
    jobs.api.create({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": metadata, "spec": spec}, manager="test")
    # Until its controller has looked at it, it limits nothing.
    eventually(lambda: "hard" in jobs.api.get(GVK("", "v1", "ResourceQuota"), "no-pods", TEAM).get("status", {}))
    yield
    jobs.api.delete(GVK("", "v1", "ResourceQuota"), "no-pods", TEAM)


def test_why_and_top_tell_of_pods_that_are_refused_all_the_same(queues: Jobs, no_pods: None) -> None:
    queues.api.create(example(), manager="test")

    def told() -> answer.Answer:
        return query.ask(queues.kube, queues.stack, "vision/sweep", {})

    eventually(lambda: told().state == "admitted" and any("refuses its pods" in line for line in told().lines))
    (line,) = told().lines
    assert line.startswith("The API server refuses its pods: ")
    assert "exceeded quota: no-pods" in line
    facts = queue_facts.gather(queues.kube, queues.stack)
    (team,) = (one for one in rows.of(facts, workloads.works(facts)).namespaces if one.name == TEAM)
    assert (team.running, team.starting) == (0, 1)


def test_pods_without_gpus_stay_off_machines_with_gpus(queues: Jobs) -> None:
    job = example()
    (worker,) = job["spec"]["replicatedJobs"]
    chief = copy.deepcopy({**worker, "name": "chief"})
    small = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    chief["template"]["spec"]["template"]["spec"]["containers"][0]["resources"] = small
    job["spec"]["replicatedJobs"] = [chief, worker]
    refused = refusal(queues, job)
    assert "spec.nodeSelector: pods without GPUs could be scheduled to nodes with GPUs; set it" in refused
    assert "{tensorplane.dev/accelerator: none}" in refused
    template_of(job)["spec"]["nodeSelector"] = {"tensorplane.dev/accelerator": "none"}
    assert refusal(queues, job) == ""
