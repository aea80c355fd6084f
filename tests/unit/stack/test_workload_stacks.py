"""A stack of workloads on another stack's platform: what it may say, and that it creates the workloads alone."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pulumi
import pytest

from tensorplane import stack
from tensorplane.components.base.labels import STACK
from tensorplane.core.errors import UserError
from tensorplane.stack.resolved import ResolvedStack
from tests.support import computed, rendering
from tests.support.rendering import PROJECT, Render, Rendered, settings_of
from tests.support.workload_stacks import JOB, OWN, PLATFORM, SERVER, Project

RUNNING = "dev"
"""The name of every stack whose resources a test renders."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def built(project: Project, render: Render, name: str = "vision") -> Rendered:
    resolved = project.load(name)
    return render(lambda: stack.build(resolved))


def _with(tree: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(tree), **changes}


def test_its_workloads_are_on_the_platforms_namespace_and_volumes(project: Project) -> None:
    resolved = project.load()
    assert list(resolved.workloads) == ["search"]
    assert resolved.config.namespace_name == "tensorplane-dev", "not the one that the workload stack would have"
    assert resolved.platform.volumes.keys() == {"models"}


def test_it_creates_the_workloads_alone(project: Project, render: Render) -> None:
    project.write("vision", _with(OWN, workloads={"search": JOB, "search-server": SERVER}))
    made = built(project, render)
    assert {each.name for each in made.resources if each.type.startswith("tensorplane:")} == {
        "cluster",
        "search",
        "search-server",
    }
    assert not made.all("Namespace")
    assert not made.all("PersistentVolumeClaim")
    assert {each.inputs["metadata"]["labels"][STACK] for each in made.all("ServiceAccount")} == {RUNNING}
    assert made.one("JobSet").inputs["metadata"]["namespace"] == "tensorplane-dev"
    assert made.one("JobSet").inputs["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "training"
    assert made.exports["platform"] == "dev"
    assert made.exports["workloads"].keys() == {"search", "search-server"}
    assert "kubeconfig" not in made.exports


def test_a_job_of_a_team_is_in_the_teams_namespace(project: Project, render: Render) -> None:
    queues = {"training": {"cpus": 1, "memoryGib": 3, "teams": ["vision"]}}
    project.write("dev", _with(PLATFORM, queues=queues))
    project.write("vision", _with(OWN, workloads={"search": {**JOB, "team": "vision"}}))
    made = built(project, render)
    assert made.one("JobSet").inputs["metadata"]["namespace"] == "vision"


@pytest.mark.parametrize(
    ("platform", "says"),
    [
        ("deva", "'deva' is no stack of this project; choose one of dev (did you mean dev?)"),
        ("", "'' is no stack of this project; choose one of dev"),
        (["dev"], "it names no stack of this project; choose one of dev"),
        ("vision", "vision has no platform of its own, it uses that of vision; remove it, or name another stack"),
    ],
)
def test_the_platform_must_be_another_stack(project: Project, platform: Any, says: str) -> None:
    assert project.problems_of(**_with(OWN, platform=platform)) == [f"platform: {says}"]


def test_the_platform_must_have_its_own_cluster(project: Project) -> None:
    project.write("speech", OWN)
    says = "speech has no platform of its own, it uses that of dev; name dev"
    assert project.problems_of(**_with(OWN, platform="speech")) == [f"platform: {says}"]


def test_a_name_that_only_the_platform_can_read_is_refused(project: Project) -> None:
    hidden = {"kind": "existing", "context": {"secure": "AAAA"}}
    project.write("dev", _with(PLATFORM, cluster=hidden))
    says = "cluster.context of dev is encrypted, so only dev can read it; store it unencrypted"
    assert project.problems() == [f"platform: {says}"]


def test_the_platforms_other_secrets_do_not_matter(project: Project) -> None:
    workloads = {"digits-server": {**SERVER, "image": {"secure": "AAAA"}}}
    project.write("dev", _with(PLATFORM, workloads={**workloads, "digits": JOB}))
    assert project.problems() == []


def test_every_fault_is_told_at_once_and_sections_of_the_platform_are_refused(project: Project) -> None:
    job = {**JOB, "queue": "trainign", "volumes": {"modles": "/models"}, "checkpoints": {"volume": "modles"}}
    tree = _with(OWN, queues={"mine": {"cpus": 1}}, namespace="mine", workloadz={}, workloads={"search": job})
    told = project.problems_of(**tree)
    assert "queues: belongs to platform dev; declare it in Pulumi.dev.yaml, or remove platform" in told
    assert "namespace: belongs to platform dev; declare it in Pulumi.dev.yaml, or remove platform" in told
    assert any(line.startswith("workloadz: unknown setting") and "did you mean workloads?" in line for line in told)
    assert any("workloads.search.queue: " in line and "did you mean training?" in line for line in told)
    assert any("workloads.search.volumes.modles" in line and "did you mean models?" in line for line in told)
    assert len(told) == 5


def test_faults_of_the_platform_are_told_as_its_own(project: Project) -> None:
    project.write("dev", _with(PLATFORM, volumes={"models": {"sizeGib": -1}}))
    (line,) = project.problems()
    assert line.startswith("stack dev: tensorplane:volumes.models.sizeGib: ")


def test_a_name_is_taken_once_on_a_platform(project: Project) -> None:
    assert project.problems_of(**_with(OWN, workloads={"digits": JOB, "search": JOB})) == [
        "workloads.digits: platform dev has a workload of this name; choose another name"
    ]
    project.write("speech", OWN)
    taken = "workloads.search: stack {} has a workload of this name on platform dev; choose another name"
    assert project.problems_of(**OWN) == [taken.format("speech")]
    assert project.problems("speech") == [taken.format("vision")]
    project.write("other", PLATFORM)
    project.write("speech", _with(OWN, platform="other"))
    assert project.problems() == [], "names are taken on one platform alone"


def test_the_platform_does_not_take_a_name_of_its_workload_stacks(project: Project) -> None:
    project.write("dev", _with(PLATFORM, workloads={"search": JOB}))
    says = "stack vision has a workload of this name on platform dev; choose another name"
    assert project.problems("dev") == [f"workloads.search: {says}"]


def test_gpus_without_a_queue_are_the_platforms_alone(project: Project) -> None:
    groups = {"cards": {"accelerator": "l4", "machine": "g6.xlarge", "max": 2}}
    cluster = {"kind": "existing", "context": "team", "machines": "eks", "region": "us-west-2"}
    cpu = {"cpu": {"machine": "m7i.2xlarge", "min": 1, "max": 3}}
    project.write("dev", _with(PLATFORM, cluster=cluster, nodeGroups={**groups, **cpu}, teams={}))
    gpus = {"cpus": 1, "memoryGib": 4, "gpus": 1, "accelerator": "l4"}
    server = {**SERVER, "resources": gpus}
    (line,) = project.problems_of(**_with(OWN, workloads={"search-server": server}))
    assert line == (
        "workloads.search-server.resources: only workloads of platform dev itself hold GPUs without a queue; "
        "set queue to one of its queues, or declare the workload in Pulumi.dev.yaml"
    )


def test_a_platform_without_jobs_installs_jobset_when_asked(project: Project, render: Render) -> None:
    bare = _with(PLATFORM, workloads={}, teams={})
    project.write("dev", bare)
    (line,) = project.problems()
    assert line == (
        "workloads.search: is a trainingJob, but stack dev installs no JobSet, because it has no jobs itself; "
        "set controllers: {jobset: chart} in Pulumi.dev.yaml"
    )
    project.write("dev", _with(bare, controllers={"jobset": "chart"}))
    assert project.problems() == []
    made = built(project, render, "dev")
    assert made.one("Release", "jobset")
    project.write("dev", _with(bare, controllers={"jobset": "present"}))
    assert project.problems() == []


def test_a_stack_without_workloads_declares_nothing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project.folder)
    pulumi.runtime.set_all_config({"tensorplane:platform": "dev"}, [])
    try:
        with pytest.raises(UserError, match="it declares nothing"):
            stack.load()
    finally:
        pulumi.runtime.set_all_config({}, [])


