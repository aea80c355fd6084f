"""Repos and branches of specs as datasets and their branches."""

from __future__ import annotations

from typing import Any

from tests.support.problems import problems_of
from tests.unit.cli.pachyderm.imported_specs import import_specs, spec_with, tree_of


def test_branches_of_one_repo_stay_apart() -> None:
    def read(name: str, repo: str, **more: str) -> dict[str, Any]:
        return {"pfs": {"name": name, "repo": repo, "glob": "/", **more}}

    both = spec_with(input={"cross": [read("m", "x"), read("n", "x", branch="main"), read("o", "x", branch="main-2")]})
    made = import_specs(both, spec_with(pipeline={"name": "b"}, input=read("r", "a", branch="main")))
    inputs = made.workloads["a"]["stages"]["a"]["inputs"]
    assert [one.get("branch") for one in inputs.values()] == [None, "main-3", "main-2"]
    assert made.workloads["b"]["stages"]["b"]["inputs"]["r"]["branch"] == "main-3"
    assert [f"{note}" for note in made.notes] == [
        f"{where}.branch: main is main-3 here, because main is what master becomes; commit to main-3"
        for where in ("a.input.cross[1].pfs", "b.input.pfs")
    ]
    assert problems_of(tree_of(made)) == []


def test_a_pipeline_that_writes_main_is_read_there() -> None:
    reader = spec_with(pipeline={"name": "b"}, input={"pfs": {"repo": "a", "branch": "main", "glob": "/"}})
    made = import_specs(spec_with(outputBranch="main"), reader)
    assert made.workloads["b"]["stages"]["b"]["inputs"]["a"].get("branch") is None
    assert made.notes == []


def test_an_input_reads_the_branch_of_its_trigger() -> None:
    given = {"repo": "x", "glob": "/", "branch": "late", "trigger": {"branch": "staging", "commits": 3}}
    made = import_specs(spec_with(input={"pfs": given}))
    assert made.workloads["a"]["stages"]["a"]["inputs"]["x"]["branch"] == "staging"
    assert made.workloads["a"]["triggers"] == {"x-staging": {"datasets": ["x@staging"], "versions": 3}}
    assert [f"{note}" for note in made.notes] == [
        "a.input.pfs.branch: left out: its trigger moves it to staging, which the input reads; "
        "if others read it, let them read the same"
    ]


def test_a_repo_with_the_name_that_another_gets_stays_apart() -> None:
    read = [("x", "default"), ("x", "p"), ("p-x", "default")]
    leaves = [{"name": f"n{at}", "repo": repo, "project": of, "glob": "/"} for at, (repo, of) in enumerate(read)]
    made = import_specs(spec_with(input={"cross": [{"pfs": leaf} for leaf in leaves]}))
    inputs = made.workloads["a"]["stages"]["a"]["inputs"]
    assert [one["dataset"] for one in inputs.values()] == ["x", "p-x-2", "p-x"]


def test_one_name_in_two_projects_is_two_datasets() -> None:
    first, other = {"repo": "x", "glob": "/"}, {"repo": "x", "name": "y", "project": "p", "glob": "/"}
    made = import_specs(spec_with(input={"cross": [{"pfs": first}, {"pfs": other}]}))
    assert made.datasets == ["x", "p-x", "a"]


def test_names_that_are_no_labels_get_the_nearest_and_stay_apart() -> None:
    first = spec_with(pipeline={"name": "My_Stage"}, input={"pfs": {"repo": "RAW_DATA", "glob": "/"}})
    second = spec_with(pipeline={"name": "my-stage"}, input={"pfs": {"repo": "My_Stage", "glob": "/"}})
    (workload,) = import_specs(first, second).workloads.values()
    assert {name: one["inputs"] for name, one in workload["stages"].items()} == {
        "my-stage-2": {"raw-data": {"dataset": "raw-data", "path": "/pfs/RAW_DATA"}},
        "my-stage": {"my-stage": {"dataset": "my-stage-2", "path": "/pfs/My_Stage"}},
    }


def test_a_branch_that_somebody_moves_stays_one() -> None:
    drafts = spec_with(outputBranch="dev")
    late = spec_with(pipeline={"name": "late"}, input={"pfs": {"repo": "a", "branch": "master", "glob": "/"}})
    soon = spec_with(pipeline={"name": "soon"}, input={"pfs": {"repo": "a", "branch": "dev", "glob": "/"}})
    made = import_specs(drafts, late, soon)
    assert made.workloads["late"]["stages"]["late"]["inputs"]["a"]["branch"] == "master"
    assert "branch" not in made.workloads["soon"]["stages"]["soon"]["inputs"]["a"]
    assert list(made.workloads["soon"]["stages"]) == ["a", "soon"]
