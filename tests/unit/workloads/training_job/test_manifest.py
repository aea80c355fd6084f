"""`plan`: a job's objects from settings and facts alone, without Pulumi, without a cluster, the same each time."""

from __future__ import annotations

import subprocess
import sys

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.pods.streams import Client
from tensorplane.workloads.training_job import manifest as training_job_manifest
from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.manifest import plan
from tensorplane.workloads.training_job.settings import JobSettings
from tests.support.planned_jobs import IMAGE, SETTINGS, container, job, job_context, planned, variables
from tests.support.rendering import PROJECT

LOADED = """
import importlib, pkgutil, sys
from tensorplane import workloads

found = [each.name for each in pkgutil.walk_packages(workloads.__path__, "tensorplane.workloads.")]
pods = ["tensorplane.workloads.pods." + each for each in ("files", "mounts", "objects", "streams")]
names = [each for each in found if each.count(".") > 2 and (each.endswith("settings") or ".strategies." in each)] + pods
for name in names:
    importlib.import_module(name)

from tensorplane.workloads.training_job.context import JobContext, Placement
from tensorplane.workloads.training_job.manifest import plan
from tensorplane.workloads.training_job.settings import JobSettings

settings = JobSettings.model_validate({"command": ["true"], "strategy": {"kind": "single"}})
plan(settings, JobContext("trial-7", "ml", placement={"worker": Placement()}), image="team/train:1")
print(*names, "|", *sys.modules)
"""


def test_planning_needs_no_pulumi_and_no_cluster() -> None:
    shown = subprocess.run([sys.executable, "-c", LOADED], cwd=PROJECT, capture_output=True, text=True, check=True)
    imported, _, loaded = shown.stdout.partition("|")
    assert {
        "tensorplane.workloads.sweep.settings",
        "tensorplane.workloads.pods.mounts",
        "tensorplane.workloads.training_job.strategies.single",
    } <= {*imported.split()}
    assert not [name for name in loaded.split() if name.startswith(("tensorplane.stack.", "tensorplane.embedded"))]
    assert not {name.partition(".")[0] for name in loaded.split()} & {
        "pulumi",
        "pulumi_kubernetes",
        "kubernetes",
        "grpc",
        "tensorflow",
    }


def test_the_objects_are_everything_that_a_job_needs_in_an_empty_namespace() -> None:
    manifest = planned(
        job_context(files={"train.py": b"print(1)"}, library={"__init__.py": b""}), files={"train.py": "a.py"}
    )
    assert [each["kind"] for each in manifest.objects] == [
        "ServiceAccount",
        "ConfigMap",
        "ConfigMap",
        "NetworkPolicy",
        "JobSet",
    ]
    assert {each["metadata"]["namespace"] for each in manifest.objects} == {"ml"}
    pod = job(manifest)["template"]["spec"]["template"]["spec"]
    mounted = {volume["configMap"]["name"] for volume in pod["volumes"] if "configMap" in volume}
    assert mounted == {each["metadata"]["name"] for each in manifest.config_maps}
    assert pod["serviceAccountName"] == manifest.service_account["metadata"]["name"] == "trial-7"
    selected = manifest.network_policies[0]["spec"]["podSelector"]["matchLabels"]
    assert selected.items() <= job(manifest)["template"]["spec"]["template"]["metadata"]["labels"].items()


def test_another_version_of_the_library_leaves_the_recorded_manifest_as_it_is() -> None:
    versions = ({"tensorplane/loop.py": b"1"}, {"tensorplane/loop.py": b"2"}, {"tensorplane/inner/loop.py": b"2"})
    known = [planned(job_context(library=library)) for library in versions]
    assert len({each.config_maps[0]["metadata"]["name"] for each in known}) == 3
    assert len({each.run.manifest for each in known}) == 1


@given(workers=st.integers(1, 40), steps=st.integers(1, 10**6))
def test_the_same_settings_and_facts_are_the_same_run_and_others_another(workers: int, steps: int) -> None:
    strategy = {"kind": "multiWorkerMirrored", "workers": workers}
    one = planned(strategy=strategy, env={"STEPS": str(steps)})
    assert one == planned(strategy=strategy, env={"STEPS": str(steps)})
    assert one.run.name != planned(strategy=strategy, env={"STEPS": str(steps + 1)}).run.name
    assert one.run.name.startswith("trial-7-")
    assert one.job_set["spec"]["network"]["subdomain"] == one.run.name


