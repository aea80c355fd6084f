"""The beginning of a report: what its numbers count, whether policies judged, storage, what is no longer protected."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tensorplane.cli.commands.preview import comparison, render
from tensorplane.cli.commands.preview.engine import Streamed
from tensorplane.cli.commands.preview.report import Change, PolicyResult, Property, Report
from tensorplane.cli.commands.preview.section import SEPARATOR
from tensorplane.driver.update.data_at_risk import Acknowledged, Risk

PASSED = PolicyResult("a", "p 1")
REFUSED, ADVISED = PolicyResult("b", "p 1", "mandatory", ("no",)), PolicyResult("c", "p 1", "advisory", ("maybe",))
VOLUME = "tensorplane:index:Volume"


def _head(report: Report) -> list[str]:
    return render.markdown(report).partition(SEPARATOR)[0].split("\n\n")[1:]


def _changes(operation: str, kind: str, many: int) -> list[Change]:
    return [Change(operation, kind, f"{kind[-6:].lower()}-{number}") for number in range(many)]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([*_changes("update", "apps/v1:Deployment", 38), *_changes("update", "core/v1:ConfigMap", 2)],
         "40 to update (2 ConfigMaps, 38 Deployments), 5 unchanged."),
        (_changes("replace", "batch/v1:Job", 2), "2 to replace (Job v1:job-0, Job v1:job-1), 5 unchanged."),
        ([*_changes("update", "networking.k8s.io/v1:NetworkPolicy", 4), *_changes("update", "TrainingJob", 40)],
         "44 to update (4 NetworkPolicies; settings of 40 training jobs), 5 unchanged."),
        ([change for n in range(8) for change in _changes("create", f"v1:Kind{n}", n + 1)],
         "36 to create (1 Kind0, 2 Kind1s, 3 Kind2s, 4 Kind3s, 26 of 4 other kinds), 5 unchanged."),
        ([Change("delete", "v1:Secret", "x" * 300)], f"1 to delete (Secret …{'x' * 59}), 5 unchanged."),
    ],
)  # fmt: skip
def test_the_numbers_say_of_what(changes: list[Change], says: str) -> None:
    assert _head(Report("dev", tuple(changes), unchanged=5, policy_results=(PASSED,)))[0] == f"**{says}**"


@pytest.mark.parametrize(
    ("verdicts", "says"),
    [
        ([PASSED] * 74, "**Policies:** 74 judged, none refuses."),
        ([PASSED, REFUSED, ADVISED, ADVISED], "**Policies:** 4 judged, 1 refuses, 2 advise."),
    ],
)
def test_how_policies_judged_is_the_second_line(verdicts: list[PolicyResult], says: str) -> None:
    assert _head(Report("mine", policy_results=tuple(verdicts)))[1] == says


def test_rules_that_the_stack_disables_are_named_beside_those_that_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tensorplane.driver.update.policy_pack.lenient", lambda stack: {"disabled": ["gpu-quota"]})
    assert _head(Report("mine", policy_results=(PASSED,)))[1] == (
        "**Policies:** 1 judged, none refuses; disabled: gpu-quota."
    )


def test_a_change_of_the_policies_stands_in_the_beginning() -> None:
    """ "none refuses" would reassure who does not know that the limit was raised."""
    report = Report("mine", policy_results=(PASSED,), policy_changes=("gpu-quota.maxGpus 60 → 600",))
    assert "## Policies that judge this update change\n\n- gpu-quota.maxGpus 60 → 600" in "\n\n".join(_head(report))


def test_that_no_policy_judged_is_a_heading_before_everything_else() -> None:
    first, outcome, why, *_ = _head(Report("mine", tuple(_changes("update", "v1:Secret", 1))))
    assert first == "## No policy judged this update"
    assert outcome.startswith("**1 to update")
    assert why.startswith("**No policy judged this update:** this preview skipped them, so nothing below was")


def _volumes(**sides: tuple[Any, Any]) -> Report:
    found = {name: tuple({"sizeGib": size} if size else {} for size in both) for name, both in sides.items()}
    return Report("mine", policy_results=(PASSED,), components={VOLUME: found})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("volumes", "says"),
    [
        ({"scratch": (50, 5000)}, "4,950 GiB more (scratch 50 → 5,000 GiB)"),
        ({"a": (5, None), "b": (None, 2)}, "3 GiB less (a 5 → 0 GiB, b 0 → 2 GiB)"),
        ({"a": (5, None), "b": (None, 5)}, "as much as before (a 5 → 0 GiB, b 0 → 5 GiB)"),
    ],
)
def test_storage_that_volumes_request_is_beside_the_cost(volumes: Any, says: str) -> None:
    assert f"**Cost:** without storage, of which volumes request {says}." in _head(_volumes(**volumes))


def test_sizes_that_stay_or_are_secret_are_no_cost() -> None:
    report = _volumes(same=(5, 5), secret=({"ciphertext": "x"}, {"ciphertext": "y"}))
    assert not any(part.startswith("**Cost") for part in _head(report))


def test_an_update_that_only_shrinks_a_volume_is_not_said_to_lose_data() -> None:
    shrinks, lost = (
        Risk("volume a would shrink", stops_update=True, loses_data=False),
        Risk("volume b is deleted", stops_update=True),
    )
    report = Report("mine", policy_results=(PASSED,), risks=(shrinks,))
    assert _head(report)[0].startswith("**This update is refused: a volume cannot shrink.**")
    assert _head(replace(report, risks=(shrinks, lost)))[0].startswith(
        "**This update is refused: it would lose data.**"
    )


@pytest.mark.parametrize("flag", ["protect", "retainOnDelete"])
def test_what_is_no_longer_protected_is_data_at_risk_although_nothing_else_changes(flag: str) -> None:
    urn = "urn:pulumi:prod::tensorplane::kubernetes:core/v1:Namespace::vision"

    def streamed(*, kept: bool) -> Streamed:
        state = {"inputs": {"metadata": {"name": "vision"}}, "outputs": {}, flag: kept}
        step = {"op": "create", "urn": urn, "type": "kubernetes:core/v1:Namespace", "new": state}
        return Streamed([{"resourcePreEvent": {"metadata": step}}], failed=False)

    found = comparison.report(
        "prod", "3f9c2ab417", streamed(kept=True), streamed(kept=False), acknowledged=Acknowledged("P")
    )
    assert "- Namespace vision is no longer protected: a later update can delete it" in "\n".join(_head(found))
    kept = comparison.report(
        "prod", "3f9c2ab417", streamed(kept=False), streamed(kept=True), acknowledged=Acknowledged("P")
    )
    assert "no longer protected" not in render.markdown(kept)


def test_numbers_of_many_digits_are_whole() -> None:
    report = _volumes(huge=(1, 1_234_567))
    assert "- volume **huge**: size 1 → 1,234,567 GiB" in "\n".join(_head(report))


def test_replaced_properties_come_first_of_one_resource_that_changes_much() -> None:
    many = [Property(f"labels.{letter}", '"1"', '"2"', replaces=letter == "z") for letter in "abcz"]
    report = Report(
        "mine", (Change("replace", "aws:eks/nodeGroup:NodeGroup", "gpu", tuple(many)),), policy_results=(PASSED,)
    )
    line = next(part for part in "\n".join(_head(report)).splitlines() if part.startswith("- replace NodeGroup"))
    assert line.startswith("- replace NodeGroup **gpu**: labels.z ")
