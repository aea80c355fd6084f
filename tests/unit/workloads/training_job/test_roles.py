"""Roles of a job: each has its own pods, and runs the user's command or a program of the library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import pytest

from tensorplane.components.base.model import Resources
from tensorplane.workloads.pods.mounts import Mountable
from tensorplane.workloads.training_job.manifest import JobManifest, plan
from tensorplane.workloads.training_job.role import TENSORFLOW, TENSORFLOW_PORT, Program, Role, Total, total
from tensorplane.workloads.training_job.settings import JobSettings
from tensorplane.workloads.training_job.strategies import Strategy
from tests.support.planned_jobs import IMAGE, SETTINGS, container, job, job_context, variables


class Parts(Strategy, family=True):
    """A strategy of roles that differ in everything; a family, so that no setting can name it."""

    kind: Literal["parts"] = "parts"

    def roles(self, resources: Resources) -> Sequence[Role]:
        small = Resources(cpus=0.5, memory_gib=1)
        ports = {TENSORFLOW: TENSORFLOW_PORT}
        return [
            Role("chief", 1, small, ports, {"ROLE": "chief"}),
            Role("worker", 3, resources, ports, restart="pod", required_for_success=False),
            Role("evaluator", 1, small, required_for_success=False),
        ]


class Served(Strategy, family=True):
    """A coordinator with the user's command, servers with the library's program, and an evaluator with its own."""

    kind: Literal["served"] = "served"

    def roles(self, resources: Resources) -> Sequence[Role]:
        ports, of_evaluator = {TENSORFLOW: TENSORFLOW_PORT}, ("strategy", "evaluator", "resources")
        return [
            Role("chief", 1, resources, ports),
            Role("ps", 2, resources, ports, required_for_success=False, program=Program.SERVER),
            Role(
                "evaluator",
                1,
                resources,
                required_for_success=False,
                command=["python3", "evaluate.py"],
                at=of_evaluator,
            ),
        ]


class TestWhatRolesRun:
    """The user's command, a program of the library with the command's interpreter, or a command of the role's own."""

    def manifest(self, *command: str) -> JobManifest:
        settings = JobSettings.model_validate({**SETTINGS, "command": command})
        settings = settings.model_copy(update={"strategy": Served()})
        return plan(settings, job_context("chief", "ps", "evaluator"), image=IMAGE)

    def test_each_role_runs_what_it_states(self) -> None:
        manifest = self.manifest("/opt/venv/bin/python3.12", "train.py", "--ps_hosts=$(TF_PS_HOSTS)")
        library = "/opt/tensorplane/lib/tensorplane.zip"
        launched = ["/opt/venv/bin/python3.12", "-I", library, "launch", "/opt/venv/bin/python3.12"]
        assert container(manifest, "chief")["command"] == [*launched, "train.py", "--ps_hosts=$(TF_PS_HOSTS)"]
        assert container(manifest, "ps")["command"] == [*launched, "-I", library, "parameter_server.server"]
        assert container(manifest, "evaluator")["command"][-2:] == ["python3", "evaluate.py"]

    def test_hosts_are_declared_before_variables_that_may_refer_to_them(self) -> None:
        settings = JobSettings.model_validate({**SETTINGS, "env": {"HOSTS": "$(TF_WORKER_HOSTS)"}})
        names = [each["name"] for each in container(plan(settings, job_context(), image=IMAGE))["env"]]
        assert names.index("TF_WORKER_HOSTS") < names.index("HOSTS")

    def test_a_program_needs_an_interpreter(self) -> None:
        with pytest.raises(ValueError, match="ps pods run a program of the library"):
            self.manifest("/trainer")

    def test_a_setting_of_the_strategy_counts_only_if_it_is_set(self) -> None:
        class Mode(Served, family=True):
            mode: str = ""

            def decisive(self) -> dict[str, Any]:
                return {"mode": self.mode}

        def name(strategy: Strategy) -> str:
            settings = JobSettings.model_validate(SETTINGS).model_copy(update={"strategy": strategy})
            return plan(settings, job_context("chief", "ps", "evaluator"), image=IMAGE).run.name

        assert name(Mode()) == name(Served())
        assert name(Mode(mode="betweenGraph")) != name(Served())


