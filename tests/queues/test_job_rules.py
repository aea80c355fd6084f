"""Jobs that Kueue admits hold what it counted, for as long as it counts it: what their owners cannot change."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tensorplane.components.admission import gpu_guard
from tensorplane.components.base.labels import JOB_SET_NAME, QUEUE_LABEL
from tensorplane.components.queues import quota_return
from tensorplane.components.queues.settings import MOST_GRACE
from tensorplane.components.versions import KUEUE_API
from tensorplane.core.errors import ApiError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tests.queues.docs_job import TEAM, example, template_of, without_gpus
from tests.queues.jobs import JOB_SET, POD, Jobs, Object
from tests.support import counts
from tests.support.impersonated import impersonated
from tests.support.simulated import Simulated
from tests.support.waiting import eventually

COUNT = counts.of(quick=30, nightly=300)
JOB = GVK("batch", "v1", "Job")
JSON_PATCH = "application/json-patch+json"
_COLLECTOR = "system:serviceaccount:kube-system:generic-garbage-collector"
_OWNER = {"apiVersion": "batch/v1", "kind": "JobSet", "name": "a", "uid": "a", "controller": True}


@pytest.fixture(scope="module")
def by(fleet: Simulated) -> Callable[[str], Objects]:
    """The API server for a user who may do everything that admission lets pass."""

    def of(user: str) -> Objects:
        return Objects(impersonated(fleet.instance, user, "system:masters"))

    return of


def refusal(change: Callable[..., Any], *args: Any, **how: Any) -> str:
    try:
        change(*args, **how)
    except ApiError as error:
        return str(error)
    return ""


@pytest.fixture
def admitted(queues: Jobs) -> Iterator[tuple[str, str]]:
    """The Job and a pod of an admitted JobSet."""
    queues.api.create(example(), manager="test")
    eventually(lambda: queues.running()["sweep"] == 2)
    (job,) = queues.kube.items(f"/apis/batch/v1/namespaces/{TEAM}/jobs", labelSelector=f"{JOB_SET_NAME}=sweep")
    yield job["metadata"]["name"], queues.pods("sweep")[0]["metadata"]["name"]
    queues.delete("sweep", TEAM)


def test_what_kueue_admitted_ends_with_its_quota(queues: Jobs, admitted: tuple[str, str]) -> None:
    """Kueue forgets a job that is deleted, has no queue, or has another owner; its pods would go on."""
    for kind, name in ((JOB_SET, "sweep"), (JOB, admitted[0])):
        with pytest.raises(ApiError, match="pods of an admitted job end with it"):
            queues.api.delete(kind, name, TEAM, propagation="Orphan")
        told = (
            "an admitted job keeps its owner and its queue" if kind == JOB_SET else "only controllers create and change"
        )
        changes: list[Object] = [
            {"ownerReferences": [_OWNER]},
            {"labels": {QUEUE_LABEL: None if kind == JOB_SET else "a"}},
        ]
        for metadata in changes:
            with pytest.raises(ApiError, match=told):
                queues.api.patch(kind, name, TEAM, {"metadata": metadata, "spec": {"suspend": True}}, manager="test")
    queues.delete("sweep", TEAM)
    eventually(queues.are_gone)


def test_pods_stay_with_the_job_that_would_replace_them(queues: Jobs, admitted: tuple[str, str]) -> None:
    name = admitted[1]
    (of_job,) = queues.pods("sweep")[0]["metadata"]["ownerReferences"]
    second = {"apiVersion": "v1", "kind": "ConfigMap", "name": "kube-root-ca.crt", "uid": "a"}
    changes: list[tuple[str, Object]] = [
        (name, {"ownerReferences": None}),
        (name, {"ownerReferences": [of_job, second]}),  # it would be there when the Job is gone
    ]
    for label in ("batch.kubernetes.io/controller-uid", gpu_guard.ADMITTED):
        changes += [(path, {"labels": {label: None}}) for path in (name, f"{name}/status")]
    for path, metadata in changes:
        with pytest.raises(ApiError, match="a pod of an admitted job stays with its Job"):
            queues.api.patch(POD, path, TEAM, {"metadata": metadata}, manager="test")
    queues.api.patch(POD, name, TEAM, {"metadata": {"labels": {"mine": "a"}}}, manager="test")


@pytest.fixture
def waiting(queues: Jobs) -> Iterator[str]:
    """A JobSet whose queue does not exist: Kueue never labels it."""
    queues.api.create(example(name="waits", labels={QUEUE_LABEL: "none-such"}), manager="test")
    eventually(lambda: queues.kube.items(f"/apis/batch/v1/namespaces/{TEAM}/jobs", labelSelector=JOB_SET_NAME))
    yield "waits"
    queues.delete("waits", TEAM)


def test_no_job_outlives_its_deletion(queues: Jobs, waiting: str, by: Callable[[str], Objects]) -> None:
    """Its Jobs may have Kueue's label without it: those of a JobSet that was evicted."""
    for namespace in (TEAM, queues.stack):
        held = example(finalizers=["example.org/mine"], namespace=namespace)
        assert "metadata.finalizers: pods of a job with finalizers go on" in queues.refusal(held)
    added = {"metadata": {"finalizers": ["example.org/mine"]}}
    told = refusal(queues.api.patch, JOB_SET, waiting, TEAM, added, manager="test")
    assert "metadata.finalizers" in told
    # As the collector does where `orphan` is among the finalizers.
    for api in (queues.api, by(_COLLECTOR)):
        told = refusal(api.delete, JOB_SET, waiting, TEAM, propagation="Orphan")
        assert "pods of an admitted job end with it" in told
    queues.api.delete(JOB_SET, waiting, TEAM, propagation="Foreground")
    eventually(queues.are_gone)


