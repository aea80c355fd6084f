"""Stacks deployed by an earlier commit, updated by today's program: nothing is created, deleted or replaced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.recorded import in_process, recording, stacks, violations
from tests.recorded.record import STATES
from tests.recorded.stacks import Stacks, Step
from tests.recorded.violations import Expected

_AT_ONCE = 2
_CODE = "kubernetes:core/v1:ConfigMap"
_OF_TEAM = r"vision(-.*)?|.*\.vision|.*-(team-members|jobs-of-teams)|(cluster-)?member-.*|jobset"

EXPECTED = (
    Expected("replace", _CODE, r"queue\.quota-return", "code named by its content; its workload mounts the new one"),
    Expected("replace", _CODE, r"volume\.snapshots", "code named by its content; its CronJobs mount the new one"),
    Expected("replace", _CODE, ".*-ceph-mirrors-.*", "code named by its content; its Deployment mounts the new one"),
    Expected("create", _CODE, "tensorplane-library-.*", "one library for all jobs; kept runs have their own"),
    Expected("update", "pulumi:providers:kubernetes", ".*", "enableConfigMapMutable: ConfigMaps change in place"),
    Expected("create", _CODE, ".*-(models|options)", "configuration files of model servers, which had flags before"),
    *(
        Expected("create", kind, "digits-server-page(-clients)?", "the dev stack's server has a page")
        for kind in (
            _CODE,
            "kubernetes:apps/v1:Deployment",
            "kubernetes:core/v1:Service",
            "kubernetes:networking.k8s.io/v1:NetworkPolicy",
        )
    ),
    *(
        Expected("create", kind, _OF_TEAM, "prod, staging and aks have a team with members")
        for kind in (
            _CODE,
            "aws:eks/accessEntry:AccessEntry",
            "azure-native:authorization:RoleAssignment",
            "gcp:projects/iAMMember:IAMMember",
            "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
            "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
            "kubernetes:core/v1:Namespace",
            "kubernetes:core/v1:ResourceQuota",
            "kubernetes:core/v1:ServiceAccount",
            "kubernetes:helm.sh/v3:Release",
            "kubernetes:kueue.x-k8s.io/v1beta2:LocalQueue",
            "kubernetes:networking.k8s.io/v1:NetworkPolicy",
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
            "kubernetes:rbac.authorization.k8s.io/v1:Role",
            "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
        )
    ),
    *(
        Expected("create", kind, r"queue\.usage(\..*)?", "queues with GPUs record what their jobs use")
        for kind in (
            _CODE,
            "kubernetes:apps/v1:Deployment",
            "kubernetes:core/v1:ServiceAccount",
            "kubernetes:networking.k8s.io/v1:NetworkPolicy",
            "kubernetes:rbac.authorization.k8s.io/v1:Role",
            "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
        )
    ),
    Expected("create", "kubernetes:coordination.k8s.io/v1:Lease", ".*", "one pod of an agent acts at a time"),
    *(
        Expected(
            "create",
            f"kubernetes:{kind}",
            ".*-(gpus|pods-with-gpus|limit-ranges|gpus-in-other-namespaces|(admitted|deleted)-jobs|kueue)",
            "GPUs are guarded",
        )
        for kind in (
            "admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
            "admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
            "core/v1:ResourceQuota",
        )
    ),
    *(
        Expected("create", kind, r".*(\.without-nodes|queue\.quota-return)", "flavors without nodes take no part")
        for kind in (
            "kubernetes:kueue.x-k8s.io/v1beta2:Cohort",
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole",
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
        )
    ),
    *(
        Expected("create", f"kubernetes:{kind}", r"(.*\.)?nodes\.lost(\..*)?", "lost nodes are handled")
        for kind in (
            "apps/v1:Deployment",
            "core/v1:ConfigMap",
            "core/v1:ServiceAccount",
            "networking.k8s.io/v1:NetworkPolicy",
            "rbac.authorization.k8s.io/v1:ClusterRole",
            "rbac.authorization.k8s.io/v1:ClusterRoleBinding",
            "rbac.authorization.k8s.io/v1:Role",
            "rbac.authorization.k8s.io/v1:RoleBinding",
        )
    ),
    Expected("update", "gcp:container/cluster:Cluster", "cluster", "GKE changes authenticatorGroupsConfig in place"),
    Expected(
        "create", "kubernetes:autoscaling/v2:HorizontalPodAutoscaler", "digits-server", "the server of aks scales"
    ),
)
"""Allowed steps. A change of a stack's file or an example that adds, removes or replaces resources needs an entry, too.

