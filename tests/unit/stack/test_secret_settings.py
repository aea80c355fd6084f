"""A value that is stored encrypted is in no error message."""

import pytest

from tensorplane.components.base.problems import Key
from tests.support.problems import CPU, EKS, dev, problems_of


class TestSecrets:
    """A value that is stored encrypted is in no error message."""

    def test_wrong_type(self) -> None:
        lines = problems_of({"namespace": "Hunter 2!"}, frozenset({("namespace",)}))
        assert lines == ["tensorplane:namespace: invalid secret value; the details would show it, so they are hidden"]

    def test_anything_inside(self) -> None:
        secret = "correct-horse"
        tree = {"workloads": {secret: {"kind": secret, "queue": secret, "env": {secret: [secret]}}}}
        lines = problems_of(tree, frozenset({("workloads",)}))
        assert len(lines) == 1
        assert secret not in lines[0]

    @pytest.mark.parametrize("section", ["workloads", "queues"])
    def test_names_in_a_reference(self, section: str) -> None:
        tree = dev()
        tree["queues"] = {"hunter2": tree["queues"]["training"]}
        tree["workloads"]["digits"]["queue"] = "hunter3"
        lines = problems_of(tree, frozenset({(section,)}))
        assert lines == [f"tensorplane:{section}: invalid secret value; the details would show it, so they are hidden"]

    def test_a_consequence_in_another_section(self) -> None:
        """A zone that is not in the region that is secret would tell the region."""
        tree = {
            "cluster": {**EKS, "region": "us-west-2"},
            "nodeGroups": {"cpu": CPU, "g": {"accelerator": "t4", "max": 1, "zones": ["us-west-2z"]}},
        }
        (line,) = problems_of(tree)
        assert "us-west-2 has no zone" in line
        secret: Key
        for secret in (("cluster",), ("cluster", "region")):
            lines = problems_of(tree, frozenset({secret}))
            assert lines == [
                "tensorplane:nodeGroups.g.zones: conflicts with an encrypted value; the details would show that "
                "value, so they are hidden"
            ]

    def test_faults_show_unencrypted_values(self) -> None:
        tree = dev()
        tree["workloads"]["digits"]["env"]["TOKEN"] = "hunter2"
        tree["workloads"]["digits"]["maxRestarts"] = "many"
        secret = frozenset({("workloads", "digits", "env", "TOKEN")})
        assert problems_of(tree, secret) == [
            "tensorplane:workloads.digits.maxRestarts: invalid value 'many'; use a whole number"
        ]

    def test_the_key_itself_is_no_secret(self) -> None:
        (line,) = problems_of({"tokn": "hunter2"}, frozenset({("tokn",)}))
        assert line.startswith("tensorplane:tokn: unknown setting")
        assert "hunter2" not in line
