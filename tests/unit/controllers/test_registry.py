"""A controller is a file of its folder: its settings, what needs it, and its chart are found by being there."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from tensorplane.components import controllers, versions
from tensorplane.components.base.model import Model
from tensorplane.components.controllers.base import ControllerKind, Demand
from tensorplane.components.controllers.registry import CONTROLLERS, ControllersArgs
from tensorplane.components.namespace.rules import namespace_owner
from tests.support.rendering import PROJECT

NOTHING = Demand(
    queues={},
    cohorts={},
    volumes={},
    workloads=frozenset(),
    of_cluster=frozenset(),
    load_balancer=None,
    uncounted=frozenset(),
)
NEWCOMER = """
from tensorplane.components import versions
from tensorplane.components.base.model import Model
from tensorplane.components.controllers.base import ControllerKind, Source
from tensorplane.components.versions import JOBSET

class NewcomerArgs(Model):
    newcomer: Source = "chart"

CONTROLLER = ControllerKind("newcomer", JOBSET, NewcomerArgs, lambda demand: True, lambda *_: {})
"""


def test_each_controller_has_a_file_of_its_name_and_its_key() -> None:
    folder = Path(str(controllers.__file__)).parent
    found = {"argo_workflows", "gateway", "jobset", "keda", "kueue", "metrics_server", "prometheus", "volsync"}
    assert set(CONTROLLERS) == found
    assert all((folder / f"{name}.py").exists() for name in CONTROLLERS)
    assert {getattr(ControllersArgs(), name) for name in CONTROLLERS} == {"chart"}


def test_no_stack_and_no_team_takes_the_namespace_of_a_pinned_chart() -> None:
    assert {kind.chart for kind in CONTROLLERS.values()} <= set(versions.CHARTS)
    assert [chart.name for chart in versions.CHARTS if namespace_owner(chart.namespace) is None] == []
    assert namespace_owner(versions.KUEUE.namespace) == "the controllers'"
    assert namespace_owner("research") is None


def test_nothing_is_installed_that_nothing_needs() -> None:
    settings: Model = ControllersArgs()
    assert not any(kind.installs(settings, NOTHING) for kind in CONTROLLERS.values())


def test_a_controller_that_the_cluster_has_is_not_installed() -> None:
    jobs = replace(NOTHING, workloads=frozenset({"jobset"}))
    kind: ControllerKind = CONTROLLERS["jobset"]
    assert kind.installs(ControllersArgs(), jobs)
    assert not kind.installs(ControllersArgs.model_validate({"jobset": "present"}), jobs)


def test_a_controller_that_the_kind_of_cluster_has_is_not_installed() -> None:
    scaled = replace(NOTHING, workloads=frozenset({"metrics_server"}))
    kind: ControllerKind = CONTROLLERS["metrics_server"]
    assert kind.installs(ControllersArgs(), scaled)
    assert not kind.installs(ControllersArgs(), replace(scaled, of_cluster=frozenset({"metrics_server"})))


def test_a_new_file_is_a_new_controller(tmp_path: Path) -> None:
    (tmp_path / "newcomer.py").write_text(NEWCOMER)
    program = (
        "from tensorplane.components import controllers as c; import sys; c.__path__.append(sys.argv[1]);"
        "from tensorplane.components.controllers.registry import CONTROLLERS, ControllersArgs;"
        "print(*CONTROLLERS, ControllersArgs().newcomer)"
    )
    argv = [sys.executable, "-c", program, str(tmp_path)]
    shown = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, check=True)
    *names, newcomer = shown.stdout.split()
    assert set(names) == {*CONTROLLERS, "newcomer"}
    assert newcomer == "chart"
