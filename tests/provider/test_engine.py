"""The real engine runs programs of the official SDK through the provider.

What a killed run leaves follows pulumi: resources in the making are pending operations of the state, and what the next
run makes of them follows Create in pulumi-kubernetes v4.32 (provider/pkg/await/await.go).
"""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tensorplane.core.errors import ApiError, UserError
from tensorplane.core.gvk import GVK
from tensorplane.core.kube_objects import Objects
from tensorplane.core.paths import PROJECT
from tests.hosts import engine as hosts
from tests.support.waiting import eventually

CM = GVK("", "v1", "ConfigMap")
NAMESPACE = GVK("", "v1", "Namespace")
POD = GVK("", "v1", "Pod")
SECRET = GVK("", "v1", "Secret")


class Engine:
    """One stack with a state of its own, run by the real engine."""

    def __init__(self, folder: Path, kubeconfig: dict[str, Any]) -> None:
        self.state = folder / "state"
        self.state.mkdir()
        self._kubeconfig = folder / "kubeconfig"
        self._kubeconfig.write_text(yaml.safe_dump(kubeconfig))
        self.user = folder / "user"
        """The user's home folder."""
        cli = hosts.Engine.at(folder)
        self._environment = {**cli.environment(self.state, HOME=str(self.user)), "KUBECONFIG": ""}

    def start(self, *steps: dict[str, Any]) -> subprocess.Popen[str]:
        request = {"kubeconfig": str(self._kubeconfig), "steps": steps}
        return subprocess.Popen(
            [sys.executable, "-m", "tests.provider.engine_programs", json.dumps(request)],
            cwd=PROJECT,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, *steps: dict[str, Any]) -> list[Any]:
        """The engine's answers, one per step."""
        with self.start(*steps) as process:
            answer, _ = process.communicate()
        answers: list[Any] = json.loads(answer)
        return answers


def step(
    action: str,
    program: str,
    settings: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    **arguments: Any,
) -> dict[str, Any]:
    return {
        "action": action,
        "options": options or {},
        "program": program,
        "settings": settings or {},
        "arguments": arguments,
    }


@pytest.fixture
def engine(kubeconfig: dict[str, Any], tmp_path: Path) -> Engine:
    try:
        return Engine(tmp_path, kubeconfig)
    except UserError as fault:
        pytest.fail(f"the engine's tests cannot run here: {fault}")


def test_a_programs_life(engine: Engine, api: Objects) -> None:
    first: dict[str, Any] = {"data": {"a": "1"}, "size": 1}
    second: dict[str, Any] = {"data": {"a": "2"}, "size": 2}
    made, again, changed = engine.run(
        step("up", "world", **first), step("up", "world", **first), step("up", "world", **second)
    )
    assert "error" not in made, made["error"]
    assert made["changes"] == {"create": 7}
    namespace, name = made["outputs"]["namespace"], made["outputs"]["settings"]
    assert name.startswith("settings-")
    states = [path.read_text() for path in engine.state.rglob("*.json")]
    assert states
    for text in [made["said"], *states]:
        assert "correct-horse-battery" not in text
        assert "Y29ycmVjdC1ob3JzZS1iYXR0ZXJ5" not in text

    assert again["changes"] == {"same": 7}

    assert changed["changes"] == {"same": 5, "replace": 1, "update": 1}
    new_name = changed["outputs"]["settings"]
    assert new_name != name, "a replacement with an automatic name gets a new one; the old object goes after it"
    assert api.get(CM, new_name, namespace)["data"] == {"a": "2"}
    with pytest.raises(ApiError, match="not found"):
        api.get(CM, name, namespace)

    api.delete(CM, new_name, namespace)
    refreshed, destroyed = engine.run(step("refresh", "world", **second), step("destroy", "world", **second))
    assert refreshed["changes"] == {"same": 6, "delete": 1}
    assert "error" not in destroyed, destroyed["error"]
    with pytest.raises(ApiError, match="not found"):
        api.get(NAMESPACE, namespace)


@pytest.mark.nightly("four engine runs; test_diff.py tells it")
def test_an_unchanged_job_does_not_run_again_after_a_refresh(engine: Engine, namespace: str) -> None:
    made, refreshed, previewed, again = engine.run(
        step("up", "job", namespace=namespace),
        step("up", "job", options={"refresh": True}, namespace=namespace),
        step("preview", "job", options={"refresh": True}, namespace=namespace),
        step("up", "job", namespace=namespace),
    )
    assert made["changes"] == {"create": 3}, made
    assert refreshed["changes"] == previewed["changes"] == again["changes"] == {"same": 3}


