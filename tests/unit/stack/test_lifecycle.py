"""What protects data, what waits for what, and what is installed at all."""

import copy
import re

import pytest

from tensorplane.components import versions
from tensorplane.components.base import outputs
from tests.support.rendered_files import rendered_anew, rendered_tree
from tests.support.rendering import PROJECT, Echo, settings_of

EXISTING = PROJECT / "examples" / "existing-cluster.yaml"
DEV = PROJECT / "Pulumi.dev.yaml"


def test_data_is_protected_with_all_that_holds_it() -> None:
    rendered = rendered_tree(settings_of(DEV).tree)
    for kind in ("PersistentVolumeClaim", "Namespace"):
        (resource,) = [r for r in rendered.all(kind) if r.type.startswith("kubernetes:")]
        assert resource.options["protect"], kind
        assert resource.options["retainOnDelete"], kind


def test_what_need_not_be_kept_is_not_protected() -> None:
    tree = copy.deepcopy(settings_of(DEV).tree)
    tree["volumes"]["models"]["retain"] = False
    assert not [r.name for r in rendered_tree(tree).resources if r.options.get("protect")]


def test_one_volume_to_keep_is_enough_to_keep_the_namespace() -> None:
    rendered = rendered_tree(settings_of(EXISTING).tree)
    protected = {(r.type.split(":")[-1], r.name) for r in rendered.resources if r.options.get("protect")}
    assert protected == {("Namespace", "vision"), ("PersistentVolumeClaim", "models")}


def test_a_teams_namespace_is_kept_unless_its_setting_says_otherwise() -> None:
    tree = copy.deepcopy(settings_of(EXISTING).tree)
    tree["teams"] = {"speech": {}, "sound": {"namespace": "audio", "retain": False}, "own": {"create": False}}
    kept = {one.name: one.options for one in rendered_tree(tree).all("Namespace") if one.name != "vision"}
    assert sorted(kept) == ["audio", "speech"]
    assert kept["speech"]["protect"] is kept["speech"]["retainOnDelete"] is True
    assert not kept["audio"].get("protect")
    assert not kept["audio"].get("retainOnDelete")


def test_jobs_wait_for_controllers_queue_and_volume() -> None:
    rendered = rendered_tree(settings_of(DEV).tree)
    needed = rendered.one("JobSet").options["dependsOn"]
    assert {"Release jobset", "LocalQueue training", "PersistentVolumeClaim models"} <= set(needed)
    assert rendered.one("ResourceFlavor").options["dependsOn"] == ["Release kueue"]
    assert rendered.one("JobSet").options["ignoreChanges"] == ["spec.suspend"]


def test_nothing_waits_for_training() -> None:
    rendered = rendered_tree(settings_of(DEV).tree)
    for kind in ("Deployment", "Service"):
        assert rendered.one(kind, "digits-server").inputs["metadata"]["annotations"] == {"pulumi.com/skipAwait": "true"}
    assert not [need for need in rendered.one("Deployment", "digits-server").options["dependsOn"] if "JobSet" in need]


def test_controllers_are_installed_where_something_needs_them() -> None:
    tree = copy.deepcopy(settings_of(DEV).tree)
    assert [r.name for r in rendered_tree(tree).all("Release")] == ["jobset", "kueue"]
    del tree["queues"], tree["workloads"]["digits"]["queue"]
    assert [r.name for r in rendered_tree(tree).all("Release")] == ["jobset"]
    del tree["workloads"]["digits"]
    assert rendered_tree(tree).all("Release") == []


def test_controllers_of_the_cluster_are_used() -> None:
    rendered = rendered_tree(settings_of(EXISTING).tree)
    assert rendered.all("Release") == []
    assert rendered.one("LocalQueue").inputs["spec"]["clusterQueue"] == "vision-research"


def test_charts_come_from_the_instance_on_embedded_and_from_the_registry_elsewhere() -> None:
    tree = copy.deepcopy(settings_of(DEV).tree)
    assert rendered_tree(tree).one("Release", "kueue").inputs["chart"] == "/instance-home/charts/kueue"
    tree["cluster"] = {"kind": "existing", "context": "kind-dev"}
    release = rendered_tree(tree).one("Release", "kueue").inputs
    assert (release["chart"], release["version"]) == (versions.KUEUE.reference, versions.KUEUE.version)


def test_a_budget_for_disruptions_needs_a_second_replica() -> None:
    assert rendered_tree(settings_of(DEV).tree).all("PodDisruptionBudget") == []
    budget = rendered_tree(settings_of(EXISTING).tree).one("PodDisruptionBudget")
    assert budget.inputs["spec"]["maxUnavailable"] == 1


def test_a_preview_on_an_empty_cluster_needs_no_address(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first preview: nobody has given the service an address."""
    monkeypatch.setattr(Echo, "new_resource", lambda self, args: (args.name, {"outputs": {}, **args.inputs}))
    exported = rendered_anew(settings_of(DEV).tree).exports["workloads"]["digits-server"]
    assert exported["grpc"] == "digits-server.tensorplane-dev.svc:8500"


def test_labels_fit_the_longest_names() -> None:
    tree = copy.deepcopy(settings_of(DEV).tree)
    tree["namespace"] = "n" * 61
    tree["queues"] = {"q": tree["queues"]["training"]}
    tree["workloads"]["digits"]["queue"] = "q"
    labels = [r.inputs["metadata"].get("labels", {}) for r in rendered_tree(tree).resources if "metadata" in r.inputs]
    assert len(labels) > 10
    assert max(len(str(value)) for each in labels for value in each.values()) == 63


def test_every_component_registers_its_outputs() -> None:
    rendered = rendered_tree(settings_of(DEV).tree)
    components = {f"{r.type} {r.name}" for r in rendered.resources if r.type.startswith("tensorplane:")}
    assert components
    assert components == set(rendered.completed)


def test_the_gpu_quota_knows_every_workload_there_is() -> None:
    """A policy imports nothing of the stack: it names the components that it counts."""
    sources = "".join(path.read_text() for path in (PROJECT / "workloads").rglob("*.py"))
    built = {getattr(outputs, token) for token in re.findall(r"super\(\).__init__\(registered\.([A-Z_]+)", sources)}
    assert {"tensorplane:index:ModelServer", "tensorplane:index:TrainingJob"} <= built
    assert built <= set(re.findall(r'"(tensorplane:index:\w+)"', (PROJECT / "policies/gpu_usage/usage.py").read_text()))