def test_a_job_set_keeps_a_queue(queues: Jobs, waiting: str) -> None:
    """It may move to another one while it waits. Without one, nothing would stop it from starting."""

    def moved(to: str | None) -> str:
        body = {"metadata": {"labels": {QUEUE_LABEL: to}}, "spec": {"suspend": to is not None}}
        return refusal(queues.api.patch, JOB_SET, waiting, TEAM, body, manager="test", dry_run=True)

    assert f"a JobSet with GPUs keeps the label {QUEUE_LABEL}" in moved(None)
    assert moved("research") == ""


@pytest.mark.parametrize("how", ["admitted", "waiting"])
def test_a_job_set_in_a_queue_stays_what_kueue_counted(queues: Jobs, how: str, request: pytest.FixtureRequest) -> None:
    """Kueue gives up a job that is another one, and forgets that it runs."""
    request.getfixturevalue(how)
    name = {"admitted": "sweep", "waiting": "waits"}[how]
    draw = random.Random(counts.seed())
    pods = "/spec/replicatedJobs/0/template/spec/template/spec"
    changes: list[list[Object]] = [
        [{"op": "replace", "path": "/spec/suspend", "value": how == "admitted"}],
        [{"op": "add", "path": f"{pods}/nodeSelector", "value": {"tensorplane.dev/accelerator": "h100-80gb"}}],
        [{"op": "add", "path": f"{pods}/tolerations", "value": [{"operator": "Exists"}]}],
        [{"op": "add", "path": "/metadata/labels/mine", "value": "a"}],
    ]
    told = {}
    for number in range(len(changes)):
        body = [*changes[number], *draw.choice(changes)]
        told[number] = refusal(
            queues.api.patch, JOB_SET, name, TEAM, body, manager="test", content_type=JSON_PATCH, dry_run=True
        )
    *_, label = changes
    assert refusal(queues.api.patch, JOB_SET, name, TEAM, label, manager="test", content_type=JSON_PATCH) == ""
    # `kubectl apply` of the same file leaves out what are defaults. JobSet itself may refuse that.
    again = {"spec": {"replicatedJobs": example()["spec"]["replicatedJobs"]}}
    if how == "waiting":
        assert "Kueue starts" not in refusal(queues.api.patch, JOB_SET, name, TEAM, again, manager="test")
    assert all("spec: Kueue starts and stops a JobSet in a queue" in told[number] for number in (0, 1, 2)), told