Record again (`record.py`) only after a release: the new states no longer show what users of the earlier one would lose.
"""

LATER = {
    "canary",
    "datasets",
    "gke-tpu-jobs",
    "image-classification",
    "mirrored",
    "notebook",
    "parameter-server",
    "pipeline",
    "recorder",
    "scorer",
    "serving",
    "sweep",
    "teams",
    "tensorboard",
    "workload-stack",
}
"""Examples that the recorded commit did not have."""


NAMES = sorted(stacks.FILES.keys() - LATER)
ENGINE = ("dev", "prod")
"""Stacks that `make test` previews by the engine, too."""
NIGHTLY = pytest.mark.nightly("an engine run; told without the engine")


@pytest.fixture(scope="module")
def previewed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Mapping[str, Future[list[Step]]]]:
    """The steps of each selected stack. Two previews run at once: one uses about one core."""
    functions = (item for item in request.session.items if isinstance(item, pytest.Function))
    selected = [item for item in functions if item.module is request.module and "previewed" in item.fixturenames]
    names = {str(item.callspec.params["name"]) for item in selected}
    with (
        stacks.opened(tmp_path_factory.mktemp("recorded")) as project,
        ThreadPoolExecutor(_AT_ONCE) as pool,
    ):
        yield {name: pool.submit(_steps, project, name) for name in names}
        pool.shutdown(cancel_futures=True)


def _recorded(name: str) -> str:
    return (STATES / f"{name}.json").read_text()


def _steps(project: Stacks, name: str) -> list[Step]:
    project.add(name, stacks.FILES[name])
    project.restore(name, recording.deployment(_recorded(name), stacks.NAME, name))
    return project.preview(name)


def _unexpected(steps: Sequence[Step]) -> list[str]:
    return [str(each) for each in violations.unexpected(steps, EXPECTED)]


@pytest.mark.parametrize("name", NAMES)
def test_nothing_deployed_is_replaced(name: str) -> None:
    assert _unexpected(in_process.steps(name, _recorded(name))) == []


@pytest.mark.parametrize("name", [name if name in ENGINE else pytest.param(name, marks=NIGHTLY) for name in NAMES])
def test_the_engine_replaces_nothing_either(name: str, previewed: Mapping[str, Future[list[Step]]]) -> None:
    steps = previewed[name].result()
    compared = {step["oldState"]["urn"].split("::", 2)[2] for step in steps if "oldState" in step}
    assert compared == {one["urn"] for one in json.loads(_recorded(name))}, "the engine compares all that is recorded"
    assert _unexpected(steps) == []


@pytest.mark.parametrize("name", ["dev"])
def test_pods_in_other_namespaces_that_run_at_the_upgrade_start_again(
    name: str, previewed: Mapping[str, Future[list[Step]]]
) -> None:
    """An earlier version let them in."""
    made = [step["newState"] for step in previewed[name].result() if step["op"] == "create"]
    assert [
        state["inputs"]["spec"]["validationActions"]
        for state in made
        if state["type"].endswith("PolicyBinding")
        and state["inputs"]["metadata"]["name"].endswith("gpus-in-other-namespaces")
    ] == [["Warn"]]


_CLAIM = "kubernetes:core/v1:PersistentVolumeClaim models"


@pytest.mark.parametrize(
    ("recorded", "other", "violations"),
    [
        ('["ReadWriteMany"]', '["ReadWriteOnce"]', [f"replace {_CLAIM}"]),
        ("Volume$kubernetes:core", "Storage$kubernetes:core", [f"create {_CLAIM}", f"delete {_CLAIM}"]),
        (
            '"jobSet":"digits-5ceca896"',
            '"other":""',
            [
                "delete kubernetes:core/v1:ConfigMap digits-runtime",
                "replace kubernetes:core/v1:ConfigMap digits-files",
                "replace kubernetes:jobset.x-k8s.io/v1alpha2:JobSet digits",
            ],
        ),
    ],
    ids=["immutable field", "moved", "run"],
)
def test_another_stack_than_the_deployed_one_is_a_violation(recorded: str, other: str, violations: list[str]) -> None:
    text = _recorded("dev")
    assert recorded in text
    found = _unexpected(in_process.steps("dev", text.replace(recorded, other)))
    assert sorted(each.partition(": ")[0] for each in found) == violations


def test_every_stack_is_recorded() -> None:
    assert {path.stem for path in STATES.glob("*.json")} == {*NAMES}
