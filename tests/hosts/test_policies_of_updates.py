"""`make up` through the real engine: a violation stops it before any change; skipping the policies is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from tensorplane.core.errors import UserError
from tensorplane.core.step import Step
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update.policy_pack import Policies
from tensorplane.driver.update.stack import Stack
from tests.hosts.engine import Engine

_PROGRAM = """
    import pulumi

    class Workload(pulumi.ComponentResource):
        def __init__(self, gpus):
            super().__init__("tensorplane:index:{kind}", "digits", {{"gpus": gpus}})
            self.register_outputs({{"gpus": gpus}})

    Workload(pulumi.Config().require_int("gpus"))
"""


@pytest.mark.parametrize(
    ("kind", "previews"),
    [
        # Its updates have a preview that only the policies need.
        pytest.param("Notebook", 3, marks=pytest.mark.nightly("eight more engine runs")),
        # Nothing of the settings restarts it.
        ("TrainingJob", 3),
    ],
)
def test_a_refused_update_changes_nothing_and_a_skipped_one_is_recorded(
    engine: Engine, tmp_path: Path, kind: str, previews: int
) -> None:
    project = engine.project(tmp_path / "tiny", _PROGRAM.format(kind=kind))
    programs, _, _ = project.environment["PATH"].partition(":")
    settings = StackSettings("dev", tmp_path / "home", project.folder)
    stack = Stack(settings, Path(programs) / "pulumi", project.environment)

    def request(gpus: int) -> None:
        (project.folder / "Pulumi.dev.yaml").write_text(f"config: {{tiny:gpus: {gpus}}}\n")

    def deploy(policies: Policies) -> dict[str, int]:
        stack.prepare(Step("prepare"))
        return stack.up(Step("pulumi up"), policies=policies)

    def refused(message: str) -> None:
        with pytest.raises(UserError) as found:
            deploy(Policies.RUN)
        line, log = found.value.lines
        assert line.startswith(f"policy gpu-quota: {message}; the quota is 0. digits ({kind})")
        assert log.strip().startswith("log: ")

    request(2)
    refused("The workloads request 2 GPUs")
    assert kind not in project.run("stack", "export", "--stack", "dev")

    assert deploy(Policies.SKIP)["create"] == 2
    assert stack.skipped_policies()

    request(3)
    refused("The workloads request 3 GPUs")
    assert '"gpus": 2' in project.run("stack", "export", "--stack", "dev")
    assert stack.skipped_policies()

    request(0)
    assert deploy(Policies.RUN)["update"] == 1
    assert not stack.skipped_policies()
    assert deploy(Policies.RUN) == {"same": 2}
    log = (tmp_path / "home/logs/dev/pulumi-up.log").read_text()
    assert log.count("Previewing update") == previews