def test_jobs_of_a_job_set_change_with_it_alone(queues: Jobs, waiting: str, by: Callable[[str], Objects]) -> None:
    (job,) = queues.kube.items(f"/apis/batch/v1/namespaces/{TEAM}/jobs", labelSelector=JOB_SET_NAME)
    name = job["metadata"]["name"]
    more = {"nvidia.com/gpu": "3"}
    changes: list[Any] = [
        {"spec": {"parallelism": 9}},
        {"spec": {"suspend": False}},
        {"metadata": {"finalizers": ["example.org/mine"]}},
        {"metadata": {"labels": {JOB_SET_NAME: "other"}}},
        {"metadata": {"ownerReferences": None}},
        [{"op": "replace", "path": "/spec/template/spec/containers/0/resources", "value": {"limits": more}}],
    ]
    for body in changes:
        how = {"content_type": JSON_PATCH} if isinstance(body, list) else {}
        told = refusal(queues.api.patch, JOB, name, TEAM, body, manager="test", **how)
        assert "only controllers create and change Jobs of a JobSet" in told, body
    queues.api.patch(JOB, name, TEAM, {"metadata": {"annotations": {"mine": "a"}}}, manager="test", dry_run=True)
    assert "only controllers delete Jobs of a JobSet" in refusal(queues.api.delete, JOB, name, TEAM)
    # What JobSet's controller would take for its own.
    about = {"name": "forged", "namespace": TEAM, "labels": job["metadata"]["labels"]}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": template_of(without_gpus(example()))["spec"]}
    forged = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": about,
        "spec": {"suspend": True, "template": template},
    }
    assert queues.refusal(forged) == ""
    owner = {"ownerReferences": [{**job["metadata"]["ownerReferences"][0], "controller": True}]}
    told = queues.refusal({**forged, "metadata": {**about, **owner}})
    assert "only controllers create and change Jobs of a JobSet" in told
    # The controller of other kinds of jobs labels none as admitted.
    template["metadata"]["labels"][gpu_guard.ADMITTED] = "worker"
    for user in (_COLLECTOR, "system:kube-controller-manager"):
        told = refusal(by(user).create, forged, manager="test", dry_run=True)
        assert "only Kueue sets this label" in told


def test_only_kueue_takes_its_label_away(queues: Jobs, admitted: tuple[str, str]) -> None:
    """Without it, Kueue and the rules know an admitted job no more."""
    body = [
        {"op": "replace", "path": "/spec/suspend", "value": True},
        {"op": "remove", "path": "/spec/replicatedJobs/0/template/spec/template/metadata/labels"},
    ]
    told = refusal(
        queues.api.patch, JOB_SET, "sweep", TEAM, body, manager="test", content_type=JSON_PATCH, dry_run=True
    )
    assert "only Kueue sets this label; leave it as it is" in told