class TestRoles:
    """Each role has its own replicas, resources, ports, environment, restart policy, and weight in the job's end."""

    @pytest.fixture
    def manifest(self) -> JobManifest:
        settings = JobSettings.model_validate({**SETTINGS, "maxRestarts": 5})
        gpus = Resources(cpus=4, memory_gib=16, gpus=2)
        settings = settings.model_copy(update={"strategy": Parts(), "resources": gpus})
        assert total(settings.roles()) == Total(pods=5, cpus=13, memory_gib=50, gpus=6)
        return plan(settings, job_context("chief", "worker", "evaluator"), image=IMAGE)

    def test_replicas_and_resources(self, manifest: JobManifest) -> None:
        counts = {
            each["name"]: each["template"]["spec"]["completions"] for each in manifest.job_set["spec"]["replicatedJobs"]
        }
        assert counts == {"chief": 1, "worker": 3, "evaluator": 1}
        assert container(manifest, "worker")["resources"]["limits"] == {"memory": "16Gi", "nvidia.com/gpu": "2"}
        assert container(manifest, "chief")["resources"]["limits"] == {"memory": "1Gi"}

    def test_ports_and_environment(self, manifest: JobManifest) -> None:
        assert container(manifest, "chief")["ports"] == [{"name": "tensorflow", "containerPort": 2222}]
        assert "ports" not in container(manifest, "evaluator")
        assert variables(manifest, "chief")["ROLE"] == "chief"
        assert "ROLE" not in variables(manifest, "worker")
        assert variables(manifest, "worker")["TENSORPLANE_GPUS"] == "2"
        assert "evaluator-0" not in variables(manifest, "chief")["TF_CONFIG"]

    def test_a_gang_restarts_together_and_a_pod_alone(self, manifest: JobManifest) -> None:
        gang, alone = (job(manifest, role)["template"]["spec"] for role in ("chief", "worker"))
        assert gang["backoffLimit"] == 0
        assert "backoffLimitPerIndex" not in gang
        assert alone["backoffLimitPerIndex"] == 5
        assert alone["maxFailedIndexes"] == 0, "one that fails for good restarts the gang, instead of being left out"
        assert "maxFailedIndexes" not in gang
        assert "backoffLimit" not in alone
        evicted = {"type": "DisruptionTarget", "status": "True"}
        assert alone["podFailurePolicy"]["rules"][0] == {"action": "Ignore", "onPodConditions": [evicted]}

    def test_the_end_of_the_job_is_that_of_the_required_roles(self, manifest: JobManifest) -> None:
        assert manifest.job_set["spec"]["successPolicy"]["targetReplicatedJobs"] == ["chief"]


class TestAddedRoles:
    """An evaluator and tf.data service are roles beside those of any strategy."""

    STRATEGY: ClassVar[Mapping[str, Any]] = {
        "kind": "multiWorkerMirrored",
        "evaluator": {"command": ["python3", "evaluate.py"]},
        "dataService": {"workers": 3, "resources": {"cpus": 4}},
    }
    CHECKPOINTS: ClassVar[Mapping[str, Any]] = {"volumes": {"data": "/data"}, "checkpoints": {"volume": "data"}}

    def manifest(self, **settings: Any) -> JobManifest:
        made = JobSettings.model_validate({**SETTINGS, "strategy": self.STRATEGY, **settings})
        volumes = {name: Mountable(name, None, False) for name in made.volumes}
        return plan(made, job_context(*(role.name for role in made.roles()), volumes=volumes), image=IMAGE)

    def test_only_the_training_pods_decide_and_are_in_the_cluster(self) -> None:
        manifest = self.manifest(**self.CHECKPOINTS)
        assert manifest.job_set["spec"]["successPolicy"]["targetReplicatedJobs"] == ["worker"]
        config = json.loads(variables(manifest, "evaluator")["TF_CONFIG"].replace("$(TF_TASK_INDEX)", "0"))
        assert list(config["cluster"]) == ["worker"]
        assert config["task"] == {"type": "evaluator", "index": 0}
        assert "TENSORPLANE_WRITES" not in variables(manifest, "evaluator")
        assert not {"TF_CONFIG", "TF_WORKER_HOSTS"} & variables(manifest, "data-worker").keys()

    def test_an_evaluator_beside_a_single_process_knows_that_it_is_one(self) -> None:
        manifest = self.manifest(strategy={"kind": "single", "evaluator": {}}, **self.CHECKPOINTS)
        assert "TF_CONFIG" not in variables(manifest)
        assert '"type":"evaluator"' in variables(manifest, "evaluator")["TF_CONFIG"]

    def test_the_service_is_found_by_the_names_of_its_pods(self) -> None:
        manifest = self.manifest()
        run = manifest.run.name
        for role in ("worker", "evaluator", "data-worker"):
            address = variables(manifest, role)["TENSORPLANE_DATA_SERVICE"]
            assert address == f"grpc://{run}-dispatcher-0-0.{run}:5050"
        names = [each["name"] for each in container(manifest, "data-worker")["env"]]
        assert names.index("TF_TASK_INDEX") < names.index("TENSORPLANE_ADDRESS")
        own = variables(manifest, "data-worker")["TENSORPLANE_ADDRESS"]
        assert own == f"{run}-data-worker-0-$(TF_TASK_INDEX).{run}:5051"
        assert container(manifest, "data-worker")["resources"]["requests"]["cpu"] == "4"

    def test_all_pods_know_how_often_the_gang_was_restarted(self) -> None:
        manifest, label = self.manifest(), "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"
        for role in ("worker", "evaluator", "dispatcher", "data-worker"):
            (told,) = [each for each in container(manifest, role)["env"] if each["name"] == "TENSORPLANE_RESTARTS"]
            assert told["valueFrom"] == {"fieldRef": {"fieldPath": label}}
        assert "TENSORPLANE_RESTARTS" not in variables(self.manifest(strategy={"kind": "single"}))

    def test_a_lost_dispatcher_is_replaced_only_if_its_journal_is_on_a_volume(self) -> None:
        jobs = [job(self.manifest(**extra), "dispatcher")["template"]["spec"] for extra in ({}, self.CHECKPOINTS)]
        assert ["backoffLimitPerIndex" in each for each in jobs] == [False, True]

    def test_the_service_decides_the_run_and_an_evaluator_does_not(self) -> None:
        plain = plan(JobSettings.model_validate(SETTINGS), job_context(), image=IMAGE).run.name
        evaluated = self.manifest(strategy={**self.STRATEGY, "dataService": None}).run
        assert evaluated.name == plain
        assert self.manifest().run.decisive is not None
        assert "dataService" in (self.manifest().run.decisive or {})
