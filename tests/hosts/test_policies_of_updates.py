"""`make up` through the real engine: a violation stops it before any change; skipping the policies is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from driver.deploy import Stack
from driver.policy_pack import Policies
from driver.stack_settings import StackSettings
from embedded.fault import Fault
from embedded.hosts import policy_environment
from embedded.step import Step
from tests.hosts.engine import Engine

_PROGRAM = """
    import pulumi

    class TrainingJob(pulumi.ComponentResource):
        def __init__(self, gpus):
            super().__init__("tensorplane:index:TrainingJob", "digits", {"gpus": gpus})
            self.register_outputs({"gpus": gpus})

    TrainingJob(pulumi.Config().require_int("gpus"))
"""


def test_a_refused_update_changes_nothing_and_a_skipped_one_is_recorded(engine: Engine, tmp_path: Path) -> None:
    policy_environment.make(Step("policy environment"))
    project = engine.project(tmp_path / "tiny", _PROGRAM)
    file = project.folder / "Pulumi.dev.yaml"
    programs, _, _ = project.environment["PATH"].partition(":")
    settings = StackSettings("dev", tmp_path / "home", project.folder)
    stack = Stack(settings, Path(programs) / "pulumi", project.environment)

    def deploy(policies: Policies) -> dict[str, int]:
        stack.prepare(Step("prepare"))
        return stack.up(Step("pulumi up"), policies=policies)

    def log() -> str:
        return (tmp_path / "home/logs/dev/pulumi-up.log").read_text()

    file.write_text("config: {tiny:gpus: 2}\n")
    with pytest.raises(Fault) as refused:
        deploy(Policies.RUN)
    line, where = refused.value.lines
    assert line.startswith("policy gpu-quota: The workloads request 2 GPUs; the quota is 0. digits (TrainingJob): 2.")
    assert where.strip().startswith("log: ")
    assert "TrainingJob" not in project.run("stack", "export", "--stack", "dev")

    assert deploy(Policies.SKIP)["create"] == 2
    assert stack.skipped_policies()

    file.write_text("config: {tiny:gpus: 0}\n")
    assert deploy(Policies.RUN)["update"] == 1
    assert not stack.skipped_policies()
    assert log().count("Previewing update") == 2

    assert deploy(Policies.RUN) == {"same": 2}
    assert log().count("Previewing update") == 2
