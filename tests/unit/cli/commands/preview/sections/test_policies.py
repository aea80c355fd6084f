"""What policies check, in words from their source."""

from __future__ import annotations

from pathlib import Path

from tensorplane.cli.commands.preview.sections import policies
from tensorplane.driver.update import policy_pack


def test_the_packs_own_rules_are_described() -> None:
    found = policies.rule_descriptions(policy_pack.PACK / "rules")
    assert found["gpu-quota"].startswith("Workloads request at most `maxGpus` GPUs")
    assert len(found) > 40
    assert all(text.endswith(".") for text in found.values())


def test_a_composed_description_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('rule(f, name="a", description="Says a.")\nrule(f, name="b", description=f"{x}")\n')
    assert policies.rule_descriptions(tmp_path) == {"a": "Says a."}