def test_accounts_of_the_stack_give_no_quota(
    queues: Jobs, admitted: tuple[str, str], by: Callable[[str], Objects]
) -> None:
    """Who may create pods in the stack's namespace can use the account of the return of quota."""
    (work,) = queues.kube.items(f"/apis/{KUEUE_API}/namespaces/{TEAM}/workloads")
    agent = by(f"system:serviceaccount:{queues.stack}:{quota_return.ACCOUNT}")
    flavor = queues.kube.items(f"/apis/{KUEUE_API}/resourceflavors")[0]["metadata"]["name"]
    cohort = GVK.parse(KUEUE_API, "Cohort")
    queues.api.apply({"apiVersion": KUEUE_API, "kind": "Cohort", "metadata": {"name": "empty"}}, manager="test")

    def told(kind: str, body: Any, **how: Any) -> str:
        names = {"Workload": work["metadata"]["name"], "ResourceFlavor": flavor, "Cohort": "empty"}
        namespace = TEAM if kind == "Workload" else None
        at = GVK.parse(KUEUE_API, kind)
        return refusal(agent.patch, at, names[kind], namespace, body, manager="test", dry_run=True, **how)

    def gives(quota: str) -> Object:
        resources = [{"name": "nvidia.com/gpu", "nominalQuota": quota}]
        flavors = [{"name": flavor, "resources": resources}]
        return {"spec": {"resourceGroups": [{"coveredResources": ["nvidia.com/gpu"], "flavors": flavors}]}}

    less = [{"op": "remove", "path": "/spec/podSets/0/template/spec/containers/0/resources/requests"}]
    assert "accounts of the stack give no quota; of a Workload they may change spec.active" in told(
        "Workload", less, content_type=JSON_PATCH
    )
    refused: list[tuple[str, Object]] = [
        ("Workload", {"spec": {"priority": 9}}),
        ("Workload", {"metadata": {"finalizers": None}}),
        ("Workload", {"metadata": {"labels": {"a": "b"}}}),
        ("ResourceFlavor", {"spec": {"nodeLabels": {"a": "b"}}}),
        ("Cohort", gives("100")),
        ("Cohort", {"spec": {"parentName": "other"}}),
    ]
    for kind, body in refused:
        assert "accounts of the stack give no quota" in told(kind, body), body
    taints = [{"key": "a", "effect": "NoSchedule"}]
    allowed: list[tuple[str, Object]] = [
        ("Workload", {"spec": {"active": False}, "metadata": {"annotations": {"a": "b"}}}),
        ("ResourceFlavor", {"spec": {"nodeTaints": taints}}),
        ("Cohort", gives("0")),
    ]
    assert [told(kind, body) for kind, body in allowed] == [""] * 3
    queues.api.delete(cohort, "empty")


def _set(container: Object, **amounts: Any) -> None:
    container["resources"] = {"limits": amounts, "requests": dict(amounts)}


def _amount(job: Object, draw: random.Random) -> str:
    spec = template_of(job)["spec"]
    resource, amount = draw.choice(
        [
            ("nvidia.com/gpu", "-1"),
            ("cpu", "-1"),
            ("memory", "-1Gi"),
            ("nvidia.com/gpu", "0.5"),
            ("amd.com/gpu", "500m"),
        ]
    )
    resources = {draw.choice(["requests", "limits"]): {resource: amount}}
    one = {**spec["containers"][0], "name": "second", "resources": resources}
    match draw.choice(["container", "init", "pod", "overhead"]):
        case "container":
            spec["containers"].append(one)
        case "init":
            spec["initContainers"] = [one]
        case "pod":
            spec["resources"] = resources
        case "overhead":
            spec["overhead"] = {resource: amount}
    return "resources: amounts are 0 or more"


def _grace(job: Object, draw: random.Random) -> str:
    template_of(job)["spec"]["terminationGracePeriodSeconds"] = draw.choice([MOST_GRACE + 1, 10**8])
    return "spec.terminationGracePeriodSeconds: pods with GPUs may take up to 3600 seconds to end"


def _pods(job: Object, draw: random.Random) -> str:
    (role,) = job["spec"]["replicatedJobs"]
    replicas, parallelism = draw.choice(
        [(2**31 - 1, 1), (2**31 - 1, 0), (2**31 - 1, 2**31 - 1), (101, 100), (1, 10_001)]
    )
    role["replicas"] = replicas
    role["template"]["spec"] |= {"parallelism": parallelism, "completions": parallelism}
    return "spec.replicatedJobs: a JobSet has at most 10000 pods"


def _claims(job: Object, _: random.Random) -> str:
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    job["spec"]["volumeClaimPolicies"] = [{"templates": [{"metadata": {"name": "big"}, "spec": claim}]}]
    return "spec.volumeClaimPolicies: members of a team create no PersistentVolumeClaims"


def _node(job: Object, _: random.Random) -> str:
    template_of(job)["spec"]["nodeName"] = "hopper-0"
    return "spec.nodeName: Kueue counts the flavor that it selects"


def _finalizers(job: Object, draw: random.Random) -> str:
    # Kubernetes itself refuses both of its own together.
    of_kubernetes = draw.choice(["orphan", "foregroundDeletion"])
    job["metadata"]["finalizers"] = draw.sample([of_kubernetes, "example.org/mine"], draw.randint(1, 2))
    return "metadata.finalizers"