def test_a_run_stays_itself_in_another_queue() -> None:
    queued = planned(job_context(queue_labels={"kueue.x-k8s.io/queue-name": "research"}))
    assert queued.run.name == planned().run.name
    assert queued.job_set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"


def test_volumes_and_streams_are_as_the_facts_say() -> None:
    known = job_context(
        volumes={"models": Mountable("models-claim", "/models")},
        streams={"events": Client("broker:9092", ["clicks"], {"security.protocol": "plaintext"}, group="trainer")},
    )
    manifest = planned(
        known,
        volumes={"models": None},
        checkpoints={"volume": "models"},
        streams={"events": {"group": "trainer"}},
    )
    assert variables(manifest)["CHECKPOINT_DIR"] == f"/models/checkpoints/{manifest.run.name}"
    assert '"bootstrap": "broker:9092"' in variables(manifest)["STREAMS"]
    volumes = job(manifest)["template"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "volume-0", "persistentVolumeClaim": {"claimName": "models-claim"}} in volumes


def test_placement_goes_to_the_pods_of_its_role() -> None:
    placement = Placement(
        {"nodeSelector": {"tensorplane.dev/flavor": "t4"}},
        {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
        {"vpc.amazonaws.com/efa": "4"},
    )
    manifest = planned(JobContext("trial-7", "ml", placement={"worker": placement}))
    template = job(manifest)["template"]["spec"]["template"]
    assert template["spec"]["nodeSelector"] == {"tensorplane.dev/flavor": "t4"}
    assert template["metadata"]["annotations"] == {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    assert container(manifest)["resources"]["limits"]["vpc.amazonaws.com/efa"] == "4"


class TestSecrets:
    """Values of variables that are in a Secret, and such as another resource produces, are in no manifest."""

    def test_a_variable_in_the_secret_is_a_reference(self) -> None:
        settings = JobSettings.model_validate({**SETTINGS, "env": {"TOKEN": "hunter2", "STEPS": "1"}})
        manifest = plan(settings, job_context(in_secret={"TOKEN"}), image=IMAGE, secret="trial-7-env")  # a name
        reference = {"secretKeyRef": {"name": "trial-7-env", "key": "TOKEN"}}
        assert container(manifest)["env"][-1] == {"name": "TOKEN", "valueFrom": reference}
        assert variables(manifest)["STEPS"] == "1"
        assert "hunter2" not in str(manifest)

    def test_a_variable_that_a_value_names_comes_before_it(self) -> None:
        env = {"HUB": "https://$(USER_NAME):$(TOKEN)@hub", "TOKEN": {"secret": "hub", "key": "token"}, "USER_NAME": "x"}
        names = [one["name"] for one in container(planned(env=env))["env"]]
        assert names[-3:] == ["USER_NAME", "TOKEN", "HUB"]

    def test_a_run_whose_variables_were_sorted_by_name_goes_on_as_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        env = {"DATA": "$(ROOT)/x", "ROOT": "/data"}
        with monkeypatch.context() as before:
            before.setattr(training_job_manifest, "in_order", list)
            former = planned(env=env)
        settings = JobSettings.model_validate({**SETTINGS, "env": env})
        assert plan(settings, job_context(), image=IMAGE, recorded=former.run).job_set == former.job_set
        assert planned(env=env).run.name != former.run.name

    def test_a_value_that_another_resource_produces_is_refused_outside_of_it(self) -> None:
        with pytest.raises(TypeError, match="TOKEN"):
            planned(env={"TOKEN": pulumi.Output.from_input("hunter2")})

    def test_a_key_of_an_existing_secret_decides_the_run_by_its_name(self) -> None:
        manifest, other = (planned(env={"TOKEN": {"secret": "hub", "key": key}}) for key in ("token", "old-token"))
        reference = {"secretKeyRef": {"name": "hub", "key": "token"}}
        assert container(manifest)["env"][-1] == {"name": "TOKEN", "valueFrom": reference}
        assert manifest.run.name != other.run.name


def test_chips_are_asked_for_by_the_name_that_the_catalog_has() -> None:
    chips = {"gpus": 4, "accelerator": "tpu-v5e"}
    limits = container(planned(resources=chips))["resources"]["limits"]
    assert limits["google.com/tpu"] == "4"
    assert "nvidia.com/gpu" not in limits
    assert "TENSORPLANE_GPUS" not in variables(planned(resources=chips))
