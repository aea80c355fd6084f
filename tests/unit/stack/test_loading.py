"""Settings from the engine's configuration: a clean end, nothing registered, types as Pulumi stores them."""

from pathlib import Path

import pulumi
import pytest

from tensorplane import stack
from tensorplane.components.base.settings import Settings
from tensorplane.core.errors import UserError
from tests.support.problems import dev


class TestAsPulumiRunsIt:
    """The whole program: settings from the engine's configuration, a clean end, nothing registered."""

    def run(self, config: dict[str, str], secret: list[str]) -> str:
        pulumi.runtime.set_all_config(config, secret)
        try:
            with pytest.raises(UserError) as caught:
                stack.load()
        finally:
            pulumi.runtime.set_all_config({}, [])
        return str(caught.value)

    def test_reads_all_keys_of_its_project_and_no_others(self) -> None:
        message = self.run({"tensorplane:volumez": "{}", "kubernetes:context": "x", "tensorplane:cluster": "kind"}, [])
        assert message.split("\n") == [
            "tensorplane:cluster: invalid value 'kind'; use a map of settings",
            "tensorplane:volumez: unknown setting; allowed here: acknowledge, cluster, cohorts, controllers, "
            "datasets, gpuRuntime, gpusInOtherNamespaces, namespace, nodeGroups, nodes, platform, queues, streams, "
            "teams, topology, volumes, workloads (did you mean volumes?)",
        ]

    def test_a_prefix_that_nothing_reads_is_a_fault(self) -> None:
        message = self.run({"tensorplan:volumes": "{}", "tensorplane:volumes": '{"a": {"sizeGib": 1}}'}, [])
        assert message == (
            "tensorplan:volumes: nothing reads a setting with this prefix; correct it "
            "(did you mean tensorplane:volumes?)"
        )

    def test_of_keys_that_only_default_providers_read_those_in_the_file_are_faults(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The others are of an environment of Pulumi ESC, which may be shared with stacks that do read them."""
        (tmp_path / f"Pulumi.{pulumi.get_stack()}.yaml").write_text("config: {'aws:region': x}\n")
        monkeypatch.chdir(tmp_path)
        message = self.run({"aws:region": "x", "gcp:project": "x", "tensorplane:volumes": '{"a": {"sizeGib": 1}}'}, [])
        assert message.startswith("aws:region: nothing reads this key")
        assert "gcp:project" not in message

    @pytest.mark.parametrize("config", [{}, {"aws:region": "x"}, {"tensorplane:volumes": "{}"}])
    def test_a_stack_that_declares_nothing_is_refused(self, config: dict[str, str]) -> None:
        """On a stack that has resources the update would delete them all."""
        assert "it declares nothing" in self.run(config, [])

    def test_what_is_nested_without_end_is_a_fault(self) -> None:
        for levels in (200, 900, 100_000):
            deep = '{"a":' * levels + "1" + "}" * levels
            assert self.run({"tensorplane:volumes": deep}, []).startswith("tensorplane:volumes: invalid value")

    def test_only_what_the_file_has_not_in_clear_is_secret(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Pulumi tells the program that something in a section is secret, and not what."""
        monkeypatch.chdir(tmp_path)
        file = Path(f"Pulumi.{pulumi.get_stack()}.yaml")
        stored = {"tensorplane:workloads": '{"x": {"env": {"A": "a", "S": "hunter2"}, "command": ["b", "c"]}}'}
        pulumi.runtime.set_all_config(stored, ["tensorplane:workloads"])
        try:
            assert Settings.of_stack().secret == {("workloads",)}
            file.write_text("config: {workloads: {x: {env: {A: a, S: {secure: AAAA}}, command: [b, {secure: AAAA}]}}}")
            assert Settings.of_stack().secret == {("workloads", "x", "env", "S"), ("workloads", "x", "command", "1")}
            # A file of other settings does not make public what it has at the same place.
            file.write_text("config: {workloads: {x: {env: {A: z}, command: [b]}}}")
            assert Settings.of_stack().secret == {("workloads", "x", "env", key) for key in "AS"} | {
                ("workloads", "x", "command")
            }
        finally:
            pulumi.runtime.set_all_config({}, [])

    def test_broken_json_is_a_fault_too(self) -> None:
        assert self.run({"tensorplane:volumes": '{"a": '}, []).startswith(
            "tensorplane:volumes: invalid value '{\"a\": '; use a map of settings"
        )

    def test_hides_what_pulumi_says_is_secret(self) -> None:
        assert "hunter2" not in self.run({"tensorplane:namespace": "hunter2!"}, ["tensorplane:namespace"])


def test_a_set_number_may_arrive_as_text() -> None:
    """`pulumi config set --path` stores "5"."""
    tree = dev()
    tree["volumes"]["models"]["sizeGib"] = "5"
    assert stack.load(Settings(tree)).config.volumes["models"].size_gib == 5


def test_a_secret_boolean_arrives_as_text() -> None:
    tree = dev()
    tree["volumes"]["models"]["retain"] = "false"
    assert stack.load(Settings(tree)).config.volumes["models"].retain is False
