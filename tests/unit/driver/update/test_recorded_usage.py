"""What `make` hands the stack's program of the GPU-hours that the cluster has recorded."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tensorplane.agents.usage.state import PREFIX, UsageState
from tensorplane.components.base import recorded_usage as handed
from tensorplane.components.base.recorded_usage import VARIABLE, Used
from tensorplane.core.errors import UserError
from tensorplane.driver.stack_settings import StackSettings
from tensorplane.driver.update import recorded_usage

NOW = datetime(2026, 11, 26, tzinfo=UTC)
SUMS = {"2026-10": {"research": {"t4": 36000.0}}, "2026-11": {"research": {"t4": 3600.0, "a100": 1800.0}}}
RECORD = {"data": UsageState(SUMS).to_data()}


def _api(records: dict[str, Any]) -> Any:
    return SimpleNamespace(get=lambda path: records.get(path.rpartition("/")[2]))


def test_hours_are_those_of_this_month_and_of_all_queues() -> None:
    api = _api({f"{PREFIX}seen": RECORD})
    found = recorded_usage.used(api, "tp", {"vision": "seen", "speech": "speech"}, NOW)
    assert found == Used("2026-11", {"vision": 1.5})


def test_the_program_reads_what_make_hands_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, Used("2026-11", {"vision": 1.5}).written())
    assert handed.read() == Used("2026-11", {"vision": 1.5})


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"month": "2026-11", "gpuHours": {"vision": "much"}}'])
def test_what_cannot_be_read_is_unknown(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, text)
    assert handed.read() is None


def _settings(folder: Path, teams: dict[str, Any]) -> StackSettings:
    (folder / "Pulumi.dev.yaml").write_text(json.dumps({"config": {"tensorplane:teams": teams}}))
    return StackSettings("dev", folder, folder)


def _refuse() -> None:
    raise UserError("no cluster")


def test_the_cluster_is_asked_only_for_teams_with_a_budget(tmp_path: Path) -> None:
    target: Any = SimpleNamespace(api=lambda: _api({f"{PREFIX}vision": RECORD}))
    assert recorded_usage.variables(_settings(tmp_path, {"vision": {}}), SimpleNamespace(api=_refuse)) == {}  # type: ignore[arg-type]
    settings = _settings(tmp_path, {"vision": {"budget": {"gpuHours": 10}}, "speech": {}})
    assert recorded_usage.variables(settings, target).keys() == {VARIABLE}


def test_a_cluster_that_does_not_answer_leaves_the_use_unknown(tmp_path: Path) -> None:
    settings = _settings(tmp_path, {"vision": {"budget": {"gpuHours": 10}}})
    assert recorded_usage.variables(settings, SimpleNamespace(api=_refuse)) == {}  # type: ignore[arg-type]