def test_own_secrets_stay_secret(project: Project, monkeypatch: pytest.MonkeyPatch, render: Render) -> None:
    """As the engine passes them: it tells that the section has secrets."""
    monkeypatch.chdir(project.folder)
    (project.folder / "Pulumi.vision.yaml").unlink()
    given = {"search": {**JOB, "env": {"TOKEN": "hunter2"}}}

    def program() -> dict[str, Any]:
        pulumi.runtime.set_all_config(
            {"tensorplane:platform": "dev", "tensorplane:workloads": json.dumps(given)}, ["tensorplane:workloads"]
        )
        return dict(stack.build(stack.load()))

    try:
        made = render(program)
    finally:
        pulumi.runtime.set_all_config({}, [])
    assert made.one("Secret", "search-env")


class TestInACloud:
    """The kubeconfig is an output of the platform's stack."""

    @pytest.fixture
    def reads(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The names of the stacks that the program refers to."""
        names: list[str] = []

        def answer(name: str, inputs: dict[str, Any]) -> dict[str, Any]:
            names.append(str(inputs["name"]))
            is_platform = name == "platform"
            return {
                "outputs": {"kubeconfig": "kind: Config"} if is_platform else {},
                "secretOutputNames": ["kubeconfig"] if is_platform else [],
            }

        monkeypatch.setitem(computed.ADDED, "pulumi:pulumi:StackReference", answer)
        return names

    def load(self, project: Project) -> ResolvedStack:
        prod = settings_of(PROJECT / "Pulumi.prod.yaml").tree
        project.write("prod", {**prod, "controllers": {"jobset": "chart"}})
        gpus = {"cpus": 4, "memoryGib": 32, "gpus": 1, "accelerator": "h100-80gb"}
        job = {**JOB, "queue": "production", "resources": gpus, "image": rendering.GPU_IMAGE}
        del job["volumes"], job["checkpoints"]
        project.write("vision", {"platform": "prod", "workloads": {"search": job}})
        return project.load()

    def test_it_is_read_from_there_and_no_cloud_resource_is_created(
        self, project: Project, render: Render, reads: list[str]
    ) -> None:
        resolved = self.load(project)
        made = render(lambda: stack.build(resolved))
        assert any(name.endswith("/tensorplane/prod") for name in reads)
        provider = made.one("kubernetes", "cluster")
        assert provider.inputs["clusterIdentifier"] == "tensorplane-prod", "the name that stack prod gives its cluster"
        assert not [each.type for each in made.resources if each.type.startswith("aws:")]
        cluster = made.one("Cluster", "cluster")
        assert "gpusMax" not in cluster.inputs, "the nodes are those of the platform, and counted there"

    def test_it_is_a_secret(self, project: Project, render: Render, reads: list[str]) -> None:
        secret: list[bool] = []
        resolved = self.load(project)

        def program() -> dict[str, Any]:
            cluster = resolved.config.cluster.reach("cluster", "prod", pulumi.ResourceOptions())

            async def look() -> bool:
                secret.append(await cluster.kubeconfig.is_secret())
                return True

            return {"looked": look()}

        render(program)
        assert secret == [True]
