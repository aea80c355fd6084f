"""Training jobs: a run is named by its content, code travels in ConfigMaps, secrets stay secret."""

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.launch import EXIT_NOT_RETRIED
from tensorplane.stop import EXIT_SAVED
from tensorplane.workloads.pods import sources
from tests.support import rendering
from tests.support.rendered_files import rendered_anew, rendered_file, rendered_tree
from tests.support.rendering import GPU_IMAGE, PROJECT, Render, Rendered, settings_of

DEV = PROJECT / "Pulumi.dev.yaml"
SECRET_MARK = "4dabf18193072939515e22adb298388d"
"""The key by which the SDK marks a value as secret."""


def run_name(rendered: Rendered) -> str:
    name: str = rendered.one("JobSet").inputs["metadata"]["name"]
    return name


@pytest.fixture
def tree() -> dict[str, Any]:
    return copy.deepcopy(settings_of(DEV).tree)


class TestRunName:
    """The hash in a run's name changes with what decides what the run computes, and with nothing else."""

    def test_stays(self, tree: dict[str, Any]) -> None:
        before = run_name(rendered_file(DEV))
        tree["workloads"]["digits-server"]["resources"]["memoryGib"] = 2
        tree["volumes"]["models"]["sizeGib"] = 20
        tree["queues"]["training"]["cpus"] = 1.5
        assert run_name(rendered_tree(tree)) == before
        job = tree["workloads"]["digits"]
        job["files"] = dict(reversed(job["files"].items()))
        job["attempt"] = 1
        assert run_name(rendered_tree(tree)) == before

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("env", {"STEPS": 601}),
            ("command", ["python3", "-O", "train.py"]),
            ("strategy", {"kind": "single"}),
            ("image", f"example.com/train@sha256:{'0' * 64}"),
            ("attempt", 2),
            ("model", {"volume": "models", "path": "other"}),
            ("checkpoints", {"volume": "models", "path": "elsewhere"}),
            ("volumes", {"models": "/elsewhere"}),
        ],
    )
    def test_changes_with_what_decides_the_result(self, tree: dict[str, Any], key: str, value: Any) -> None:
        before = run_name(rendered_file(DEV))
        tree["workloads"]["digits"][key] = value
        after = run_name(rendered_tree(tree))
        assert after != before
        assert after.startswith("digits-")

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("resources", {"cpus": 0.3, "memoryGib": 1.25}),
            ("strategy", {"kind": "multiWorkerMirrored", "workers": 1}),
            ("maxRestarts", 4),
            ("graceSeconds", 60),
            ("checkpoints", {"volume": "models", "everySteps": 7}),
            ("queue", None),
        ],
    )
    def test_stays_while_its_size_and_its_place_change(self, tree: dict[str, Any], key: str, value: Any) -> None:
        before = rendered_file(DEV)
        tree["workloads"]["digits"][key] = value
        if value is None:
            del tree["workloads"]["digits"][key]
        after = rendered_tree(tree)
        assert run_name(after) == run_name(before)
        if key != "queue":
            assert after.one("JobSet").inputs["spec"] != before.one("JobSet").inputs["spec"]

    def test_a_changed_job_set_is_deleted_before_the_next_gang_begins(self) -> None:
        options = rendered_file(DEV).one("JobSet").options
        assert options["replaceOnChanges"] == ["metadata", "spec"]
        assert options["deleteBeforeReplace"] is True

    def test_changes_with_the_code(self, tree: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sources, "PROJECT", tmp_path)
        tree["workloads"]["digits"]["files"] = {"train.py": "train.py"}
        (tmp_path / "train.py").write_text("print(1)")
        first = run_name(rendered_anew(tree))
        (tmp_path / "train.py").write_text("print(2)")
        second = run_name(rendered_anew(tree))
        (tmp_path / "runtime" / "tensorplane").mkdir(parents=True)
        (tmp_path / "runtime" / "tensorplane" / "__init__.py").write_text("")
        assert second != first
        assert run_name(rendered_anew(tree)) == second, "the library is mounted, whatever its version"