def _label(job: Object, draw: random.Random) -> str:
    labels = template_of(job)["metadata"].setdefault("labels", {})
    labels[gpu_guard.ADMITTED] = draw.choice(["worker", "a", ""])
    return "only Kueue sets this label"


def _part(job: Object, _: random.Random) -> str:
    """Kueue's webhook, which comes before the rules, looks for the JobSet that it would be a part of."""
    job["metadata"]["ownerReferences"] = [{**_OWNER, "apiVersion": "jobset.x-k8s.io/v1alpha2"}]
    return f'JobSet.jobset.x-k8s.io "{_OWNER["name"]}" not found'


def _owner(job: Object, _: random.Random) -> str:
    """Kueue would take it for a part of what controls it."""
    job["metadata"].setdefault("ownerReferences", [_OWNER])
    return "metadata.ownerReferences: Kueue does not count a JobSet that another object controls"


def _selector(job: Object, _: random.Random) -> str:
    (role,) = job["spec"]["replicatedJobs"]
    role["template"]["spec"] |= {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}}
    template_of(job)["metadata"].setdefault("labels", {})["a"] = "b"
    return "spec.manualSelector: a Job would replace pods that it no longer selects"


def _replaced(job: Object, draw: random.Random) -> str:
    (role,) = job["spec"]["replicatedJobs"]
    policy = draw.choice([{}, {"podReplacementPolicy": "TerminatingOrFailed"}])
    role["template"]["spec"] |= {"backoffLimit": 3, **policy}
    template_of(job)["spec"].setdefault("terminationGracePeriodSeconds", draw.choice([31, MOST_GRACE]))
    return "spec.podReplacementPolicy: pods with GPUs that are asked to end would hold them beside"


TRICKS = (_part, _label, _finalizers, _owner, _amount, _grace, _pods, _claims, _replaced, _selector, _node)
"""In the order in which the API server says them."""


@pytest.mark.counted
def test_no_trick_of_a_member_gets_more_than_kueue_counts(jobs: Jobs) -> None:
    draw = random.Random(counts.seed())
    for _ in range(COUNT):
        job = example()
        chosen = draw.sample(TRICKS, draw.randint(1, 2))
        first, *_ = [trick(job, draw) for trick in TRICKS if trick in chosen]
        said = jobs.refusal(job)
        assert first in said, (first, job)
        assert "quantity" not in said


def test_honest_jobs_are_let_in(jobs: Jobs) -> None:
    job = example()
    (role,) = job["spec"]["replicatedJobs"]
    template_of(job)["spec"]["terminationGracePeriodSeconds"] = MOST_GRACE
    role |= {"replicas": 100}
    role["template"]["spec"] |= {
        "parallelism": 100,
        "completions": 100,
        "backoffLimit": 6,
        "podReplacementPolicy": "Failed",
    }
    assert jobs.refusal(job) == ""
    slow = without_gpus(example())
    template_of(slow)["spec"]["terminationGracePeriodSeconds"] = 86400
    assert jobs.refusal(slow) == ""
    _set(template_of(slow)["spec"]["containers"][0], cpu="0.5", memory="1.5Gi", **{"vpc.amazonaws.com/efa": 0})
    assert jobs.refusal(slow) == ""
    # Where the settings of a stack say how long.
    own = example(namespace=jobs.stack)
    template_of(own)["spec"]["terminationGracePeriodSeconds"] = 86400
    # As Argo creates that of a pipeline's stage.
    own["metadata"]["ownerReferences"] = [{**_OWNER, "apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}]
    assert jobs.refusal(own) == ""


def test_the_rules_can_be_computed_for_the_largest_jobs(jobs: Jobs) -> None:
    """The API server bounds what rules cost."""
    job = example()
    (role,) = job["spec"]["replicatedJobs"]
    containers = template_of(job)["spec"]["containers"]
    containers += [{**containers[0], "name": f"c{number}"} for number in range(3)]
    job["spec"]["replicatedJobs"] = [{**role, "name": f"r{number}"} for number in range(200)]
    for namespace in (TEAM, jobs.stack):
        job["metadata"]["namespace"] = namespace
        assert jobs.refusal(job) == ""