@pytest.mark.nightly("three engine runs; test_kubeconfig.py tells it")
def test_the_machines_own_kubeconfig_is_used(engine: Engine, kubeconfig: dict[str, Any]) -> None:
    """`kind: existing` names a context; a program without a provider has the current one."""
    config = engine.user / ".kube" / "config"
    config.parent.mkdir(parents=True)
    config.write_text(yaml.safe_dump(kubeconfig))
    answers = engine.run(*(step(action, "of_this_machine", context="tests") for action in ("preview", "up", "destroy")))
    for answer in answers:
        assert "error" not in answer, answer["error"]
    previewed, made, destroyed = (answer["changes"] for answer in answers)
    assert previewed["create"] == made["create"] == destroyed["delete"]


@pytest.mark.nightly("four engine runs")
def test_another_secret_of_variables_has_another_name(engine: Engine, api: Objects) -> None:
    """A run's name follows from it, and so a changed secret makes a new run; no name tells anything of the secret."""
    made, again, changed, back = engine.run(
        *(step("up", "variables", value=pin) for pin in ("1234", "1234", "43", "1234"))
    )
    assert "error" not in made, made["error"]
    names = [answer["outputs"]["secret"] for answer in (made, again, changed, back)]
    assert all(name.startswith("job-env-") for name in names)
    assert names[0] == names[1]
    assert len({*names}) == 3, "the same value after another one is another Secret, too"
    assert again["changes"] == {"same": sum(made["changes"].values())}
    kept = api.get(SECRET, names[3], "variables")
    assert kept["data"] == {"PIN": base64.b64encode(b"1234").decode()}
    with pytest.raises(ApiError, match="not found"):
        api.get(SECRET, names[2], "variables")
    for text in [made["said"], changed["said"], *(path.read_text() for path in engine.state.rglob("*.json"))]:
        assert '"1234"' not in text
        assert base64.b64encode(b"1234").decode() not in text


def test_the_guard_of_gpus_denies_warns_and_denies_again(engine: Engine, api: Objects) -> None:
    """Dry runs of updates would merge both actions of a binding, and the API server refuses `Deny` beside `Warn`."""
    runs = [("up", "deny"), ("preview", "warn"), ("up", "warn"), ("up", "deny")]
    answers = engine.run(*(step(action, "guard", found=found) for action, found in runs))
    for run, answer in zip(runs, answers, strict=True):
        assert "error" not in answer, (run, answer["error"])
    ups = [answer for (action, _), answer in zip(runs, answers, strict=True) if action == "up"]
    assert [answer["outputs"]["actions"] for answer in ups] == [["Deny"], ["Warn"], ["Deny"]]
    assert ups[1]["changes"] == ups[2]["changes"] == {"replace": 1, "same": 3}, "the policy stays"
    for kind in ("ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"):
        api.delete(GVK("admissionregistration.k8s.io", "v1", kind), "guarded-pods-with-gpus")


def children(pid: int) -> list[int]:
    """The programs that a process started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.nightly("killed")
def test_after_kill_9_the_next_run_follows_pulumi(engine: Engine, api: Objects, namespace: str) -> None:
    """The pod is there but not in the state. Source: Creation in await.go, upsertExistingObjects of the Provider."""
    with engine.start(step("up", "waiting_pod", namespace=namespace, skip=False)) as run:

        def is_made() -> object:
            assert run.poll() is None
            return api.list(POD, namespace)

        eventually(is_made)
        for child in children(run.pid):
            os.kill(child, signal.SIGKILL)
        run.kill()
    uid = api.get(POD, "pod", namespace)["metadata"]["uid"]

    pod: dict[str, Any] = {"namespace": namespace, "skip": True}
    _, refused, upserted = engine.run(
        step("cancel", "waiting_pod", **pod),  # removes the killed run's lock
        step("up", "waiting_pod", **pod),
        step("up", "waiting_pod", {"upsert_existing_objects": True}, **pod),
    )
    assert "already exists" in refused["error"]
    assert upserted["changes"]["create"] == 1
    assert api.get(POD, "pod", namespace)["metadata"]["uid"] == uid, "the object is taken over, not made twice"
    engine.run(step("destroy", "waiting_pod", **pod))
    assert api.list(POD, namespace) == []