def test_the_run_keeps_its_checkpoints_apart() -> None:
    rendered = rendered_file(DEV)
    (job,) = rendered.one("JobSet").inputs["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    env = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert env["MODEL_DIR"] == "/models/digits"
    assert env["CHECKPOINT_DIR"] == f"/models/checkpoints/{run_name(rendered)}"
    assert env["STEPS"] == "600"
    names = [variable["name"] for variable in container["env"]]
    assert names.index("TF_TASK_INDEX") < names.index("TF_CONFIG")


def test_outputs_from_other_resources_are_taken(render: Render) -> None:
    def program() -> Any:
        job = stack.StackConfig.model_validate(
            {
                "workloads": {
                    "hello": {
                        "kind": "trainingJob",
                        "strategy": {"kind": "single"},
                        "command": ["true"],
                        "image": pulumi.Output.from_input("example.com/train:1"),
                        "env": {"TOKEN": pulumi.Output.secret("hunter2")},
                    }
                }
            }
        )
        return stack.build(stack.ResolvedStack.of(job))

    rendered = render(program)
    registered = rendered.one("JobSet")
    (job,) = registered.inputs["spec"]["replicatedJobs"]
    env = job["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
    assert env[-1] == {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hello-env-1a2b3c4d", "key": "TOKEN"}}}
    assert "hunter2" not in in_clear(rendered)
    assert registered.inputs["metadata"]["name"].startswith("hello-")


def in_clear(rendered: Rendered) -> str:
    """Everything that is registered and exported, without what the engine encrypts."""

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: plain(v) for k, v in value.items()} if SECRET_MARK not in value else None
        return [plain(each) for each in value] if isinstance(value, list) else value

    return str([*(plain(resource.inputs) for resource in rendered.resources), rendered.exports])


class TestEncryptedSettings:
    """What `pulumi config set --secret` has encrypted in the stack's file, and Pulumi has decrypted for the program."""

    def rendered_tree(self, tree: dict[str, Any], *secret: tuple[str, ...]) -> Rendered:
        return rendered_tree(tree, frozenset(("workloads", *path) for path in secret))

    def test_a_variable_is_in_a_secret_that_the_pods_refer_to(self, tree: dict[str, Any]) -> None:
        plain = rendered_file(DEV).one("JobSet").inputs["spec"]
        tree["workloads"]["digits"]["env"]["TOKEN"] = "hunter2"
        rendered = self.rendered_tree(tree, ("digits", "env", "TOKEN"))
        secret = rendered.one("Secret").inputs
        assert secret["stringData"][SECRET_MARK]
        assert secret["stringData"]["value"] == {"TOKEN": "hunter2"}
        assert secret["immutable"]
        assert "hunter2" not in in_clear(rendered)
        spec = rendered.one("JobSet").inputs["spec"]
        assert SECRET_MARK not in spec, "what holds no secret can be read in a preview"
        (job,) = spec["replicatedJobs"]
        (before,) = plain["replicatedJobs"]
        env = job["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
        reference = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "digits-env-1a2b3c4d", "key": "TOKEN"}}}
        names = [variable["name"] for variable in env]
        assert env[-1] == reference
        assert names[:-1] == [
            variable["name"] for variable in before["template"]["spec"]["template"]["spec"]["containers"][0]["env"]
        ]

    def test_no_name_comes_from_a_variable(self, tree: dict[str, Any]) -> None:
        """A hash of a short secret can be guessed. A new Secret gets a new name from the provider, and so a new run."""
        names = []
        for value in ("1234", "4321"):
            tree["workloads"]["digits"]["env"]["PIN"] = value
            rendered = self.rendered_tree(tree, ("digits", "env", "PIN"))
            assert "name" not in rendered.one("Secret").inputs["metadata"]
            names.append(rendered.one("JobSet").inputs["metadata"]["name"])
        assert names[0] == names[1]

    def test_other_workloads_stay_as_they_are(self, tree: dict[str, Any]) -> None:
        tree["workloads"]["other"] = {**tree["workloads"]["digits"], "env": {"A": "1"}}
        before = rendered_tree(tree).one("JobSet", "other").inputs
        tree["workloads"]["digits"]["env"]["TOKEN"] = "hunter2"
        assert self.rendered_tree(tree, ("digits", "env", "TOKEN")).one("JobSet", "other").inputs == before

    @pytest.mark.parametrize("secret", [(), ("digits", "command"), ("digits", "command", "1")])
    def test_what_follows_from_another_value_is_encrypted_in_the_state(
        self, tree: dict[str, Any], secret: tuple[str, ...]
    ) -> None:
        tree["workloads"]["digits"]["command"] = ["true", "hunter2"]
        tree["workloads"]["digits-server"]["image"] = "example.com/server"
        rendered = self.rendered_tree(tree, secret)
        assert "hunter2" not in in_clear(rendered)
        assert (SECRET_MARK in rendered.one("Deployment", "digits-server").inputs["spec"]) is (secret == ())


@pytest.mark.parametrize("secret", [(), ("workloads", "digits", "command")])
def test_a_hash_of_an_encrypted_setting_is_secret(tree: dict[str, Any], secret: tuple[str, ...]) -> None:
    """A short value can be guessed from its hash. The run's name is in the cluster in any case."""
    found: dict[str, bool] = {}

    def program() -> dict[str, Any]:
        settings = Settings(tree, frozenset([secret]) if secret else frozenset())
        digits = stack.build(stack.load(settings))["workloads"]["digits"]

        async def look() -> bool:
            found.update({key: await pulumi.Output.from_input(digits[key]).is_secret() for key in ("run", "jobSet")})
            return True

        return {"looked": look()}

    rendering.run(program)
    assert found == {"run": bool(secret), "jobSet": False}


