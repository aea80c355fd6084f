"""What the policies of the API server name: whose pods may hold GPUs, and where. tests/queues tries them."""

from __future__ import annotations

from typing import Any

from tests.support import rendering
from tests.support.rendered_files import rendered_tree
from tests.support.rendering import Registered

TREE: dict[str, Any] = {
    "namespace": "lab",
    "cluster": {"kind": "existing", "context": "c"},
    "nodeGroups": {"cpu": {"max": 2}, "old": {"accelerator": "t4", "perNode": 4, "max": 2}},
    "volumes": {"models": {"sizeGib": 1, "accessModes": ["ReadWriteMany"]}},
    "teams": {"vision": {}, "speech": {"namespace": "talk"}},
    "queues": {
        "research": {"cpus": 1, "memoryGib": 1, "gpus": {"t4": 4}, "teams": ["vision"]},
        "light": {"cpus": 1, "memoryGib": 1},
    },
    "workloads": {
        "server": {
            "kind": "modelServer",
            "model": {"volume": "models", "path": "m"},
            "resources": {"cpus": 1, "memoryGib": 1, "gpus": 1},
        },
        "idle": {"kind": "modelServer", "model": {"volume": "models", "path": "m"}},
    },
}


SMALL = {"cpus": 1, "memoryGib": 1}


def built(**changes: Any) -> rendering.Rendered:
    return rendered_tree({**TREE, **changes})


def namespaces(binding: Registered) -> list[str]:
    (among,) = binding.inputs["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    return list(among["values"])


def test_the_stacks_and_its_teams_namespaces_are_looked_at() -> None:
    bindings = {one.name: one for one in built().all("ValidatingAdmissionPolicyBinding")}
    assert {name: namespaces(one) for name, one in bindings.items()} == {
        "lab-admitted-jobs": ["lab"],
        "lab-deleted-jobs": ["lab", "talk", "vision"],
        "lab-jobs-of-teams": ["talk", "vision"],
        "lab-kueue": ["lab", "talk", "vision"],
        "lab-limit-ranges": ["lab", "talk", "vision"],
        "lab-pods-with-gpus": ["lab", "talk", "vision"],
    }
    alone = built(teams={}, queues={"research": {"gpus": {"t4": 4}}})
    names = {one.name.removeprefix("lab-") for one in alone.all("ValidatingAdmissionPolicyBinding")}
    assert names == {"admitted-jobs", "deleted-jobs", "kueue", "limit-ranges", "pods-with-gpus"}


def test_what_the_settings_declare_without_a_queue_may_hold_gpus() -> None:
    policies = {one.name: str(one.inputs["spec"]["validations"]) for one in built().all("ValidatingAdmissionPolicy")}
    assert "serviceAccountName.orValue('') in ['server']" in policies["lab-pods-with-gpus"]


def test_a_kueue_that_manages_more_than_job_sets_may_admit_other_jobs() -> None:
    for kueue, only in (("chart", True), ("present", False)):
        policies = {
            one.name: str(one.inputs["spec"]["validations"])
            for one in built(controllers={"kueue": kueue}).all("ValidatingAdmissionPolicy")
        }
        jobs = policies["lab-jobs-of-teams"]
        assert ("variables.queue != '' && has(dyn(object).spec.replicatedJobs)" in jobs) is only
        assert "variables.queue in ['research']" in jobs
        # Ours admits JobSets alone, by its own account: what others make of a template has not been admitted.
        pods, jobset = policies["lab-pods-with-gpus"], "system:serviceaccount:jobset-system:jobset-controller"
        assert ("system:serviceaccount:kueue-system:kueue-controller-manager" in jobs) is only
        assert ("orValue('') != '' && variables.byController" in pods) is not only
        assert ("spec.parallelism: an admitted job cannot grow" in jobs) is not only
        # Where the stack installs JobSet, as its own training jobs ask for.
        assert jobset not in jobs
    trains = {"kind": "trainingJob", "command": ["a"], "strategy": {"kind": "single"}, "resources": SMALL}
    (policy,) = (
        one
        for one in built(workloads={"digits": trains}).all("ValidatingAdmissionPolicy")
        if one.name == "lab-jobs-of-teams"
    )
    assert jobset in str(policy.inputs)


def test_a_kueue_that_admits_any_kind_gives_none_the_priority_of_another_queue() -> None:
    found = built(controllers={"kueue": "present"})
    (one,) = (one for one in found.all("ValidatingAdmissionPolicyBinding") if "priorities" in one.name)
    assert (one.name, namespaces(one)) == ("lab-priorities-of-teams", ["talk", "vision"])
    alone = built(controllers={"kueue": "present"}, teams={}, queues={"research": {"gpus": {"t4": 4}}})
    assert not [one for one in alone.all("ValidatingAdmissionPolicy") if "priorities" in one.name]


def test_claims_of_devices_count_as_gpus() -> None:
    for policy in built(gpusInOtherNamespaces="deny").all("ValidatingAdmissionPolicy"):
        if policy.name in ("lab-limit-ranges", "lab-kueue"):
            continue
        assert ".?resourceClaims.orValue([]).size() > 0" in str(policy.inputs["spec"]), policy.name


def test_the_priority_of_pods_is_checked_where_kueue_admits_them() -> None:
    def made(**changes: Any) -> bool:
        policies = built(**changes).all("ValidatingAdmissionPolicy")
        return "lab-priorities-of-teams" in {one.name for one in policies}

    assert not made()
    assert made(controllers={"argoWorkflows": "chart"})
    assert made(controllers={"kueue": "present"})