def test_pods_of_a_one_node_volume_meet_on_a_node(tree: dict[str, Any]) -> None:
    """A ReadWriteOnce volume is attached to one node; a pod that starts on another waits for it for ever."""
    tree["cluster"] = {"kind": "existing", "context": "gke"}
    rendered = rendered_tree(tree)
    (job,) = rendered.one("JobSet").inputs["spec"]["replicatedJobs"]
    meeting = {"volumes.tensorplane/models": "mounted"}
    term = {"labelSelector": {"matchLabels": meeting}, "topologyKey": "kubernetes.io/hostname"}
    for template in (
        job["template"]["spec"]["template"],
        rendered.one("Deployment", "digits-server").inputs["spec"]["template"],
    ):
        assert meeting.items() <= template["metadata"]["labels"].items()
        affinity = template["spec"]["affinity"]["podAffinity"]
        assert affinity == {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    tree["volumes"]["models"]["accessModes"] = ["ReadWriteMany"]
    (job,) = rendered_tree(tree).one("JobSet").inputs["spec"]["replicatedJobs"]
    assert "affinity" not in job["template"]["spec"]["template"]["spec"]


def test_a_pod_that_saved_when_asked_to_stop_costs_no_restart() -> None:
    spec = rendered_file(DEV).one("JobSet").inputs["spec"]
    rules = spec["replicatedJobs"][0]["template"]["spec"]["podFailurePolicy"]["rules"]
    (codes,) = (rule["onExitCodes"]["values"] for rule in rules if "onExitCodes" in rule)
    assert EXIT_SAVED in codes
    (ignored,) = (rule for rule in spec["failurePolicy"]["rules"] if rule["action"].endswith("IgnoreMaxRestarts"))
    assert ignored["onJobFailureReasons"] == ["PodFailurePolicy"]


def test_a_failure_that_repeats_itself_ends_the_job_before_restarts_are_tried() -> None:
    first, *_ = rendered_file(DEV).one("JobSet").inputs["spec"]["failurePolicy"]["rules"]
    (pattern,) = first["onJobFailureMessagePatterns"]
    # As Kubernetes' Job controller words it.
    said = "Container main for pod ml/digits-1-worker-0-0-x failed with exit code {} matching FailJob rule at index 1"
    assert first["action"] == "FailJobSet"
    assert re.search(pattern, said.format(EXIT_NOT_RETRIED))
    assert not re.search(pattern, said.format(EXIT_SAVED))


@pytest.mark.parametrize(
    ("command", "launched"),
    [
        (["python3", "train.py"], True),
        (["/opt/venv/bin/python3.12", "-m", "train"], True),
        (["bash", "-c", "python3 train.py"], False),
        (["/trainer"], False),
        (["python-wrapper"], False),
    ],
)
def test_what_runs_python_is_watched_until_its_first_step(
    tree: dict[str, Any], command: list[str], launched: bool
) -> None:
    tree["workloads"]["digits"]["command"] = command
    (job,) = rendered_tree(tree).one("JobSet").inputs["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    before = [command[0], "-I", "/opt/tensorplane/lib/tensorplane.zip", "launch"]
    assert container["command"] == ([*before, *command] if launched else command)
    files_of = next(one for one in container["volumeMounts"] if one["mountPath"] == "/opt/tensorplane/lib")
    assert files_of["readOnly"]


def test_a_job_leaves_its_last_words_and_servers_are_not_restarted_for_it() -> None:
    rendered = rendered_file(DEV)
    (job,) = rendered.one("JobSet").inputs["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    (server,) = rendered.one("Deployment", "digits-server").inputs["spec"]["template"]["spec"]["containers"]
    assert "terminationMessagePolicy" not in server


def test_pods_without_gpus_are_not_asked_for_any() -> None:
    (job,) = rendered_file(DEV).one("JobSet").inputs["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert "TENSORPLANE_GPUS" not in {variable["name"] for variable in container["env"]}


def test_gpus_go_to_pods_and_totals() -> None:
    rendered = rendered_file(PROJECT / "examples" / "gpu-job.yaml")
    assert rendered.exports["gpus"] == 9
    assert rendered.one("TrainingJob").inputs["gpus"] == 8
    assert rendered.one("ModelServer").inputs["gpus"] == 1
    (job,) = rendered.one("JobSet").inputs["spec"]["replicatedJobs"]
    pod = job["template"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "2"
    assert pod["containers"][0]["image"] == GPU_IMAGE
    assert {"name": "TENSORPLANE_GPUS", "value": "2"} in pod["containers"][0]["env"]
    assert pod["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]
